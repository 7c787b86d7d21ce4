"""What interruptions of spot capacity make of one workload on one placement."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from gpusize.checkpointing import checkpoint_of
from gpusize.interruptions import (
    HOURS_PER_DAY,
    MINUTES,
    SECONDS,
    best_interval,
    expected_hours,
    reclaims_per_day,
)
from gpusize.pricing.options import Interrupted, Span
from gpusize.workload import Market
from gpusize_catalog.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate


def interruptions_of(candidate: Candidate) -> Interrupted:
    """What interruptions of spot capacity make of the work on this placement.

    A replica stops when one of its nodes does. Training loses what it has done since its last
    checkpoint, other work only the restart.
    """
    demand, settings = candidate.demand, candidate.settings
    likely = reclaims_per_day(settings, candidate.instance.id)
    is_assumed = settings.prices.interruptions_per_day(candidate.instance.id) is None
    spread = settings.spot_reclaims_spread if is_assumed else 1.0
    per_day = Span(likely / spread, likely, likely * spread)
    best = _best_minutes(candidate, likely)
    taken = (demand.checkpoint_minutes or best) if demand.trains else None
    hours = candidate.run_hours
    if demand.is_service:
        days = HOURS_PER_MONTH * demand.hours_up / HOURS_PER_DAY
        spot = candidate.study.till.purchase.spot_replicas(demand.replicas)
        machines = candidate.placement.nodes * spot
        expected = Span(*(rate * days * machines for rate in per_day))
        return Interrupted(per_day, is_assumed, expected, None, None)
    if hours is None:
        return Interrupted(per_day, is_assumed, None, None, best)
    billed = Span(*(hours_on_spot(candidate, hours, rate, taken) for rate in per_day))
    nodes = candidate.placement.nodes
    expected = Span(
        *(
            hours_billed / HOURS_PER_DAY * rate * nodes
            for hours_billed, rate in zip(billed, per_day, strict=True)
        )
    )
    return Interrupted(per_day, is_assumed, expected, billed, best)


def hours_in_market(candidate: Candidate) -> float | None:
    """Hours of one run in the candidate's market; None where its length is not known."""
    if candidate.placement.market is not Market.SPOT:
        return candidate.run_hours
    billed = interruptions_of(candidate).billed_hours
    return billed.likely if billed else None


def hours_on_spot(
    candidate: Candidate, hours: float, per_day: float, minutes: float | None
) -> float:
    """Hours that a run takes on spot capacity, at a rate and an interval of checkpoints."""
    rate = per_day * candidate.placement.nodes
    between = HOURS_PER_DAY / rate if rate else inf
    interval: float | None = 0.0
    if candidate.demand.trains:
        interval = None if minutes is None else minutes / MINUTES
    write = _write_seconds(candidate) or 0.0
    return expected_hours(
        hours,
        between,
        restart=candidate.settings.restart_minutes / MINUTES,
        interval=interval,
        write=write / SECONDS,
    )


def _write_seconds(candidate: Candidate) -> float | None:
    """Seconds to write one checkpoint; None where there is none, or its time is not known."""
    checkpoint = checkpoint_of(candidate)
    return checkpoint.seconds if checkpoint else None


def _best_minutes(candidate: Candidate, per_day: float) -> float | None:
    """Minutes between checkpoints that lose least."""
    write = _write_seconds(candidate)
    rate = per_day * candidate.placement.nodes
    if not write or not rate:
        return None
    return max(1.0, best_interval(write, HOURS_PER_DAY / rate))
