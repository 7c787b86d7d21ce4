"""What would fit where nothing does: changes of the declaration, each tried and priced.

The order is fixed: what costs least to change comes first. The work is bounded: each change is one
more resolve, and there are at most a few of a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import TYPE_CHECKING, Any

from gpusize.memory.formats import COMPUTE_BYTES
from gpusize.memory.kernels import NATIVE
from gpusize.memory.result import Verdict
from gpusize.names import to_camel
from gpusize.resolving.changes import plan_with
from gpusize.wording import plan_in_words
from gpusize.workload import (
    Audio,
    DiffusionTraining,
    Generation,
    Loss,
    Method,
    Optimizer,
    PipelineOffload,
    Recompute,
    Trainer,
)
from gpusize_catalog.units import MS

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.study import Study

SMALLER_FORMATS = ("fp8", "awq", "nvfp4")
"""Formats to try in place of larger weights: 8 bits first, then the usual 4-bit ones."""
SMALLER_PIPELINES = ("int8", "nf4")
"""The same for pipelines, whose text encoders are often larger than what removes the noise."""
SMALLER_CACHE = "fp8"
SPREADING = "megatron"
"""The trainer that most published runs over several nodes take."""
CONTEXT_STEP = 1024
"""Contexts are proposed in whole steps of so many tokens."""
CONTEXT_TRIES = 6
BATCH_TRIES = 12
REGION_TRIES = 12
DEADLINE_TRIES = 8
MORE_NODES = 8
MORE_TRAINING_NODES = 64
SLOWER = 4
"""Beside the fastest target that is met, one so many times slower, for its price."""
FIELD = "time_per_output_token_ms"


def would_fit(study: Study, tried: list[Candidate]) -> tuple[str, ...]:
    """Try changes in order; each that gives a plan is one sentence with its price."""
    found = [text for change in LIMITS for text in change(study, tried)]
    if study.demand.trains:
        changes = () if found else TRAINING_CHANGES
    else:
        changes = (_formats,) if found else CHANGES
    return (*found, *(text for change in changes for text in change(study, tried)))


def _budget(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001 (one signature)
    budget = study.workload.budget
    if budget.per_hour is None and budget.per_month is None and budget.per_run is None:
        return
    plan = plan_with(
        study, budget=budget.model_copy(update=dict.fromkeys(type(budget).model_fields))
    )
    if plan:
        yield f"a larger budget: {plan_in_words(plan)}"


def _formats(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    bits = study.setup.form.linear_bits if study.setup else None
    for word in SMALLER_FORMATS:
        form = study.catalog.format(word)
        if form is None or bits is None or form.linear_bits >= bits:
            continue
        plan = plan_with(study, weights_format=word)
        if plan and study.support(study.catalog.gpu(plan.gpu), word) == NATIVE:
            yield f"weightsFormat {word}: {plan_in_words(plan)}"


def _pipeline(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    """Smaller weights of a pipeline, components that wait their turn, tiles."""
    workload = study.workload
    if study.architecture.pipeline is None or not isinstance(workload, (Generation, Audio)):
        return
    held = workload.pipeline
    changes: dict[str, dict[str, Any]] = {}
    if study.format in ("", *COMPUTE_BYTES):
        for word in SMALLER_PIPELINES:
            smaller = held.model_copy(update={"text_encoder_format": word})
            named = f"weightsFormat and textEncoderFormat {word}"
            changes[named] = {"weights_format": word, "pipeline": smaller}
    if not held.tiling:
        changes["pipeline tiling"] = {"pipeline": held.model_copy(update={"tiling": True})}
    if held.offload is PipelineOffload.NONE:
        waiting = held.model_copy(update={"offload": PipelineOffload.MODEL})
        changes["pipeline offload model"] = {"pipeline": waiting}
        both = waiting.model_copy(update={"tiling": True})
        changes["pipeline offload model and tiling"] = {"pipeline": both}
    found: set[str] = set()
    for named, change in changes.items():
        plan = (
            None
            if any(named.startswith(f"{one} and") for one in found)
            else plan_with(study, **change)
        )
        if plan:
            found.add(named)
            yield f"{named}: {plan_in_words(plan)}"


def _batch(study: Study, tried: list[Candidate]) -> Iterator[str]:
    """The most samples that some candidate takes at once, then less until the rest agrees."""
    declared = getattr(study.workload, "batch", 0)
    outputs = [one.fit.output for one in tried if one.fit.output is not None]
    batches = {output.largest_batch for output in outputs if 0 < output.largest_batch < declared}
    for batch in sorted(batches, reverse=True)[:BATCH_TRIES]:
        plan = plan_with(study, batch=batch)
        if plan:
            yield f"batch {batch}: {plan_in_words(plan)}"
            return


def _cache(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    form = study.catalog.format(SMALLER_CACHE)
    bits = study.setup.cache_bits if study.setup else None
    if form is None or bits is None or (form.kv_bits or bits) >= bits:
        return
    plan = plan_with(study, kv_cache_format=SMALLER_CACHE)
    if plan:
        yield f"kvCacheFormat {SMALLER_CACHE}: {plan_in_words(plan)}"


def _context(study: Study, tried: list[Candidate]) -> Iterator[str]:
    """The longest context that some candidate holds, then less until the rest agrees.

    Less is never harder, so where the least has no plan none has one.
    """
    contexts = _contexts(study, tried)
    if not contexts or plan_with(study, context_length=contexts[-1]) is None:
        return
    for context in contexts:
        plan = plan_with(study, context_length=context)
        if plan:
            yield f"contextLength {context}: {plan_in_words(plan)}"
            return


def _contexts(study: Study, tried: list[Candidate]) -> list[int]:
    declared = study.demand.context_length
    longest = max((candidate.fit.longest_context or 0 for candidate in tried), default=0)
    context = min(longest, declared - 1) // CONTEXT_STEP * CONTEXT_STEP
    contexts: list[int] = []
    while context >= CONTEXT_STEP and len(contexts) < CONTEXT_TRIES:
        contexts.append(context)
        context = context * 3 // 4 // CONTEXT_STEP * CONTEXT_STEP
    return contexts


def _concurrency(study: Study, tried: list[Candidate]) -> Iterator[str]:
    """The most sequences that some candidate holds at once."""
    declared, tokens = study.demand.concurrency, study.demand.tokens_high
    held = max((candidate.fit.sequences_at(tokens) or 0 for candidate in tried), default=0)
    if not 0 < held < declared:
        return
    plan = plan_with(study, concurrency=held)
    if plan:
        replicas = -(-declared // held)
        each = f"{plan_in_words(plan)} per replica"
        yield f"concurrency {held} on each of {replicas} replicas: {each}"


def _latency(study: Study, tried: list[Candidate]) -> Iterator[str]:
    latency = getattr(study.workload, "latency", None)
    if latency is None or latency.time_per_output_token_ms is None:
        return
    holding = (candidate for candidate in tried if candidate.fit.verdict is Verdict.FITS)
    times = (candidate.timing.token_seconds for candidate in holding)
    fastest = min((seconds for seconds in times if seconds is not None), default=None)
    if fastest is None:
        return
    target = ceil(fastest * MS)
    for reachable in (target, SLOWER * target):
        plan = plan_with(study, latency=latency.model_copy(update={FIELD: float(reachable)}))
        if plan:
            yield f"timePerOutputTokenMs {reachable}: {plan_in_words(plan)}"


def _deadline(study: Study, tried: list[Candidate]) -> Iterator[str]:
    """The least deadline that some placement of the memory's size meets."""
    if study.demand.deadline_hours is None:
        return
    holding = (candidate for candidate in tried if candidate.fit.verdict is Verdict.FITS)
    lengths = (candidate.run_hours for candidate in holding)
    for hours in sorted({ceil(length) for length in lengths if length})[:DEADLINE_TRIES]:
        plan = plan_with(study, deadline_hours=float(hours))
        if plan:
            yield f"deadlineHours {hours}: {plan_in_words(plan)}"
            return


