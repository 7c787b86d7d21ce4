"""The figures of memory that reasons carry for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    from gpusize.constraints.reason import Number
    from gpusize.resolving.candidate import Candidate


def in_gib(size: int) -> float:
    """Bytes as GiB, to two digits."""
    return round(size / GIB, 2)


def of_budget(candidate: Candidate) -> dict[str, Number]:
    """What one GPU may use (GiB), and which GPU of which type it is."""
    return {
        "budgetGib": in_gib(candidate.fit.budget or 0),
        "instanceType": candidate.instance.id,
        "gpu": candidate.gpu.id,
    }
