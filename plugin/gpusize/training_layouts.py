"""Layouts of a training run, the plainest first.

Copies over all GPUs come first, then tensor ranks inside a node. Stages, and sequences that several
ranks share, are ways of their own: a search takes them where nothing plainer works. Ranks lie as
Megatron-LM and torchtitan lay them: those of a tensor next to each other, then those of a sequence,
then copies, then stages, which so are the first to lie on different nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpusize.placement import OPEN, Layout, Pins, Shape, tensor_sizes
from gpusize.resolving.demand import UNBOUNDED

LEAST_SHARE = 4096
"""Tokens of one rank below which no published run shares a sequence: Megatron-Bridge gives 4096 of
8192 tokens to each, torchtitan 32768 of 131072 and of 262144."""
MOST_STAGES = 16
"""Stages that a search tries at most: published runs of 405 billion parameters take 8 to 16."""
NODES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of nodes that a search tries, up to those of one capacity block (64 instances, EC2 user
guide): powers of two, and half steps between them."""


class Way(NamedTuple):
    """How far a search goes beyond copies and tensor ranks."""

    stages: bool = False
    sequences: bool = False


PLAIN = Way()
WAYS = (Way(stages=True), Way(sequences=True), Way(stages=True, sequences=True))
"""What is tried where nothing plainer works, in this order."""


def training_layouts(
    gpus: int, nodes: int, shape: Shape, pins: Pins = OPEN, *, way: Way = PLAIN, tokens: int = 0
) -> Iterator[Layout]:
    """Yield the layouts of one run on `nodes` instances of `gpus` GPUs, in one way.

    Copies share the global batch evenly, as trainers ask; `tokens` of a sequence bound how many
    ranks share it. Pinned sizes are taken as they are.
    """
    for tp in (pins.tp,) if pins.tp else tensor_sizes(gpus, shape):
        for pp in _stages(gpus * nodes // tp, shape, pins, way):
            for cp in _sequence_ranks(gpus * nodes // (tp * pp), pins, way, tokens):
                dp = pins.dp or _copies(max(1, gpus * nodes // (tp * pp * cp)), shape)
                ranks = tp * cp * dp
                for ep in (pins.ep,) if pins.ep else _expert_sizes(gpus, ranks, shape):
                    yield Layout(tp, pp, dp, ep, cp)


def _copies(room: int, shape: Shape) -> int:
    """The most copies that there is room for, each with as many micro batches as the others."""
    if shape.concurrency >= UNBOUNDED:
        return room
    most = min(room, shape.concurrency)
    return next(copies for copies in range(most, 0, -1) if shape.concurrency % copies == 0)


def _stages(room: int, shape: Shape, pins: Pins, way: Way) -> Iterator[int]:
    if pins.pp or not way.stages:
        yield pins.pp or 1
        return
    yield from _doubled(min(room, shape.layers, MOST_STAGES))


def _sequence_ranks(room: int, pins: Pins, way: Way, tokens: int) -> Iterator[int]:
    if pins.cp or not way.sequences:
        yield pins.cp or 1
        return
    for size in _doubled(min(room, tokens // LEAST_SHARE)):
        if tokens % (2 * size) == 0:
            yield size


def _doubled(most: int) -> Iterator[int]:
    """2, 4, 8 and so on."""
    size = 2
    while size <= most:
        yield size
        size *= 2


def _expert_sizes(gpus: int, ranks: int, shape: Shape) -> Iterator[int]:
    """Experts whole on each rank, spread over a node, or over all ranks of a stage."""
    yield 1
    for size in sorted({gpus, ranks} - {1}):
        if shape.experts and shape.experts % size == 0 and ranks % size == 0:
            yield size
