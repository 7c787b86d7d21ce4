"""Does a capacity block suit the work: AWS sells it by days, and takes its instances back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.pricing.blocks import (
    DAY_HOURS,
    MOST_DAYS,
    MOST_INSTANCES,
    days_for,
    early_end_hours,
    is_sold,
    nearest_days,
)
from gpusize.workload import Market
from gpusize_catalog.units import figure, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

TOO_LONG = 2
"""A block of so many times the days that the run takes is mostly waste."""


def days_that_hold(candidate: Candidate, hours: float) -> int:
    """Days of a block that hold a run even if it takes as long as its estimate may be wrong."""
    span = candidate.timing.hours_range
    longest = max(hours, span[1]) if span else hours
    early, setup = early_end_hours(candidate.instance), candidate.study.till.setup_hours
    return days_for(longest, early, setup)


def short_of_block(candidate: Candidate) -> Iterator[Reason]:
    """The run takes a small part of the declared block."""
    till, hours = candidate.study.till, candidate.run_hours
    days = till.purchase.block_days
    if days is None or hours is None:
        return
    needed = days_that_hold(candidate, hours)
    if days < TOO_LONG * needed:
        return
    idle = candidate.cost.idle
    money = "" if idle is None else f", {usd(idle)} of it idle"
    yield Reason(
        "commitment-for-short-run",
        Weight.ERROR,
        f"a block of {days} days for a run of {figure(hours)} h{money}",
        f"capacityBlock: {{days: {needed}}}",
        {"days": days, "neededDays": needed, "runHours": round(hours, 1)},
    )


def capacity_block_shorter_than_run(candidate: Candidate) -> Iterator[Reason]:
    """The instances of a declared block are terminated before the run ends."""
    till, hours = candidate.study.till, candidate.run_hours
    days = till.purchase.block_days
    if days is None or hours is None or candidate.placement.market is not Market.CAPACITY_BLOCK:
        return
    early, setup = early_end_hours(candidate.instance), till.setup_hours
    usable = days * DAY_HOURS - early - setup
    if hours <= usable:
        return
    needed = days_that_hold(candidate, hours)
    span = candidate.timing.hours_range
    band = f" ({figure(span[0])} to {figure(span[1])} h)" if span else ""
    yield Reason(
        "capacity-block-shorter-than-run",
        Weight.ERROR,
        f"a block of {days} days has {figure(usable, 4)} h of work (start {figure(setup, 2)} h,"
        f" terminated {figure(early, 6)} h early),"
        f" the run on {candidate} takes {figure(hours, 4)} h{band}",
        f"capacityBlock: {{days: {needed}}}" if is_sold(needed) else "more nodes, or two blocks",
        {"days": days, "usableHours": round(usable, 2), "runHours": round(hours, 2)},
    )


def capacity_block_invalid_duration(candidate: Candidate) -> Iterator[Reason]:
    """AWS sells no block of that length or size."""
    till, hours, placement = candidate.study.till, candidate.run_hours, candidate.placement
    if placement.market is not Market.CAPACITY_BLOCK:
        return
    days = till.purchase.block_days
    if placement.capacity_reservation is not None and days is None:
        return
    early = early_end_hours(candidate.instance)
    needed = 1 if hours is None else days_for(hours, early, till.setup_hours)
    if days is None and hours is not None:
        days = needed
    if days is not None and not is_sold(days):
        near = max(nearest_days(days), needed)
        yield Reason(
            "capacity-block-invalid-duration",
            Weight.ERROR,
            f"no block of {days} days is sold: 1 to 14 days, then weeks up to {MOST_DAYS} days",
            f"capacityBlock: {{days: {near}}}"
            if is_sold(near)
            else "more nodes: no block holds it",
            {"days": days, "nearestDays": near},
        )
    machines = till.purchase.block_instances or placement.bought(candidate.demand.replicas)
    if machines > MOST_INSTANCES:
        yield Reason(
            "capacity-block-invalid-duration",
            Weight.ERROR,
            f"no block of {machines} instances is sold, {MOST_INSTANCES} are the most",
            "several blocks, one per workload",
            {"instances": machines, "mostInstances": MOST_INSTANCES},
        )


def capacity_block_for_serving(candidate: Candidate) -> Iterator[Reason]:
    """A service that users wait for ends with its block."""
    demand = candidate.demand
    if candidate.placement.market is not Market.CAPACITY_BLOCK:
        return
    if not (demand.is_service and demand.user_facing):
        return
    days = candidate.study.till.purchase.block_days
    when = "the block" if days is None else f"its block of {days} days"
    numbers: dict[str, Number] = {"instanceType": candidate.instance.id}
    if days is not None:
        numbers["days"] = days
    yield Reason(
        "capacity-block-for-serving",
        Weight.WARN,
        f"the service on {candidate.instance.id} ends with {when}, which is paid up front and"
        " cannot be cancelled",
        "market: on-demand with reserve, and a commitment",
        numbers,
    )
