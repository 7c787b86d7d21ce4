"""What a rule is: a permanent code, a name, a default severity, and a function that judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from gpusize_policies.finding import Severity, docs_page
from gpusize_policies.message import Blank, Doubt, Gap, Remark

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.remedies import Remedy

Judge = Callable[["Case"], Iterable[Remark | Doubt | Gap | Blank]]


class Needs(str, Enum):
    """What a case must have before a rule is asked."""

    NOTHING = "nothing"
    WORKLOAD = "workload"
    CANDIDATE = "candidate"
    DECISION = "decision"
    RESOURCE = "resource"
    WAIVER = "waiver"
    MACHINE = "machine"
    STACK = "stack"


class Waivable(str, Enum):
    """Whether a finding may be accepted, and with what."""

    YES = "yes"
    EVIDENCE = "evidence"
    NO = "no"


class Rule(NamedTuple):
    """One judgement with one identity; the docstring of `judge` is its documentation."""

    code: str
    name: str
    severity: Severity
    since: str
    needs: Needs
    waivable: Waivable
    parameters: tuple[str, ...]
    judge: Judge
    once: bool = False
    """Whether it is told once in a run: what it says holds for every case."""
    beside: tuple[Needs, ...] = ()
    """What else it may be asked of, where a case has that in place of what it needs."""
    is_off: bool = False
    """Whether it is off until the settings give it a level."""
    remedy: Remedy | None = None
    """What it changes where it runs at level `remediate`."""
    page: str = ""
    """Where a rule that the team writes itself is documented."""

    @property
    def remediation(self) -> str:
        """What it changes, in words; '' where it changes nothing."""
        return " ".join((self.remedy.__doc__ or "").split()) if self.remedy else ""

    @property
    def summary(self) -> str:
        """One sentence: what it does."""
        return (self.judge.__doc__ or "").strip().split("\n", 1)[0]

    @property
    def topic(self) -> str:
        """Module it lies in: memory, billing and so on."""
        return self.judge.__module__.rsplit(".", 1)[-1]

    @property
    def is_constraint(self) -> bool:
        """Whether it wraps a constraint: one that judges a placement, by its own name."""
        return self.needs is Needs.CANDIDATE

    @property
    def docs(self) -> str:
        """Page of the rule: an address, or relative to the repository."""
        return self.page or docs_page(self.code, self.name)

    def section(self, title: str) -> str:
        """Text of one titled section of the docstring (Why, Fix, Sources), '' when absent."""
        return sections(self.judge.__doc__ or "").get(title, "")


def rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    since: str,
    needs: Needs = Needs.CANDIDATE,
    waivable: Waivable = Waivable.YES,
    parameters: tuple[str, ...] = (),
    once: bool = False,
    beside: tuple[Needs, ...] = (),
    is_off: bool = False,
    remedy: Remedy | None = None,
    page: str = "",
) -> Callable[[Judge], Rule]:
    """Turn a function of a case into a rule; `parameters` name the settings it reads."""

    def wrap(judge: Judge) -> Rule:
        return Rule(
            code,
            name,
            severity,
            since,
            needs,
            waivable,
            parameters,
            judge,
            once,
            beside,
            is_off,
            remedy,
            page,
        )

    return wrap


def sections(docstring: str) -> dict[str, str]:
    """Split a docstring into its first line (`What`) and its titled sections."""
    found: dict[str, list[str]] = {}
    title = "What"
    for line in docstring.strip().splitlines():
        words = line.strip()
        head, colon, rest = words.partition(":")
        if colon and head in ("Why", "Fix", "Sources", "Limits"):
            title, words = head, rest.strip()
        found.setdefault(title, []).append(words)
    return {name: _capital(" ".join(filter(None, lines))) for name, lines in found.items()}


def _capital(text: str) -> str:
    """Begin a sentence; addresses and names that have capitals of their own stay as they are."""
    first = text.split(" ", 1)[0]
    own = first.startswith("http") or first != first.lower()
    return text if own else text[:1].upper() + text[1:]
