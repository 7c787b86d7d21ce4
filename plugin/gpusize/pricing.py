"""What a placement costs for as long as it was declared to run; unknown is a value, never 0."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.facts import PriceType
from gpusize_catalog.prices import in_force
from gpusize_catalog.units import GIB, HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusize.placement import Placement
    from gpusize.resolving.demand import Demand
    from gpusize.workload import Storage
    from gpusize_catalog.facts import Price
    from gpusize_catalog.store import Catalog

IMAGE_GIB = 40
"""Container image, CUDA libraries and system on the root volume: 20 to 30 GB, room to unpack."""
WEIGHTS_ROOM = 1.1
"""Weights on disk are allowed to be a tenth larger than in memory: tokenizer, metadata, blocks."""
GP3_INCLUDED_MBPS = 125
"""Throughput of a gp3 volume that costs nothing extra (AWS list price)."""
BLOCK_DAY_HOURS = 24
BLOCK_DAYS = 14
"""Capacity blocks come in days up to so many, then in weeks (catalog: billing terms)."""
BLOCK_WEEK_DAYS = 7

FREE_EGRESS_GB = 100
"""GB per month that AWS lets out free of charge, over all regions of an account."""
EGRESS_TIERS = (
    ("egress-internet-0-10tb", 10_000),
    ("egress-internet-10-50tb", 50_000),
    ("egress-internet-50-150tb", 150_000),
    ("egress-internet-over-150tb", None),
)
"""Price rows of internet egress, and up to how many GB per month each holds."""

TERMS = ((PriceType.RESERVED_1Y, 12), (PriceType.RESERVED_3Y, 36))
"""Commitments that a price list names, and their months."""


class Quote(NamedTuple):
    """Price of one instance for one hour."""

    usd_per_hour: float | None
    date: str
    source: str
    why_unknown: str
    zones: int = 0
    """Zones that the price is the median of; 0: one price for the region."""

    def age_days(self, today: datetime.date) -> int | None:
        """Days since the price was read; None where it has no date."""
        try:
            return (today - datetime.date.fromisoformat(self.date)).days
        except ValueError:
            return None


class Commitment(NamedTuple):
    """What a one- or three-year commitment would change."""

    price_type: PriceType
    usd_per_hour: float
    date: str
    months: int
    monthly: float
    break_even_months: float
    """Months of use after which the whole commitment costs less than paying on demand."""


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
    egress_monthly: float | None
    volume_gib: int
    """Root volume of one instance."""
    commitments: tuple[Commitment, ...]
    unknowns: tuple[str, ...]
    """Parts that no figure above contains."""


def quote(
    catalog: Catalog,
    instance_type: str,
    region: str,
    price_type: PriceType,
    zone: str | None = None,
    *,
    today: datetime.date,
) -> Quote:
    """The price of one instance-hour on a day, or why there is none: see `prices.in_force`.

    Spot prices differ by zone: the price of `zone` where the snapshot has it, else the median.
    """
    prices = catalog.prices(instance_type, region, price_type)
    usable = [price for price in prices if price.usd is not None and "instance" in price.unit]
    if not usable:
        foreign = {price.currency for price in prices if price.usd is None}
        why = f"no {price_type.value} price for {instance_type} in {region}"
        if foreign:
            why += f" in USD, only in {', '.join(sorted(foreign))}"
        return Quote(None, "", "", why)
    return _joined(in_force(usable, today.isoformat(), catalog.is_own, zone))


def _joined(prices: Sequence[Price]) -> Quote:
    first = max(prices, key=lambda price: price.date)
    amounts = sorted(price.usd for price in prices if price.usd is not None)
    zones = len(amounts) if first.zone else 0
    middle = (amounts[(len(amounts) - 1) // 2] + amounts[len(amounts) // 2]) / 2
    return Quote(middle, first.date, first.source, "", zones)


class Till:
    """Prices of one workload: what does not depend on the placement is looked up once."""

    def __init__(
        self,
        catalog: Catalog,
        region: str,
        demand: Demand,
        storage: Storage,
        today: datetime.date,
    ) -> None:
        """Look up storage and egress of the region."""
        self.catalog = catalog
        self.today = today
        self._day = today.isoformat()
        self.region = region
        self.demand = demand
        self.storage = storage
        self._quotes: dict[tuple[str, str, str | None], Quote] = {}
        self._elsewhere: dict[tuple[str, str], Quote] = {}
        self._egress = self._egress_monthly(storage.egress_gb_per_month)

    def quote(self, instance_type: str, market: str, zone: str | None = None) -> Quote:
        """The price of one instance-hour in a market, remembered."""
        key = (instance_type, market, zone)
        found = self._quotes.get(key)
        if found is None:
            kind = PriceType(market)
            found = quote(self.catalog, instance_type, self.region, kind, zone, today=self.today)
            self._quotes[key] = found
        return found

    def elsewhere(self, instance_type: str, market: str) -> Quote:
        """The dearest price of one instance-hour in a market among the other regions."""
        found = self._elsewhere.get((instance_type, market))
        if found is None:
            prices = [
                quote(self.catalog, instance_type, region, PriceType(market), today=self.today)
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
        weight_bytes: int,
        price: Quote | None = None,
        *,
        hours: float | None = None,
    ) -> Cost:
        """Add up what the placement costs; `weight_bytes` are one copy of the model's weights.

        `price` is of one instance-hour, the region's own where it is left out; `hours` are of one
        run, as declared where they are left out.
        """
        demand = self.demand
        if price is None:
            price = self.quote(placement.instance.id, placement.market.value, placement.zone)
        machines = placement.nodes * demand.replicas
        hourly = None if price.usd_per_hour is None else price.usd_per_hour * machines
        gibibytes = self.volume_gib(weight_bytes)
        storage, missing = self._volume_monthly(gibibytes)
        storage = None if storage is None else storage * machines
        egress, no_egress = self._egress
        unknowns = [price.why_unknown, missing, no_egress]
        if demand.is_service:
            monthly = per_run = None
            compute = None if hourly is None else hourly * HOURS_PER_MONTH * demand.hours_up
            if compute is not None:
                kept = storage if demand.scaling == "fixed" else _scaled(storage, demand.hours_up)
                monthly = compute + (kept or 0.0) + (egress or 0.0)
            total = None if monthly is None else monthly * (demand.months or 1.0)
        else:
            compute, per_run, monthly = self._bounded(
                placement, hourly, storage, egress, hours or demand.run_hours
            )
            total = monthly if monthly is not None else per_run
            if hours is None and demand.run_hours is None:
                missing_hours = "tokens nor runHours are" if demand.trains else "runHours is not"
                neither = "neither " if demand.trains else ""
                unknowns.append(f"{neither}{missing_hours} declared: no cost per run")
        return Cost(
            hourly=hourly,
            monthly=monthly,
            per_run=per_run,
            total=total,
            price_date=price.date,
            price_source=price.source,
            compute_monthly=compute,
            storage_monthly=storage,
            egress_monthly=egress,
            volume_gib=gibibytes,
            commitments=self._commitments(placement, hourly, machines),
            unknowns=tuple(filter(None, unknowns)),
        )

    def _bounded(
        self,
        placement: Placement,
        hourly: float | None,
        storage: float | None,
        egress: float | None,
        hours: float | None,
    ) -> tuple[float | None, float | None, float | None]:
        """Compute per month, cost per run and per month of work that ends."""
        runs = self.demand.runs_per_month
        if hourly is None or hours is None:
            return None, None, None
        paid = block_hours(hours) if placement.market.value == "capacity-block" else hours
        per_run = hourly * paid + (_scaled(storage, hours / HOURS_PER_MONTH) or 0.0)
        if runs is None:
            return None, per_run, None
        return hourly * paid * runs, per_run, per_run * runs + (egress or 0.0)

    def volume_gib(self, weight_bytes: int) -> int:
        """Root volume of one instance, GiB: as declared, else image plus weights that lie on it."""
        if self.storage.root_volume_gib is not None:
            return self.storage.root_volume_gib
        on_root = self.storage.weights.value in ("root-volume", "hub")
        weights = weight_bytes * WEIGHTS_ROOM / GIB if on_root else 0.0
        return int(IMAGE_GIB + weights) + 1

    def _volume_monthly(self, gibibytes: int) -> tuple[float | None, str]:
        size = self.catalog.storage_price("ebs-gp3-storage", self.region, self._day)
        if size is None:
            return None, f"no gp3 price for {self.region}: the {gibibytes} GiB root volume"
        extra = (self.storage.root_volume_throughput_mbps or 0) - GP3_INCLUDED_MBPS
        if extra <= 0:
            return gibibytes * size.usd, ""
        speed = self.catalog.storage_price("ebs-gp3-throughput-over-125", self.region, self._day)
        if speed is None:
            return gibibytes * size.usd, f"no price for gp3 throughput in {self.region}"
        return gibibytes * size.usd + extra * speed.usd, ""

    def _egress_monthly(self, gigabytes: float) -> tuple[float | None, str]:
        if gigabytes <= FREE_EGRESS_GB:
            return 0.0, ""
        total, billed_to = 0.0, float(FREE_EGRESS_GB)
        for item, upto in EGRESS_TIERS:
            price = self.catalog.storage_price(item, self.region, self._day)
            if price is None:
                return None, f"no egress price for {self.region}: {gigabytes:g} GB per month"
            end = gigabytes if upto is None else min(gigabytes, upto)
            total += max(0.0, end - billed_to) * price.usd
            billed_to = max(billed_to, end)
            if end >= gigabytes:
                break
        return total, ""

    def _commitments(
        self, placement: Placement, hourly: float | None, machines: int
    ) -> tuple[Commitment, ...]:
        """Reserved prices as alternatives to a service's on-demand price."""
        if not self.demand.is_service or hourly is None or placement.market.value != "on-demand":
            return ()
        found = []
        per_month = hourly * HOURS_PER_MONTH * self.demand.hours_up
        for price_type, months in TERMS:
            price = self.quote(placement.instance.id, price_type.value)
            if price.usd_per_hour is None:
                continue
            monthly = price.usd_per_hour * machines * HOURS_PER_MONTH
            found.append(
                Commitment(
                    price_type,
                    price.usd_per_hour,
                    price.date,
                    months,
                    monthly,
                    monthly * months / per_month,
                )
            )
        return tuple(found)


def block_hours(hours: float) -> int:
    """Hours that a capacity block must be bought for: whole days, past 14 of them whole weeks."""
    days = -int(-hours // BLOCK_DAY_HOURS)
    if days > BLOCK_DAYS:
        days = -(-days // BLOCK_WEEK_DAYS) * BLOCK_WEEK_DAYS
    return days * BLOCK_DAY_HOURS


def _scaled(amount: float | None, factor: float) -> float | None:
    return None if amount is None else amount * factor
