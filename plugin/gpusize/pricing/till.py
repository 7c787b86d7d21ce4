"""The sum: instances as they are bought, storage and traffic, for the declared duration."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.pricing.blocks import early_end_hours
from gpusize.pricing.commitments import Commitment, commitment_rate, commitments
from gpusize.pricing.purchase import (
    UNPAID,
    Paid,
    Purchase,
    Terms,
    paid_by_run,
    paid_by_service,
    purchase_of,
)
from gpusize.pricing.quotes import Quote, as_paid, quote
from gpusize.pricing.storage import Shelf, Stored, Sum
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize_catalog.facts import PriceType
from gpusize_catalog.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    import datetime

    from gpusize.placement import Placement
    from gpusize.resolving.demand import Demand
    from gpusize.volumes import Disk
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog

MINUTES = 60


def _no_hours(demand: Demand) -> str:
    """Why the length of a run is not known."""
    if demand.samples is not None:
        return "how fast the engine is is not known, and runHours is not declared"
    if demand.trains and demand.amount_declared:
        return "how long a step takes is not known, and runHours is not declared"
    if demand.trains:
        return f"neither {'tokens' if demand.reads else 'trainSteps'} nor runHours are declared"
    what = "neither samples nor runHours are" if demand.reads else "runHours is not"
    return f"{what} declared"


BLOCK = PriceType.CAPACITY_BLOCK.value
ON_DEMAND = PriceType.ON_DEMAND.value


class Cost(NamedTuple):
    """Money for the declared duration, all replicas that run at least; None: not known."""

    hourly: float | None
    """Instances, USD per hour while they run."""
    monthly: float | None
    """Service: 730 h times the hours up. Bounded work: runs per month, where declared."""
    per_run: float | None
    total: float | None
    """For the declared horizon or runs; what plans are compared by."""
    price_date: str
    price_source: str
    compute_monthly: float | None
    storage_monthly: float | None
    """Volumes, file system and bucket."""
    egress_monthly: float | None
    volume_gib: int
    """Root volume of one instance."""
    volume_mbps: int
    """Its throughput, MiB/s."""
    idle: float | None
    """USD of instances that are paid for without work: of a month, of bounded work of a run."""
    commitments: tuple[Commitment, ...]
    unknowns: tuple[str, ...]
    """Parts that no figure above contains."""
    covered_by: str = ""
    """The declared commitment, such as `1-year savings-plan`, where its rate is the price."""


class Till:
    """Prices of one workload: what does not depend on the placement is looked up once."""

    def __init__(
        self,
        catalog: Catalog,
        workload: Workload,
        demand: Demand,
        today: datetime.date,
        settings: ResolveSettings = DEFAULTS,
    ) -> None:
        """Read how the work is bought and where it stores what."""
        self.catalog = catalog
        self.today = today
        self.region = workload.region
        self.demand = demand
        self.prices = settings.prices
        self.setup_hours = settings.restart_minutes / MINUTES
        self.purchase = purchase_of(workload, today)
        self._quotes: dict[tuple[str, str, str | None], Quote] = {}
        self._elsewhere: dict[tuple[str, str], Quote] = {}
        self._shelf = Shelf(catalog, workload.region, workload.storage, today.isoformat())
        self._egress = self._shelf.egress_monthly()
        checkpoints = getattr(workload, "checkpoints", None)
        self._checkpoints = checkpoints.location.value if checkpoints else ""

    def quote(self, instance_type: str, market: str, zone: str | None = None) -> Quote:
        """The price of one instance-hour in a market, remembered."""
        key = (instance_type, market, zone)
        found = self._quotes.get(key)
        if found is None:
            found = self._quotes[key] = self._quoted(instance_type, market, self.region, zone)
        return found

    def _quoted(
        self, instance_type: str, market: str, region: str, zone: str | None = None
    ) -> Quote:
        kind = PriceType(market)
        found = quote(self.catalog, instance_type, region, kind, zone, today=self.today)
        return as_paid(found, self.prices, instance_type, market, region, self.today)

    def elsewhere(self, instance_type: str, market: str) -> Quote:
        """The dearest price of one instance-hour in a market among the other regions."""
        found = self._elsewhere.get((instance_type, market))
        if found is None:
            prices = [
                self._quoted(instance_type, market, region)
                for region in self.catalog.regions_of(instance_type)
                if region != self.region
            ]
            known = [price for price in prices if price.usd_per_hour is not None]
            why = f"no {market} price for {instance_type} in any region"
            nothing = Quote(None, "", "", why)
            found = max(known, key=lambda price: price.usd_per_hour or 0.0, default=nothing)
            self._elsewhere[instance_type, market] = found
        return found

    def cost(
        self,
        placement: Placement,
        stored: Stored,
        disk: Disk,
        price: Quote | None = None,
        *,
        hours: float | None = None,
        purchase: Purchase | None = None,
    ) -> Cost:
        """Add up what the placement costs.

        `disk` is the root volume of one instance; `price` is of one instance-hour, the region's own
        where it is left out; `hours` are of one run, as declared where they are left out;
        `purchase` is how it is bought, as declared where it is left out.
        """
        demand = self.demand
        purchase = self.purchase if purchase is None else purchase
        if placement.market.value != ON_DEMAND:
            purchase = purchase._replace(plan=None)  # no commitment covers spot or blocks
        price, unknowns = self._price(placement, price, purchase)
        terms = self._terms(placement, price, purchase, unknowns)
        hours = hours or demand.run_hours
        paid = self._paid(terms, hours)
        machines = placement.nodes * demand.replicas
        volume = self._shelf.volume_monthly(disk)
        volumes = None if volume.usd is None else volume.usd * machines
        shared = self._shelf.shared_monthly(stored, self._checkpoints)
        unknowns += [*volume.missing, *shared.missing, *self._egress.missing]
        if demand.is_service:
            monthly, per_run, total = self._of_service(paid, volumes, shared)
        else:
            monthly, per_run, total = self._of_run(paid, volumes, shared, hours)
            if hours is None:
                unknowns.append(f"{_no_hours(demand)}: no cost per run")
        return Cost(
            hourly=paid.hourly if terms is None else terms.hourly,
            monthly=monthly,
            per_run=per_run,
            total=total,
            price_date=price.date,
            price_source=price.source,
            compute_monthly=paid.monthly,
            storage_monthly=None if volumes is None else volumes + (shared.usd or 0.0),
            egress_monthly=self._egress.usd,
            volume_gib=disk.gib,
            volume_mbps=disk.mbps,
            idle=self._idle(terms, paid, hours),
            commitments=self._commitments(placement, paid, machines),
            unknowns=tuple(unknowns),
            covered_by=self._cover(placement, purchase),
        )

    def _cover(self, placement: Placement, purchase: Purchase) -> str:
        if purchase.plan is None:
            return ""
        rate = commitment_rate(self, placement.instance.id, purchase.plan, purchase.years)
        return "" if rate.usd_per_hour is None else f"{purchase.years}-year {purchase.plan}"

    def _price(
        self, placement: Placement, price: Quote | None, purchase: Purchase
    ) -> tuple[Quote, list[str]]:
        """The price of an instance-hour, committed where it is; and what of it is not known."""
        name = placement.instance.id
        if price is None:
            price = self.quote(name, placement.market.value, placement.zone)
        if purchase.plan is not None:
            rate = commitment_rate(self, name, purchase.plan, purchase.years)
            if rate.usd_per_hour is not None:
                return rate, []
            if price.usd_per_hour is not None:
                return price, [f"the discount, the sum is on-demand: {rate.why_unknown}"]
        return price, [price.why_unknown] if price.why_unknown else []

    def _terms(
        self, placement: Placement, price: Quote, purchase: Purchase, unknowns: list[str]
    ) -> Terms | None:
        """How the instances are bought; adds to what is not known."""
        if price.usd_per_hour is None:
            return None
        steady = None
        if purchase.on_demand_base or purchase.spot_share < 1:
            other = self.quote(placement.instance.id, ON_DEMAND, placement.zone)
            steady = other.usd_per_hour
            unknowns += [other.why_unknown] if other.why_unknown else []
        if purchase.reserves and purchase.reserved_hours is None and not self.demand.is_service:
            unknowns.append("the reservation before and after the runs: it has no end")
        return Terms(
            price.usd_per_hour,
            placement.nodes * self.demand.replicas,
            placement.nodes,
            placement.market.value == BLOCK,
            early_end_hours(placement.instance),
            self.setup_hours,
            purchase,
            steady,
            placement.bought(self.demand.replicas),
        )

    def _paid(self, terms: Terms | None, hours: float | None) -> Paid:
        if terms is None:
            return UNPAID
        if self.demand.is_service:
            return paid_by_service(terms, self.demand)
        if hours is None:
            return UNPAID
        return paid_by_run(terms, hours, self.demand.runs_per_month)

    def _of_service(
        self, paid: Paid, volumes: float | None, shared: Sum
    ) -> tuple[float | None, None, float | None]:
        """Cost per month and for the horizon."""
        demand = self.demand
        if paid.monthly is None or paid.total is None:
            return None, None, None
        kept = 1.0 if demand.scaling == "fixed" else demand.hours_up
        beside = (volumes or 0.0) * kept + (shared.usd or 0.0) + (self._egress.usd or 0.0)
        return paid.monthly + beside, None, paid.total + beside * (demand.months or 1.0)

    def _of_run(
        self, paid: Paid, volumes: float | None, shared: Sum, hours: float | None
    ) -> tuple[float | None, float | None, float | None]:
        """Cost per month, per run and in all; what is shared is kept from run to run."""
        if paid.per_run is None or paid.total is None or hours is None:
            return None, None, None
        runs = self.demand.runs_per_month
        share = hours / HOURS_PER_MONTH
        volume, common = (volumes or 0.0) * share, shared.usd or 0.0
        if runs is None or paid.monthly is None:
            beside = volume + common * share
            return None, paid.per_run + beside, paid.total + beside
        beside = volume * runs + common + (self._egress.usd or 0.0)
        per_run = paid.per_run + volume + common / runs
        months = paid.total / paid.monthly if paid.monthly else 1.0
        monthly = paid.monthly + beside
        return monthly, per_run, monthly * months

    def _idle(self, terms: Terms | None, paid: Paid, hours: float | None) -> float | None:
        """USD that is paid for hours or instances without work."""
        if terms is None:
            return None
        demand, used = self.demand, terms.unit * terms.machines
        plain = terms.hourly if terms.paid == terms.machines else used
        if plain is None:
            return None
        if demand.is_service:
            if paid.monthly is None:
                return None
            return max(0.0, paid.monthly - plain * HOURS_PER_MONTH * demand.duty)
        if paid.per_run is None or hours is None:
            return None
        return max(0.0, paid.per_run - plain * hours)

    def _commitments(
        self, placement: Placement, paid: Paid, machines: int
    ) -> tuple[Commitment, ...]:
        """Commitments as alternatives to a service's on-demand price."""
        if not self.demand.is_service or placement.market.value != ON_DEMAND:
            return ()
        if self.purchase.plan is not None or paid.monthly is None:
            return ()
        return commitments(self, placement.instance.id, machines, paid.monthly)
