"""Weights of one rank against what engines logged while loading."""

from __future__ import annotations

import pytest

from gpusize.architecture import architecture_of
from gpusize.memory import weights
from gpusize.placement import Layout
from gpusize_catalog.units import GIB

LOGGED = [
    # model, format, layout, GiB logged by vLLM while loading, relative error allowed
    ("meta-llama/Llama-3.1-8B", "bf16", {}, 14.99, 0.005),
    ("meta-llama/Llama-3.1-8B", "fp8", {}, 8.49, 0.006),
    ("meta-llama/Llama-3.1-8B", "int4", {}, 5.38, 0.013),
    ("meta-llama/Llama-3.1-8B", "fp32", {}, 29.98, 0.005),
    ("meta-llama/Llama-3.1-8B", "bf16", {"tp": 4}, 3.77, 0.01),
    ("meta-llama/Llama-3.1-8B", "bf16", {"pp": 2}, 7.51, 0.01),
    ("meta-llama/Llama-3.1-8B", "bf16", {"pp": 4}, 4.26, 0.01),
    ("meta-llama/Llama-3.1-70B", "fp8", {"tp": 2}, 33.88, 0.006),
    ("meta-llama/Llama-3.1-70B", "awq", {"tp": 2}, 18.55, 0.006),
    ("Qwen/Qwen2.5-14B", "awq", {}, 9.38, 0.01),
    ("Qwen/Qwen2.5-32B", "awq", {}, 18.14, 0.01),
    ("Qwen/Qwen3-30B-A3B", "fp8-block", {}, 29.08, 0.006),
    ("Qwen/Qwen3-235B-A22B", "fp8-block", {"tp": 8}, 27.67, 0.01),
    ("deepseek-ai/DeepSeek-R1", "nvfp4", {"tp": 8}, 48.13, 0.03),
    ("openai/gpt-oss-20b", "mxfp4", {}, 13.64, 0.01),
]


@pytest.mark.parametrize(("model", "word", "sizes", "gib", "error"), LOGGED)
def test_one_rank_holds_what_was_logged(catalog, engine, form, model, word, sizes, gib, error):
    architecture = architecture_of(model, catalog)
    layout = Layout(**sizes)
    row = engine("vllm", "0.19.0")
    size = max(
        weights.rank_bytes(architecture, form(word), row, layout, stage)
        for stage in weights.distinct_stages(architecture.layers, layout.pp)
    )
    assert size / GIB == pytest.approx(gib, rel=error)


def test_a_16_bit_70b_model_is_131_gib(catalog, engine, form):
    architecture = architecture_of("meta-llama/Llama-3.1-70B", catalog)
    stage = weights.Stage(architecture.layers, True, True)
    size = weights.rank_bytes(architecture, form("fp16"), engine("vllm", "0.20"), Layout(), stage)
    assert round(size / GIB) == 131


def test_declared_fp16_of_a_bf16_model_changes_no_bytes(sized):
    own = sized("meta-llama/Llama-3.1-8B", "g6e.xlarge")
    cast = sized("meta-llama/Llama-3.1-8B", "g6e.xlarge", weightsFormat="fp16")
    assert own.terms == cast.terms


def test_mxfp4_leaves_all_but_the_experts_at_16_bits(catalog, engine, form):
    architecture = architecture_of("openai/gpt-oss-20b", catalog)
    stage = weights.Stage(architecture.layers, True, True)
    row = engine("vllm", "0.11.0")
    size = weights.rank_bytes(architecture, form("mxfp4"), row, Layout(), stage)
    rest = architecture.total_params - architecture.expert_params
    assert size > rest * 2 + architecture.expert_params * 4.25 / 8
    assert size / GIB == pytest.approx(13.47, rel=0.01)


@pytest.mark.parametrize(
    ("layers", "pp", "expected"),
    [(32, 4, [8, 8, 8, 8]), (61, 4, [15, 15, 16, 15]), (62, 4, [15, 16, 16, 15]), (5, 1, [5])],
)
def test_a_remainder_of_layers_goes_to_the_stages_before_the_last(layers, pp, expected):
    cut = weights.stages(layers, pp)
    assert [stage.layers for stage in cut] == expected
    assert cut[0].first and cut[-1].last
    assert not any(stage.first for stage in cut[1:]) and not any(stage.last for stage in cut[:-1])


