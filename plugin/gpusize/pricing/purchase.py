"""How a declaration says that its capacity is bought, and how many hours that makes it pay for."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, NamedTuple

from gpusize.pricing.blocks import DAY_HOURS, block_hours
from gpusize_catalog.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from gpusize.resolving.demand import Demand
    from gpusize.workload import Workload

YEAR_MONTHS = 12


class Purchase(NamedTuple):
    """The declared ways of buying; None: not declared."""

    on_demand_base: int = 0
    """Replicas that are always on demand, where the market is spot."""
    spot_share: float = 1.0
    """Part of the others that is spot."""
    plan: str | None = None
    """Commitment: savings-plan or reserved-instance."""
    years: int = 1
    block_days: int | None = None
    block_instances: int | None = None
    reserves: bool = False
    """Whether on-demand capacity is reserved for the work."""
    reserved_instances: int | None = None
    reserved_hours: float | None = None
    """Hours from today to the end of the reservation; None: open."""

    @property
    def term_months(self) -> int:
        """Months of the commitment."""
        return self.years * YEAR_MONTHS

    def spot_replicas(self, replicas: int) -> int:
        """Replicas that are spot where the market is; on-demand ones are rounded up."""
        return int(max(0, replicas - self.on_demand_base) * self.spot_share)


NOTHING = Purchase()


def purchase_of(workload: Workload, today: datetime.date) -> Purchase:
    """Read how the capacity of a workload is bought."""
    block, reserve, commitment = workload.capacity_block, workload.reserve, workload.commitment
    replicas = getattr(workload, "replicas", None)
    base = replicas.on_demand_base if replicas else None
    share = replicas.spot_share if replicas else None
    if not (block or reserve or commitment or base or share is not None):
        return NOTHING
    plan = commitment.plan.value if commitment else "none"
    return Purchase(
        on_demand_base=base or 0,
        spot_share=1.0 if share is None else share,
        plan=None if plan == "none" else plan,
        years=commitment.years if commitment else 1,
        block_days=block.days if block else None,
        block_instances=block.instances if block else None,
        reserves=reserve is not None,
        reserved_instances=reserve.instances if reserve else None,
        reserved_hours=_hours_until(reserve.until if reserve else None, today),
    )


def _hours_until(day: str | None, today: datetime.date) -> float | None:
    from gpusize.days import day_of

    end = day_of(day) if day else None
    return None if end is None else max(0.0, (end - today).days * DAY_HOURS)


class Terms(NamedTuple):
    """So many instances at a price, bought in one way."""

    unit: float
    """USD of an instance-hour, committed where there is a commitment."""
    machines: int
    """Instances that the work takes."""
    nodes: int = 1
    """Instances of one replica."""
    is_block: bool = False
    early_end: float = 0.0
    setup: float = 0.0
    """Hours between launch and work that a block must have room for."""
    purchase: Purchase = NOTHING
    steady: float | None = None
    """USD of an on-demand instance-hour, for replicas that are no spot."""
    bought: int = 0
    """Instances that are bought with those of the work: whole UltraServers."""

    @property
    def paid(self) -> int:
        """Instances that are paid for while the work runs."""
        purchase = self.purchase
        if self.is_block:
            return max(purchase.block_instances or self.machines, self.bought)
        if purchase.reserves:
            return max(self.machines, self.held)
        base = purchase.on_demand_base * self.nodes
        return max(self.machines, base)

    @property
    def held(self) -> int:
        """Instances that a reservation holds."""
        return self.purchase.reserved_instances or self.machines

    @property
    def hourly(self) -> float | None:
        """USD per hour while the work runs; None where a part of the price is not known."""
        purchase = self.purchase
        if not purchase.on_demand_base and purchase.spot_share >= 1:
            return self.unit * self.paid
        if self.steady is None:
            return None
        spot = purchase.spot_replicas(self.machines // self.nodes) * self.nodes
        return self.unit * spot + self.steady * (self.paid - spot)

    @property
    def block_hours_declared(self) -> float | None:
        """Hours of the declared block; None where none is declared."""
        days = self.purchase.block_days
        return None if days is None else float(days * DAY_HOURS)


class Paid(NamedTuple):
    """USD of instances alone; None: not known."""

    hourly: float | None
    monthly: float | None
    per_run: float | None
    total: float | None


UNPAID = Paid(None, None, None, None)


def paid_by_service(terms: Terms, demand: Demand) -> Paid:
    """What a service pays: the hours that it is up, or those that it has bound itself to."""
    hourly = terms.hourly
    if hourly is None:
        return UNPAID
    purchase, up = terms.purchase, demand.hours_up
    months = demand.months or 1.0
    monthly = hourly * HOURS_PER_MONTH * up
    if terms.is_block:
        hours = terms.block_hours_declared
        monthly = hourly * min(hours or HOURS_PER_MONTH, HOURS_PER_MONTH)
        total = hourly * HOURS_PER_MONTH * months if hours is None else hourly * hours
        return Paid(hourly, monthly, None, total)
    if purchase.plan is not None:
        monthly = hourly * HOURS_PER_MONTH
        months = max(months, purchase.term_months)
    elif purchase.reserves:
        rest = max(0, terms.machines - terms.held)
        monthly = terms.unit * HOURS_PER_MONTH * (terms.held + rest * up)
    return Paid(hourly, monthly, None, monthly * months)


def paid_by_run(terms: Terms, hours: float, runs: float | None) -> Paid:
    """What bounded work pays for a run of so many hours, and for a month of runs where declared."""
    hourly, purchase = terms.hourly, terms.purchase
    if hourly is None:
        return UNPAID
    per_run = hourly * _hours_of_run(terms, hours)
    if purchase.plan is not None:
        monthly = hourly * HOURS_PER_MONTH
        total = monthly * purchase.term_months
        return Paid(hourly, monthly, total if runs is None else monthly / runs, total)
    if purchase.reserves and not terms.is_block:
        held, rest = terms.held, max(0, terms.machines - terms.held)
        end = purchase.reserved_hours
        reserved = hours if end is None else max(hours, end)
        per_run = terms.unit * (held * reserved + rest * hours)
        if runs is None:
            return Paid(hourly, None, per_run, per_run)
        in_month = HOURS_PER_MONTH if end is None else min(HOURS_PER_MONTH, reserved)
        monthly = terms.unit * (held * max(in_month, hours * runs) + rest * hours * runs)
        return Paid(hourly, monthly, monthly / runs, monthly)
    if runs is None:
        return Paid(hourly, None, per_run, per_run)
    return Paid(hourly, per_run * runs, per_run, per_run * runs)


def _hours_of_run(terms: Terms, hours: float) -> float:
    if not terms.is_block:
        return hours
    return terms.block_hours_declared or block_hours(hours, terms.early_end, terms.setup)
