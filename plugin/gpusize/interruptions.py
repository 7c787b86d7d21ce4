"""What interruptions cost a training run: work since the last checkpoint, and the checkpoints.

Young, 1974: a checkpoint every sqrt(2 x time between interruptions x time to write one) loses
least.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize.resolving.demand import Demand
    from gpusize.settings import ResolveSettings

HOURS_PER_DAY = 24
MINUTES = 60
SHORT_RUN_HOURS = 1.0
"""A run that may as well begin again."""


def reclaims_per_day(settings: ResolveSettings, instance_type: str) -> float:
    """Interruptions of one spot instance in a day: as the team has seen them, else assumed."""
    seen = settings.prices.interruptions_per_day(instance_type)
    return settings.spot_reclaims_per_day if seen is None else seen


def hours_between(settings: ResolveSettings, instance_type: str) -> float:
    """Hours between two interruptions of a spot instance."""
    reclaims = reclaims_per_day(settings, instance_type)
    return HOURS_PER_DAY / reclaims if reclaims else inf


def basis(settings: ResolveSettings, instance_type: str) -> str:
    """Where the rate is from, in words that end a clause."""
    seen = settings.prices.interruptions_per_day(instance_type)
    return "is assumed" if seen is None else "by the settings"


def lost_share(minutes: float, between: float) -> float:
    """Part of a run that is computed again: half an interval for each interruption."""
    return minutes / MINUTES / 2 / between


def longest_interval(settings: ResolveSettings, between: float) -> float:
    """Minutes between checkpoints at which the loss is as much as the setting allows."""
    return 2 * settings.max_checkpoint_loss * between * MINUTES


def best_interval(write_seconds: float, between: float) -> float:
    """Minutes between checkpoints that lose least (Young)."""
    return sqrt(2 * between * MINUTES * write_seconds / MINUTES)


def survives_spot(demand: Demand, settings: ResolveSettings, instance_type: str) -> bool:
    """Whether interruptions of a spot instance cost the work little enough."""
    if not demand.trains:
        return True
    minutes = demand.checkpoint_minutes
    if minutes is None:
        return False
    lost = lost_share(minutes, hours_between(settings, instance_type))
    return lost <= settings.max_checkpoint_loss
