"""Headers of safetensors files and their index beside a config.json."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.architecture import Architecture, architecture_of
from gpusize.memory import formats
from gpusize_catalog.problems import GpuSizeError
from tests.unit.memory.weight_headers import safetensors

CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
PUBLISHED = 16_060_522_496
"""`metadata.total_size` of the index of meta-llama/Llama-3.1-8B."""
WIDTHS = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "I32": 4, "U8": 1}


def tensors(kind: str = "BF16") -> list[tuple[str, tuple[int, ...], str]]:
    listed: list[tuple[str, tuple[int, ...], str]] = [
        ("model.embed_tokens.weight", (128256, 4096), "BF16"),
        ("lm_head.weight", (128256, 4096), "BF16"),
        ("model.norm.weight", (4096,), "BF16"),
    ]
    for layer in range(32):
        block = f"model.layers.{layer}."
        listed += [
            (block + "self_attn.q_proj.weight", (4096, 4096), kind),
            (block + "self_attn.k_proj.weight", (1024, 4096), kind),
            (block + "self_attn.v_proj.weight", (1024, 4096), kind),
            (block + "self_attn.o_proj.weight", (4096, 4096), kind),
            (block + "mlp.gate_proj.weight", (14336, 4096), kind),
            (block + "mlp.up_proj.weight", (14336, 4096), kind),
            (block + "mlp.down_proj.weight", (4096, 14336), kind),
            (block + "input_layernorm.weight", (4096,), "BF16"),
            (block + "post_attention_layernorm.weight", (4096,), "BF16"),
        ]
    return listed


def folder_with(folder: Path, **more: object) -> Path:
    (folder / "config.json").write_text(json.dumps({**CONFIG, **more}), encoding="utf-8")
    return folder


def whole(architecture: Architecture) -> int:
    assert architecture.stored is not None
    return architecture.stored.whole


def test_one_file(tmp_path, catalog):
    folder_with(tmp_path)
    size = safetensors(tensors(), WIDTHS, tmp_path / "model.safetensors")
    found = architecture_of("model.safetensors", catalog, tmp_path)
    assert size == whole(found) == PUBLISHED
    assert found.total_params == PUBLISHED // 2
    assert found.expert_params == 0
    assert found.head_params == found.embedding_params == 128256 * 4096


def test_an_index_with_its_files_and_without(tmp_path, catalog):
    folder_with(tmp_path)
    listed = tensors()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name, part in zip(names, (listed[:50], listed[50:]), strict=True):
        safetensors(part, WIDTHS, tmp_path / name)
    weights = {name: names[index >= 50] for index, (name, _, _) in enumerate(listed)}
    index = {"metadata": {"total_size": PUBLISHED}, "weight_map": weights}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with_files = architecture_of("model.safetensors.index.json", catalog, tmp_path)
    (tmp_path / names[1]).unlink()
    without = architecture_of("model.safetensors.index.json", catalog, tmp_path)
    assert whole(with_files) == whole(without) == PUBLISHED
    for found in (with_files, without):
        form = formats.form_of(catalog, "auto", found)
        assert form is not None
        assert formats.model_bytes(found, form) == pytest.approx(PUBLISHED, rel=1e-6)
    with pytest.raises(GpuSizeError, match=r"give model\.safetensors\.index\.json"):
        architecture_of(names[0], catalog, tmp_path)


def test_quantized_files_keep_what_they_leave_wide(tmp_path, catalog):
    """Llama-3.1-8B in FP8: 9.08 GB, embeddings and head in 16 bits."""
    folder_with(tmp_path, quantization_config={"quant_method": "fp8"})
    size = safetensors(tensors("F8_E4M3"), WIDTHS, tmp_path / "model.safetensors")
    found = architecture_of("model.safetensors", catalog, tmp_path)
    form = formats.form_of(catalog, "auto", found)
    assert form is not None
    assert size == whole(found) == pytest.approx(9.08e9, rel=0.002)
    assert (form.id, form.linear_bits, form.embedding_bits) == ("fp8", 8, 16)
    assert formats.model_bytes(found, form) == pytest.approx(size, rel=1e-6)


def test_drafts_and_a_tied_head_are_not_loaded(tmp_path, catalog):
    folder_with(tmp_path, tie_word_embeddings=True)
    extra = [
        ("model.layers.32.mlp.up_proj.weight", (8, 8), "BF16"),
        ("mtp.layers.0.mlp.up_proj.weight", (8, 8), "BF16"),
        ("visual.blocks.40.mlp.fc1.weight", (8, 8), "BF16"),
    ]
    safetensors([*tensors(), *extra], WIDTHS, tmp_path / "model.safetensors")
    found = architecture_of("model.safetensors", catalog, tmp_path)
    assert whole(found) == PUBLISHED - 128256 * 4096 * 2 + 128
    assert found.head_params == 0


def entry(**more: object) -> bytes:
    told = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4], **more}
    data = json.dumps({"model.embed_tokens.weight": told}).encode()
    return struct.pack("<Q", len(data)) + data + b"\0" * 4


BROKEN = [
    (b"", "is not a safetensors file"),
    (struct.pack("<Q", 2**60) + b"{}", "is not a safetensors file"),
    (struct.pack("<Q", 2) + b"[]", "not a JSON object"),
    (struct.pack("<Q", 3) + b"{,}", "not valid JSON"),
    (struct.pack("<Q", 40_000) + b"[" * 40_000, "not valid JSON"),
    (entry(data_offsets=[0, 6]), "cut off"),
    (entry(data_offsets=[4, 0]), "cut off"),
    (entry(data_offsets=[0]), "no type, shape or place"),
    (entry(data_offsets=[-1, 2]), "no type, shape or place"),
    (entry(shape=[True]), "no type, shape or place"),
    (entry(shape=[2**60]), "no type, shape or place"),
    (entry(dtype=None), "no type, shape or place"),
]


@pytest.mark.parametrize(("data", "words"), BROKEN)
def test_what_is_wrong_is_told_in_one_problem(tmp_path, catalog, data, words):
    folder_with(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(GpuSizeError) as caught:
        architecture_of("model.safetensors", catalog, tmp_path)
    assert words in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ({}, "no weight_map"),
        ({"weight_map": {}}, "no weight_map"),
        ({"weight_map": {"a": "../../secret.safetensors"}}, "do not lie beside it"),
        ({"weight_map": {"a": 5}}, "do not lie beside it"),
        ({"weight_map": {"a": "b.safetensors"}}, "total_size"),
        ({"weight_map": {"a": "b.safetensors"}, "metadata": {"total_size": "x"}}, "total_size"),
    ],
)
def test_an_index_that_tells_nothing(tmp_path, catalog, index, words):
    folder_with(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(GpuSizeError, match=words):
        architecture_of("model.safetensors.index.json", catalog, tmp_path)


def test_without_a_config_the_geometry_is_not_known(tmp_path, catalog):
    safetensors(tensors()[:1], WIDTHS, tmp_path / "model.safetensors")
    with pytest.raises(GpuSizeError, match=r"has no config\.json beside it"):
        architecture_of("model.safetensors", catalog, tmp_path)


@given(data=st.binary(max_size=300), length=st.integers(0, 400))
def test_any_bytes_are_told(tmp_path_factory, catalog, data, length):
    folder = folder_with(tmp_path_factory.getbasetemp())
    (folder / "any.safetensors").write_bytes(struct.pack("<Q", length) + data)
    try:
        found = architecture_of("any.safetensors", catalog, folder)
    except GpuSizeError as error:
        assert len(error.problems) == 1
    else:
        assert whole(found) == 0


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ([], "has no tensors"),
        (
            [("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", (8, 4096), "BF16")],
            "holds a LoRA adapter",
        ),
        (tensors()[:50], "has 6 of the 32 layers of config.json"),
    ],
)
def test_a_part_of_a_model_is_no_model(tmp_path, catalog, listed, told):
    folder_with(tmp_path)
    safetensors(listed, WIDTHS, tmp_path / "model.safetensors")
    with pytest.raises(GpuSizeError, match=told):
        architecture_of("model.safetensors", catalog, tmp_path)
