"""Scheduled scaling: up when traffic begins, down when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.decision import present
from gpusize.launch.common import Properties

if TYPE_CHECKING:
    from gpusize.decision import Decision
    from gpusize.workload import Traffic

SCHEDULE = "aws:autoscaling/schedule:Schedule"

HOUR = 60
"""Minutes."""
DAY = 24 * HOUR
WEEK_DAYS = 7
UTC = "UTC"
"""The time zone that AWS takes where none is named; it knows this one only as `Etc/UTC`."""


class Beat(NamedTuple):
    """One action of the week."""

    name: str
    recurrence: str
    """When, as cron writes it; Sunday is 0."""
    is_up: bool


def beats(traffic: Traffic) -> tuple[Beat, ...]:
    """Return when a group goes up and down; nothing for traffic that never ends.

    Days count from Monday; a part of a day counts as a whole one. Hours may pass midnight.
    """
    days = ceil(traffic.days_per_week)
    minutes = round(traffic.hours_per_day * HOUR)
    hour, _, minute = traffic.start.partition(":")
    start = int(hour) * HOUR + int(minute)
    if minutes < DAY:
        later = (start + minutes) // DAY
        ups, downs = range(days), range(later, later + days)
    elif days < WEEK_DAYS:
        ups, downs = range(1), range(days, days + 1)
    else:
        return ()
    return (
        Beat("up", _cron(start, ups), is_up=True),
        Beat("down", _cron(start + minutes, downs), is_up=False),
    )


def beats_of(decision: Decision) -> tuple[Beat, ...]:
    """Return the beats of a workload that is up on a schedule, none for others."""
    traffic: Traffic | None = getattr(decision.workload, "traffic", None)
    plan = decision.plan
    if traffic is None or plan is None or plan.scaling != "scheduled":
        return ()
    return beats(traffic)


def schedule(decision: Decision, beat: Beat, group: Any, sizes: tuple[int, int]) -> Properties:
    """Describe one action; `sizes` are the fewest and the most instances while there is traffic.

    All three sizes are named: what is left out would be set to 0.
    """
    traffic: Traffic | None = getattr(decision.workload, "traffic", None)
    zone = traffic.time_zone if traffic else UTC
    least, most = sizes
    size = least if beat.is_up else 0
    return present(
        {
            "region": decision.workload.region,
            "scheduledActionName": f"{decision.name}-{beat.name}",
            "autoscalingGroupName": group,
            "recurrence": beat.recurrence,
            "timeZone": None if zone == UTC else zone,
            "minSize": size,
            "desiredCapacity": size,
            "maxSize": most,
        }
    )


def _cron(minutes: int, days: Iterable[int]) -> str:
    """Write a time of day on days of the week; 0 is Monday here and 1 there."""
    hour, minute = divmod(minutes % DAY, HOUR)
    named = sorted((day + 1) % WEEK_DAYS for day in days)
    on = "*" if len(named) == WEEK_DAYS else ",".join(map(str, named))
    return f"{minute} {hour} * * {on}"
