"""Architectures read from config.json, held against the totals of the catalog.

`hub_configs.json` has what matters of published configurations, by catalog id. Source: the files
under aic-core/src/aiconfigurator_core/model_configs of ai-dynamo/aiconfigurator at 095f58a.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpusize.architecture import Architecture, architecture_of
from gpusize.hub_config.counting import build
from gpusize.hub_config.file import MAX_BYTES
from gpusize.hub_config.reading import Config
from gpusize_catalog.facts import ModelFacts
from gpusize_catalog.problems import GpuSizeError, Problem
from gpusize_catalog.store import load

CATALOG = load()
CONFIGS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "hub_configs.json").read_text(encoding="utf-8")
)
CLOSE = 0.01
"""Relative error of a count; what is left is norms, biases and rounding of published figures."""
NOT_BUILT = {
    "compressed": "attention over compressed entries has matrices of its own",
}
"""Kinds of layers whose arithmetic is known to be missing, and why."""
ROUNDED = 10**9
"""Totals that are published as round figures are not counts."""
PLAIN_DENSE = {
    "apertus": "apertus",
    "arcee": "arcee",
    "baichuan": "baichuan",
    "codellama": "llama",
    "cohere": "cohere",
    "deepseek-coder": "llama",
    "deepseek-llm": "llama",
    "falcon": "falcon",
    "falcon3": "llama",
    "gemma1": "gemma",
    "gemma2": "gemma2",
    "glm4": "chatglm",
    "gpt-j": "gptj",
    "gpt_bigcode": "gpt_bigcode",
    "gpt_neo": "gpt_neo",
    "gpt-neox": "gpt_neox",
    "gpt2": "gpt2",
    "granite": "granite",
    "internlm2": "internlm2",
    "internlm3": "internlm3",
    "llama": "llama",
    "llama1": "llama",
    "llama2": "llama",
    "llama3": "llama",
    "llama3.1": "llama",
    "llama3.3": "llama",
    "ministral3": "mistral",
    "mistral": "mistral",
    "mpt": "mpt",
    "minicpm": "minicpm",
    "olmo": "olmo",
    "olmo2": "olmo2",
    "opt": "opt",
    "bloom": "bloom",
    "phi1": "phi",
    "phi2": "phi",
    "phi3": "phi3",
    "phi4": "phi3",
    "pythia": "gpt_neox",
    "qwen1.5": "qwen2",
    "qwen2": "qwen2",
    "qwen2.5": "qwen2",
    "qwen3": "qwen3",
    "smollm2": "llama",
    "smollm3": "smollm3",
    "stablelm": "stablelm",
    "stablelm-alpha": "gpt_neox",
    "starcoder2": "starcoder2",
    "tinyllama": "llama",
    "yi": "llama",
}
"""`model_type` of the catalog's dense families whose geometry is all there is to them."""
DENSE = [model for model in CATALOG.models() if model.family in PLAIN_DENSE]


def read(config: dict[str, Any]) -> Architecture:
    return build(Config(config, "config.json"))


def problems(config: Any) -> tuple[Problem, ...]:
    with pytest.raises(GpuSizeError) as caught:
        read(config)
    return caught.value.problems


def config_of(model: ModelFacts) -> dict[str, Any]:
    return {
        "model_type": PLAIN_DENSE[model.family],
        "hidden_size": model.hidden,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.intermediate,
        "vocab_size": model.vocab,
        "tie_word_embeddings": model.tie_embeddings,
        "max_position_embeddings": model.max_position,
    }


def text_params(total: int, vision: int | None) -> int:
    return total - (vision or 0)


def parts(made: Architecture) -> int:
    return (
        made.embedding_params
        + made.head_params
        + made.expert_params
        + made.linear_params
        + made.other_params
    )


LLAMA = config_of(CATALOG.model("meta-llama/Llama-3.1-8B"))


@pytest.mark.parametrize("model", DENSE, ids=lambda model: model.id)
def test_a_dense_family_is_counted_as_published(model: ModelFacts) -> None:
    made = read(config_of(model))
    assert made.total_params == pytest.approx(model.total_params, rel=CLOSE)
    assert parts(made) == made.total_params
    assert made.embedding_params == model.vocab * model.hidden


@pytest.mark.parametrize("model_id", CONFIGS)
def test_a_published_configuration_is_counted_as_published(model_id: str) -> None:
    made, facts = read(CONFIGS[model_id]), CATALOG.model(model_id)
    if not made.known:
        assert any(kind in made.unknown_reason for kind in NOT_BUILT)
        return
    close = 0.015 if facts.total_params % ROUNDED == 0 else CLOSE
    published = text_params(facts.total_params, facts.vision_params)
    assert text_params(made.total_params, made.vision_params) == pytest.approx(published, rel=close)
    if facts.active_params is not None:
        assert made.active_params == pytest.approx(facts.active_params, rel=CLOSE)
    assert parts(made) == made.total_params