def test_the_vocabulary_is_padded_to_64_and_then_to_the_ranks():
    assert weights.padded_vocabulary(128256, 8) == 128256
    assert weights.padded_vocabulary(50257, 1) == 50304
    assert weights.padded_vocabulary(151936, 3) == 151938


def test_tied_embeddings_are_held_at_both_ends_of_a_pipeline(catalog, engine, form):
    architecture = architecture_of("Qwen/Qwen3-4B", catalog)
    assert architecture.tie_embeddings
    row, bf16 = engine("vllm", "0.20"), form("bf16")
    parts = [
        weights.rank_bytes(architecture, bf16, row, Layout(pp=2), stage)
        for stage in weights.stages(architecture.layers, 2)
    ]
    table = architecture.vocab * architecture.hidden * 2
    assert sum(parts) >= architecture.total_params * 2 + table


def test_experts_move_whole_over_ep_with_the_same_bytes(catalog, engine, form):
    architecture = architecture_of("Qwen/Qwen3-235B-A22B", catalog)
    row, fp8 = engine("vllm", "0.20"), form("fp8")
    stage = weights.Stage(architecture.layers, True, True)
    cut = weights.rank_bytes(architecture, fp8, row, Layout(tp=8), stage)
    moved = weights.rank_bytes(architecture, fp8, row, Layout(tp=8, ep=8), stage)
    assert moved == cut
    copied = weights.rank_bytes(architecture, fp8, row, Layout(tp=1, dp=8), stage)
    spread = weights.rank_bytes(architecture, fp8, row, Layout(tp=1, dp=8, ep=8), stage)
    assert copied - spread == pytest.approx(architecture.expert_params * 7 / 8, rel=0.001)


def test_an_uneven_number_of_experts_leaves_one_rank_with_more(catalog, engine, form):
    architecture = architecture_of("Qwen/Qwen3-Coder-480B-A35B-Instruct", catalog)
    assert architecture.experts_total == 160
    row, fp8 = engine("vllm", "0.20"), form("fp8")
    stage = weights.Stage(architecture.layers, True, True)
    uneven = weights.rank_bytes(architecture, fp8, row, Layout(tp=1, dp=3, ep=3), stage)
    assert uneven > (architecture.total_params - architecture.expert_params) + (
        architecture.expert_params / 3
    )


def test_key_and_value_projections_repeat_beyond_the_heads(catalog, engine, form):
    architecture = architecture_of("Qwen/Qwen3-235B-A22B", catalog)
    row, bf16 = engine("vllm", "0.20"), form("bf16")
    stage = weights.Stage(architecture.layers, True, True)
    at_4 = weights.rank_bytes(architecture, bf16, row, Layout(tp=4), stage)
    at_8 = weights.rank_bytes(architecture, bf16, row, Layout(tp=8), stage)
    projections = 2 * architecture.hidden * architecture.head_dim * architecture.layers * 2
    assert at_8 - at_4 / 2 >= projections / 2


def test_llama_cpp_keeps_token_embeddings_in_host_memory(catalog, engine, form):
    architecture = architecture_of("meta-llama/Llama-2-7b-hf", catalog)
    stage = weights.Stage(architecture.layers, True, True)
    size = weights.rank_bytes(
        architecture, form("gguf-q8_0"), engine("llama.cpp", "b6000"), Layout(), stage
    )
    # llama.cpp logs 7165 MiB of a file of 7717 MiB for a 7B Q8_0 of another vocabulary
    assert size / 2**20 < architecture.total_params * 8.5 / 8 / 2**20 - 100


def test_offload_and_adapters_move_the_weights(sized):
    plain = sized("meta-llama/Llama-3.1-8B", "g6e.xlarge")
    away = sized("meta-llama/Llama-3.1-8B", "g6e.xlarge", engine={"cpuOffloadGib": 4})
    more = sized("meta-llama/Llama-3.1-8B", "g6e.xlarge", engine={"loraAdapters": 4})
    assert plain.need - away.need == 4 * GIB
    assert 0 < more.need - plain.need < GIB


def test_draft_layers_count_only_when_they_are_used(sized):
    layout = {"tp": 8}
    plain = sized("deepseek-ai/DeepSeek-V3", "p5en.48xlarge", layout=layout)
    drafted = sized(
        "deepseek-ai/DeepSeek-V3", "p5en.48xlarge", layout=layout, engine={"speculative": "mtp"}
    )
    assert drafted.need > plain.need
