"""Configurations of any shape: read or told, and parts that always make the whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusize.architecture import Architecture, architecture_of
from gpusize.hub_config import keys
from gpusize.hub_config.counting import build
from gpusize.hub_config.reading import Config
from gpusize.workload import InlineModel
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load

CATALOG = load()
NAMES = sorted(
    {
        name
        for value in vars(keys).values()
        if isinstance(value, tuple)
        for name in value
        if isinstance(name, str)
    }
    | {"layer_types", "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "sliding_window"}
    | {"linear_num_value_heads", "mamba_num_heads", "ssm_state_size", "block_configs"}
    | {"quantization_config", "vision_config", "linear_attn_config", "sparse_attention_config"}
    | {"model_type", "is_encoder_decoder", "moe_layer_freq", "index_topk", "compress_ratios"}
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 300)
    | st.integers()
    | st.floats()
    | st.sampled_from(["llama", "bert", "whisper", "qwen3_5", "full_attention", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=10,
)
powers = st.integers(0, 6).map(lambda n: 2**n)


@st.composite
def decoders(draw: st.DrawFn) -> dict[str, Any]:
    kv_heads = draw(powers)
    heads = kv_heads * draw(powers)
    made = {
        "model_type": draw(st.sampled_from(["llama", "qwen2", "mistral", "gemma2", "opt", "new"])),
        "hidden_size": heads * 64,
        "num_hidden_layers": draw(st.integers(1, 60)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": draw(st.integers(1, 50_000)),
        "vocab_size": draw(st.integers(1, 300_000)),
        "tie_word_embeddings": draw(st.booleans()),
    }
    if draw(st.booleans()):
        total = draw(st.integers(1, 256))
        made["num_experts"] = total
        made["num_experts_per_tok"] = draw(st.integers(1, total))
        made["moe_intermediate_size"] = draw(st.integers(1, 10_000))
        made["first_k_dense_replace"] = draw(st.integers(0, 3))
    return made


def read(config: dict[str, Any]) -> Architecture:
    return build(Config(config, "config.json"))


def parts(made: Architecture) -> list[int]:
    return [
        made.embedding_params,
        made.head_params,
        made.expert_params,
        made.linear_params,
        made.other_params,
    ]


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), values, max_size=12))
def test_any_object_is_read_or_told(config: dict[str, Any]) -> None:
    try:
        made = read(config)
    except GpuSizeError as error:
        assert all(problem.path == "model" for problem in error.problems)
    else:
        assert sum(parts(made)) == made.total_params


@given(decoders(), st.sampled_from(NAMES), values)
def test_any_value_of_any_key_is_read_or_told(config: dict[str, Any], key: str, value: Any) -> None:
    try:
        made = read({**config, key: value})
    except GpuSizeError:
        return
    assert sum(parts(made)) == made.total_params
    assert min(parts(made)) >= 0


@given(decoders())
def test_the_parts_make_the_whole(config: dict[str, Any]) -> None:
    made = read(config)
    assert sum(parts(made)) == made.total_params
    assert made.active_params is not None
    assert 0 < made.active_params <= made.total_params
    assert sum(group.layers for group in made.attention) == made.layers


@given(decoders(), st.sampled_from(["num_hidden_layers", "intermediate_size", "vocab_size"]))
def test_more_of_anything_is_more_parameters(config: dict[str, Any], key: str) -> None:
    larger = {**config, key: config[key] * 2}
    if key == "intermediate_size" and "num_experts" in config:
        assert read(larger).total_params >= read(config).total_params
    else:
        assert read(larger).total_params > read(config).total_params


@given(decoders())
def test_a_nested_configuration_is_the_same_model(config: dict[str, Any]) -> None:
    nested = read({"model_type": "some_vl", "text_config": config})
    assert nested._replace(assumption="") == read(config)._replace(assumption="")


@given(decoders(), st.integers(10**6, 10**13))
def test_an_inline_model_is_split_into_its_total(config: dict[str, Any], total: int) -> None:
    declared = {
        "total_params": total,
        "layers": config["num_hidden_layers"],
        "hidden": config["hidden_size"],
        "intermediate": config["intermediate_size"],
        "heads": config["num_attention_heads"],
        "kv_heads": config["num_key_value_heads"],
        "vocab": config["vocab_size"],
        "experts_total": config.get("num_experts"),
        "experts_active": config.get("num_experts_per_tok"),
        "moe_intermediate": config.get("moe_intermediate_size"),
    }
    made = architecture_of(InlineModel.model_validate(declared), CATALOG)
    assert sum(parts(made)) == total
    assert made.known or made.unknown_reason
