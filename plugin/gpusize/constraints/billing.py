"""Is the capacity bought in the way that suits the work, and within the budget."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.interruptions import survives_spot
from gpusize.workload import Market
from gpusize_catalog.units import HOURS_PER_MONTH, PERCENT, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate


def spot_for_user_facing(candidate: Candidate) -> Iterator[Reason]:
    """Users wait for capacity that AWS takes back within two minutes."""
    placement = candidate.placement
    if placement.market.value != "spot" or not candidate.demand.user_facing:
        return
    if candidate.study.till.purchase.on_demand_base:
        return
    yield Reason(
        "spot-for-user-facing",
        Weight.ERROR,
        f"a user-facing service on spot {placement.instance.id} stops two minutes after a notice",
        "market: on-demand",
        {"instanceType": placement.instance.id, "noticeSeconds": 120},
    )


def on_demand_for_fault_tolerant_batch(candidate: Candidate) -> Iterator[Reason]:
    """Work that may be interrupted pays the on-demand price though spot is much cheaper."""
    placement, demand, settings = candidate.placement, candidate.demand, candidate.settings
    if placement.market.value != "on-demand" or not demand.interruptible:
        return
    if demand.is_service or placement.capacity_reservation is not None:
        return
    survives = survives_spot(demand, settings, placement.instance.id, placement.nodes)
    if not survives or _keeps_off_spot(candidate):
        return
    saving = candidate.study.spot_saving(placement, settings.max_spot_age_days)
    if saving is None or saving.share < settings.min_spot_discount:
        return
    yield Reason(
        "on-demand-for-fault-tolerant-batch",
        Weight.WARN,
        f"on-demand {placement.instance.id} costs {usd(saving.on_demand)}/h, spot"
        f" {usd(saving.spot)}/h ({saving.share:.0%} less, price of {saving.date}),"
        " and this work may be interrupted",
        "market: spot",
        {
            "onDemandUsdPerHour": saving.on_demand,
            "spotUsdPerHour": saving.spot,
            "savingPercent": round(saving.share * PERCENT, 1),
            "priceDate": saving.date,
        },
    )


def _keeps_off_spot(candidate: Candidate) -> bool:
    """Whether capacity is bound on demand, or spot would be poor for a run of that length."""
    from gpusize.constraints.purchase import deadline_not_met, long_training_on_spot

    purchase = candidate.study.till.purchase
    if purchase.reserves or purchase.plan is not None:
        return True
    spot = candidate.bought(Market.SPOT)
    return any(any(rule(spot)) for rule in (long_training_on_spot, deadline_not_met))


def always_on_for_bursty(candidate: Candidate) -> Iterator[Reason]:
    """Declared replicas stay up all month for a few busy hours."""
    demand = candidate.demand
    if not demand.is_service or demand.scaling != "fixed" or not demand.replicas_min:
        return
    if demand.duty >= candidate.settings.low_duty:
        return
    idle = HOURS_PER_MONTH * (1 - demand.duty)
    hourly = candidate.cost.hourly
    money = "" if hourly is None else f", {usd(hourly * idle)} per month"
    count = demand.replicas_min
    replicas = "1 replica stays" if count == 1 else f"{count} replicas stay"
    yield Reason(
        "always-on-for-bursty",
        Weight.WARN,
        f"{replicas} up for traffic in {demand.duty:.0%} of the week: {idle:.0f} idle hours{money}",
        "replicas.min: 0, or traffic.shape: scheduled",
        {
            "dutyPercent": round(demand.duty * PERCENT, 1),
            "idleHoursPerMonth": round(idle),
            **({} if hourly is None else {"idleUsdPerMonth": round(hourly * idle, 2)}),
        },
    )


def price_unknown(candidate: Candidate) -> Iterator[Reason]:
    """There is no dated price, or no spot price fresh enough to compare with."""
    placement, demand = candidate.placement, candidate.demand
    price = candidate.study.quote(placement)
    if price.usd_per_hour is None:
        yield Reason("price-unknown", Weight.ADVICE, price.why_unknown)
    if placement.market.value != "on-demand" or not demand.interruptible or demand.is_service:
        return
    limit = candidate.settings.max_spot_age_days
    why = candidate.study.spot_doubt(placement, limit)
    if why:
        yield Reason("price-unknown", Weight.ADVICE, f"spot cannot be compared: {why}")


def hourly_budget_exceeded(candidate: Candidate) -> Iterator[Reason]:
    """The instances cost more per hour than the workload may."""
    declared = candidate.workload.budget.per_hour
    limit = _limit(candidate, declared, "max_hourly")
    if limit is not None:
        yield from _over(candidate, limit, candidate.cost.hourly, "hourly", "hour")


def monthly_budget_exceeded(candidate: Candidate) -> Iterator[Reason]:
    """A month costs more than the workload may."""
    declared = candidate.workload.budget.per_month
    limit = _limit(candidate, declared, "max_monthly")
    if limit is not None:
        amount = candidate.cost.monthly if limit.is_declared else month_of(candidate)
        yield from _over(candidate, limit, amount, "monthly", "month")


def run_budget_exceeded(candidate: Candidate) -> Iterator[Reason]:
    """A run costs more than the workload may, the interruptions of spot included."""
    declared = candidate.workload.budget.per_run
    limit = _limit(candidate, declared, "max_run")
    if limit is not None and (limit.is_declared or not candidate.demand.is_service):
        yield from _over(candidate, limit, run_of(candidate), "run", "run")


def run_of(candidate: Candidate) -> float | None:
    """USD of one run with the hours that interruptions of spot are expected to add.

    None where it is not known, and for a service, which has no runs.
    """
    from gpusize.resolving.interrupted import hours_in_market

    if candidate.demand.is_service:
        return None
    hours = hours_in_market(candidate)
    if hours is None or hours == candidate.run_hours:
        return candidate.cost.per_run
    return inf if hours == inf else candidate.bill(hours=hours).per_run


def month_of(candidate: Candidate) -> float | None:
    """USD of a month; bounded work that does not say how often it runs is taken to run once."""
    if candidate.demand.is_service or candidate.demand.runs_per_month is not None:
        return candidate.cost.monthly
    return run_of(candidate)


class _Limit(NamedTuple):
    """A ceiling in USD: the workload's own, or the team's."""

    usd: float
    is_declared: bool


def _limit(candidate: Candidate, declared: float | None, field: str) -> _Limit | None:
    """The lowest ceiling: what a stack may cost no workload of it may cost alone."""
    team = candidate.settings.team
    given = (getattr(team.per_workload, field), getattr(team, field))
    lowest = min((one for one in given if one is not None), default=None)
    if lowest is None or (declared is not None and declared <= lowest):
        return None if declared is None else _Limit(declared, is_declared=True)
    return _Limit(lowest, is_declared=False)


def _over(
    candidate: Candidate, limit: _Limit, amount: float | None, name: str, unit: str
) -> Iterator[Reason]:
    """What a ceiling says: an unknown price is not within it.

    Of the team's ceilings a run of unknown length, and what is bought where the catalog has no
    prices, is told once for a whole run, with its sums.
    """
    unpriced = candidate.catalog.has_prices and candidate.cost.hourly is None
    if amount is None and not limit.is_declared and not unpriced:
        return
    if amount is not None and amount <= limit.usd:
        return
    numbers: dict[str, Number] = {"budgetUsd": limit.usd, "instanceType": candidate.instance.id}
    if amount is not None and amount < inf:
        numbers["costUsd"] = round(amount, 4)
    whose = "the budget" if limit.is_declared else "the team's ceiling"
    yield Reason(
        f"{name}-budget-exceeded",
        Weight.ERROR,
        f"{candidate} costs {_amount(amount)} per {unit}, {whose} is {usd(limit.usd)}",
        numbers=numbers,
    )


def _amount(amount: float | None) -> str:
    if amount is None:
        return "an unknown amount"
    return "more than can be said" if amount == inf else usd(amount)
