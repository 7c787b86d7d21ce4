"""What somebody measured, in place of the estimate, where it holds."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import alone
from gpusize.memory.result import Fit, Term
from gpusize.memory.serving_rank import Rank, cache_terms, fixed_terms
from gpusize.versions import in_range, parse_version
from gpusize_catalog.units import GIB, gib

if TYPE_CHECKING:
    from typing import Protocol

    from gpusize.memory.runtime import Device
    from gpusize.placement import Layout, Placement
    from gpusize.workload import Measurement
    from gpusize_catalog.facts import EngineFacts

    class Sizer(Protocol):
        """How one kind of work uses memory."""

        def measure(self, device: Device, layout: Layout) -> Fit:
            """The fit on one kind of device."""
            ...

        def floor(self, layout: Layout) -> int:
            """Bytes of a rank below which no device holds it."""
            ...


OVERHEAD_ERROR = 0.3
"""Relative error of a measured overhead at another start of the same engine on a GPU of the same
kind; its weights are the same. Pools of vLLM that were logged twice lie 0.01 GiB (LLaVA on a 4080,
mrpid12org/imageworks) to 0.5 GiB apart (Qwen3-Embedding-8B on H100, Zzsf11/VideoCuttingAgent, where
the overhead is 0.9 and 1.4; an 8B model, WaroonRagwongsiri/SuperAi-SS6-Level2-Hack4)."""
PEAK_ERROR = 0.03
"""The same of a measured peak, assumed: an allocator asks for the same blocks in each run."""
TRAINING_KINDS = frozenset({"fine-tuning", "pre-training"})
KEPT = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
"""Terms that are counted: a measured peak leaves them, and changes what is estimated."""


class Software(NamedTuple):
    """What runs, and the range of its versions that use memory alike."""

    name: str
    first: str = ""
    before: str = ""

    def holds(self, text: str | None) -> bool:
        """Whether a `name@version` is of it; what is not said holds."""
        if text is None or not self.name:
            return True
        name, _, version = text.partition("@")
        found = parse_version(version) if version else None
        alike = found is None or in_range(found, self.first, self.before)
        return name.lower() == self.name.lower() and alike


class Taken(NamedTuple):
    """What was measured, in bytes: two terms of an engine, or a peak."""

    weights: int
    overhead: int
    peak: int


class Found(NamedTuple):
    """The measurement that is nearest to a placement, and why it does not hold there."""

    measurement: Measurement
    differences: tuple[str, ...]


def software_of(sizer: object) -> Software:
    """What a sizer sizes; without a name where versions are not told apart."""
    known = getattr(sizer, "setup", None)
    row = getattr(known, "engine", None) or getattr(known, "row", None)
    row = row or getattr(sizer, "row", None)
    if row is None:
        return Software("")
    name = getattr(row, "engine", "") or getattr(row, "trainer", "")
    return Software(name, getattr(row, "version_from", ""), getattr(row, "version_before", ""))


def sized(
    measured: tuple[Measurement, ...],
    sizer: Sizer,
    device: Device,
    placement: Placement,
    kind: str,
) -> tuple[Fit, Found]:
    """The fit with the measurement that holds on a placement, else the estimate.

    Also the measurement that is nearest, with why it does not hold. One that is less than what is
    there in any case is not believed.
    """
    near = _nearest(measured, placement, kind, software_of(sizer))
    if near.differences:
        return sizer.measure(device, placement.layout), near
    taken = taken_of(near.measurement)
    layout, floor = placement.layout, sizer.floor(placement.layout)
    if taken.peak:
        fit = peak_of(sizer, device, layout, taken)
    else:
        fit = sizer.measure(device._replace(taken=taken), layout)
    if fit.need is not None and fit.need < floor:
        told = f"{gib(fit.need)} with it are less than the {gib(floor)} that it needs in any case"
        return sizer.measure(device, layout), near._replace(differences=(told,))
    return fit._replace(measured=f"{near.measurement.gpu}, {near.measurement.date}"), near


def _nearest(
    measured: tuple[Measurement, ...], placement: Placement, kind: str, software: Software
) -> Found:
    """The measurement that differs least from a placement; the newest of equals."""
    newest = sorted(measured, key=lambda one: one.date, reverse=True)
    found = [Found(one, _differences(one, placement, kind, software)) for one in newest]
    return min(found, key=lambda one: len(one.differences))


def _differences(
    one: Measurement, placement: Placement, kind: str, software: Software
) -> tuple[str, ...]:
    gpu, layout = placement.gpu.id, placement.layout
    part = placement.instance.partition
    told = []
    if one.gpu.lower() != gpu.lower():
        told.append(f"it was measured on {one.gpu}, this is {gpu}")
    elif part < 1:
        told.append(f"it was measured on a whole GPU, this is 1/{round(1 / part)} of one")
    ran = one.engine or one.trainer
    if not software.holds(ran):
        told.append(f"it was measured with {ran}, this is {_versions(software)}")
    sizes = one.pp, one.ep, one.cp
    there = layout.pp, layout.ep, layout.cp
    copies = kind not in TRAINING_KINDS or one.dp == layout.dp
    if (one.tp, *sizes) != (layout.tp, *there) or not copies:
        kept = layout._replace(tp=one.tp, pp=one.pp, dp=one.dp, ep=one.ep, cp=one.cp)
        told.append(f"it was measured at {kept}, this is {layout}")
    return tuple(told)


def _versions(software: Software) -> str:
    first, before = software.first, software.before
    if not first and not before:
        return software.name
    return f"{software.name} {f'from {first}' if first else ''}{_until(first, before)}"


def _until(first: str, before: str) -> str:
    return f"{' ' if first else ''}before {before}" if before else ""


def taken_of(one: Measurement) -> Taken:
    """What was measured, in bytes."""
    sizes = (one.weights_gib, one.overhead_gib, one.peak_gib)
    return Taken(*[round((size or 0.0) * GIB) for size in sizes])


def rank_of(rank: Rank, engine: EngineFacts, taken: Taken, state: int) -> Rank:
    """A rank with the measured weights and overhead; its cache is computed as before.

    The overhead is told apart as the estimate tells it. `state` are the bytes of recurrent state in
    the cache.
    """
    parts = rank.parts
    estimated = rank.taken - parts.weights
    share = taken.overhead / estimated if estimated else 0.0
    activations, graphs = parts.activations, parts.graphs
    if engine.activations_in_budget:
        activations = round(activations * share)
    if engine.graphs_in_budget:
        graphs = round(graphs * share)
    communication = round(parts.communication * share)
    counted = communication
    counted += activations if engine.activations_in_budget else 0
    counted += graphs if engine.graphs_in_budget else 0
    parts = parts._replace(
        weights=taken.weights,
        activations=activations,
        graphs=graphs,
        runtime=taken.overhead - counted,
        communication=communication,
    )
    fixed = fixed_terms(engine, parts)
    size = sum([bytes_ for _, bytes_ in fixed])
    cache = rank.kept * rank.cache.error
    error = round(sqrt((taken.overhead * OVERHEAD_ERROR) ** 2 + cache**2))
    return rank._replace(
        parts=parts,
        taken=size,
        terms=(fixed[0], *cache_terms(rank.kept, state), *fixed[1:]),
        error=min(rank.error, error),
    )


def peak_of(sizer: Sizer, device: Device, layout: Layout, taken: Taken) -> Fit:
    """The fit of work with a measured peak: what is estimated of it makes up the difference.

    A GPU on which a run needs less than estimated is as good as one that is larger by so much.
    """
    estimated = sizer.measure(device, layout)
    need = estimated.need
    if need is None:
        return estimated
    room = sizer.measure(device._replace(usable=max(1, device.usable + need - taken.peak)), layout)
    found = room if room.need == need else estimated
    error = min(found.band, round(taken.peak * PEAK_ERROR))
    stage = "the measured peak"
    verdict, reasons = alone.judge(stage, device.usable, taken.peak, error)
    return found._replace(
        verdict=verdict,
        reasons=reasons,
        terms=_made_up(found.terms, taken.peak),
        need=taken.peak,
        budget=device.usable,
        band=error,
    )


def _made_up(terms: tuple[tuple[Term, int], ...], peak: int) -> tuple[tuple[Term, int], ...]:
    """Terms whose sum is the peak: what is counted stays where that leaves something."""
    kept = sum([size for term, size in terms if term in KEPT])
    fixed = KEPT if kept < peak else ()
    kept = kept if fixed else 0
    moving = sum([size for _, size in terms]) - kept
    share = (peak - kept) / moving if moving else 0.0
    made = [(term, size if term in fixed else round(size * share)) for term, size in terms]
    term, size = made[-1]
    made[-1] = (term, size + peak - sum([one for _, one in made]))
    return tuple(made)
