"""Do several processes fit on the same GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints.figures import in_gib, of_budget
from gpusize.constraints.reason import Reason, Weight
from gpusize.memory import neighbors
from gpusize.resolving.demand import inference
from gpusize_catalog.units import MIB, PERCENT, gib

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate


class _Own(NamedTuple):
    """Bytes that the workload's own process takes on a GPU."""

    taken: int
    how: str
    fraction: float | None
    """The largest memory fraction beside the neighbors; None where none would help."""


def multi_model_oversubscribed(candidate: Candidate) -> Iterator[Reason]:
    """The neighbors and the workload's own process take more than a GPU has.

    An engine that reserves a share of all memory takes what is declared for it; others, and a share
    that gpusize chooses, take what the work needs.
    """
    around = candidate.workload.neighbors
    usable = candidate.placement.usable_bytes
    if not around or usable is None or candidate.fit.need is None:
        return
    theirs = neighbors.held(around, usable)
    own = _own(candidate, usable, theirs)
    if theirs + own.taken <= usable:
        return
    left = max(0.0, 1 - theirs / usable)
    yield Reason(
        "multi-model-oversubscribed",
        Weight.ERROR,
        f"neighbors ({', '.join(one.name for one in around)}) take {gib(theirs)} of each GPU,"
        f" {candidate.demand.engine} {own.how} {gib(own.taken)}, {candidate} has {gib(usable)}",
        f"engine: {{memoryFraction: {own.fraction:g}}}, what they leave" if own.fraction else "",
        {
            **of_budget(candidate),
            "neighborsGib": in_gib(theirs),
            "ownGib": in_gib(own.taken),
            "usableGib": in_gib(usable),
            "percentLeft": round(left * PERCENT, 1),
        },
    )


def _own(candidate: Candidate, usable: int, theirs: int) -> _Own:
    fit, setup = candidate.fit, candidate.study.setup
    need = fit.need or 0
    if setup is None:
        return _Own(need, "needs", None)
    outside = round(setup.engine.context_mib * MIB)
    declared = inference(candidate.workload).engine.memory_fraction
    if declared is None or not neighbors.is_share_of_all(setup.engine):
        return _Own(need + outside, "needs", None)
    fraction = neighbors.fraction_left(usable, theirs, outside)
    fits = need <= fraction * usable
    return _Own((fit.budget or 0) + outside, f"at {declared:g} takes", fraction if fits else None)
