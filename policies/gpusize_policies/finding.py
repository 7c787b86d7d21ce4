"""What a rule reports."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

Number = int | float | str
NO_NUMBERS: Mapping[str, Number] = MappingProxyType({})


class Severity(str, Enum):
    """How bad a finding is by default; settings map it to an enforcement level."""

    ERROR = "error"
    WARN = "warn"
    ADVICE = "advice"

    @property
    def rank(self) -> int:
        """0 for the worst, growing as it gets milder."""
        return _RANKS[self.value]


_RANKS = {"error": 0, "warn": 1, "advice": 2}


class Subject(NamedTuple):
    """What a finding is about: a workload, and where it is declared or deployed."""

    workload: str
    resource: str = ""
    """Pulumi URN or type and name, where a resource is judged."""
    file: str = ""
    path: str = ""
    line: int | None = None
    column: int | None = None


class Provenance(NamedTuple):
    """Where a declaration comes from, for messages and numbers; empty where it is declared."""

    text: str = ""
    numbers: Mapping[str, Number] = NO_NUMBERS


class Finding(NamedTuple):
    """One judgement of one rule on one subject.

    `message` is the whole line that every front shows: code, name, workload, numbers, fix, page.
    """

    code: str
    name: str
    severity: Severity
    subject: Subject
    message: str
    fix: str = ""
    numbers: Mapping[str, Number] = NO_NUMBERS
    waived_by: str = ""
    in_baseline: bool = False
    """Whether it was there when the baseline was written."""
    page: str = ""
    """Page of a rule that the team writes itself."""

    @property
    def is_accepted(self) -> bool:
        """Whether it fails nothing: a waiver accepts it, or it was there before."""
        return bool(self.waived_by) or self.in_baseline

    @property
    def docs(self) -> str:
        """Page of the rule: an address, or relative to the repository."""
        return self.page or docs_page(self.code, self.name)


def docs_page(code: str, name: str) -> str:
    """Page of a rule, relative to the repository."""
    return f"docs/rules/{code}-{name}.md"
