"""Laws that every estimate of a training run keeps."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.constraints import DECLARATION
from gpusize.constraints.reason import Weight
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.placement import Layout, Placement
from gpusize.resolve import resolve
from gpusize.resolving.weighing import reasons_of
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import Catalog, load

MODELS = (
    "meta-llama/Llama-3.1-8B",
    "Qwen/Qwen2.5-7B",
    "microsoft/phi-1_5",
    "Qwen/Qwen3-30B-A3B",
)
TRAINERS = ("hf", "ms-swift", "axolotl", "litgpt", "torchtitan", "llm-foundry", "megatron")
MODES = ("ddp", "zero-1", "zero-2", "zero-3", "fsdp")
METHODS = ("full", "lora", "qlora", "dora")
STATES = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
TODAY = datetime.date(2026, 11, 30)


@cache
def catalog() -> Catalog:
    return load()


def declared(**more: Any) -> dict[str, Any]:
    base = {"kind": "fine-tuning", "region": "us-east-1", "sequenceLength": 1024, "method": "full"}
    return {**base, **more}


def sized(raw: dict[str, Any], copies: int = 1, layout: Layout | None = None) -> Fit:
    layout = layout or Layout(dp=copies)
    instance = catalog().instance("p4d.24xlarge")._replace(gpus=layout.gpus)
    gpu = catalog().gpu("A100-40GB")
    placement = Placement(instance, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    found = fit(parse_workload(raw), placement, catalog())
    assert found.verdict is not Verdict.UNKNOWN, found.reasons
    return found


def kept(found: Fit) -> int:
    return sum(found.term(term) for term in STATES)


runs = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "trainer": st.sampled_from(TRAINERS),
        "method": st.sampled_from(METHODS),
        "microBatch": st.integers(1, 8),
        "sequenceLength": st.sampled_from([256, 1024, 4096]),
        "attention": st.sampled_from(["flash", "eager"]),
        "loss": st.sampled_from(["plain", "chunked", "fused"]),
        "optimizer": st.sampled_from(["adamw", "adamw-8bit", "paged-adamw-8bit", "sgd", "muon"]),
    }
)


@given(run=runs, mode=st.sampled_from(MODES), copies=st.sampled_from([1, 2, 4, 8]))
def test_more_shards_never_add_states(run: dict[str, Any], mode: str, copies: int) -> None:
    raw = declared(**run, sharding=mode)
    assert kept(sized(raw, 2 * copies)) <= kept(sized(raw, copies))


@given(run=runs)
def test_recomputing_never_adds_activations(run: dict[str, Any]) -> None:
    whole, some, none = (
        sized(declared(**run, recompute=word)).need or 0 for word in ("full", "selective", "none")
    )
    assert whole <= some <= none


@given(run=runs, ranks=st.sampled_from([1, 2, 4]), recompute=st.sampled_from(["none", "full"]))
def test_sharing_sequences_never_adds_activations(
    run: dict[str, Any], ranks: int, recompute: str
) -> None:
    raw = declared(**{**run, "trainer": "torchtitan"}, recompute=recompute, sharding="zero-1")
    few, many = (sized(raw, layout=Layout(cp=cp)) for cp in (ranks, 2 * ranks))
    moving = (Term.ACTIVATIONS, Term.LOGITS)
    assert sum(map(many.term, moving)) <= sum(map(few.term, moving)) + 1
    assert kept(many) <= kept(few)


@given(
    run=runs,
    model=st.sampled_from(["Qwen/Qwen3-VL-8B-Instruct", "google/gemma-3-4b-it"]),
    images=st.integers(1, 8),
    recompute=st.sampled_from(["none", "selective", "full"]),
)
def test_a_frozen_tower_never_needs_more_than_a_trained_one(
    run: dict[str, Any], model: str, images: int, recompute: str
) -> None:
    raw = declared(**{**run, "model": model}, modality="vision-language", recompute=recompute)
    raw["images"] = {"perPrompt": images}
    frozen, trained = (sized({**raw, "trainVision": word}) for word in (False, True))
    assert (frozen.need or 0) <= (trained.need or 0)


@given(run=runs, more=st.integers(1, 4096), recompute=st.sampled_from(["none", "full"]))
def test_more_tokens_never_need_less(run: dict[str, Any], more: int, recompute: str) -> None:
    short = sized(declared(**run, recompute=recompute))
    longer = {**run, "sequenceLength": run["sequenceLength"] + more}
    wider = {**run, "microBatch": run["microBatch"] + 1}
    assert (sized(declared(**longer, recompute=recompute)).need or 0) >= (short.need or 0)
    assert (sized(declared(**wider, recompute=recompute)).need or 0) >= (short.need or 0)


@given(run=runs)
def test_four_bits_never_need_more_weights_than_sixteen(run: dict[str, Any]) -> None:
    packed = sized(declared(**{**run, "method": "qlora"}))
    wide = sized(declared(**{**run, "method": "lora", "weightsFormat": "bf16"}))
    assert packed.term(Term.WEIGHTS) <= wide.term(Term.WEIGHTS)


@given(run=runs, mode=st.sampled_from(("zero-3", "fsdp")), copies=st.sampled_from([2, 8]))
def test_what_is_offloaded_lies_in_the_host(run: dict[str, Any], mode: str, copies: int) -> None:
    here = sized(declared(**run, sharding={"mode": mode}), copies)
    moved = sized(declared(**run, sharding={"mode": mode, "offload": "optimizer"}), copies)
    assert kept(moved) <= kept(here)
    assert abs(kept(here) + here.host - kept(moved) - moved.host) <= 4


@given(run=runs, copies=st.sampled_from([1, 4]))
def test_what_is_said_to_fit_fits(run: dict[str, Any], copies: int) -> None:
    found = sized(declared(**run), copies)
    batch, longest = int(found.sequences or 0), found.longest_context or 0
    if batch:
        wider = sized(declared(**{**run, "microBatch": batch}), copies)
        assert (wider.margin or 0) >= -64
    if longest:
        longer = {**run, "microBatch": 1, "sequenceLength": longest}
        alone = sized(declared(**longer), copies)
        assert (alone.margin or 0) >= -64


@given(
    run=runs,
    tokens=st.sampled_from([None, 10**6, 10**9]),
    minutes=st.sampled_from([None, 30.0, 900.0]),
    tolerance=st.sampled_from([None, "none", "restartable", "checkpointed"]),
)
@settings(deadline=None, max_examples=20)
def test_nothing_speaks_against_what_gpusize_chose(
    run: dict[str, Any], tokens: int | None, minutes: float | None, tolerance: str | None
) -> None:
    raw = declared(**run)
    if tokens is not None:
        raw["tokens"] = tokens
    if minutes is not None:
        raw["checkpoints"] = {"intervalMinutes": minutes}
    if tolerance is not None:
        raw["interruptionTolerance"] = tolerance
    resolution = resolve(parse_workload(raw), catalog(), today=TODAY)
    if resolution.plan is None or resolution.candidate is None:
        return
    loud = [
        reason
        for reason in reasons_of(resolution.candidate)
        if reason.weight is not Weight.ADVICE and reason.name not in DECLARATION
    ]
    assert loud == []
