"""The ways to buy a plan as plain data and as lines of a page."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any

from gpusize.wording import pays_off
from gpusize_catalog.units import figure, usd

if TYPE_CHECKING:
    from gpusize.pricing.options import Block, Gain, Interrupted, Option, Span
    from gpusize.resolution import Resolution

USD_DIGITS = 2
NAME_WIDTH = 22
YEAR_MONTHS = 12


def option_data(option: Option) -> dict[str, Any]:
    """Return one way to buy; unknown is null, what does not belong to it is left out."""
    return {
        "name": option.name,
        "chosen": option.is_chosen,
        "perHour": _round(option.hourly),
        "total": _round(option.total),
        "priceDate": option.price_date or None,
        "priceSource": option.price_source or None,
        "idle": _round(option.idle),
        "finishHours": _round(option.finish_hours),
        "finish": option.finish or None,
        "meetsDeadline": option.meets_deadline,
        **(_interrupted(option.interrupted) if option.interrupted else {}),
        **(_block(option.block) if option.block else {}),
        **(_gain(option.gain) if option.gain else {}),
        "against": list(option.against),
        "unknown": list(option.unknown),
        "settledBy": list(option.settled_by),
    }


def _interrupted(found: Interrupted) -> dict[str, Any]:
    return {
        "interruptionsPerDay": _span(found.per_day),
        "interruptionsAssumed": found.is_assumed,
        "interruptions": _span(found.expected),
        "billedHours": _span(found.billed_hours),
        "checkpointMinutes": _round(found.checkpoint_minutes),
    }


def _block(found: Block) -> dict[str, Any]:
    return {
        "days": found.days,
        "blocks": found.blocks,
        "upfront": _round(found.upfront),
        "unusedHours": _round(found.unused_hours),
        "endsEarlyMinutes": found.ends_early_minutes,
        "start": found.start or None,
    }


def _gain(found: Gain) -> dict[str, Any]:
    return {
        "breakEvenMonths": _round(found.break_even_months),
        "saving": _round(found.saving),
    }


def option_lines(resolution: Resolution) -> Iterator[str]:
    """Yield the ways to buy, a line each; those without a known rate share one."""
    options = resolution.options
    if len(options) <= 1:
        return
    yield f"  ways to buy it{_duration(resolution)}:"
    silent = [option for option in options if option.gain and option.hourly is None]
    for option in options:
        if option not in silent:
            yield f"    {option.name:{NAME_WIDTH}}{', '.join(_words(option))}"
    if silent:
        names = ", ".join(option.name for option in silent)
        yield f"    {names}: rates not known (prices.commitments of the settings file)"


def _duration(resolution: Resolution) -> str:
    plan = resolution.plan
    if plan is None or plan.cost.total is None:
        return ""
    if plan.cost.monthly is None:
        return ", one run"
    candidate = resolution.candidate
    months = candidate.demand.months if candidate else None
    return f", {figure(months, 6)} months" if months else ", a month"


def _words(option: Option) -> Iterator[str]:
    yield "unknown in all" if option.total is None else usd(option.total)
    if option.gain and option.gain.saving is None:
        yield f"for all {YEAR_MONTHS * option.gain.years} months"
    if option.finish_hours is not None and not option.interrupted:
        yield f"{figure(option.finish_hours)} h"
    if option.interrupted:
        yield from _interrupted_words(option.interrupted)
    if option.block:
        yield from _block_words(option.block)
    if option.gain:
        yield from _gain_words(option.gain)
    if option.meets_deadline is False:
        yield "misses the deadline"
    if option.name == "capacity-reservation" and option.hourly is not None:
        yield f"{usd(option.hourly)}/h whether used or not"
    if option.against:
        yield f"against it: {', '.join(option.against)}"
    if option.is_chosen:
        yield "chosen"


def _interrupted_words(found: Interrupted) -> Iterator[str]:
    billed, expected = found.billed_hours, found.expected
    if billed is not None:
        yield f"{_hours(billed.likely)} h billed ({_hours(billed.low)} to {_hours(billed.high)} h)"
    basis = "assumed" if found.is_assumed else "as set"
    if expected is not None and isfinite(expected.likely):
        often = figure(found.per_day.likely, 6)
        yield f"about {figure(expected.likely, 2)} interruptions ({often} a day {basis})"
    if found.checkpoint_minutes is not None:
        yield f"a checkpoint each {found.checkpoint_minutes:.0f} min loses least"


def _block_words(found: Block) -> Iterator[str]:
    days = f"{found.days} day{'s' if found.days > 1 else ''}"
    yield days if found.upfront is None else f"{days} for {usd(found.upfront)} up front"
    if found.unused_hours is not None:
        unused = f"{figure(found.unused_hours)} h unused"
        yield f"{unused}, ends {found.ends_early_minutes:.0f} min early"


def _gain_words(found: Gain) -> Iterator[str]:
    if found.break_even_months is not None:
        yield pays_off(found.break_even_months, YEAR_MONTHS * found.years)
    if found.saving is not None:
        word = "saves" if found.saving >= 0 else "costs"
        more = "" if found.saving >= 0 else " more"
        yield f"{word} {usd(abs(found.saving))}{more}"


def _hours(hours: float) -> str:
    return figure(hours) if isfinite(hours) else "endless"


def _round(number: float | None) -> float | None:
    return None if number is None or not isfinite(number) else round(number, USD_DIGITS)


def _span(span: Span | None) -> list[float | None] | None:
    return None if span is None else [_round(number) for number in span]
