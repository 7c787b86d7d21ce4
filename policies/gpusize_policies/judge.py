"""Asks every rule about a case; nothing that goes wrong in one escapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpusize_policies.finding import Finding, Severity
from gpusize_policies.message import Remark, compose, join_fixes
from gpusize_policies.registry import RULES, Needs, Rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.settings import Settings

CANNOT_EVALUATE = "GPU900"


def evaluate(case: Case, settings: Settings) -> tuple[Finding, ...]:
    """Return the findings of all rules that are not off, in the order of their codes."""
    findings: list[Finding] = []
    broken: list[tuple[Rule, Exception]] = []
    for item in RULES:
        level = settings.level_of(item)
        if level is None:
            continue
        try:
            if not _has(case, item.needs):
                continue
            found = [_finding(item, level, case, remark) for remark in item.judge(case)]
        except Exception as error:
            broken.append((item, error))
        else:
            findings.extend(found)
    findings.extend(_told(case, settings, broken))
    return tuple(findings)


def _has(case: Case, needs: Needs) -> bool:
    if needs is Needs.NOTHING:
        return True
    if case.judged is None:
        return False
    if needs is Needs.CANDIDATE:
        return case.candidate is not None
    if needs is Needs.DECISION:
        return case.decided is not None or case.lock is not None
    return True


def _finding(item: Rule, level: Severity, case: Case, remark: Remark) -> Finding:
    fix = join_fixes(remark.fixes)
    return Finding(
        code=item.code,
        name=item.name,
        severity=level,
        subject=case.subject,
        message=compose(item.code, item.name, case.name, remark.text, fix),
        fix=fix,
        numbers=remark.numbers,
    )


def _told(
    case: Case, settings: Settings, broken: Iterable[tuple[Rule, Exception]]
) -> Iterable[Finding]:
    """One finding for each rule that failed; the text of an exception may hold a user's values."""
    reporter = next(item for item in RULES if item.code == CANNOT_EVALUATE)
    level = settings.level_of(reporter)
    for item, error in broken:
        text = f"{item.code} {item.name} could not be evaluated ({type(error).__name__})"
        remark = Remark(text, ("report it with the declaration",), {"rule": item.code})
        if level is not None:
            yield _finding(reporter, level, case, remark)
