"""Would another instance type do the same work for less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.figures import in_gib
from gpusize.constraints.reason import Reason, Weight
from gpusize.memory.result import Term, Verdict
from gpusize.wording import price
from gpusize_catalog.units import PERCENT, gib, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

HOLDS = (Verdict.FITS, Verdict.TIGHT)


def price_dominated_choice(candidate: Candidate) -> Iterator[Reason]:
    """A pinned type, though another serves as well, on no more GPUs, no slower, for less."""
    if candidate.workload.instance_type is None or candidate.fit.verdict not in HOLDS:
        return
    from gpusize.resolving.cheaper import amount, dominating

    other = dominating(candidate)
    if other is None:
        return
    ours, theirs = amount(candidate) or 0.0, amount(other) or 0.0
    saved = 1 - theirs / ours
    if saved < candidate.settings.min_price_advantage:
        return
    yield Reason(
        "price-dominated-choice",
        Weight.WARN,
        f"{candidate} costs {usd(ours)} {_duration(candidate)}, {other} {usd(theirs)}"
        f" ({saved:.0%} less) and serves as well, on no more GPUs",
        f"instanceType: {other.instance.id}",
        {
            "costUsd": round(ours, 2),
            "otherCostUsd": round(theirs, 2),
            "savedPercent": round(saved * PERCENT, 1),
            "otherInstanceType": other.instance.id,
        },
    )


def previous_generation(candidate: Candidate) -> Iterator[Reason]:
    """A pinned type, though a newer GPU has no less of anything and costs no more."""
    if candidate.workload.instance_type is None or candidate.fit.verdict not in HOLDS:
        return
    from gpusize.resolving.cheaper import successor

    other = successor(candidate)
    if other is None:
        return
    ours, theirs = candidate.cost.hourly or 0.0, other.cost.hourly or 0.0
    yield Reason(
        "previous-generation",
        Weight.WARN,
        f"{other} is newer than {candidate}, with no less memory and bandwidth on each GPU, at"
        f" {price(theirs, other.cost.price_date)} in place of {price(ours)}",
        f"instanceType: {other.instance.id}",
        {
            "usdPerHour": round(ours, 4),
            "otherUsdPerHour": round(theirs, 4),
            "otherInstanceType": other.instance.id,
        },
    )


def oversized_gpu_for_work(candidate: Candidate) -> Iterator[Reason]:
    """Work that nobody waits for, on a GPU of far more memory than it needs."""
    demand, usable = candidate.demand, candidate.placement.usable_bytes
    if demand.is_service or demand.trains or candidate.workload.instance_type is None:
        return
    needed = _needed(candidate)
    if usable is None or needed is None or candidate.fit.verdict not in HOLDS:
        return
    if usable < needed * candidate.settings.oversized_memory:
        return
    from gpusize.resolving.cheaper import cheaper_by_work, work_cost

    other = cheaper_by_work(candidate)
    if other is None:
        return
    saved = 1 - (work_cost(other) or 0.0) / (work_cost(candidate) or 1.0)
    yield Reason(
        "oversized-gpu-for-work",
        Weight.ADVICE,
        f"{candidate} has {gib(usable)} per GPU and the work needs {gib(needed)}: {other} does it"
        f" at {price(other.cost.hourly, other.cost.price_date)} in place of"
        f" {price(candidate.cost.hourly)}, each piece for {saved:.0%} less",
        f"instanceType: {other.instance.id}",
        {
            "neededGib": in_gib(needed),
            "usableGib": in_gib(usable),
            "savedPercent": round(saved * PERCENT, 1),
            "otherInstanceType": other.instance.id,
        },
    )


def fractional_gpu_for_latency(candidate: Candidate) -> Iterator[Reason]:
    """Users wait for a slice of a GPU that other hosts share."""
    instance = candidate.instance
    if instance.partition >= 1 or not candidate.demand.user_facing:
        return
    from gpusize.resolving.cheaper import whole_gpu

    other = whole_gpu(candidate)
    part = round(1 / instance.partition)
    yield Reason(
        "fractional-gpu-for-latency",
        Weight.ADVICE,
        f"{instance.id} is 1/{part} of an {candidate.gpu.id}: its time on the GPU depends on what"
        " others do, and users wait for it",
        "" if other is None else _priced(other),
        {
            "partition": instance.partition,
            "instanceType": instance.id,
            **({} if other is None else {"otherInstanceType": other.instance.id}),
        },
    )


def _duration(candidate: Candidate) -> str:
    """For how long the compared amounts are."""
    if candidate.cost.total is None:
        return "per hour"
    demand = candidate.demand
    return "per month" if demand.is_service and demand.months is None else "in all"


def _priced(other: Candidate) -> str:
    cost = other.cost
    return f"instanceType: {other.instance.id} ({price(cost.hourly, cost.price_date)})"


def _needed(candidate: Candidate) -> int | None:
    """Bytes of one GPU with all sequences that are declared; None where they are not known."""
    fit, demand = candidate.fit, candidate.demand
    if fit.need is None or fit.cache is None:
        return fit.need
    kept = fit.term(Term.KV_CACHE) + fit.term(Term.RECURRENT_STATE)
    sequences = -(-demand.concurrency // candidate.placement.layout.dp)
    return fit.need - kept + fit.cache.bytes_for(demand.tokens_high, sequences)
