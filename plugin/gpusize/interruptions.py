"""What interruptions cost a run: work since the last checkpoint, checkpoints, and restarts.

Young, 1974 (doi 10.1145/361147.361115): a checkpoint every sqrt(2 x time between interruptions x
time to write one) loses least. Daly, 2006 (doi 10.1016/j.future.2004.11.016): the time that a run
takes with interruptions that come at random.
"""

from __future__ import annotations

from math import exp, expm1, inf, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize.resolving.demand import Demand
    from gpusize.settings import ResolveSettings

HOURS_PER_DAY = 24
MINUTES = 60
SECONDS = 3600
LARGEST_EXPONENT = 700.0
"""Above it `exp` overflows: the run never ends."""
SHORT_RUN_HOURS = 1.0
"""A run that may as well begin again."""


def reclaims_per_day(settings: ResolveSettings, instance_type: str) -> float:
    """Interruptions of one spot instance in a day: as the team has seen them, else assumed."""
    seen = settings.prices.interruptions_per_day(instance_type)
    return settings.spot_reclaims_per_day if seen is None else seen


def hours_between(settings: ResolveSettings, instance_type: str, nodes: int = 1) -> float:
    """Hours between two interruptions of a run, which stops when one of its nodes does."""
    reclaims = reclaims_per_day(settings, instance_type) * nodes
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


def survives_spot(
    demand: Demand, settings: ResolveSettings, instance_type: str, nodes: int = 1
) -> bool:
    """Whether interruptions of spot instances cost the work little enough."""
    if not demand.trains:
        return True
    minutes = demand.checkpoint_minutes
    if minutes is None:
        return False
    lost = lost_share(minutes, hours_between(settings, instance_type, nodes))
    return lost <= settings.max_checkpoint_loss


def expected_hours(
    hours: float,
    between: float,
    *,
    restart: float,
    interval: float | None = None,
    write: float = 0.0,
) -> float:
    """Hours that a run of so many hours takes with interruptions (Daly, exponential intervals).

    All are hours. `interval` is the work between two checkpoints and `write` the time of one;
    without an interval the run begins again each time, and one of 0 loses no work, only restarts.
    Waiting for new capacity is not in it: nobody knows it, and it is not billed.
    """
    if between == inf:
        return hours if not interval else hours + hours / interval * write
    if interval == 0:
        return hours * exp(min(restart / between, LARGEST_EXPONENT))
    step = hours if interval is None else min(interval, hours)
    exponents = restart / between, (step + (0.0 if interval is None else write)) / between
    if sum(exponents) > LARGEST_EXPONENT:
        return inf
    return between * exp(exponents[0]) * expm1(exponents[1]) * hours / step
