"""Does the memory hold the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.figures import in_gib, of_budget
from gpusize.constraints.reason import Reason, Weight
from gpusize.memory.result import Term, Verdict
from gpusize.memory.verdict import HEADROOM_BYTES, headroom
from gpusize.resolving.demand import inference
from gpusize_catalog.units import MIB, gib

if TYPE_CHECKING:
    from gpusize.memory.result import Fit
    from gpusize.resolving.candidate import Candidate


def weights_exceed_vram(candidate: Candidate) -> Iterator[Reason]:
    """The weights of one GPU are larger than its budget."""
    fit = candidate.fit
    weights = fit.term(Term.WEIGHTS)
    if fit.verdict is not Verdict.DOES_NOT_FIT or fit.budget is None or weights <= fit.budget:
        return
    if candidate.demand.trains:
        return
    layout = candidate.placement.layout
    yield Reason(
        "weights-exceed-vram",
        Weight.ERROR,
        f"weights need {gib(weights)} per GPU at {layout},"
        f" {candidate} has {gib(fit.budget)} usable",
        numbers={"weightsGib": in_gib(weights), **of_budget(candidate)},
    )


def kv_cache_exceeds_vram(candidate: Candidate) -> Iterator[Reason]:
    """One full-context sequence does not fit beside the weights; silent where they do not fit."""
    fit = candidate.fit
    if fit.verdict is not Verdict.DOES_NOT_FIT or fit.budget is None:
        return
    if candidate.demand.trains or fit.output is not None:
        return
    if fit.term(Term.WEIGHTS) > fit.budget or fit.need is None:
        return
    terms = ", ".join(f"{term.value} {gib(size)}" for term, size in _largest(fit.terms))
    longest = fit.longest_context or 0
    roomy = _context_with_headroom(candidate, longest)
    fix = f"longest context that fits: {longest} tokens" if longest else ""
    if roomy:
        fix += f", {roomy} with headroom"
    yield Reason(
        "kv-cache-exceeds-vram",
        Weight.ERROR,
        f"one sequence of {fit.context_length} tokens needs {gib(fit.need)} per GPU ({terms}),"
        f" {candidate} has {gib(fit.budget)} usable",
        fix,
        {
            "needGib": in_gib(fit.need),
            "longestContext": longest,
            "contextWithHeadroom": roomy,
            **of_budget(candidate),
        },
    )


def _context_with_headroom(candidate: Candidate, longest: int) -> int:
    """The longest context that GPU104 finds nothing wrong with; 0 where there is none."""
    fit, usable = candidate.fit, candidate.placement.usable_bytes
    if fit.cache is None or fit.kv_pool is None or usable is None:
        return 0
    room = fit.kv_pool - headroom(usable, fit.band)
    return fit.cache.longest(room, longest) if room > 0 else 0


def pipeline_exceeds_vram(candidate: Candidate) -> Iterator[Reason]:
    """A stage of a pipeline does not fit beside the weights; silent where they do not fit."""
    fit = candidate.fit
    output = fit.output
    if fit.verdict is not Verdict.DOES_NOT_FIT or output is None or candidate.demand.trains:
        return
    if fit.budget is None or fit.need is None or fit.term(Term.WEIGHTS) > fit.budget:
        return
    fixes = []
    if output.largest_batch:
        fixes.append(f"batch {output.largest_batch}")
    if output.largest_width:
        fixes.append(f"{output.largest_width}x{output.largest_height} pixels")
    if output.largest_seconds:
        fixes.append(f"{output.largest_seconds:g} seconds")
    yield Reason(
        "pipeline-exceeds-vram",
        Weight.ERROR,
        f"to {output.stage} needs {gib(fit.need)} per GPU ({_parts(fit)}),"
        f" {candidate} has {gib(fit.budget)} usable",
        f"at most {' or '.join(fixes)} fits" if fixes else "",
        {
            "needGib": in_gib(fit.need),
            "activationsGib": in_gib(fit.term(Term.ACTIVATIONS)),
            "largestBatch": output.largest_batch,
            **of_budget(candidate),
        },
    )


def _parts(fit: Fit) -> str:
    """What of a fit depends on what is declared, in words."""
    parts = (Term.WEIGHTS, Term.KV_CACHE, Term.ACTIVATIONS)
    return ", ".join(f"{term.value} {gib(fit.term(term))}" for term in parts if fit.term(term))


def no_memory_headroom(candidate: Candidate) -> Iterator[Reason]:
    """It fits by less than the error of the estimate."""
    fit = candidate.fit
    if fit.verdict not in (Verdict.FITS, Verdict.TIGHT) or fit.margin is None or fit.need is None:
        return
    kept = candidate.settings.team.headroom_of(fit.need + fit.margin)
    if fit.verdict is Verdict.FITS and fit.margin >= kept:
        return
    if kept and fit.margin < kept:
        why = f"{gib(fit.margin)} free, the team keeps {gib(kept)} free"
    elif fit.margin <= fit.band:
        why = f"within the error of the estimate (+-{gib(fit.band)})"
    elif fit.margin < HEADROOM_BYTES:
        why = f"{gib(fit.margin)} free, less than an upgrade of the engine may take"
    else:
        why = "; ".join(fit.reasons)
    yield Reason(
        "no-memory-headroom",
        Weight.WARN,
        f"{gib(fit.need)} of {gib(fit.need + fit.margin)} per GPU are needed on {candidate}, {why}",
        numbers={
            "marginGib": in_gib(fit.margin),
            "bandGib": in_gib(fit.band),
            **of_budget(candidate),
        },
    )


def concurrency_exceeds_kv(candidate: Candidate) -> Iterator[Reason]:
    """Fewer long sequences fit at once than are declared; needs declared token counts."""
    demand, fit = candidate.demand, candidate.fit
    if demand.trains or not demand.tokens_declared or fit.verdict is Verdict.DOES_NOT_FIT:
        return
    held = fit.sequences_at(demand.tokens_high)
    if held is None or held >= demand.concurrency:
        return
    yield Reason(
        "concurrency-exceeds-kv",
        Weight.WARN,
        f"the KV cache of {candidate} holds {held} sequences of {demand.tokens_high} tokens,"
        f" concurrency is {demand.concurrency}",
        _shared(demand.concurrency * demand.replicas, held) if held else "",
        {"sequences": held, "concurrency": demand.concurrency, "tokens": demand.tokens_high},
    )


def _shared(sequences: int, held: int) -> str:
    """As many replicas as hold all sequences, each with what its cache holds."""
    return f"concurrency: {held} with replicas: {{min: {-(-sequences // held)}}}"


def context_bound_concurrency(candidate: Candidate) -> Iterator[Reason]:
    """The same at full context, where that is the only length declared: an upper bound."""
    demand, fit = candidate.demand, candidate.fit
    if demand.tokens_declared or fit.verdict is Verdict.DOES_NOT_FIT:
        return
    held = fit.sequences_at(demand.context_length)
    if held is None or held >= demand.concurrency:
        return
    yield Reason(
        "context-bound-concurrency",
        Weight.ADVICE,
        f"if every sequence filled the context of {demand.context_length} tokens, the KV cache of"
        f" {candidate} would hold {held} of {demand.concurrency}",
        "declare promptTokens and outputTokens",
        {"sequences": held, "concurrency": demand.concurrency, "tokens": demand.context_length},
    )


def recurrent_state_exceeds_vram(candidate: Candidate) -> Iterator[Reason]:
    """The engine may run more sequences at once than its pool has blocks for their state.

    A setting of the engine and no placement is the cure: the default is far above what most work
    needs, so a larger GPU would be paid for nothing.
    """
    fit, demand = candidate.fit, candidate.demand
    if not fit.state_block or fit.kv_pool is None or fit.verdict is Verdict.DOES_NOT_FIT:
        return
    if fit.running <= (fit.kv_pool + fit.band) // fit.state_block:
        return
    blocks = max(0, fit.kv_pool - fit.band) // fit.state_block
    wanted = -(-demand.concurrency // candidate.placement.layout.dp)
    declared = inference(candidate.workload).engine.max_sequences is not None
    whose = "maxSequences" if declared else "the engine's default"
    yield Reason(
        "recurrent-state-exceeds-vram",
        Weight.ERROR,
        f"{candidate} has blocks for the recurrent state of about"
        f" {max(0, fit.kv_pool) // fit.state_block} sequences,"
        f" {whose} is {fit.running}: {candidate.study.engine} refuses to start",
        f"engine: {{maxSequences: {_round(blocks, wanted)}}}" if blocks else "",
        {
            "sequences": fit.running,
            "blocks": max(0, fit.kv_pool) // fit.state_block,
            "blockMib": round(fit.state_block / MIB, 2),
            **of_budget(candidate),
        },
    )


def _round(blocks: int, wanted: int) -> int:
    """The largest power of two that the blocks hold; what is wanted, where that is more."""
    power = 1 << (blocks.bit_length() - 1)
    return wanted if power < wanted <= blocks else power


def context_beyond_model_limit(candidate: Candidate) -> Iterator[Reason]:
    """The declared context is longer than the model was made for."""
    limit = candidate.architecture.max_position
    context = candidate.demand.context_length
    if limit is None or context <= limit:
        return
    field = "sequenceLength" if candidate.demand.trains else "contextLength"
    yield Reason(
        "context-beyond-model-limit",
        Weight.ERROR,
        f"{field} {context} is beyond the {limit} positions of {candidate.architecture.name}",
        f"{field} {limit}",
        {field: context, "modelLimit": limit},
    )


def estimate_not_supported(candidate: Candidate) -> Iterator[Reason]:
    """The memory cannot be computed."""
    fit = candidate.fit
    if fit.verdict is not Verdict.UNKNOWN:
        return
    why = "; ".join(fit.reasons) or "no reason given"
    gpu, fix = candidate.gpu, ""
    if not gpu.cuda:
        fix = "an instance type with NVIDIA GPUs"
    elif gpu.usable_bytes is None:
        fix = f"give the memory that CUDA reports for {gpu.id} in a catalog overlay"
    yield Reason("estimate-not-supported", Weight.ADVICE, f"memory is not known: {why}", fix)


def _largest(terms: tuple[tuple[Term, int], ...]) -> list[tuple[Term, int]]:
    return sorted(terms, key=lambda item: -item[1])[:2]
