"""By how many ranks each thing is shared that copies of a training run keep."""

from __future__ import annotations

from typing import NamedTuple


class Shared(NamedTuple):
    """What copies share in a mode of sharding; each keeps the rest whole."""

    weights: bool
    gradients: bool
    states: bool


BY_MODE = {
    "zero-1": Shared(weights=False, gradients=False, states=True),
    "zero-2": Shared(weights=False, gradients=True, states=True),
    "zero-3": Shared(weights=True, gradients=True, states=True),
    "fsdp": Shared(weights=True, gradients=True, states=True),
}
"""The modes that share anything. Source: the stages of ZeRO, deepspeed/runtime/zero/config.py, and
FULL_SHARD of torch.distributed.fsdp."""
NOTHING = Shared(weights=False, gradients=False, states=False)
WHOLE = frozenset(mode for mode, shared in BY_MODE.items() if shared.weights)
"""Modes in which copies share the weights too."""


class Shares(NamedTuple):
    """Ranks that one copy of a thing lies on."""

    weights: int
    gradients: int
    states: int


def shared_in(mode: str) -> Shared:
    """What copies share in a mode; nothing with copies alone."""
    return BY_MODE.get(mode, NOTHING)


def shares_of(mode: str, copies: int) -> Shares:
    """What a mode of sharding spreads over so many copies."""
    return Shares(*[copies if is_shared else 1 for is_shared in shared_in(mode)])
