"""What interruptions cost a training run: work since the last checkpoint, and the checkpoints.

Young, 1974: a checkpoint every sqrt(2 x time between interruptions x time to write one) loses
least.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize.resolving.demand import Demand
    from gpusize.settings import ResolveSettings

HOURS_PER_DAY = 24
MINUTES = 60
SHORT_RUN_HOURS = 1.0
"""A run that may as well begin again."""


def hours_between(settings: ResolveSettings) -> float:
    """Hours between two interruptions of a spot instance, assumed."""
    return HOURS_PER_DAY / settings.spot_reclaims_per_day


def lost_share(minutes: float, settings: ResolveSettings) -> float:
    """Part of a run that is computed again: half an interval for each interruption."""
    return minutes / MINUTES / 2 / hours_between(settings)


def longest_interval(settings: ResolveSettings) -> float:
    """Minutes between checkpoints at which the loss is as much as the setting allows."""
    return 2 * settings.max_checkpoint_loss * hours_between(settings) * MINUTES


def best_interval(write_seconds: float, settings: ResolveSettings) -> float:
    """Minutes between checkpoints that lose least (Young)."""
    between = hours_between(settings) * MINUTES
    return sqrt(2 * between * write_seconds / MINUTES)


def survives_spot(demand: Demand, settings: ResolveSettings) -> bool:
    """Whether interruptions of a spot instance cost the work little enough."""
    if not demand.trains:
        return True
    minutes = demand.checkpoint_minutes
    return minutes is not None and lost_share(minutes, settings) <= settings.max_checkpoint_loss
