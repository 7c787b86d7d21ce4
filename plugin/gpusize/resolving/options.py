"""The ways to buy a placement, worked out side by side for the declared duration."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING

from gpusize.interruptions import MINUTES
from gpusize.pricing.blocks import (
    DAY_HOURS,
    MOST_DAYS,
    MOST_INSTANCES,
    WEEKS_AHEAD,
    days_for,
    early_end_hours,
)
from gpusize.pricing.commitments import PLANS, YEARS, commitment_rate
from gpusize.pricing.options import Block, Gain, Option
from gpusize.pricing.purchase import NOTHING, Purchase
from gpusize.resolving.interrupted import interruptions_of
from gpusize.workload import Market

if TYPE_CHECKING:
    from gpusize.pricing import Cost
    from gpusize.resolving.candidate import Candidate

START = datetime.time(11, 30)
"""Hour of the day at which capacity blocks start and end, UTC. Source: catalog, billing terms."""
LONGEST_HOURS = 24 * 365 * 100
"""Runs of a century have no end."""
OF_TEAM = "prices.commitments of the settings file"
OF_AWS = "aws ec2 describe-capacity-block-offerings"
OF_RATE = "prices.spotInterruptions of the settings file"
OF_RUN = "runHours, or tokens of training"


def options_of(candidate: Candidate) -> tuple[Option, ...]:
    """Every way to buy the candidate's placement that is sold, the chosen one among them."""
    steady = _on_demand(candidate)
    found = [steady, _spot(candidate), _block(candidate), _reserved(candidate)]
    return (*(one for one in found if one), *_committed(candidate, steady))


def _sold(candidate: Candidate, market: Market) -> bool:
    instance = candidate.instance
    if market is candidate.placement.market:
        return True
    if market is Market.ON_DEMAND and instance.on_demand_statement:
        return False
    return not instance.usage_classes or market.value in instance.usage_classes


def _is_chosen(candidate: Candidate, market: Market, purchase: Purchase) -> bool:
    declared = candidate.study.till.purchase
    return market is candidate.placement.market and (purchase.plan, purchase.reserves) == (
        declared.plan,
        declared.reserves,
    )


def _on_demand(candidate: Candidate) -> Option | None:
    if not _sold(candidate, Market.ON_DEMAND):
        return None
    other = candidate.bought(Market.ON_DEMAND)
    return _option(other, "on-demand", other.bill(purchase=NOTHING), candidate.run_hours)._replace(
        is_chosen=_is_chosen(candidate, Market.ON_DEMAND, NOTHING)
    )


def _spot(candidate: Candidate) -> Option | None:
    if not _sold(candidate, Market.SPOT):
        return None
    other = candidate.bought(Market.SPOT)
    interrupted = interruptions_of(candidate)
    billed = interrupted.billed_hours
    hours = billed.likely if billed else None
    declared = candidate.study.till.purchase
    cost = other.bill(
        hours=hours if hours and isfinite(hours) else None,
        purchase=declared if candidate.placement.market is Market.SPOT else NOTHING,
    )
    option = _option(other, "spot", cost, hours)
    doubt: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    if interrupted.is_assumed:
        doubt = ("how often it is interrupted: the rate is assumed",), (OF_RATE,)
    return option._replace(
        is_chosen=candidate.placement.market is Market.SPOT,
        total=option.total if hours is None or isfinite(hours) else None,
        interrupted=interrupted,
        unknown=(*option.unknown, *doubt[0], *_waiting(candidate)),
        settled_by=(*option.settled_by, *doubt[1]),
    )


def _waiting(candidate: Candidate) -> tuple[str, ...]:
    return () if candidate.demand.is_service else ("how long a run waits for new capacity",)


