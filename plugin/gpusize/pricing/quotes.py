"""The price of one instance-hour: from the catalog, or as the team has said that it pays."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.facts import PriceType
from gpusize_catalog.prices import in_force
from gpusize_catalog.units import PERCENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusize.team_prices import TeamPrices
    from gpusize_catalog.facts import Price
    from gpusize_catalog.store import Catalog

OF_SETTINGS = "prices of the settings file"
"""Source of a price that the team has given."""


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
    if not usable and price_type is PriceType.CAPACITY_BLOCK:
        whole = _of_ultraserver(catalog, instance_type, region, today)
        if whole is not None:
            return whole
    if not usable:
        foreign = {price.currency for price in prices if price.usd is None}
        why = f"no {price_type.value} price for {instance_type} in {region}"
        if foreign:
            why += f" in USD, only in {', '.join(sorted(foreign))}"
        return Quote(None, "", "", why)
    return _joined(in_force(usable, today.isoformat(), catalog.is_own, zone))


def _of_ultraserver(
    catalog: Catalog, instance_type: str, region: str, today: datetime.date
) -> Quote | None:
    """The part that one instance has of the price of the smallest UltraServer that is priced."""
    servers = [one for one in catalog.ultraservers() if one.instance_type == instance_type]
    for server in sorted(servers, key=lambda one: one.instances):
        prices = catalog.prices(server.id, region, PriceType.CAPACITY_BLOCK)
        usable = [price for price in prices if price.usd is not None]
        if usable:
            found = _joined(in_force(usable, today.isoformat(), catalog.is_own))
            return found._replace(usd_per_hour=(found.usd_per_hour or 0.0) / server.instances)
    return None


def least(
    catalog: Catalog,
    instance_type: str,
    region: str,
    price_type: PriceType,
    *,
    today: datetime.date,
) -> Quote | None:
    """The price of one instance-hour in the cheapest zone on a day; None where none is known."""
    prices = catalog.prices(instance_type, region, price_type)
    usable = [price for price in prices if price.usd is not None and "instance" in price.unit]
    if not usable:
        return None
    rows = in_force(usable, today.isoformat(), catalog.is_own)
    return _joined([min(rows, key=lambda row: row.usd or 0.0)])


def _joined(prices: Sequence[Price]) -> Quote:
    first = max(prices, key=lambda price: price.date)
    amounts = sorted(price.usd for price in prices if price.usd is not None)
    zones = len(amounts) if first.zone else 0
    middle = (amounts[(len(amounts) - 1) // 2] + amounts[len(amounts) // 2]) / 2
    return Quote(middle, first.date, first.source, "", zones)


def as_paid(
    listed: Quote,
    prices: TeamPrices,
    instance_type: str,
    market: str,
    region: str,
    today: datetime.date,
) -> Quote:
    """What the team pays in place of a listed price.

    A quoted price of capacity blocks takes its place; else a private discount lowers it.
    """
    if market == PriceType.CAPACITY_BLOCK.value:
        own = prices.block_usd(instance_type, region)
        if own is not None:
            return Quote(own, today.isoformat(), OF_SETTINGS, "")
    percent = prices.discount(instance_type, market, region)
    if not percent or listed.usd_per_hour is None:
        return listed
    return listed._replace(
        usd_per_hour=listed.usd_per_hour * (1 - percent / PERCENT),
        source=f"{listed.source}, less {percent:g}% by the settings file",
    )
