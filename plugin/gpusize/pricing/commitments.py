"""Commitments for one or three years: their rates, and after how long they pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.pricing.quotes import OF_SETTINGS, Quote
from gpusize_catalog.facts import PriceType
from gpusize_catalog.units import HOURS_PER_MONTH, PERCENT

if TYPE_CHECKING:
    from gpusize.pricing.till import Till

YEAR_MONTHS = 12
RESERVED = "reserved-instance"
SAVINGS = "savings-plan"
PLANS = (SAVINGS, RESERVED)
YEARS = (1, 3)
"""Terms that AWS sells. Source: catalog, billing terms."""
MOST_DISCOUNT = 0.72
"""No commitment is cheaper than on-demand by more, whatever its rate: "up to 72%" is what AWS says
of EC2 Instance Savings Plans and of reserved instances (its price pages, from memory)."""
_LISTED = {1: PriceType.RESERVED_1Y, 3: PriceType.RESERVED_3Y}


class Commitment(NamedTuple):
    """What a one- or three-year commitment would change."""

    plan: str
    years: int
    usd_per_hour: float
    date: str
    source: str
    monthly: float
    """USD of instances: every hour is paid for."""
    break_even_months: float
    """Months of use after which the whole commitment costs less than paying on demand."""

    @property
    def months(self) -> int:
        """Months of its term."""
        return self.years * YEAR_MONTHS

    @property
    def name(self) -> str:
        """The plan with its term: `reserved-instance-3y`."""
        return f"{self.plan}-{self.years}y"


def commitment_rate(till: Till, instance_type: str, plan: str, years: int) -> Quote:
    """The price of one committed instance-hour: as the settings say, else as the catalog lists.

    AWS publishes rates of savings plans behind an account only, so the catalog has none of them.
    """
    own = till.prices.commitment(plan, years, instance_type, till.region)
    if own is not None:
        return _own(till, instance_type, own.usd_per_hour, own.percent)
    if plan == RESERVED:
        found = till.quote(instance_type, _LISTED[years].value)
        if found.usd_per_hour is not None:
            return found
    return Quote(
        None,
        "",
        "",
        f"the rate of a {years}-year {plan} for {instance_type} in {till.region} is not known",
    )


def _own(till: Till, instance_type: str, usd: float | None, percent: float | None) -> Quote:
    steady = till.quote(instance_type, PriceType.ON_DEMAND.value)
    if usd is not None:
        return Quote(usd, till.today.isoformat(), OF_SETTINGS, "")
    if steady.usd_per_hour is None:
        return steady
    return Quote(
        steady.usd_per_hour * (1 - (percent or 0.0) / PERCENT), steady.date, OF_SETTINGS, ""
    )


def commitments(
    till: Till, instance_type: str, machines: int, monthly: float
) -> tuple[Commitment, ...]:
    """The commitments whose rate is known, beside an on-demand cost of instances per month."""
    found = []
    for plan in PLANS:
        for years in YEARS:
            rate = commitment_rate(till, instance_type, plan, years)
            if rate.usd_per_hour is None:
                continue
            committed = rate.usd_per_hour * machines * HOURS_PER_MONTH
            months = years * YEAR_MONTHS
            pays = committed * months / monthly if monthly else float("inf")
            found.append(
                Commitment(plan, years, rate.usd_per_hour, rate.date, rate.source, committed, pays)
            )
    return tuple(found)
