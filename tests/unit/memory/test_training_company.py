"""Adapters of other makes, models beside the one trained, and runs in fp32, by hand and published.

Published peaks: huggingface/peft, method_comparison/MetaMathQA/results of 2026-07 (reserved memory
of Llama-3.2-3B in batches of four that are cut at 768 tokens), and Lightning-AI/litgpt,
tutorials/resource-tables.md (allocated memory, GB).
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.architecture import architecture_of
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term
from gpusize.memory.training.adapters import outputs, params_of
from gpusize.memory.training.objectives import COMPANIES, company_of
from gpusize.placement import Layout, Placement
from gpusize.workload import (
    AdapterForm,
    AdapterTargets,
    Market,
    Objective,
    TokenAdapter,
    parse_workload,
)
from gpusize_catalog.store import load
from gpusize_catalog.units import GIB

LLAMA = "meta-llama/Llama-3.1-8B"
PARAMS = 8_030_261_248
GB = 1e9 / GIB
CATALOG = load()


def run(dp: int = 1, **more: Any) -> Fit:
    raw = {
        "kind": "fine-tuning",
        "method": "full",
        "model": LLAMA,
        "region": "us-east-1",
        "sequenceLength": 2048,
        "weightsFormat": "bf16",
        **more,
    }
    gpu = CATALOG.gpu("H200")
    node = CATALOG.instance("p5en.48xlarge")
    where = Placement(node, gpu, 1, Layout(dp=dp), "us-east-1", Market.ON_DEMAND)
    return fit(parse_workload(raw), where, CATALOG)


def adapter(form: AdapterForm, targets: AdapterTargets, rank: int = 16) -> TokenAdapter:
    return TokenAdapter(form=form, targets=targets, rank=rank)


@pytest.mark.parametrize(
    ("targets", "columns"),
    [
        # Query 4096, key and value 1024 each, output 4096, gate and up 14336 each, down 4096.
        (AdapterTargets.QUERY_VALUE, 4096 + 1024),
        (AdapterTargets.ATTENTION, 4096 + 2 * 1024 + 4096),
        (AdapterTargets.ALL_LINEAR, 4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096),
    ],
)
def test_scales_have_two_numbers_for_each_column(targets: AdapterTargets, columns: int) -> None:
    architecture = architecture_of(LLAMA, CATALOG)
    assert outputs(architecture, targets) == columns
    made = params_of(architecture, adapter(AdapterForm.SCALES, targets), 1)
    assert made == (2 * columns * 32, 0)
    assert params_of(architecture, adapter(AdapterForm.SCALES, targets), 4).dense == columns * 16


def test_scales_of_llama_2_are_what_litgpt_trains_beside_its_prefix() -> None:
    """4,279,744 parameters: scales, those of the head, the prefix of 30 layers, and all norms."""
    architecture = architecture_of("meta-llama/Llama-2-7b-hf", CATALOG)
    scales = params_of(architecture, adapter(AdapterForm.SCALES, AdapterTargets.ALL_LINEAR), 1)
    prefix = 30 * (10 * 4096 + 32)
    assert scales.dense + 2 * 32000 + prefix + 65 * 4096 == 4_279_744


def test_a_prefix_has_as_many_vectors_as_its_rank_says() -> None:
    architecture = architecture_of(LLAMA, CATALOG)
    made = params_of(architecture, adapter(AdapterForm.PREFIX, AdapterTargets.ALL_LINEAR, 10), 1)
    assert made == (10 * 4096 * 32, 0)


def test_scaled_outputs_are_kept_for_their_gradients() -> None:
    """43,008 columns of two bytes in each of 32 layers, for each of 2048 tokens."""
    more = {"method": "lora", "recompute": "none", "trainer": "litgpt"}
    prefix = run(adapter={"form": "prefix", "rank": 10}, **more)
    scales = run(adapter={"form": "scales"}, **more)
    kept = scales.term(Term.ACTIVATIONS) - prefix.term(Term.ACTIVATIONS)
    assert kept == pytest.approx(2 * 43_008 * 32 * 2048, rel=0.01)


@given(st.sampled_from(sorted(AdapterForm)), st.integers(1, 256), st.sampled_from((1, 2, 4)))
def test_an_adapter_is_small_and_never_grows_with_ranks(
    form: AdapterForm, rank: int, tp: int
) -> None:
    architecture = architecture_of(LLAMA, CATALOG)
    one = params_of(architecture, adapter(form, AdapterTargets.ALL_LINEAR, rank), 1)
    cut = params_of(architecture, adapter(form, AdapterTargets.ALL_LINEAR, rank), tp)
    assert 0 < cut.dense <= one.dense < 0.1 * PARAMS


PEFT = {
    "model": "meta-llama/Llama-3.2-3B",
    "trainer": "hf",
    "sequenceLength": 768,
    "microBatch": 4,
    "method": "lora",
}
LITGPT = {
    "model": "meta-llama/Llama-2-7b-hf",
    "trainer": "litgpt",
    "sequenceLength": 1304,
    "method": "lora",
    "globalBatch": 128,
}
VALUES = {"rank": 32, "targets": "query-value"}


@pytest.mark.parametrize(
    ("more", "peak"),
    [
        ({**PEFT, "method": "full"}, 36.20),
        ({**PEFT, "adapter": VALUES}, 20.76),
        ({**PEFT, "adapter": {**VALUES, "rank": 64}}, 21.00),
        ({**PEFT, "method": "dora", "adapter": VALUES}, 22.85),
        ({**PEFT, "adapter": {"rank": 10, "targets": "dense-linear"}}, 23.00),
        ({**PEFT, "adapter": {"form": "scales"}}, 24.35),
        ({**PEFT, "adapter": {"form": "scales", "targets": "query-value"}}, 21.25),
        ({**PEFT, "adapter": {"form": "prefix", "rank": 200}}, 20.45),
        ({**PEFT, "adapter": {"form": "prefix", "rank": 1}}, 22.72),
    ],
)
def test_peaks_of_methods_that_peft_publishes(more: dict[str, Any], peak: float) -> None:
    """Nothing was set on them."""
    found = run(**more)
    seen = (found.need or 0) - found.term(Term.RUNTIME_OVERHEAD)
    assert seen / GIB == pytest.approx(peak, rel=0.12)
    assert abs(seen - peak * GIB) <= found.band


@pytest.mark.parametrize(
    ("more", "peak"),
    [
        ({"adapter": {"rank": 8, "targets": "query-value"}}, 21.30),
        ({"adapter": {"form": "prefix", "rank": 10}}, 19.98),
        ({"adapter": {"form": "scales"}}, 25.51),
        ({"adapter": {"form": "scales"}, "method": "qlora", "weightsFormat": "nf4"}, 18.30),
    ],
)
def test_peaks_of_adapters_that_litgpt_publishes(more: dict[str, Any], peak: float) -> None:
    found = run(**{**LITGPT, **more})
    beside = (Term.ALLOCATOR_SLACK, Term.RUNTIME_OVERHEAD)
    seen = (found.need or 0) - sum(found.term(term) for term in beside)
    assert seen / GIB == pytest.approx(peak * GB, rel=0.12)


def test_a_critic_is_trained_beside_the_policy_and_two_models_are_frozen() -> None:
    """Pure 16 bits: two copies of 2 + 2 + 4 bytes, and two of 2."""
    found = run(objective="actor-critic")
    assert found.term(Term.WEIGHTS) == pytest.approx((2 * 2 + 2 * 2) * PARAMS, rel=1e-6)
    assert found.term(Term.GRADIENTS) == pytest.approx(2 * 2 * PARAMS, rel=1e-6)
    assert found.term(Term.OPTIMIZER_STATES) == pytest.approx(2 * 4 * PARAMS, rel=1e-6)


def test_beside_an_adapter_the_frozen_weights_are_the_reference() -> None:
    """A critic and a model of rewards are two more copies, a teacher is one."""
    plain = run(method="lora").term(Term.WEIGHTS)
    for objective, copies in (("policy", 0), ("actor-critic", 2), ("distillation", 1)):
        found = run(method="lora", objective=objective).term(Term.WEIGHTS)
        own = 41_943_040 * 4 * (objective == "actor-critic")
        assert found - plain == pytest.approx(copies * 2 * PARAMS + own, rel=1e-6)


def test_a_teacher_has_logits_of_its_own() -> None:
    plain, taught = run(), run(objective="distillation")
    assert taught.term(Term.LOGITS) == 2 * plain.term(Term.LOGITS)
    assert taught.term(Term.WEIGHTS) - plain.term(Term.WEIGHTS) == pytest.approx(
        2 * PARAMS, rel=1e-6
    )


def test_shards_are_put_together_to_write_answers() -> None:
    more = {"sharding": "zero-3", "sequenceLength": 128, "method": "lora"}
    found = run(dp=4, objective="policy", **more)
    assert found.term(Term.SAMPLING) == pytest.approx(2 * PARAMS, rel=1e-6)
    assert run(dp=4, objective="preference", **more).term(Term.SAMPLING) == 0
    assert run(objective="policy", method="lora").term(Term.SAMPLING) == 0


@pytest.mark.parametrize(
    ("more", "peak"),
    [
        ({"method": "full", "sharding": "zero-3", "dp": 8}, 65.0),
        ({"method": "lora", "sharding": "zero-2", "dp": 4}, 50.0),
    ],
)
def test_peaks_of_ppo_that_ms_swift_publishes(more: dict[str, Any], peak: float) -> None:
    """Llama-3.1-8B with 2048 tokens: examples/train/rlhf/ppo of modelscope/ms-swift 3602360a."""
    tuned = {"adapter": {"rank": 8}} if more["method"] == "lora" else {}
    found = run(objective="actor-critic", trainer="ms-swift", **tuned, **more)
    beside = (Term.RUNTIME_OVERHEAD, Term.COMMUNICATION)
    seen = (found.need or 0) - sum(found.term(term) for term in beside)
    assert seen / GIB == pytest.approx(peak, rel=0.15)


@pytest.mark.parametrize("objective", sorted(COMPANIES))
def test_company_never_takes_less_than_text_alone(objective: Objective) -> None:
    plain = run(method="lora", sequenceLength=128)
    found = run(method="lora", sequenceLength=128, objective=objective.value)
    head = 2 * 128256 * 4096 * company_of(objective).is_headless
    assert found.term(Term.WEIGHTS) + head >= plain.term(Term.WEIGHTS)
    assert company_of(objective).sequences >= 1


def test_what_is_loaded_in_fp32_is_trained_in_it() -> None:
    """Weights, gradients and two moments of four bytes, and activations of four."""
    wide, half = run(weightsFormat="fp32"), run()
    kept = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
    assert sum(wide.term(term) for term in kept) == pytest.approx(16 * PARAMS, rel=1e-6)
    assert sum(half.term(term) for term in kept) == pytest.approx(8 * PARAMS, rel=1e-6)
    more = {"recompute": "none", "sequenceLength": 8192, "sharding": "zero-3"}
    with_casts = run(dp=8, weightsFormat="fp32", computePrecision="bf16", **more)
    without = run(dp=8, weightsFormat="fp32", **more)
    assert without.term(Term.ACTIVATIONS) == pytest.approx(
        2 * with_casts.term(Term.ACTIVATIONS), rel=0.01
    )


@pytest.mark.parametrize(("batch", "peak"), [(4, 14.599), (1, 8.478)])
def test_peaks_of_bert_that_transformers_publishes(batch: int, peak: float) -> None:
    """BERT-large in fp32 on a V100, eager attention: docs/source/en/model_memory_anatomy.md."""
    found = run(
        model="google-bert/bert-large-uncased",
        sequenceLength=512,
        microBatch=batch,
        globalBatch=4,
        weightsFormat="fp32",
        attention="eager",
    )
    assert (found.need or 0) / GIB == pytest.approx(peak, rel=0.1)


def test_four_bit_products_keep_four_bits_and_a_scale_for_sixteen() -> None:
    """Inputs of attention and MLP, 4096 wide, and of the last matrix, 14336 wide."""
    more = {"trainer": "torchtitan", "recompute": "none", "sharding": "fsdp"}
    wide = run(dp=8, **more)
    narrow = run(dp=8, computePrecision="nvfp4", **more)
    less = (2 - 4.5 / 8) * (2 * 4096 + 14336) * 32 * 2048
    assert wide.term(Term.ACTIVATIONS) - narrow.term(Term.ACTIVATIONS) == pytest.approx(
        less, rel=0.04
    )
