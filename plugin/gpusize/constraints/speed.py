"""Is the GPU fast enough for what users are promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize_catalog.units import GB, MS, gib

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

READING_PACE = 0.2
"""Seconds per token at which people read: 238 words per minute (Brysbaert 2019), 4 tokens in 3
words. Taken as the target of a user-facing service that declares none."""


def bandwidth_bound_decode(candidate: Candidate) -> Iterator[Reason]:
    """Even at every peak a step takes longer than the declared time per token."""
    target = candidate.demand.token_time
    if target is None:
        return
    timing = candidate.timing
    if timing.token_bound is None or timing.token_bound <= target:
        return
    layout = candidate.placement.layout
    read = gib(timing.bytes_per_step or 0)
    bandwidth = (candidate.gpu.memory_bandwidth or 0.0) * candidate.instance.partition
    yield Reason(
        "bandwidth-bound-decode",
        Weight.WARN,
        f"one token takes at least {timing.token_bound * MS:.0f} ms on {candidate} at {layout}"
        f" ({read} read per step at {bandwidth / GB:.0f} GB/s), target {target * MS:.0f} ms",
        numbers={
            "boundMs": round(timing.token_bound * MS, 1),
            "targetMs": round(target * MS, 1),
            "memoryGBps": round(bandwidth / GB),
        },
    )


def slower_than_reading(candidate: Candidate) -> Iterator[Reason]:
    """A user-facing service without a target, slower at every peak than its users read."""
    demand = candidate.demand
    if not demand.user_facing or demand.token_time is not None:
        return
    bound = candidate.timing.token_bound
    if bound is None or bound <= READING_PACE or candidate.workload.instance_type is not None:
        return
    yield Reason(
        "slower-than-reading",
        Weight.WARN,
        f"one token takes at least {bound * MS:.0f} ms on {candidate} at"
        f" {candidate.placement.layout}, people read one in {READING_PACE * MS:.0f} ms",
        "declare latency.timePerOutputTokenMs where slower is enough",
        {"boundMs": round(bound * MS, 1), "readingMs": READING_PACE * MS},
    )


def prefill_compute_bound(candidate: Candidate) -> Iterator[Reason]:
    """Even at every peak a long prompt takes longer than the declared time to the first token."""
    target = candidate.demand.first_token_time
    if target is None:
        return
    bound = candidate.timing.prefill_bound
    if bound is None or bound <= target:
        return
    yield Reason(
        "prefill-compute-bound",
        Weight.ADVICE,
        f"a prompt of {candidate.demand.prompt_high} tokens takes at least {bound * MS:.0f} ms on"
        f" {candidate}, target {target * MS:.0f} ms",
        numbers={"boundMs": round(bound * MS, 1), "targetMs": round(target * MS, 1)},
    )
