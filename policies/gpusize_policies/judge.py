"""Asks every rule about a case; nothing that goes wrong in one escapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpusize_policies.finding import Finding, Severity
from gpusize_policies.message import (
    Blank,
    Doubt,
    Gap,
    Remark,
    compose,
    join_fixes,
    not_known,
    not_said,
)
from gpusize_policies.registry import RULES, Needs, Rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.settings import Settings

CANNOT_EVALUATE = "GPU900"
ONCE = frozenset(item.code for item in RULES if item.once)


def evaluate(
    case: Case, settings: Settings, rules: tuple[Rule, ...] | None = None
) -> tuple[Finding, ...]:
    """Return what all rules that are not off find, or some of them, in the order of codes."""
    findings: list[Finding] = []
    broken: list[tuple[Rule, Exception]] = []
    doubts: dict[str, None] = {}
    gaps: list[Gap] = []
    blanks: list[Blank] = []
    for item in (*RULES, *settings.custom.rules) if rules is None else rules:
        level = settings.level_of(item)
        if level is None:
            continue
        try:
            if not may_speak(item, case):
                continue
            said = list(item.judge(case))
            found = [_finding(item, level, case, one) for one in said if isinstance(one, Remark)]
        except Exception as error:
            broken.append((item, error))
        else:
            findings.extend(found)
            unsaid = (one.properties for one in said if isinstance(one, Doubt))
            gaps += [one for one in said if isinstance(one, Gap)]
            blanks += [one for one in said if isinstance(one, Blank)]
            doubts.update((name, None) for names in unsaid for name in names)
    findings.extend(_told(case, settings, broken, tuple(doubts), gaps, blanks))
    return tuple(sorted(findings, key=lambda one: one.code))


def asked(case: Case, settings: Settings) -> frozenset[str]:
    """Return the codes of the rules that could speak on a case."""
    known = (*RULES, *settings.custom.rules)
    rules = (item for item in known if settings.level_of(item) is not None)
    return frozenset(item.code for item in rules if may_speak(item, case))


def told_once(findings: Iterable[Finding], where: str, told: dict[str, str]) -> tuple[Finding, ...]:
    """Leave out what was told elsewhere in this run and holds everywhere.

    `where` is the place of the findings, `told` remembers where each such rule spoke first. What
    was accepted does not count: elsewhere it may not be.
    """
    return tuple(
        one
        for one in findings
        if one.code not in ONCE or one.is_accepted or told.setdefault(one.code, where) == where
    )


def may_speak(item: Rule, case: Case) -> bool:
    """Tell whether a case has what a rule judges, or what else it may be asked of."""
    return any(is_askable(case, needs) for needs in (item.needs, *item.beside))


def is_askable(case: Case, needs: Needs) -> bool:
    """Tell whether a case has what a rule must have before it is asked."""
    if needs is Needs.NOTHING:
        return True
    if needs is Needs.WAIVER:
        return case.waivers is not None
    if needs is Needs.STACK:
        return case.whole is not None
    if needs is Needs.MACHINE:
        return case.machine is not None
    if case.judged is None:
        return False
    if needs is Needs.CANDIDATE:
        return case.candidate is not None
    if needs is Needs.RESOURCE:
        return case.selection is not None and case.candidate is not None
    if needs is Needs.DECISION:
        return case.decided is not None or case.lock is not None
    return True


def _finding(item: Rule, level: Severity, case: Case, remark: Remark) -> Finding:
    fix = join_fixes(remark.fixes)
    place = case.subject.path if case.subject.resource else ""
    return Finding(
        code=item.code,
        name=item.name,
        severity=level,
        subject=case.subject,
        message=compose(
            item.code,
            item.name,
            case.about,
            remark.text,
            fix,
            place,
            case.provenance.text,
            item.page,
        ),
        fix=fix,
        numbers={**remark.numbers, **case.provenance.numbers},
        page=item.page,
    )


def _told(
    case: Case,
    settings: Settings,
    broken: Iterable[tuple[Rule, Exception]],
    doubts: tuple[str, ...],
    gaps: Iterable[Gap],
    blanks: Sequence[Blank],
) -> Iterable[Finding]:
    """Tell what rules could not say; the text of an exception may hold a user's values."""
    reporter = next(item for item in RULES if item.code == CANNOT_EVALUATE)
    level = settings.level_of(reporter)
    if level is None:
        return
    if doubts:
        yield _finding(reporter, level, case, not_known(doubts))
    if blanks:
        yield _finding(reporter, level, case, not_said(blanks))
    for gap in gaps:
        yield _finding(reporter, level, case, Remark(gap.text, (gap.fix,), gap.numbers))
    for item, error in broken:
        text = f"{item.code} {item.name} could not be evaluated ({type(error).__name__})"
        remark = Remark(text, ("report it with the declaration",), {"rule": item.code})
        yield _finding(reporter, level, case, remark)
