"""What a team pays in place of list prices, and how often its spot capacity is taken back.

Nothing of it is public: private discounts, rates of commitments, quotes of capacity blocks and
interruption rates come from the settings file alone, and what it does not say stays unknown.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

ANY = "*"


class Discount(NamedTuple):
    """A private discount on list prices."""

    percent: float
    types: str = ANY
    """Instance types, a glob; so are the other two."""
    market: str = ANY
    region: str = ANY


class CommitmentRate(NamedTuple):
    """What an instance-hour costs under a commitment: an amount, or a discount on on-demand."""

    plan: str
    years: int
    types: str = ANY
    region: str = ANY
    usd_per_hour: float | None = None
    percent: float | None = None


class BlockRate(NamedTuple):
    """What an instance-hour of a capacity block costs, as quoted to the team."""

    types: str
    usd_per_hour: float
    region: str = ANY


class InterruptionRate(NamedTuple):
    """How often spot instances were taken back, as the team has seen it."""

    types: str
    per_day: float


class TeamPrices(NamedTuple):
    """Everything that the settings say of money; of entries that match the first one holds."""

    discounts: tuple[Discount, ...] = ()
    commitments: tuple[CommitmentRate, ...] = ()
    capacity_blocks: tuple[BlockRate, ...] = ()
    spot_interruptions: tuple[InterruptionRate, ...] = ()

    def discount(self, instance_type: str, market: str, region: str) -> float:
        """Percent off the list price of a type in a market and a region; 0 where none is named."""
        for entry in self.discounts:
            if (
                fnmatchcase(instance_type, entry.types)
                and fnmatchcase(market, entry.market)
                and fnmatchcase(region, entry.region)
            ):
                return entry.percent
        return 0.0

    def commitment(
        self, plan: str, years: int, instance_type: str, region: str
    ) -> CommitmentRate | None:
        """The rate of a commitment, None where the settings name none."""
        for entry in self.commitments:
            if (entry.plan, entry.years) != (plan, years):
                continue
            if fnmatchcase(instance_type, entry.types) and fnmatchcase(region, entry.region):
                return entry
        return None

    def block_usd(self, instance_type: str, region: str) -> float | None:
        """USD of an instance-hour of a capacity block, None where the settings name none."""
        for entry in self.capacity_blocks:
            if fnmatchcase(instance_type, entry.types) and fnmatchcase(region, entry.region):
                return entry.usd_per_hour
        return None

    def interruptions_per_day(self, instance_type: str) -> float | None:
        """Interruptions of one spot instance in a day, None where the settings name none."""
        for entry in self.spot_interruptions:
            if fnmatchcase(instance_type, entry.types):
                return entry.per_day
        return None


LIST_PRICES = TeamPrices()
"""A team that pays what everybody pays."""
