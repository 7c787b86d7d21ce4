"""Architectures of the catalog and inline ones: split, groups, what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.architecture import (
    CACHING_KINDS,
    RECURRENT_KINDS,
    UNBUILT_KINDS,
    Architecture,
    architecture_of,
    is_path,
)
from gpusize.workload import InlineModel
from gpusize_catalog.facts import ModelFacts
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load

CATALOG = load()
MODELS = CATALOG.models()
CLOSE = 0.01
LLAMA_8B: dict[str, Any] = {
    "totalParams": 8030261248,
    "layers": 32,
    "hidden": 4096,
    "intermediate": 14336,
    "heads": 32,
    "kvHeads": 8,
    "vocab": 128256,
}


def parts(made: Architecture) -> tuple[int, ...]:
    return (
        made.embedding_params,
        made.head_params,
        made.expert_params,
        made.linear_params,
        made.other_params,
    )


@pytest.mark.parametrize(
    "facts",
    [facts for facts in MODELS if not CATALOG.components(facts.id)],
    ids=lambda facts: facts.id,
)
def test_the_parts_of_a_model_are_its_total(facts: ModelFacts) -> None:
    made = architecture_of(facts.id, CATALOG)
    assert sum(parts(made)) == facts.total_params
    assert min(parts(made)) >= 0
    assert made.embedding_params == facts.vocab * facts.hidden
    assert made.other_params >= (facts.vision_params or 0)
    assert made.known == (made.unknown_reason == "")


@pytest.mark.parametrize("facts", MODELS, ids=lambda facts: facts.id)
def test_every_layer_has_a_kind(facts: ModelFacts) -> None:
    made = architecture_of(facts.id, CATALOG)
    own = [group for group in made.attention if group.kind != "cross" or not facts.encoder_layers]
    counted = sum(group.layers for group in own)
    assert counted == facts.layers or facts.attention_kind == "mha-cross"
    for group in made.attention:
        assert group.kind in CACHING_KINDS | RECURRENT_KINDS | {"none", "cross"}
        assert group.kind not in CACHING_KINDS or group.head_dim > 0
        assert made.known == (not made.unknown_reason)
        if group.kind in UNBUILT_KINDS:
            assert not made.known


def test_experts_follow_from_total_and_active_parameters() -> None:
    mixtral = architecture_of("mistralai/Mixtral-8x7B-v0.1", CATALOG)
    assert mixtral.expert_params == 32 * 8 * 3 * 4096 * 14336
    sparse = architecture_of("meta-llama/Llama-4-Maverick-17B-128E-Instruct", CATALOG)
    assert sparse.expert_params == pytest.approx(24 * 128 * 3 * 5120 * 8192, rel=1e-4)
    hybrid = architecture_of("ai21labs/Jamba-v0.1", CATALOG)
    assert hybrid.expert_params == pytest.approx(16 * 16 * 3 * 4096 * 14336, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "linear"),
    [
        ("meta-llama/Llama-3.1-8B", 32 * (4096 * (32 + 8) * 128 * 2 + 3 * 4096 * 14336)),
        ("facebook/opt-13b", 40 * (4 * 5120 * 5120 + 2 * 5120 * 20480)),
    ],
)
def test_gated_and_plain_mlps_are_told_apart(model: str, linear: int) -> None:
    assert architecture_of(model, CATALOG).linear_params == linear


def test_a_tied_head_is_not_counted_twice() -> None:
    tied = architecture_of("meta-llama/Llama-3.2-1B", CATALOG)
    assert (tied.head_params, tied.embedding_params) == (0, 128256 * 2048)
    untied = architecture_of("meta-llama/Llama-3.1-8B", CATALOG)
    assert untied.head_params == untied.embedding_params


def test_windows_are_kept_by_group() -> None:
    groups = architecture_of("google/gemma-2-9b", CATALOG).attention
    assert {(group.kind, group.layers, group.window) for group in groups} == {
        ("sliding", 21, 4096),
        ("full", 21, None),
    }


def test_encoders_keep_no_cache() -> None:
    groups = architecture_of("BAAI/bge-m3", CATALOG).attention
    assert {group.kind for group in groups} == {"none"}


def test_an_alias_says_what_was_assumed() -> None:
    alias = architecture_of("meta-llama/Llama-3.1-8B-Instruct", CATALOG)
    assert alias.total_params == architecture_of("meta-llama/Llama-3.1-8B", CATALOG).total_params
    assert alias.assumption
    assert architecture_of("meta-llama/Llama-3.1-8B", CATALOG).assumption == ""


def test_an_unknown_model_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(GpuSizeError, match="did you mean"):
        architecture_of("meta-llama/Llama-3.1-9B", CATALOG)


@pytest.mark.parametrize(
    ("model", "is_file"),
    [
        ("Qwen/Qwen3-8B", False),
        ("config.json", True),
        ("models/x/config.json", True),
        ("./models/x", True),
        ("../x", True),
        ("/models/x", True),
    ],
)
def test_paths_are_told_from_names(model: str, is_file: bool) -> None:
    assert is_path(model) is is_file


def test_an_inline_model_is_like_its_catalog_row() -> None:
    made = architecture_of(InlineModel.model_validate(LLAMA_8B), CATALOG)
    row = architecture_of("meta-llama/Llama-3.1-8B", CATALOG)
    assert parts(made) == parts(row)
    assert made.attention == row.attention
    assert made.active_params == row.active_params
    assert (made.name, made.native_format) == ("inline", "bf16")


def test_an_inline_model_with_windows_latents_and_experts() -> None:
    local = InlineModel.model_validate({**LLAMA_8B, "slidingWindow": 512, "slidingLayers": 24})
    groups = architecture_of(local, CATALOG).attention
    assert [(g.kind, g.layers, g.window) for g in groups] == [
        ("sliding", 24, 512),
        ("full", 8, None),
    ]
    latent = InlineModel.model_validate({**LLAMA_8B, "kvLoraRank": 512, "qkRopeHeadDim": 64})
    assert [g.kind for g in architecture_of(latent, CATALOG).attention] == ["mla"]
    sparse = InlineModel.model_validate(
        {
            "totalParams": 46702792704,
            "layers": 32,
            "hidden": 4096,
            "heads": 32,
            "kvHeads": 8,
            "vocab": 32000,
            "expertsTotal": 8,
            "expertsActive": 2,
            "moeIntermediate": 14336,
        }
    )
    made = architecture_of(sparse, CATALOG)
    row = architecture_of("mistralai/Mixtral-8x7B-v0.1", CATALOG)
    assert made.expert_params == row.expert_params


def test_parts_beyond_the_total_are_said() -> None:
    sparse = InlineModel.model_validate(
        {
            **LLAMA_8B,
            "expertsTotal": 64,
            "expertsActive": 2,
            "moeIntermediate": 14336,
        }
    )
    made = architecture_of(sparse, CATALOG)
    assert not made.known
    assert sum(parts(made)) == made.total_params
