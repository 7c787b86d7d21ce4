"""Does a training run fit its GPUs, its links and the way its capacity is bought."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.checkpointing import NOTICE_SECONDS, checkpoint_of
from gpusize.constraints.figures import in_gib, of_budget
from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.interruptions import (
    MINUTES,
    SHORT_RUN_HOURS,
    basis,
    best_interval,
    hours_between,
    longest_interval,
    lost_share,
)
from gpusize.memory.result import Fit, Output, Term, Verdict
from gpusize.memory.training.recipe import ADAPTED
from gpusize.workload import DiffusionTraining, Film, InterruptionTolerance
from gpusize_catalog.units import GB, PERCENT, figure, gib

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

STATES = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
NVLINK = "NVLink"
WELL_HIDDEN = 0.05
"""Part of a step that may be lost between GPUs where computing hides all it can: a trainer that
moves weights ahead of time then runs as fast as its GPUs, however much moves."""


def training_states_exceed_vram(candidate: Candidate) -> Iterator[Reason]:
    """What is kept from step to step is larger than the memory of one GPU."""
    fit = candidate.fit
    if not _fails(candidate) or _is_adapted(candidate):
        return
    kept = _kept(fit)
    if kept <= (fit.budget or 0):
        return
    terms = ", ".join(f"{term.value} {gib(fit.term(term))}" for term in STATES)
    yield Reason(
        "training-states-exceed-vram",
        Weight.ERROR,
        f"weights, gradients and optimizer states take {gib(kept)} per GPU at {_layout(candidate)}"
        f" ({terms}), {candidate} has {gib(fit.budget or 0)}",
        "sharding fsdp over more GPUs, optimizer paged-adamw-8bit, or method lora",
        {"statesGib": in_gib(kept), **of_budget(candidate)},
    )


def training_activations_exceed_vram(candidate: Candidate) -> Iterator[Reason]:
    """The states fit, and a micro batch does not beside them."""
    fit = candidate.fit
    if not _fails(candidate) or _is_adapted(candidate) or _kept(fit) > (fit.budget or 0):
        return
    yield Reason(
        "training-activations-exceed-vram",
        Weight.ERROR,
        _need(candidate),
        _smaller_batch(candidate),
        {"needGib": in_gib(fit.need or 0), **of_budget(candidate)},
    )


def lora_base_exceeds_vram(candidate: Candidate) -> Iterator[Reason]:
    """Frozen weights, adapter and a micro batch are larger than the memory of one GPU."""
    fit = candidate.fit
    if not _fails(candidate) or not _is_adapted(candidate):
        return
    fix = _smaller_batch(candidate)
    if fit.term(Term.WEIGHTS) > (fit.budget or 0):
        fix = "method qlora, a smaller model, or sharding fsdp over more GPUs"
    yield Reason(
        "lora-base-exceeds-vram",
        Weight.ERROR,
        _need(candidate),
        fix,
        {
            "needGib": in_gib(fit.need or 0),
            "weightsGib": in_gib(fit.term(Term.WEIGHTS)),
            **of_budget(candidate),
        },
    )


def nvlink_required(candidate: Candidate) -> Iterator[Reason]:
    """Gradients and weights move for too much of a step over a link without NVLink."""
    timing = candidate.timing
    share = timing.communication_share
    if not candidate.demand.trains or not timing.link or timing.link == NVLINK or share is None:
        return
    limit = candidate.settings.max_communication_share
    if share <= limit or (timing.exposed_share is not None and timing.exposed_share < WELL_HIDDEN):
        return
    bandwidth = timing.link_bandwidth or 0.0
    fix = "a larger global batch where ddp holds it, method lora, or an NVLink node"
    if candidate.placement.nodes > 1:
        fix = "longer sequences or larger micro batches, fewer nodes of larger GPUs, or method lora"
    yield Reason(
        "nvlink-required",
        Weight.WARN,
        f"{share:.0%} of a step goes into moving weights and gradients over {timing.link}"
        f" ({bandwidth / GB:.0f} GB/s) with {candidate.fit.sharding} at"
        f" {candidate.placement.layout} on {candidate}, limit {limit:.0%}",
        fix,
        {
            "communicationPercent": round(share * PERCENT, 1),
            "linkGBps": round(bandwidth / GB, 1),
            "instanceType": candidate.instance.id,
        },
    )


def spot_without_checkpoint(candidate: Candidate) -> Iterator[Reason]:
    """An interruption of spot capacity throws a training run back to its start."""
    demand = candidate.demand
    if not demand.trains or candidate.placement.market.value != "spot" or demand.saves_progress:
        return
    hours = candidate.run_hours
    if hours is not None and hours <= SHORT_RUN_HOURS:
        return
    long = "a run of unknown length" if hours is None else f"a run of {figure(hours)} h"
    between = _hours_between(candidate)
    numbers: dict[str, Number] = {"hoursBetweenInterruptions": round(between, 1)}
    if hours is not None:
        numbers["runHours"] = round(hours, 1)
    yield Reason(
        "spot-without-checkpoint",
        Weight.ERROR,
        f"{long} on spot {candidate.instance.id} keeps no checkpoints: each interruption (one in"
        f" {figure(between)} h {_basis(candidate)}) throws it back to the start",
        "checkpoints: {intervalMinutes: 30}, or market: on-demand",
        numbers,
    )


def checkpoint_interval_too_long(candidate: Candidate) -> Iterator[Reason]:
    """Interruptions of spot capacity cost too much of a run for its checkpoints are rare."""
    demand, settings = candidate.demand, candidate.settings
    minutes = demand.checkpoint_minutes
    if not demand.trains or candidate.placement.market.value != "spot":
        return
    yield from _written_at_notice(candidate)
    if minutes is None:
        return
    between = _hours_between(candidate)
    lost = lost_share(minutes, between)
    if lost <= settings.max_checkpoint_loss:
        return
    fewest = longest_interval(settings, between)
    checkpoint = checkpoint_of(candidate)
    write = checkpoint.seconds if checkpoint else None
    best = "" if write is None else f", best about {max(1, best_interval(write, between)):.0f}"
    yield Reason(
        "checkpoint-interval-too-long",
        Weight.WARN,
        f"with a checkpoint every {figure(minutes, 6)} minutes {lost:.0%} of the run is"
        f" computed again (one interruption in {figure(between)} h {_basis(candidate)}), limit"
        f" {settings.max_checkpoint_loss:.0%}",
        f"intervalMinutes of at most {fewest:.0f}{best}",
        {"lostPercent": round(lost * PERCENT, 1), "longestIntervalMinutes": round(fewest)},
    )


def _hours_between(candidate: Candidate) -> float:
    return hours_between(candidate.settings, candidate.instance.id, candidate.placement.nodes)


def _basis(candidate: Candidate) -> str:
    """Where the rate of interruptions is from, and of how many nodes it is."""
    nodes = candidate.placement.nodes
    of = f"of {nodes} nodes " if nodes > 1 else ""
    return of + basis(candidate.settings, candidate.instance.id)


def _written_at_notice(candidate: Candidate) -> Iterator[Reason]:
    """Where no checkpoint is written before the run ends, the notice must do for one."""
    minutes, hours = candidate.demand.checkpoint_minutes, candidate.run_hours
    if minutes is None and candidate.workload.tolerance is not InterruptionTolerance.CHECKPOINTED:
        return
    if minutes is not None and (hours is None or minutes < hours * MINUTES):
        return
    checkpoint = checkpoint_of(candidate)
    if checkpoint is None or checkpoint.span is None or checkpoint.span.seconds <= NOTICE_SECONDS:
        return
    yield Reason(
        "checkpoint-interval-too-long",
        Weight.WARN,
        f"no checkpoint is written before an interruption, and one of {gib(checkpoint.size)} takes"
        f" about {checkpoint.span.seconds:.0f} s to {checkpoint.location}, the notice is"
        f" {NOTICE_SECONDS} s",
        "checkpoints: {intervalMinutes: 30}",
        {"writeSeconds": round(checkpoint.span.seconds), "noticeSeconds": NOTICE_SECONDS},
    )


def _fails(candidate: Candidate) -> bool:
    return candidate.demand.trains and candidate.fit.verdict is Verdict.DOES_NOT_FIT


def _is_adapted(candidate: Candidate) -> bool:
    method = getattr(candidate.workload, "method", None)
    return method is not None and method.value in ADAPTED


def _kept(fit: Fit) -> int:
    return sum(fit.term(term) for term in STATES)


def _need(candidate: Candidate) -> str:
    fit = candidate.fit
    largest = sorted(fit.terms, key=lambda item: -item[1])[:3]
    terms = ", ".join(f"{term.value} {gib(size)}" for term, size in largest)
    return (
        f"{_micro_batch(candidate)} need"
        f" {gib(fit.need or 0)} per GPU at {_layout(candidate)} ({terms}), {candidate} has"
        f" {gib(fit.budget or 0)}"
    )


def _micro_batch(candidate: Candidate) -> str:
    """What one GPU processes at once, in words."""
    workload, batch = candidate.workload, _batch(candidate)
    if not isinstance(workload, DiffusionTraining):
        return f"micro batches of {batch} x {candidate.fit.context_length} tokens"
    size = f"{workload.width}x{workload.height} pixels"
    if isinstance(workload, Film):
        size = f"{workload.all_frames} frames of {size}"
    output = candidate.fit.output
    stage = f"to {output.stage}, " if output is not None and output.stage != "train" else ""
    return f"{stage}micro batches of {batch} x {size}"


def _smaller_pictures(workload: DiffusionTraining, output: Output) -> str:
    """The largest micro batch that fits, else the largest picture, and other ways."""
    if 0 < output.largest_batch < workload.micro_batch:
        return f"microBatch {output.largest_batch}"
    ways = []
    if output.largest_width:
        ways.append(f"{output.largest_width}x{output.largest_height} pixels")
    if workload.recompute.value == "none":
        ways.append("recompute full")
    is_cached = workload.cached_latents and workload.cached_text_embeddings
    if not is_cached and not workload.train_text_encoder:
        ways.append("cachedLatents and cachedTextEmbeddings")
    return ", ".join([*ways, "or more GPUs with sharding fsdp"])


def _smaller_batch(candidate: Candidate) -> str:
    """The largest micro batch that fits, else the longest sequence, else other ways."""
    fit, workload = candidate.fit, candidate.workload
    if isinstance(workload, DiffusionTraining) and fit.output is not None:
        return _smaller_pictures(workload, fit.output)
    held = int(fit.sequences or 0)
    if 0 < held < _batch(candidate):
        return f"microBatch {held}"
    longest = fit.longest_context or 0
    if fit.term(Term.OPTIMIZER_STEP):
        return "an optimizer with smaller states, sharding over more GPUs, or method lora"
    others = "recompute full, loss fused, or more GPUs"
    return f"sequenceLength {longest}, {others}" if longest else others


def _batch(candidate: Candidate) -> int:
    batch: int = candidate.workload.micro_batch  # type: ignore[attr-defined]
    return batch


def _layout(candidate: Candidate) -> str:
    sharding = candidate.fit.sharding
    return f"{candidate.placement.layout}{'' if sharding in ('', 'none') else f' with {sharding}'}"