@pytest.mark.parametrize("model_id", CONFIGS)
def test_file_and_catalog_agree_on_the_layers(model_id: str) -> None:
    made, facts = read(CONFIGS[model_id]), architecture_of(model_id, CATALOG)

    def counts(architecture: Architecture) -> dict[str, int]:
        found: dict[str, int] = {}
        for group in architecture.attention:
            found[group.kind] = found.get(group.kind, 0) + group.layers
        return found

    assert counts(made) == counts(facts)
    assert (made.layers, made.hidden, made.heads) == (facts.layers, facts.hidden, facts.heads)
    assert (made.experts_total, made.experts_active) == (facts.experts_total, facts.experts_active)
    assert (made.kv_lora_rank, made.qk_rope_head_dim) == (
        facts.kv_lora_rank,
        facts.qk_rope_head_dim,
    )


@pytest.mark.parametrize("model_id", CONFIGS)
def test_file_and_catalog_agree_on_recurrent_state(model_id: str) -> None:
    made, facts = read(CONFIGS[model_id]), architecture_of(model_id, CATALOG)
    states = [
        {(g.state_elements, g.conv_elements) for g in a.attention if g.kind in ("linear", "mamba")}
        for a in (made, facts)
    ]
    assert states[0] == states[1]


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen3_5"])
def test_the_vision_tower_of_these_families_is_counted(family: str) -> None:
    ids = [key for key, value in CONFIGS.items() if value["model_type"].startswith(family)]
    assert ids
    for model_id in ids:
        made = read(CONFIGS[model_id])
        assert made.vision_params == pytest.approx(CATALOG.model(model_id).vision_params, rel=CLOSE)
        assert made.vision_heads == 16


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ({}, {"full": 32}),
        ({"sliding_window": 4096}, {"full": 32}),
        ({"model_type": "mistral", "sliding_window": 4096}, {"sliding": 32}),
        ({"model_type": "mistral", "sliding_window": None}, {"full": 32}),
        (
            {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False},
            {"full": 32},
        ),
        (
            {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 28},
            {"full": 28, "sliding": 4},
        ),
        ({"model_type": "gemma2", "sliding_window": 4096}, {"sliding": 16, "full": 16}),
        ({"sliding_window": 512, "sliding_window_pattern": 4}, {"sliding": 24, "full": 8}),
        ({"sliding_window": 512, "sliding_window_pattern": "LLLG"}, {"sliding": 24, "full": 8}),
        (
            {"sliding_window": 9, "layer_types": ["sliding_attention", "full_attention"] * 16},
            {"sliding": 16, "full": 16},
        ),
        (
            {"attn_layer_period": 8, "attn_layer_offset": 4, "mamba_d_state": 16},
            {"mamba": 28, "full": 4},
        ),
        ({"model_type": "mllama", "cross_attention_layers": [3, 8]}, {"full": 30, "cross": 2}),
        ({"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}, {"mla": 32}),
        ({"model_type": "bert"}, {"none": 32}),
    ],
)
def test_kinds_of_layers(changes: dict[str, Any], groups: dict[str, int]) -> None:
    made = read({**LLAMA, **changes})
    assert {group.kind: group.layers for group in made.attention} == groups
    assert made.known


def test_windows_and_heads_of_each_kind() -> None:
    made = read(CONFIGS["google/gemma-4-26B-A4B"])
    sliding, full = sorted(made.attention, key=lambda group: -group.layers)
    assert (sliding.window, sliding.kv_heads, sliding.head_dim) == (1024, 8, 256)
    assert (full.window, full.kv_heads, full.head_dim) == (None, 2, 512)


def test_an_encoder_beside_a_decoder_is_looked_at() -> None:
    made = read(
        {
            "model_type": "whisper",
            "is_encoder_decoder": True,
            "d_model": 1280,
            "encoder_layers": 32,
            "decoder_layers": 4,
            "decoder_attention_heads": 20,
            "decoder_ffn_dim": 5120,
            "vocab_size": 51866,
            "max_target_positions": 448,
            "max_source_positions": 1500,
            "num_mel_bins": 128,
        }
    )
    published = CATALOG.model("openai/whisper-large-v3-turbo").total_params
    assert made.total_params == pytest.approx(published, rel=CLOSE)
    assert (made.layers, made.encoder_layers) == (4, 32)
    assert [(g.kind, g.layers, g.positions) for g in made.attention] == [
        ("full", 4, None),
        ("cross", 4, 1500),
    ]