def _block(candidate: Candidate) -> Option | None:
    """A block for bounded work; for a service only where one is declared."""
    market = Market.CAPACITY_BLOCK
    declared = candidate.study.till.purchase
    is_chosen = candidate.placement.market is market
    if not _sold(candidate, market) or (candidate.demand.is_service and not is_chosen):
        return None
    other = candidate.bought(market)
    hours = candidate.run_hours
    early = early_end_hours(candidate.instance)
    setup = candidate.study.till.setup_hours
    days = declared.block_days
    if days is None and hours is not None:
        days = days_for(hours, early, setup)
    cost = other.bill(purchase=declared if is_chosen else NOTHING)
    option = _option(other, "capacity-block", cost, hours)._replace(is_chosen=is_chosen)
    unknown, settled = [*option.unknown], [*option.settled_by]
    block = candidate.workload.capacity_block
    start = (block.start if block else None) or ""
    if not start:
        unknown.append(f"its start: offers reach {WEEKS_AHEAD} weeks ahead, price and zone differ")
        settled.append(OF_AWS)
    if days is None:
        return option._replace(unknown=tuple(unknown), settled_by=tuple(settled))
    if days > MOST_DAYS:
        unknown.append(f"no block is longer than {MOST_DAYS} days, the run needs {days}")
        option = option._replace(total=None)
    machines = declared.block_instances or candidate.placement.bought(candidate.demand.replicas)
    unused = None if hours is None else days * DAY_HOURS - early - setup - hours
    first = datetime.date.fromisoformat(start) if start else None
    return option._replace(
        block=Block(
            days,
            -(-machines // MOST_INSTANCES),
            None if cost.hourly is None else cost.hourly * days * DAY_HOURS,
            unused,
            early * MINUTES,
            start,
        ),
        finish=_day(first, hours) if first else option.finish,
        unknown=tuple(unknown),
        settled_by=tuple(settled),
    )


def _reserved(candidate: Candidate) -> Option | None:
    """On-demand capacity that is held: billed like running instances, used or not."""
    if not _sold(candidate, Market.ON_DEMAND):
        return None
    other = candidate.bought(Market.ON_DEMAND)
    declared = candidate.study.till.purchase
    purchase = declared if declared.reserves else Purchase(reserves=True)
    option = _option(other, "capacity-reservation", other.bill(purchase=purchase), other.run_hours)
    return option._replace(is_chosen=_is_chosen(candidate, Market.ON_DEMAND, purchase), against=())


def _committed(candidate: Candidate, steady: Option | None) -> Iterator[Option]:
    """Plans of one and three years: for a service, and where one is declared."""
    declared = candidate.study.till.purchase
    lasts = candidate.demand.is_service or candidate.demand.runs_per_month is not None
    if steady is None or not (lasts or declared.plan):
        return
    other = candidate.bought(Market.ON_DEMAND)
    for plan in PLANS:
        for years in YEARS:
            is_declared = (declared.plan, declared.years) == (plan, years)
            if lasts or is_declared:
                yield _plan(other, steady, plan, years)._replace(is_chosen=is_declared)


def _plan(candidate: Candidate, steady: Option, plan: str, years: int) -> Option:
    name = f"{plan}-{years}y"
    rate = commitment_rate(candidate.study.till, candidate.instance.id, plan, years)
    gain = Gain(plan, years, None, None)
    if rate.usd_per_hour is None:
        return Option(
            name,
            False,
            None,
            None,
            "",
            "",
            gain=gain,
            unknown=(rate.why_unknown,),
            settled_by=(OF_TEAM,),
        )
    purchase = Purchase(plan=plan, years=years)
    cost, plain = candidate.bill(purchase=purchase), candidate.bill(purchase=NOTHING)
    pays = break_even_months(cost, plain, purchase.term_months)
    months = candidate.demand.months
    saving = None
    if months is not None and steady.total is not None and cost.total is not None:
        saving = steady.total - cost.total
    option = _option(candidate, name, cost, candidate.run_hours)
    unknown = () if months is not None else ("the saving: horizonMonths is not declared",)
    return option._replace(
        gain=Gain(plan, years, pays, saving),
        unknown=(*option.unknown, *unknown),
        settled_by=(*option.settled_by, *(("horizonMonths",) if unknown else ())),
    )


def break_even_months(committed: Cost, steady: Cost, term: int) -> float | None:
    """Months of the declared use after which a whole commitment costs less than on-demand."""
    if committed.compute_monthly is None or not steady.compute_monthly:
        return None
    return committed.compute_monthly * term / steady.compute_monthly


def _option(candidate: Candidate, name: str, cost: Cost, hours: float | None) -> Option:
    """What all ways to buy have; `hours` are of one run, interruptions included."""
    demand = candidate.demand
    unknown, settled = list(cost.unknowns), []
    if not demand.is_service and hours is None:
        settled.append(OF_RUN)
    ends = hours is not None and isfinite(hours) and not demand.is_service
    meets = None
    if demand.deadline_hours is not None and hours is not None:
        meets = hours <= demand.deadline_hours
    return Option(
        name,
        False,
        cost.hourly,
        cost.total,
        cost.price_date,
        cost.price_source,
        finish_hours=hours if ends else None,
        finish=_day(candidate.today, hours) if ends else "",
        meets_deadline=meets,
        idle=cost.idle,
        against=_against(candidate),
        unknown=tuple(unknown),
        settled_by=tuple(settled),
    )


def _against(candidate: Candidate) -> tuple[str, ...]:
    """What speaks against the market of a candidate."""
    from gpusize.constraints import MARKET

    return tuple(
        dict.fromkeys(reason.name for rule in MARKET.values() for reason in rule(candidate))
    )


def _day(start: datetime.date, hours: float | None) -> str:
    """The day on which so many hours end that begin on another, at the time blocks start."""
    if hours is None or hours > LONGEST_HOURS:
        return ""
    begin = datetime.datetime.combine(start, START)
    return (begin + datetime.timedelta(hours=hours)).date().isoformat()
