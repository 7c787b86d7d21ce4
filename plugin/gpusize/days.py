"""Days as every door takes them: YYYY-MM-DD and nothing else."""

from __future__ import annotations

import datetime

NO_DAY = "is no day of the calendar"
DAY_FIX = "write it as YYYY-MM-DD"


def day_of(text: str) -> datetime.date | None:
    """Read a day, None where it is none; newer Pythons read more forms than older ones."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text else None


def days(count: int) -> str:
    """Write a number of days."""
    return f"{count} day" if count == 1 else f"{count} days"
