"""What a rule reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Severity(str, Enum):
    """How bad a finding is by default; settings map it to an enforcement level."""

    ERROR = "error"
    WARN = "warn"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about: a workload, and where it is declared or deployed."""

    workload: str
    resource: str = ""
    """Pulumi URN or type and name, where a resource is judged."""
    file: str = ""
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One judgement of one rule on one subject."""

    code: str
    name: str
    severity: Severity
    subject: Subject
    message: str
    fix: str = ""
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
    waived_by: str = ""

    @property
    def docs(self) -> str:
        """Page of the rule, relative to the repository."""
        return f"docs/rules/{self.code}-{self.name}.md"
