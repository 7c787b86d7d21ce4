"""What constraints say about a candidate, and whether gpusize refuses to choose it for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpusize.constraints import (
    COMPARISONS,
    CONSTRAINTS,
    DEVICE,
    LAYOUT,
    MARKET,
    MONEY,
    OFFER,
    REMARKS,
    SILICON,
)
from gpusize.constraints.reason import Reason, Weight
from gpusize.resolving.candidate import Candidate

if TYPE_CHECKING:
    from gpusize.constraints import Constraint

_NOT_ASKED = REMARKS | COMPARISONS | {"idle-gpus-on-node"}
"""Constraints that a search does not ask: the one about idle GPUs is a search itself too."""
WEIGHTS = (Weight.ERROR, Weight.WARN, Weight.ADVICE)
"""From worst to best."""


def blocks(reason: Reason) -> bool:
    """Whether gpusize refuses to choose a placement for this reason."""
    return reason.weight is not Weight.ADVICE or reason.name == "estimate-not-supported"


def asked(*tables: Mapping[str, Constraint]) -> tuple[Constraint, ...]:
    """The constraints of some tables that may speak against a choice."""
    return tuple(
        [rule for table in tables for name, rule in table.items() if name not in _NOT_ASKED]
    )


BY_DEVICE, BY_LAYOUT = asked(DEVICE), asked(LAYOUT)
"""What a search asks of a GPU alone, and of its layout."""
_ALL = asked(OFFER, MARKET, SILICON, MONEY)
_BESIDE_DEVICE = asked(OFFER, MARKET, LAYOUT, MONEY)


def first_block(candidate: Candidate, table: Iterable[Constraint]) -> Reason | None:
    """The first blocking reason that a table of constraints gives."""
    for constraint in table:
        for reason in constraint(candidate):
            if blocks(reason):
                return reason
    return None


def reasons_of(candidate: Candidate) -> tuple[Reason, ...]:
    """Everything that constraints say about a candidate by itself, compared with no other."""
    return tuple(
        reason
        for name, rule in CONSTRAINTS.items()
        if name not in COMPARISONS
        for reason in rule(candidate)
    )


def reasons_against(candidate: Candidate) -> tuple[Reason, ...]:
    """What speaks against a candidate; no search for a better node is made to say it."""
    device_is_fine = candidate.study.judged.devices.get(candidate.gpu.id)
    rules = _BESIDE_DEVICE if device_is_fine else _ALL
    found = [reason for rule in rules for reason in rule(candidate) if blocks(reason)]
    return tuple(sorted(found, key=lambda reason: WEIGHTS.index(reason.weight)))
