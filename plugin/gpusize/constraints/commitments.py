"""Does what is bound for a long time pay off in the work, and would it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.blocks import short_of_block
from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.pricing.commitments import MOST_DISCOUNT, commitment_rate
from gpusize.wording import pays_off
from gpusize.workload import Market
from gpusize_catalog.units import HOURS_PER_MONTH, figure, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

TERM_MONTHS = 12
"""Months of the shortest commitment: no unknown rate is worth asking for below."""


def commitment_for_short_run(candidate: Candidate) -> Iterator[Reason]:
    """What was bound for a long time is used for a short one."""
    yield from _short_of_plan(candidate)
    yield from short_of_block(candidate)


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
    lasts = "declared use" if months is None else f"{figure(months, 2)} months of use"
    numbers: dict[str, Number] = {
        "breakEvenMonths": round(pays, 1),
        "termMonths": purchase.term_months,
    }
    if months is not None:
        numbers["months"] = round(months, 2)
    yield Reason(
        "commitment-for-short-run",
        Weight.ERROR,
        f"a {purchase.years}-year {purchase.plan} for {lasts}"
        f" {pays_off(pays, purchase.term_months)} {basis}",
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
            f"{figure(months, 6)} months on demand cost {usd(monthly * months)},"
            f" a {best.name} pays off"
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
            f"{figure(months, 6)} months on demand cost {usd(monthly * months)};"
            " a commitment may pay off,"
            f" its rate for {candidate.instance.id} is not known",
            "put the rate into prices.commitments of the settings file",
            {"onDemandUsd": round(monthly * months, 2), "months": months},
        )
