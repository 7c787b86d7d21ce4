"""Capacity blocks: the days that are bought, and the hours of them that work can use.

Source of lengths, sizes and the early end: catalog, billing terms of `capacity-block` (AWS, EC2
user guide, "Capacity Blocks for ML").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.facts import Status

if TYPE_CHECKING:
    from gpusize_catalog.facts import InstanceType

DAY_HOURS = 24
DAYS = 14
"""Blocks come in days up to so many, then in weeks."""
WEEK_DAYS = 7
MOST_DAYS = 182
MOST_INSTANCES = 64
"""Instances of one block at most."""
EARLY_END_HOURS = 0.5
"""AWS begins to terminate the instances so long before the end of a block."""
ULTRASERVER_EARLY_END_HOURS = 1.0
"""The same for UltraServers (P6e): 60 minutes."""
WEEKS_AHEAD = 8
"""Blocks are offered with a start up to so many weeks ahead."""


def early_end_hours(instance: InstanceType) -> float:
    """Hours before the end of a block at which AWS begins to terminate its instances."""
    is_ultra = instance.status is Status.ULTRASERVER_ONLY
    return ULTRASERVER_EARLY_END_HOURS if is_ultra else EARLY_END_HOURS


def valid_days(days: int) -> int:
    """The shortest length that is sold and no shorter: whole days, past 14 of them whole weeks.

    Past 182 days none is sold; the weeks go on, and `is_sold` tells.
    """
    days = max(1, days)
    return days if days <= DAYS else -(-days // WEEK_DAYS) * WEEK_DAYS


def is_sold(days: int) -> bool:
    """Whether a block of so many days is sold."""
    return days == valid_days(days) and days <= MOST_DAYS


def nearest_days(days: int) -> int:
    """The length that is sold and nearest, the longer of two."""
    longer = valid_days(days)
    if longer > MOST_DAYS:
        return MOST_DAYS
    shorter = longer - WEEK_DAYS if longer > DAYS else longer
    return shorter if days - shorter < longer - days else longer


def days_for(hours: float, early_end: float = EARLY_END_HOURS, setup: float = 0.0) -> int:
    """Days of the shortest block that work of so many hours ends in.

    `setup` are hours until the work begins, `early_end` those that the instances end before it.
    """
    return valid_days(-int(-(hours + setup + early_end) // DAY_HOURS))


def block_hours(hours: float, early_end: float = EARLY_END_HOURS, setup: float = 0.0) -> int:
    """Hours that are paid for in the shortest block that work of so many hours ends in."""
    return days_for(hours, early_end, setup) * DAY_HOURS
