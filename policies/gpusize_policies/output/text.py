"""Findings for people: grouped by workload, the decision below, a summary at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.wording import monthly, plan_in_words
from gpusize_policies.finding import Finding, Severity

if TYPE_CHECKING:
    from gpusize_policies.finding import Subject
    from gpusize_policies.report import Judged, Report, Style

RESET = "\x1b[0m"
BOLD = "\x1b[1m"
COLORS = {
    Severity.ERROR: "\x1b[31m",
    Severity.WARN: "\x1b[33m",
    Severity.ADVICE: "\x1b[36m",
}
PLURALS = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARN: ("warning", "warnings"),
    Severity.ADVICE: ("advice", "advice"),
}
WHOLE = "all together"
"""Heading of what is said on the whole run."""
WIDTH = max(len(severity.value) for severity in Severity)


def write(report: Report, style: Style) -> str:
    """Return the whole report as lines."""
    blocks = ["\n".join(_judged(judged, style)) for judged in report.judged]
    whole = ["\n".join(_whole(report.whole, style))] if report.whole else []
    return "\n\n".join([*blocks, *whole, _summary(report)]) + "\n"


def _judged(judged: Judged, style: Style) -> Iterator[str]:
    place = _place(judged.subject)
    name = _paint(judged.subject.workload or judged.subject.resource, BOLD, style)
    yield f"{name}  {place}" if place else name
    for finding in judged.findings:
        yield _finding(finding, style)
    yield f"  {'plan'.ljust(WIDTH)} {_decision(judged)}"


def _whole(findings: tuple[Finding, ...], style: Style) -> Iterator[str]:
    """What concerns the run, below the place that each speaks of."""
    place = None
    for finding in findings:
        here = _place(finding.subject) or "the run as a whole"
        if here != place:
            yield _paint(here, BOLD, style)
            place = here
        yield _finding(finding, style)


def _finding(finding: Finding, style: Style) -> str:
    word = finding.severity.value.ljust(WIDTH)
    waived = f" (waived: {finding.waived_by})" if finding.waived_by else ""
    waived += " (in the baseline)" if finding.in_baseline else ""
    return f"  {_paint(word, COLORS[finding.severity], style)} {finding.message}{waived}"


def _decision(judged: Judged) -> str:
    resolution = judged.resolution
    if resolution is None:
        return "none: it could not be resolved"
    if resolution.plan is None:
        return "none"
    plan = resolution.plan
    return ", ".join(filter(None, (plan_in_words(plan), monthly(plan.cost, "a month"))))


def _place(subject: Subject) -> str:
    place = ":".join(str(part) for part in (subject.file, subject.line, subject.column) if part)
    return place or subject.resource


def _summary(report: Report) -> str:
    count = len(report.judged)
    parts = [f"{count} workload{'' if count == 1 else 's'}"]
    for severity, (one, many) in PLURALS.items():
        found = report.count(severity)
        parts.append(f"{found} {one if found == 1 else many}")
    if report.waived:
        parts.append(f"{report.waived} of them waived")
    if report.known:
        parts.append(f"{report.known} of them in the baseline")
    if report.problems:
        count = len(report.problems)
        parts.append(f"{count} input problem{'' if count == 1 else 's'}")
    chosen = f", environment {report.environment}" if report.environment else ""
    return (
        f"{', '.join(parts)} (gpusize {report.gpusize_version},"
        f" catalog {report.catalog_version} {report.catalog_digest}, today {report.today}{chosen})"
    )


def _paint(text: str, color: str, style: Style) -> str:
    return f"{color}{text}{RESET}" if style.color else text
