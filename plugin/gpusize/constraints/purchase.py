"""Does the way that capacity is bought suit the length of the work, and what is bought besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.interruptions import SHORT_RUN_HOURS
from gpusize.pricing.blocks import (
    DAY_HOURS,
    MOST_DAYS,
    MOST_INSTANCES,
    days_for,
    early_end_hours,
    is_sold,
    nearest_days,
)
from gpusize.pricing.commitments import MOST_DISCOUNT, commitment_rate
from gpusize.resolving.interrupted import hours_in_market
from gpusize.workload import Kind, Market
from gpusize_catalog.units import HOURS_PER_MONTH, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

TOO_LONG = 2
"""A block of so many times the days that the run takes is mostly waste."""
TERM_MONTHS = 12
"""Months of the shortest commitment: no unknown rate is worth asking for below."""
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
    long = "a pre-training of unknown length" if hours is None else f"a run of {hours:.3g} h"
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
        days = _days_that_hold(candidate, hours)
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


def _days_that_hold(candidate: Candidate, hours: float) -> int:
    """Days of a block that hold a run even if it takes as long as its estimate may be wrong."""
    span = candidate.timing.hours_range
    longest = max(hours, span[1]) if span else hours
    early, setup = early_end_hours(candidate.instance), candidate.study.till.setup_hours
    return days_for(longest, early, setup)


def commitment_for_short_run(candidate: Candidate) -> Iterator[Reason]:
    """What was bound for a long time is used for a short one."""
    yield from _short_of_plan(candidate)
    yield from _short_of_block(candidate)


def _short_of_plan(candidate: Candidate) -> Iterator[Reason]:
    till, demand = candidate.study.till, candidate.demand
    purchase, name = till.purchase, candidate.instance.id
    steady = till.quote(name, Market.ON_DEMAND.value).usd_per_hour
    used = _use(candidate)
    if purchase.plan is None or steady is None or used is None:
        return
    share, months = used
    rate = commitment_rate(till, name, purchase.plan, purchase.years)
    part = 1 - MOST_DISCOUNT if rate.usd_per_hour is None else rate.usd_per_hour / steady
    pays = purchase.term_months * part / share
    if pays <= (purchase.term_months if months is None else months):
        return
    basis = "at its rate"
    if rate.usd_per_hour is None:
        basis = f"at the largest discount of all ({MOST_DISCOUNT:.0%}; its rate is not known)"
    lasts = "declared use" if months is None else f"{months:.2g} months of use"
    numbers: dict[str, Number] = {
        "breakEvenMonths": round(pays, 1),
        "termMonths": purchase.term_months,
    }
    if months is not None:
        numbers["months"] = round(months, 2)
    never = pays > purchase.term_months
    when = "never pays off" if never else f"pays off after {pays:.1f} months"
    yield Reason(
        "commitment-for-short-run",
        Weight.ERROR,
        f"a {purchase.years}-year {purchase.plan} for {lasts} {when} of its"
        f" {purchase.term_months} {basis}",
        "commitment: none" if demand.is_service else "commitment: none, or a capacity block",
        numbers,
    )


def _use(candidate: Candidate) -> tuple[float, float | None] | None:
    """Share of the hours in which the work runs, and its months; None: not known."""
    demand, hours = candidate.demand, candidate.run_hours
    if demand.is_service:
        return demand.hours_up, demand.months
    if hours is None:
        return None
    if demand.runs_per_month is None:
        return 1.0, hours / HOURS_PER_MONTH
    return min(1.0, hours * demand.runs_per_month / HOURS_PER_MONTH), None


def _short_of_block(candidate: Candidate) -> Iterator[Reason]:
    till, hours = candidate.study.till, candidate.run_hours
    days = till.purchase.block_days
    if days is None or hours is None:
        return
    needed = _days_that_hold(candidate, hours)
    if days < TOO_LONG * needed:
        return
    idle = candidate.cost.idle
    money = "" if idle is None else f", {usd(idle)} of it idle"
    yield Reason(
        "commitment-for-short-run",
        Weight.ERROR,
        f"a block of {days} days for a run of {hours:.3g} h{money}",
        f"capacityBlock: {{days: {needed}}}",
        {"days": days, "neededDays": needed, "runHours": round(hours, 1)},
    )


def steady_serving_on_demand(candidate: Candidate) -> Iterator[Reason]:
    """A service that is always up pays the price of capacity that may go at any time.

    Speaks where a known rate pays off within the horizon; where rates are not known only on
    horizons that the shortest commitment fits in.
    """
    demand, cost = candidate.demand, candidate.cost
    is_steady = demand.is_service and demand.user_facing and demand.months is not None
    if not is_steady or candidate.placement.market is not Market.ON_DEMAND:
        return
    if demand.hours_up < candidate.settings.steady_duty or candidate.study.till.purchase.plan:
        return
    months, monthly = demand.months or 0.0, cost.compute_monthly
    if monthly is None:
        return
    paying = [
        (monthly * months - one.monthly * max(months, one.months), one)
        for one in cost.commitments
        if one.break_even_months <= months
    ]
    if paying:
        saving, best = max(paying, key=lambda pair: pair[0])
        yield Reason(
            "steady-serving-on-demand",
            Weight.ADVICE,
            f"{months:g} months on demand cost {usd(monthly * months)}, a {best.name} pays off"
            f" after {best.break_even_months:.1f} and saves {usd(saving)}",
            f"commitment: {{plan: {best.plan}, years: {best.years}}}",
            {
                "breakEvenMonths": round(best.break_even_months, 1),
                "savingUsd": round(saving, 2),
                "plan": best.plan,
                "years": best.years,
            },
        )
    elif months >= TERM_MONTHS:
        yield Reason(
            "steady-serving-on-demand",
            Weight.ADVICE,
            f"{months:g} months on demand cost {usd(monthly * months)}; a commitment may pay off,"
            f" its rate for {candidate.instance.id} is not known",
            "put the rate into prices.commitments of the settings file",
            {"onDemandUsd": round(monthly * months, 2), "months": months},
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
    needed = _days_that_hold(candidate, hours)
    span = candidate.timing.hours_range
    band = f" ({span[0]:.3g} to {span[1]:.3g} h)" if span else ""
    yield Reason(
        "capacity-block-shorter-than-run",
        Weight.ERROR,
        f"a block of {days} days has {usable:.4g} h of work (start {setup:.2g} h, terminated"
        f" {early:g} h early), the run on {candidate} takes {hours:.4g} h{band}",
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
        f"nothing stops {candidate} after its {hours:.3g} h: forgotten {until} it costs"
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
    takes = "has no end" if hours == float("inf") else f"takes {hours:.3g} h"
    numbers: dict[str, Number] = {"deadlineHours": limit, "instanceType": candidate.instance.id}
    if hours != float("inf"):
        numbers["runHours"] = round(hours, 1)
    yield Reason(
        "deadline-not-met",
        Weight.WARN,
        f"the run on {market.value} {candidate} {takes}{with_stops}, the deadline is {limit:g} h",
        "" if market is not Market.SPOT else "market: on-demand",
        numbers,
    )
