"""The ways to buy one placement, side by side: what each costs, when it ends, what is not known."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A figure with the ends of what it may be."""

    low: float
    likely: float
    high: float


class Interrupted(NamedTuple):
    """What interruptions of spot capacity make of the work."""

    per_day: Span
    """Interruptions of one instance in a day."""
    is_assumed: bool
    """Whether nobody has told the rate."""
    expected: Span | None
    """Interruptions of a run; of a service in a month."""
    billed_hours: Span | None
    """Hours of a run that are paid for, what is computed again among them."""
    checkpoint_minutes: float | None
    """Interval that loses least; None where there is nothing to save, or its size is not known."""


class Block(NamedTuple):
    """A capacity block that the work ends in."""

    days: int
    blocks: int
    """Blocks for one run: one holds 64 instances at most."""
    upfront: float | None
    """USD of all of them, paid at purchase."""
    unused_hours: float | None
    ends_early_minutes: float
    start: str
    """Day on which it starts, '' where it is not declared."""


class Gain(NamedTuple):
    """What a commitment changes."""

    plan: str
    years: int
    break_even_months: float | None
    saving: float | None
    """USD over the horizon against on-demand, negative where it costs more."""


class Option(NamedTuple):
    """One way to buy."""

    name: str
    """on-demand, spot, capacity-block, capacity-reservation, or a plan with its years."""
    is_chosen: bool
    hourly: float | None
    total: float | None
    """USD for the declared duration, storage and traffic included."""
    price_date: str
    price_source: str
    finish_hours: float | None = None
    """Hours of a run from its start to its end."""
    finish: str = ""
    """Day on which a run ends that starts today, or with its block."""
    meets_deadline: bool | None = None
    interrupted: Interrupted | None = None
    block: Block | None = None
    gain: Gain | None = None
    idle: float | None = None
    """USD of it that is paid without work: of a month, of bounded work of a run."""
    against: tuple[str, ...] = ()
    """Names of the constraints that speak against it."""
    unknown: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    """Where the figures that are not known come from."""
