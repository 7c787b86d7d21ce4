"""By how many ranks each thing is shared that copies of a training run keep."""

from __future__ import annotations

from typing import NamedTuple

WHOLE = frozenset({"zero-3", "fsdp"})
"""Modes in which copies share the weights too."""


class Shares(NamedTuple):
    """Ranks that one copy of a thing lies on."""

    weights: int
    gradients: int
    states: int


def shares_of(mode: str, copies: int) -> Shares:
    """What a mode of sharding spreads over so many copies."""
    if mode in WHOLE:
        return Shares(copies, copies, copies)
    gradients = copies if mode == "zero-2" else 1
    states = copies if mode in ("zero-1", "zero-2") else 1
    return Shares(1, gradients, states)