def _regions(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    """The first region that has a plan: the same continent first, then by name."""
    here = study.workload.region
    if study.region is None:
        from gpusize_catalog.spelling import did_you_mean

        meant = did_you_mean(here, study.catalog.regions(), most=2)
        yield f"the region is not in the catalog{meant and ': '}{meant}"
    near = here.split("-")[0]
    others = [region for region in study.catalog.regions() if region != here]
    others.sort(key=lambda region: (region.split("-")[0] != near, region))
    for region in others[:REGION_TRIES]:
        plan = plan_with(study, region=region, zone=None)
        if plan:
            yield f"region {region}: {plan_in_words(plan)}"
            return


def _nodes(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    settings = study.settings
    wider = settings._replace(max_nodes=MORE_NODES)
    if study.demand.trains:
        wider = settings._replace(max_training_nodes=MORE_TRAINING_NODES)
    if study.workload.nodes_per_replica is not None or wider <= settings:
        return
    plan = plan_with(study, wider)
    if plan:
        yield f"{plan.nodes} nodes: {plan_in_words(plan)}"


Change = Callable[["Study", "list[Candidate]"], Iterator[str]]
LIMITS: tuple[Change, ...] = (_budget, _latency, _deadline)
"""Limits that somebody set: where one of them is what stands in the way, memory does not."""
CHANGES: tuple[Change, ...] = (
    _pipeline,
    _batch,
    _cache,
    _context,
    _concurrency,
    _formats,
    _nodes,
    _regions,
)


def _declared(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    """Ways to train with less memory, each alone; the first that has a plan."""
    for key, value in SMALLER_TRAINING:
        current = _in_force(study, key)
        is_odd = value is Optimizer.PAGED_ADAMW_8BIT and study.splits_runs
        if current is None or current == value.value or is_odd:
            continue
        plan = plan_with(study, **{key: value})
        if plan:
            yield f"{to_camel(key)} {value.value}: {plan_in_words(plan)}"
            return


def _other_trainer(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    """A trainer that spreads layers, where the declared one makes copies alone."""
    method = getattr(study.workload, "method", Method.FULL)
    if (
        isinstance(study.workload, DiffusionTraining)
        or study.splits_runs
        or method is not Method.FULL
    ):
        return
    trainer = Trainer(name=SPREADING, version=None)
    sharding = study.workload.sharding.model_copy(update={"mode": None})  # type: ignore[attr-defined]
    plan = plan_with(study, trainer=trainer, recompute=Recompute.FULL, sharding=sharding)
    if plan:
        yield f"trainer {SPREADING} and recompute full: {plan_in_words(plan)}"


def _in_force(study: Study, key: str) -> str | None:
    """The word of a field, the trainer's own where none is declared; None: not a field."""
    value = getattr(study.workload, key, None)
    known = getattr(study.sizing.sizer, "setup", None)
    if value is None:
        found: str | None = getattr(known.habits, key, None) if known else None
        return found
    word: str = value.value
    return word


SMALLER_TRAINING: tuple[tuple[str, Any], ...] = (
    ("recompute", Recompute.FULL),
    ("loss", Loss.FUSED),
    ("optimizer", Optimizer.PAGED_ADAMW_8BIT),
    ("method", Method.LORA),
    ("method", Method.QLORA),
)
"""What costs least to change comes first."""


def _cached(study: Study, tried: list[Candidate]) -> Iterator[str]:  # noqa: ARG001
    """Components of a pipeline that need not be there while it is trained, then more besides."""
    workload = study.workload
    if not isinstance(workload, DiffusionTraining) or workload.train_text_encoder:
        return
    changes: dict[str, Any] = {"cached_latents": True, "cached_text_embeddings": True}
    named = "cachedLatents and cachedTextEmbeddings"
    trials = [(named, changes)]
    if workload.recompute is Recompute.NONE:
        named, changes = f"{named}, recompute full", {**changes, "recompute": Recompute.FULL}
        trials.append((named, changes))
    if workload.method is Method.LORA:
        trials.append((f"{named}, method qlora", {**changes, "method": Method.QLORA}))
    for told, change in trials:
        if all(getattr(workload, key) == value for key, value in change.items()):
            continue
        plan = plan_with(study, **change)
        if plan:
            yield f"{told}: {plan_in_words(plan)}"
            return


def _fewer_pictures(study: Study, tried: list[Candidate]) -> Iterator[str]:
    """The most pictures, or the largest, that some candidate trains on at once."""
    workload = study.workload
    if not isinstance(workload, DiffusionTraining):
        return
    outputs = [one.fit.output for one in tried if one.fit.output is not None]
    batches = {one.largest_batch for one in outputs if one.largest_batch < workload.micro_batch}
    for batch in sorted(batches - {0}, reverse=True)[:BATCH_TRIES]:
        whole = workload.global_batch
        if whole is not None and whole % batch:
            continue
        plan = plan_with(study, micro_batch=batch)
        if plan:
            yield f"microBatch {batch}: {plan_in_words(plan)}"
            return
    smaller = {
        (one.largest_width, one.largest_height)
        for one in outputs
        if 0 < one.largest_width < workload.width
    }
    for width, height in sorted(smaller, reverse=True)[:BATCH_TRIES]:
        plan = plan_with(study, width=width, height=height)
        if plan:
            yield f"{width}x{height} pixels: {plan_in_words(plan)}"
            return


TRAINING_CHANGES: tuple[Change, ...] = (
    _declared,
    _cached,
    _fewer_pictures,
    _other_trainer,
    _nodes,
    _regions,
)
