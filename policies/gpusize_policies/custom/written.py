"""One rule of the settings file, as the rules of the product are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_catalog.problems import printable
from gpusize_policies.custom.facts import Read, read
from gpusize_policies.message import LONGEST_NAME, Blank, Remark
from gpusize_policies.rule import Needs, Rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.custom.language import Expression, Outcome
    from gpusize_policies.finding import Number, Severity
    from gpusize_policies.rule import Waivable

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
DIGITS = 4
"""Decimal places of a number that a report repeats."""
SHOWN_DIGITS = 2
"""Decimal places of a number that a message repeats."""
TOPIC = "custom"


class Written(NamedTuple):
    """What an entry of `customRules` says."""

    code: str
    name: str
    severity: Severity
    waivable: Waivable
    when: Expression | None
    holds: Expression
    is_forbidden: bool
    """Whether a finding is what holds, in place of what does not."""
    message: str
    fix: str = ""
    why: str = ""
    since: str = ""
    page: str = ""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Its expressions."""
        return (self.holds,) if self.when is None else (self.when, self.holds)

    @property
    def facts(self) -> tuple[str, ...]:
        """All facts that it reads or shows."""
        named = [one for each in self.expressions for one in each.parts.facts]
        return tuple(dict.fromkeys((*named, *placeholders(self.message), *placeholders(self.fix))))

    @property
    def judged(self) -> frozenset[str]:
        """The roots of the facts that its expressions read."""
        named = (one for each in self.expressions for one in each.parts.facts)
        return frozenset(one.split(".", 1)[0] for one in named)


def placeholders(text: str) -> tuple[str, ...]:
    """The facts that a text shows."""
    return tuple(word.strip() for word in PLACEHOLDER.findall(text))


def rule_of(written: Written) -> Rule:
    """Make a rule of it."""
    return Rule(
        written.code,
        written.name,
        written.severity,
        written.since,
        needs_of(written.judged),
        written.waivable,
        (),
        _judge_of(written),
        page=written.page,
    )


def needs_of(roots: frozenset[str]) -> Needs:
    """What a rule must be given, by what its expressions read."""
    if "run" in roots:
        return Needs.STACK
    return Needs.MACHINE if "resource" in roots else Needs.WORKLOAD


def _judge_of(written: Written) -> Any:
    def judge(case: Case) -> Iterator[Remark | Blank]:
        seen = read(case, written.facts)
        applies = written.when.evaluate(seen) if written.when else None
        if applies is not None and not applies.truth:
            if applies.truth is None:
                yield _blank(written, applies)
            return
        outcome = written.holds.evaluate(seen)
        if outcome.truth is None:
            yield _blank(written, outcome)
        elif outcome.truth is written.is_forbidden:
            fixes = (fill(written.fix, seen),) if written.fix else ()
            yield Remark(fill(written.message, seen), fixes, _numbers(written, seen))

    summary = PLACEHOLDER.sub("…", written.message)
    sections = {"Why": written.why, "Fix": PLACEHOLDER.sub("…", written.fix)}
    told = "".join(f"\n\n{title}: {text}" for title, text in sections.items() if text)
    judge.__doc__ = " ".join(summary.split()) + told
    judge.__module__ = TOPIC
    return judge


def _blank(written: Written, outcome: Outcome) -> Blank:
    return Blank(written.code, outcome.unknown, outcome.absent)


def fill(text: str, seen: Read) -> str:
    """Put the values of facts into a text."""
    return PLACEHOLDER.sub(lambda found: _shown(found[1].strip(), seen), text)


def _shown(path: str, seen: Read) -> str:
    if path in seen.unknown:
        return "unknown"
    value = seen.known.get(path)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:,.{SHOWN_DIGITS}f}"
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(words, LONGEST_NAME)


def _numbers(written: Written, seen: Read) -> Mapping[str, Number]:
    """The figures that it was judged by."""
    found = ((path, seen.known.get(path)) for path in written.facts)
    return {
        path: round(value, DIGITS)
        for path, value in found
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
