"""What types and layouts are compared by: the smaller, the better."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints.reason import Weight
from gpusize.constraints.speed import READING_PACE
from gpusize.memory.result import Verdict
from gpusize.placement import Layout
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.weighing import reasons_of

if TYPE_CHECKING:
    pass

SMALL_SHARE = 0.15
"""Communication below this part of the time is no reason to prefer one placement to another: the
share of a slow GPU is small because everything else takes longer."""
SHARE_STEP = 0.10
"""Above, placements that differ by less than this count as equal."""
UNKNOWN_SHARE = 99
NVLINK = "NVLink"
"""Name of the link that is made for the traffic of every layer."""
NEVER = 9
"""Rank of a latency that cannot be judged."""
VERDICTS = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT, Verdict.UNKNOWN)
"""From best to worst."""
Service = tuple[int, int]
"""Whether sequences queue for the cache, and whether targets are met: see `service_of`."""
Moving = tuple[int, int]
"""Whether stages lie inside a node, and the class of the share of communication."""
SEVERAL = 10**6
"""GPUs that stand for those of any number of nodes: more than one node has."""


class Key(NamedTuple):
    """What types are compared by, field by field, the smaller the better: see `rank_of`."""

    service: Service
    gpus: int
    nodes: int
    moving: Moving
    price: float
    vcpus: int
    instance: str
    share: float
    layout: Layout


def rank_of(candidate: Candidate) -> Key:
    """What types are compared by: smaller is better.

    Latency met comes first; then one GPU before several, several that one link joins (a node, an
    UltraServer) before several nodes, and of those fewest first: what is not split waits for
    nothing, and fewer GPUs that do the same work are larger and faster ones, at the same price or
    less. Then least communication where the link is slow, and price for the declared duration.

    Between plans of several nodes price comes at once: each is split already, and waits for a
    network that is made for it, so that fewer GPUs are no merit of their own. How fast they are is
    judged where it is asked for, by the targets and the pace of readers; where nobody waits for it,
    four nodes of an older GPU do the work of two of the newest at half the price.

    The smaller host and the name come last, so that the order is total. Where the region's price is
    not known, the type ranks by its dearest known price of another region.
    """
    placement, cost = candidate.placement, candidate.cost
    price = cost.hourly if cost.total is None else cost.total
    if price is None:
        price = candidate.cost_elsewhere
    service, moving, share, layout = layout_rank(candidate)
    is_spread = placement.domains > 1
    return Key(
        service,
        SEVERAL if is_spread else placement.gpus,
        0 if is_spread else placement.nodes,
        (0, 0) if is_spread else moving,
        inf if price is None else price,
        placement.instance.vcpus or 0,
        placement.instance.id,
        share,
        layout,
    )


def layout_rank(candidate: Candidate) -> tuple[Service, Moving, float, Layout]:
    """What layouts of one type are compared by: they cost the same.

    Stages inside a node count as worse than any communication that a constraint allows: each token
    waits for all of them. Over NVLink communication counts by the time it takes alone. Layouts of a
    training run are compared by the time of a step.
    """
    placement = candidate.placement
    timing = candidate.timing
    if candidate.demand.trains:
        seconds = timing.step_seconds
        slowness = inf if seconds is None else seconds
        return service_of(candidate), (0, 0), slowness, placement.layout
    share = timing.communication_share
    fast = timing.link == NVLINK and share is not None
    moving = (int(placement.layout.pp > placement.domains), 0 if fast else _share_class(share))
    return service_of(candidate), moving, 1.0 if share is None else share, placement.layout


def _share_class(share: float | None) -> int:
    if share is None:
        return UNKNOWN_SHARE
    return 0 if share <= SMALL_SHARE else 1 + int((share - SMALL_SHARE) / SHARE_STEP)


def service_of(candidate: Candidate) -> Service:
    """How well users are served: no queue for the cache, and latency met, perhaps, or unknown."""
    demand, timing = candidate.demand, candidate.timing
    if demand.trains:
        return 0, _late(demand.time_limit, timing.hours_to_end)
    queues = 0
    if not demand.tokens_declared:
        held = candidate.fit.sequences_at(demand.prompt + demand.output)
        queues = int(held is None or held < demand.concurrency)
    pace = demand.token_time or (READING_PACE if demand.user_facing and demand.reads else None)
    late = max(
        _late(pace, timing.token_seconds),
        _late(demand.first_token_time, timing.prefill_seconds),
    )
    return queues, late


def _late(target: float | None, seconds: float | None) -> int:
    if target is None:
        return 0
    if seconds is None:
        return NEVER
    return int(seconds > target)


def nearness(candidate: Candidate) -> tuple[int, float, Layout]:
    """How far a layout of a rejected type is from working, by its memory alone."""
    fit = candidate.fit
    margin = fit.margin
    return (
        VERDICTS.index(fit.verdict),
        inf if margin is None else -margin,
        candidate.placement.layout,
    )


def badness(candidate: Candidate) -> tuple[int, int, float, Key]:
    """How far a candidate is from being a plan: errors, warnings, missing bytes, then its rank."""
    weights = [reason.weight for reason in reasons_of(candidate)]
    margin = candidate.fit.margin
    unknown = candidate.fit.verdict is Verdict.UNKNOWN
    return (
        weights.count(Weight.ERROR),
        weights.count(Weight.WARN) + int(unknown),
        inf if margin is None else max(0, -margin),
        rank_of(candidate),
    )
