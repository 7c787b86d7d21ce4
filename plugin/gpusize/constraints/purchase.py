"""Does the way that capacity is bought suit the length of the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.blocks import days_that_hold
from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.interruptions import SHORT_RUN_HOURS
from gpusize.pricing.blocks import DAY_HOURS, MOST_DAYS
from gpusize.resolving.interrupted import hours_in_market
from gpusize.workload import Kind, Market
from gpusize_catalog.units import HOURS_PER_MONTH, figure, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

WEEKEND_HOURS = 60.0
"""From Friday evening, 18:00, to Monday morning, 6:00."""
SCARCE = Market.CAPACITY_BLOCK.value
"""AWS sells blocks of the types whose capacity it has too little of to sell otherwise."""


def long_training_on_spot(candidate: Candidate) -> Iterator[Reason]:
    """A long run on spot capacity of a type that is hard to get back."""
    demand, instance = candidate.demand, candidate.instance
    if not demand.trains or candidate.placement.market is not Market.SPOT:
        return
    if SCARCE not in instance.usage_classes:
        return
    hours = candidate.run_hours
    is_whole = demand.kind is Kind.PRE_TRAINING
    limit = SHORT_RUN_HOURS if is_whole else candidate.settings.long_spot_hours
    if (hours is None and not is_whole) or (hours is not None and hours <= limit):
        return
    long = "a pre-training of unknown length" if hours is None else f"a run of {figure(hours)} h"
    numbers: dict[str, Number] = {"instanceType": instance.id, "limitHours": limit}
    if hours is not None:
        numbers["runHours"] = round(hours, 1)
    yield Reason(
        "long-training-on-spot",
        Weight.WARN,
        f"{long} on spot {instance.id}: each interruption waits for capacity that is scarce",
        "market: on-demand, or capacityBlock with its days",
        numbers,
    )


def pretraining_without_reservation(candidate: Candidate) -> Iterator[Reason]:
    """A large pre-training counts on capacity that nobody holds for it."""
    demand, placement, workload = candidate.demand, candidate.placement, candidate.workload
    hours = candidate.run_hours
    if demand.kind is not Kind.PRE_TRAINING or hours is None:
        return
    if placement.market is Market.CAPACITY_BLOCK or workload.reserve is not None:
        return
    gpu_hours = hours * placement.gpus
    limit = candidate.settings.reserve_from_gpu_hours
    if placement.capacity_reservation is not None or gpu_hours < limit:
        return
    fix = "reserve: {}, or an id as capacityReservation"
    if SCARCE in candidate.instance.usage_classes:
        days = days_that_hold(candidate, hours)
        if days <= MOST_DAYS:
            fix = f"capacityBlock: {{days: {days}}}"
    yield Reason(
        "pretraining-without-reservation",
        Weight.ERROR,
        f"{gpu_hours:,.0f} GPU-hours of pre-training on {placement.market.value} {candidate} have"
        f" no capacity of their own (needed from {limit:,.0f} on)",
        fix,
        {
            "gpuHours": round(gpu_hours),
            "limitGpuHours": limit,
            "instanceType": candidate.instance.id,
            "market": placement.market.value,
        },
    )


def no_auto_stop(candidate: Candidate) -> Iterator[Reason]:
    """Nothing stops dear instances when a run is over, and forgetting them costs more than it.

    A block ends by itself. An instance is forgotten until the next run where runs recur, else over
    a weekend; where that costs less than the run, or little, advice on each run would be noise.
    """
    hourly, hours, demand = candidate.cost.hourly, candidate.run_hours, candidate.demand
    if demand.is_service or hourly is None or hours is None:
        return
    stop = getattr(candidate.workload, "auto_stop", None)
    if stop is not None or candidate.placement.market is Market.CAPACITY_BLOCK:
        return
    gap = WEEKEND_HOURS
    if demand.runs_per_month is not None:
        gap = HOURS_PER_MONTH / demand.runs_per_month - hours
    if gap <= hours or hourly * gap < candidate.settings.forgotten_usd:
        return
    until = "over a weekend" if demand.runs_per_month is None else "until the next run"
    yield Reason(
        "no-auto-stop",
        Weight.ADVICE,
        f"nothing stops {candidate} after its {figure(hours)} h: forgotten {until} it costs"
        f" {usd(hourly * gap)} more",
        "autoStop: {idleMinutes: 30}, or maxHours",
        {
            "forgottenUsd": round(hourly * gap, 2),
            "forgottenHours": round(gap, 1),
            "instanceType": candidate.instance.id,
        },
    )


def odcr_paid_while_idle(candidate: Candidate) -> Iterator[Reason]:
    """Reserved capacity is billed without work: it has no end, or is larger than what runs."""
    purchase = candidate.study.till.purchase
    if not purchase.reserves:
        return
    placement, demand = candidate.placement, candidate.demand
    machines = placement.nodes * demand.replicas
    held = purchase.reserved_instances or machines
    price = candidate.study.quote(placement).usd_per_hour
    if held > machines:
        idle = held - machines
        yield _idle_reservation(
            f"{idle} of {held} reserved instances are not used",
            f"reserve: {{instances: {machines}}}",
            None if price is None else price * idle,
        )
    if not demand.is_service and purchase.reserved_hours is None:
        yield _idle_reservation(
            "the reservation has no end, the work has",
            "reserve.until, the day on which the work is done",
            None if price is None else price * held,
        )


def _idle_reservation(text: str, fix: str, hourly: float | None) -> Reason:
    money = "" if hourly is None else f": {usd(hourly)}/h, {usd(hourly * DAY_HOURS)} a day"
    numbers: dict[str, Number] = {}
    if hourly is not None:
        numbers["idleUsdPerHour"] = round(hourly, 4)
    return Reason("odcr-paid-while-idle", Weight.WARN, f"{text}{money}", fix, numbers)


def deadline_not_met(candidate: Candidate) -> Iterator[Reason]:
    """The run ends after its deadline, interruptions included."""
    limit = candidate.demand.deadline_hours
    if limit is None:
        return
    hours = hours_in_market(candidate)
    if hours is None or hours <= limit:
        return
    market = candidate.placement.market
    with_stops = " with its interruptions" if market is Market.SPOT else ""
    takes = "has no end" if hours == float("inf") else f"takes {figure(hours)} h"
    numbers: dict[str, Number] = {"deadlineHours": limit, "instanceType": candidate.instance.id}
    if hours != float("inf"):
        numbers["runHours"] = round(hours, 1)
    yield Reason(
        "deadline-not-met",
        Weight.WARN,
        f"the run on {market.value} {candidate} {takes}{with_stops},"
        f" the deadline is {figure(limit, 6)} h",
        "" if market is not Market.SPOT else "market: on-demand",
        numbers,
    )
