"""What must hold between fields that say how capacity is bought."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.given import Given, Relation
from gpusize_catalog.problems import Problem

WHOLE_DAY = 24


WHOLE_WEEK = 7
HOUR_MINUTES = 60
CLOCK_DIGITS = 2
TERMS = (1, 3)
"""Years of savings plans and reserved instances. Source: catalog, billing terms."""
FSX_THROUGHPUTS = (125, 250, 500, 1000)
"""MB/s per TiB of persistent SSD file systems. Source: catalog, storage prices."""


def replicas_in_order(given: Given) -> Iterator[Problem]:
    """There are no fewer replicas at most than at least."""
    least, most = given.number("replicas.min"), given.number("replicas.max")
    if least is not None and most is not None and least > most:
        yield Problem(
            "replicas.max", f"is below min ({most} < {least})", f"give max {least}, or a lower min"
        )


def steady_means_always(given: Given) -> Iterator[Problem]:
    """Steady traffic comes all day and all week."""
    if given.text("traffic.shape") != "steady":
        return
    for key, whole, unit in (
        ("hoursPerDay", WHOLE_DAY, "hours a day"),
        ("daysPerWeek", WHOLE_WEEK, "days a week"),
    ):
        value = given.number(f"traffic.{key}")
        if value is not None and value < whole:
            yield Problem(
                f"traffic.{key}",
                f"steady traffic comes {whole} {unit}, got {value}",
                "give shape scheduled or bursty, or leave this out",
            )


def reservation_has_market(given: Given) -> Iterator[Problem]:
    """Spot capacity is never reserved."""
    if given.has("capacityReservation") and given.text("market") == "spot":
        yield Problem(
            "capacityReservation",
            "spot capacity cannot be reserved",
            "give market on-demand or capacity-block, or leave the reservation out",
        )


def budget_of_kind(given: Given) -> Iterator[Problem]:
    """A service has no runs to pay for."""
    if given.text("kind") == "serving" and given.has("budget.perRun"):
        yield Problem("budget.perRun", "a service has no runs", "use perHour or perMonth")


def days_of_calendar(given: Given) -> Iterator[Problem]:
    """A block starts and a reservation ends on a day of the calendar."""
    from gpusize.days import DAY_FIX, NO_DAY, day_of

    for path in ("capacityBlock.start", "reserve.until"):
        text = given.text(path)
        if text is not None and day_of(text) is None:
            yield Problem(path, NO_DAY, DAY_FIX)


def one_way_of_buying(given: Given) -> Iterator[Problem]:
    """A block is its own market; reserved and committed capacity is bought on demand."""
    market = given.text("market")
    if given.has("capacityBlock") and market not in (None, "capacity-block"):
        yield Problem("capacityBlock", f"stands beside market {market}", "leave one of them out")
    for key in ("reserve", "commitment"):
        is_none = key == "commitment" and given.text("commitment.plan") == "none"
        if given.has(key) and not is_none and market not in (None, "on-demand"):
            yield Problem(
                key, f"covers no {market} capacity", "give market on-demand, or leave it out"
            )
    if given.has("reserve") and given.has("capacityReservation"):
        yield Problem(
            "reserve", "stands beside an existing capacityReservation", "leave one of them out"
        )
    for key in ("onDemandBase", "spotShare"):
        if given.has(f"replicas.{key}") and market != "spot":
            yield Problem(f"replicas.{key}", "is for replicas on spot", "give market: spot")


def terms_that_are_sold(given: Given) -> Iterator[Problem]:
    """AWS sells commitments for one and three years, and four throughputs of FSx."""
    for path, sold in (("commitment.years", TERMS), ("storage.fsxMbpsPerTib", FSX_THROUGHPUTS)):
        value = given.number(path)
        if value is not None and value not in sold:
            words = ", ".join(str(item) for item in sold[:-1])
            yield Problem(path, f"{value:g} is not sold", f"give {words} or {sold[-1]}")
    if given.has("storage.fsxMbpsPerTib") and not given.has("storage.fsxGib"):
        yield Problem("storage.fsxGib", "is missing beside fsxMbpsPerTib", "give its size in GiB")


def hour_of_day(given: Given) -> Iterator[Problem]:
    """Traffic starts at a time of day, in a zone written like an IANA name."""
    start, zone = given.text("traffic.start"), given.text("traffic.timeZone")
    if start is not None and not _is_hour(start):
        yield Problem("traffic.start", "is no time of day", "write it like 08:00")
    if zone is not None and not all(part.isidentifier() for part in zone.split("/")):
        yield Problem("traffic.timeZone", "is no time zone", "write it like Europe/Berlin")


def size_of_neighbors(given: Given) -> Iterator[Problem]:
    """The memory of another process is given once."""
    neighbors = given.value("neighbors")
    for index, one in enumerate(neighbors if isinstance(neighbors, list) else ()):
        path = f"neighbors[{index}]"
        if not isinstance(one, dict) or any(
            given.is_bad(f"{path}.{key}") for key in ("memoryGib", "memoryFraction")
        ):
            continue
        sizes = [one.get(key) for key in ("memoryGib", "memoryFraction")]
        if sum(size is not None for size in sizes) != 1:
            yield Problem(f"{path}.memoryGib", "needs one size", "give memoryGib or memoryFraction")


def _is_hour(text: str) -> bool:
    hour, _, minute = text.partition(":")
    if not (hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit()):
        return False
    return (
        len(hour) == len(minute) == CLOCK_DIGITS
        and int(hour) < WHOLE_DAY
        and int(minute) < HOUR_MINUTES
    )


def deadline_after_run(given: Given) -> Iterator[Problem]:
    """A run of a declared length does not end before it is over."""
    hours, deadline = given.number("runHours"), given.number("deadlineHours")
    if hours is not None and deadline is not None and deadline < hours:
        yield Problem(
            "deadlineHours",
            f"is before the run ends ({deadline:g} < {hours:g})",
            f"give at least {hours:g}, or fewer runHours",
        )


BUYING: tuple[Relation, ...] = (
    deadline_after_run,
    replicas_in_order,
    steady_means_always,
    reservation_has_market,
    budget_of_kind,
    days_of_calendar,
    one_way_of_buying,
    terms_that_are_sold,
    hour_of_day,
    size_of_neighbors,
)
