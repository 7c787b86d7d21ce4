"""What rules in Python are written with: the public names, which keep their meaning.

A rule is a function of a `Case` that yields what it has to say; `rule` gives it a code, a name and
a severity. `docs/custom-rules.md` shows how a package offers its rules.
"""

from __future__ import annotations

from gpusize_policies.case import Case
from gpusize_policies.custom.facts import FACTS_VERSION, UNKNOWN
from gpusize_policies.finding import Severity
from gpusize_policies.message import Blank, Doubt, Remark
from gpusize_policies.rule import Needs, Rule, Waivable, rule

__all__ = [
    "FACTS_VERSION",
    "UNKNOWN",
    "Blank",
    "Case",
    "Doubt",
    "Needs",
    "Remark",
    "Rule",
    "Severity",
    "Waivable",
    "fact",
    "rule",
]


def fact(case: Case, path: str) -> object:
    """Return a fact as expressions see it: None for null, UNKNOWN where it cannot be told.

    Raises KeyError where there is no such fact.
    """
    from gpusize_policies.custom.facts import read

    return read(case, (path,)).known.get(path, UNKNOWN)
