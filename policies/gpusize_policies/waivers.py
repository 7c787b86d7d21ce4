"""Accepted findings: which waivers stand on a day, and what they accept. Pure, and fails closed.

A waiver accepts the findings of one rule on one workload, on the resources that a pattern names, or
on those whose tag names its id. An invalid or expired one accepts nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from gpusize.days import DAY_FIX, NO_DAY, day_of
from gpusize_catalog.problems import printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.finding import Subject
from gpusize_policies.registry import find, suggest
from gpusize_policies.rule import Rule, Waivable

if TYPE_CHECKING:
    import datetime

    from gpusize_policies.baseline import Entry
    from gpusize_policies.baselining import Worse
    from gpusize_policies.finding import Finding

SHORTEST_REASON = 15
"""Characters of a reason below which it explains nothing: `temporary` has 9."""
SOON_DAYS = 14
"""Days before its end from which a waiver is told to expire soon: two weeks to renew or fix."""
LONGEST_LABEL = 40
"""Characters of a waiver's id, owner or target that a message repeats."""
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What an id may be: the value of a tag names several, so it holds neither space nor comma."""
ID_FORM = "letters, digits, dots, dashes and underscores, at most 64"
SEPARATORS = re.compile(r"[\s,]+")
"""Between ids in one tag; AWS takes a space in the tags of every service."""
WILD = "*?"
"""Characters of a pattern that stand for others."""
WHOLE_RUN = "pulumi:pulumi:Stack::*"
"""Resource that stands for what a run takes as a whole, in a preview and in the command."""
LAST_OF_URN = 3
"""Separators before the name in a URN: stack, project and type stand above it
(https://www.pulumi.com/docs/iac/concepts/resources/names/)."""


class Waiver(NamedTuple):
    """What somebody accepts, as it was written; '' where nothing was."""

    id: str = ""
    rule: str = ""
    """Code or name."""
    workload: str = ""
    resource: str = ""
    """URN, `type::name` or name, the last two with `*` and `?`."""
    reason: str = ""
    owner: str = ""
    expires: str = ""
    """Last day on which it holds, YYYY-MM-DD."""
    evidence: str = ""
    place: Subject = Subject("")
    """Where it is written."""

    @property
    def target(self) -> str:
        """What it is for, in words."""
        if self.workload:
            return f"workload {_shown(self.workload)}"
        return f"resource {_shown(self.resource)}" if self.resource else "tagged resources"

    @property
    def label(self) -> str:
        """Its id, else what it accepts: the same in whatever order waivers stand."""
        if ID.fullmatch(self.id):
            return self.id
        accepted, target = find(self.rule), self.workload or self.resource
        code = accepted.code if accepted else _shown(self.rule) or "no rule"
        return f"{code}@{_shown(target)}" if target else code

    @property
    def is_for_tags(self) -> bool:
        """Whether resources refer to it by their tag, and nothing else says what it is for."""
        return not self.workload and not self.resource


class State(str, Enum):
    """How a waiver stands on a day."""

    ACTIVE = "active"
    SOON = "expiring soon"
    EXPIRED = "expired"
    INVALID = "invalid"
    UNUSED = "unused"


class Fault(NamedTuple):
    """What makes a waiver invalid, and what would help."""

    text: str
    fix: str


class Standing(NamedTuple):
    """A waiver on a day."""

    waiver: Waiver
    rule: Rule | None
    days_left: int | None
    """0 on its last day, negative afterwards; None where its end is no day."""
    faults: tuple[Fault, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it accepts anything on this day."""
        return not self.faults and self.days_left is not None and self.days_left >= 0

    @property
    def state(self) -> State:
        """How it stands, findings aside."""
        if self.faults or self.days_left is None:
            return State.INVALID
        if self.days_left < 0:
            return State.EXPIRED
        return State.SOON if self.days_left <= SOON_DAYS else State.ACTIVE

    @property
    def code(self) -> str:
        """Code of the rule, '' where there is none of that name."""
        return self.rule.code if self.rule else ""


class Stranger(NamedTuple):
    """An id in a tag that accepts nothing there."""

    id: str
    told: str
    """Why: nobody has it, or its waiver is for something else."""
    fix: str


class Facts(NamedTuple):
    """What there is to say of what is accepted on one subject, for the rules on that."""

    invalid: tuple[Standing, ...] = ()
    expired: tuple[Standing, ...] = ()
    unused: tuple[Standing, ...] = ()
    strangers: tuple[Stranger, ...] = ()
    waived: tuple[tuple[Standing, Finding], ...] = ()
    known: tuple[Finding, ...] = ()
    """Findings that are in the baseline."""
    gone: tuple[Entry, ...] = ()
    """Entries of the baseline that match nothing any more."""
    worse: tuple[Worse, ...] = ()


class Outcome(NamedTuple):
    """What waivers did to the findings on one subject."""

    findings: tuple[Finding, ...]
    """All of them, in their order; those that are accepted name their waiver."""
    waived: tuple[tuple[Standing, Finding], ...] = ()


def stand(
    waivers: Sequence[Waiver],
    today: datetime.date,
    most_days: float,
    own: Sequence[Rule] = (),
) -> tuple[Standing, ...]:
    """Say of each waiver of one list whether it holds; `most_days` is how far one may reach.

    `own` are the rules of the team.
    """
    ids = Counter(waiver.id for waiver in waivers if waiver.id)
    return tuple(_stand(waiver, today, most_days, ids[waiver.id], own) for waiver in waivers)


def apply(
    findings: Iterable[Finding],
    subject: Subject,
    standings: Iterable[Standing],
    named: frozenset[str] = frozenset(),
) -> Outcome:
    """Mark the findings on a subject that are accepted; `named` are the ids in its tag."""
    best: dict[str, Standing] = {}
    for one in standings:
        if one.holds and covers(one.waiver, subject, named):
            best[one.code] = max(one, best.get(one.code, one), key=_rank)
    marked: list[Finding] = []
    waived: list[tuple[Standing, Finding]] = []
    for finding in findings:
        standing = best.get(finding.code)
        if standing is None:
            marked.append(finding)
            continue
        marked.append(finding._replace(waived_by=standing.waiver.label))
        waived.append((standing, marked[-1]))
    return Outcome(tuple(marked), tuple(waived))


def _rank(standing: Standing) -> tuple[int, str]:
    """Of several that accept a finding, the one that holds longest names it."""
    return (standing.days_left or 0, standing.waiver.label)


def covers(waiver: Waiver, subject: Subject, named: frozenset[str] = frozenset()) -> bool:
    """Tell whether a waiver is for a subject; a tag never widens one that names its target."""
    if waiver.workload:
        return waiver.workload == subject.workload
    if waiver.resource:
        if not subject.workload and not subject.resource:
            return waiver.resource == WHOLE_RUN
        return _matches(waiver.resource, subject.resource)
    return waiver.id in named


def strangers(
    named: frozenset[str], subject: Subject, standings: Iterable[Standing]
) -> tuple[Stranger, ...]:
    """Return the ids in a tag that accept nothing there; those of invalid waivers are told."""
    known = {one.waiver.id: one.waiver for one in standings if one.waiver.id}
    found: list[Stranger] = []
    for word in sorted(named):
        waiver = known.get(word)
        if waiver is None:
            # The value of a tag may be anything: what cannot be an id is not repeated.
            name = word if ID.fullmatch(word) else "a value that is no id"
            fix = did_you_mean(word, known, most=1) or "write it among `waivers` of the settings"
            found.append(
                Stranger(name, "no waiver has that id, and a tag alone waives nothing", fix)
            )
        elif not covers(waiver, subject, named):
            told = f"that waiver is for {waiver.target}"
            found.append(
                Stranger(word, told, "refer to a waiver that names no target, or take it out")
            )
    return tuple(found)


def ids_in(text: str) -> frozenset[str]:
    """Read the ids in the value of a tag."""
    return frozenset(filter(None, SEPARATORS.split(text)))


def _matches(pattern: str, urn: str) -> bool:
    if pattern.startswith("urn:"):
        return pattern == urn
    *above, name = urn.split("::", LAST_OF_URN)
    kind = above[-1].rpartition("$")[2] if len(above) == LAST_OF_URN else ""
    head, separator, tail = pattern.partition("::")
    if not separator:
        return bool(name) and _glob(pattern, name)
    return bool(name) and _glob(head, kind) and _glob(tail, name)


def _glob(pattern: str, text: str) -> bool:
    """Match with `*` and `?` alone: brackets stand for themselves, as in the names of resources."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def _stand(
    waiver: Waiver,
    today: datetime.date,
    most_days: float,
    same_ids: int,
    own: Sequence[Rule] = (),
) -> Standing:
    rule, end = find(waiver.rule, own), day_of(waiver.expires)
    days_left = (end - today).days if end else None
    found = [fault for check in CHECKS if (fault := check(waiver, rule))]
    if same_ids > 1:
        found.append(Fault(f"{same_ids} waivers have its id", "give each an id of its own"))
    if days_left is not None and days_left > most_days:
        told = f"it holds for {days_left} more days, of at most {most_days:g}"
        found.append(Fault(told, f"let it expire within {most_days:g} days (maxWaiverDays)"))
    return Standing(waiver, rule, days_left, tuple(found))


def _rule_fault(waiver: Waiver, rule: Rule | None) -> Fault | None:
    if not waiver.rule.strip():
        return Fault("it names no rule", "give `rule`, a code or a name")
    if rule is None:
        close = suggest(waiver.rule)
        hint = f"did you mean {close[0]}?" if close else "`gpusize rules` lists them"
        return Fault(f"there is no rule {_shown(waiver.rule)}", hint)
    if rule.waivable is Waivable.NO:
        return Fault(f"{rule.code} {rule.name} cannot be waived", "change what it tells of")
    return None


def _evidence_fault(waiver: Waiver, rule: Rule | None) -> Fault | None:
    if rule is None or rule.waivable is not Waivable.EVIDENCE or waiver.evidence.strip():
        return None
    fix = "give `evidence`, a measured number or a link to a log"
    return Fault(f"{rule.code} {rule.name} is waived with evidence alone", fix)


def _reason_fault(waiver: Waiver, _rule: Rule | None) -> Fault | None:
    length = len(" ".join(waiver.reason.split()))
    if length >= SHORTEST_REASON:
        return None
    told = f"its reason has {length} of at least {SHORTEST_REASON} characters"
    return Fault(told if length else "it has no reason", "say why the finding is accepted")


def _owner_fault(waiver: Waiver, _rule: Rule | None) -> Fault | None:
    return None if waiver.owner.strip() else Fault("it has no owner", "say who answers for it")


def _end_fault(waiver: Waiver, _rule: Rule | None) -> Fault | None:
    if not waiver.expires.strip():
        return Fault("it never expires", f"give `expires`: {DAY_FIX}")
    if day_of(waiver.expires) is None:
        return Fault(f"its end {NO_DAY}, so it counts as expired", DAY_FIX)
    return None


def _target_fault(waiver: Waiver, _rule: Rule | None) -> Fault | None:
    if waiver.workload and waiver.resource:
        return Fault("it names a workload and a resource", "keep one of them")
    if waiver.resource and not waiver.resource.strip(WILD + ":"):
        return Fault("it is for every resource", "set the level of the rule instead")
    if not (waiver.workload or waiver.resource or waiver.id):
        return Fault("it is for nothing", "give `workload`, `resource`, or an `id` for tags")
    return None


def _id_fault(waiver: Waiver, _rule: Rule | None) -> Fault | None:
    if not waiver.id or ID.fullmatch(waiver.id):
        return None
    return Fault("its id is none", f"an id has {ID_FORM}")


CHECKS: tuple[Callable[[Waiver, Rule | None], Fault | None], ...] = (
    _rule_fault,
    _evidence_fault,
    _reason_fault,
    _owner_fault,
    _end_fault,
    _target_fault,
    _id_fault,
)
"""What each waiver is held against by itself."""


def _shown(text: str) -> str:
    return printable(text, LONGEST_LABEL)