def test_an_unknown_kind_of_layer_is_said() -> None:
    made = read({**LLAMA, "layer_types": ["full_attention"] * 31 + ["retention"]})
    assert not made.known
    assert "retention" in made.unknown_reason


def test_an_unknown_family_is_counted_and_said() -> None:
    made = read({**LLAMA, "model_type": "newcomer"})
    assert made.known
    assert "newcomer" in made.assumption
    assert made.total_params == read(LLAMA).total_params


@pytest.mark.parametrize(
    ("quantization", "format_id"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "gptq", "bits": 8}, "gptq-int8"),
        ({"quant_method": "gptq", "bits": 3}, None),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "bitsandbytes", "bnb_4bit_use_double_quant": True}, "nf4-double-quant"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8-bitsandbytes"),
        ({"quant_method": "bitsandbytes", "bnb_4bit_quant_type": "fp4"}, None),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, None),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"type": "int", "num_bits": 4}}},
            },
            "int4",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"type": "float", "num_bits": 4, "group_size": 32}}
                },
            },
            "mxfp4",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"type": "float", "num_bits": 8}}},
            },
            "fp8",
        ),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": {}, "b": {}}}, None),
        ({"quant_method": "something-new"}, None),
    ],
)
def test_native_formats(quantization: dict[str, Any], format_id: str | None) -> None:
    made = read({**LLAMA, "quantization_config": quantization})
    assert made.native_format == format_id
    assert format_id is None or CATALOG.format(format_id) is not None


@pytest.mark.parametrize(("dtype", "format_id"), [("float16", "fp16"), ("float32", "fp32")])
def test_native_types(dtype: str, format_id: str) -> None:
    assert read({**LLAMA, "torch_dtype": dtype}).native_format == format_id


def test_everything_missing_is_told_at_once() -> None:
    told = [problem.message for problem in problems({})]
    assert [message.partition(" ")[0] for message in told] == [
        "hidden_size",
        "num_attention_heads",
        "num_hidden_layers",
        "vocab_size",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", "4096"),
        ("hidden_size", True),
        ("hidden_size", 0),
        ("hidden_size", -1),
        ("hidden_size", 10**12),
        ("hidden_size", [4096]),
        ("num_hidden_layers", 10**6),
        ("num_attention_heads", 1.5),
        ("num_key_value_heads", 7),
        ("vocab_size", None),
        ("layer_types", ["full_attention"] * 3),
    ],
)
def test_numbers_out_of_their_senses(key: str, value: Any) -> None:
    assert any(key in problem.message for problem in problems({**LLAMA, key: value}))


def test_experts_that_are_more_active_than_there_are() -> None:
    told = problems({**LLAMA, "num_experts": 4, "num_experts_per_tok": 8})
    assert [problem.path for problem in told] == ["model"]


def write(folder: Path, content: str, name: str = "config.json") -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_a_path_is_relative_to_the_declaration(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(LLAMA), "tiny.json")
    made = architecture_of("tiny.json", CATALOG, tmp_path)
    assert made.name == "tiny.json"
    assert made.total_params == read(LLAMA).total_params


def test_a_folder_holds_its_configuration_and_its_quantization(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(LLAMA))
    write(tmp_path, '{"quantization": {"quant_algo": "FP8"}}', "hf_quant_config.json")
    assert architecture_of("./", CATALOG, tmp_path).native_format == "fp8"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[1]", "object"),
        ("5", "object"),
        ("[" * 100_000, "deep"),
        ('{"a": ' + "9" * 5000 + "}", "large"),
        (" " * (MAX_BYTES + 1), "larger"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, content: str, word: str) -> None:
    write(tmp_path, content, "x.json")
    with pytest.raises(GpuSizeError) as caught:
        architecture_of("x.json", CATALOG, tmp_path)
    (problem,) = caught.value.problems
    assert problem.file == "x.json"
    assert word in problem.message


@pytest.mark.parametrize("name", ["missing.json", ".", "bad\0name.json"])
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(GpuSizeError, match="cannot be read"):
        architecture_of(f"./{name}", CATALOG, tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GpuSizeError, match="UTF-8"):
        architecture_of("x.json", CATALOG, tmp_path)


def test_a_syntax_error_has_its_place(tmp_path: Path) -> None:
    write(tmp_path, '{\n  "a": 1,\n  oops\n}', "x.json")
    with pytest.raises(GpuSizeError) as caught:
        architecture_of("x.json", CATALOG, tmp_path)
    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (3, 3)
