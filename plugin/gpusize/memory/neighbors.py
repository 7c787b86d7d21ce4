"""What other processes on the same GPUs leave to a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.units import GIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpusize.declared.groups import Neighbor
    from gpusize_catalog.facts import EngineFacts

SHARE_OF_ALL = "total"
"""Word of the engines table: the fraction is of all memory, whoever else is there."""
STEPS = 100
"""Fractions are given in hundredths."""


def held(neighbors: Iterable[Neighbor], usable: int) -> int:
    """Bytes that the neighbors take on a GPU of so many usable bytes."""
    return sum(
        round((one.memory_gib or 0.0) * GIB + (one.memory_fraction or 0.0) * usable)
        for one in neighbors
    )


def is_share_of_all(engine: EngineFacts) -> bool:
    """Whether the engine takes its fraction of all memory, not of what is free."""
    return engine.budget_of == SHARE_OF_ALL


def crowd(usable: int, theirs: int, limit: int, outside: int) -> str:
    """Why a limit of all memory is not free beside the neighbors; empty where it is."""
    missing = theirs + limit + outside - usable
    if missing <= 0:
        return ""
    return f"neighbors leave {gib(missing)} less than the declared share of memory"


def fraction_left(usable: int, theirs: int, outside: int) -> float:
    """The largest fraction of all memory beside neighbors and what no fraction counts."""
    return max(0, usable - theirs - outside) * STEPS // usable / STEPS
