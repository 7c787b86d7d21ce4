"""Headers of GGUF files: bytes by part, kinds of layers, and files that are broken or hostile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.architecture import Architecture, architecture_of
from gpusize.memory import formats, kv_cache
from gpusize.memory.result import Term
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.units import MIB
from tests.unit.memory.weight_headers import LLAMA, gguf, llama_tensors


def read(folder: Path, data: bytes, catalog, name: str = "m.gguf") -> Architecture:
    (folder / name).write_bytes(data)
    return architecture_of(name, catalog, folder)


def told(folder: Path, data: bytes, catalog) -> str:
    with pytest.raises(GpuSizeError) as caught:
        read(folder, data, catalog)
    assert len(caught.value.problems) == 1
    return str(caught.value)


def test_bytes_are_those_that_llama_cpp_logs(tmp_path, catalog):
    """`llama-quantize`: model size 4685.3 MiB, 4.89 bits per weight."""
    found = read(tmp_path, gguf(LLAMA, llama_tensors()), catalog)
    published = catalog.find_model("meta-llama/Llama-3.1-8B")
    assert published is not None
    assert found.stored is not None
    assert found.total_params - published.total_params == 64
    assert found.stored.whole * 8 / published.total_params == pytest.approx(4.8944, abs=0.001)
    assert (found.name, found.native_format, found.vocab) == ("Llama 3.1 8B", "gguf-q4_k_m", 128256)


def test_the_architecture_is_that_of_the_catalog(tmp_path, catalog, engine):
    found = read(tmp_path, gguf(LLAMA, llama_tensors()), catalog)
    known = architecture_of("meta-llama/Llama-3.1-8B", catalog)
    row = engine("llama.cpp", "b8000")
    for of in (found, known):
        assert kv_cache.build(of, row, 1, 16, 512).bytes_for(8192) == 1024 * MIB
    same = ("layers", "hidden", "intermediate", "heads", "kv_heads", "head_dim", "max_position")
    for field in same:
        assert getattr(found, field) == getattr(known, field)


def test_exact_bytes_are_what_is_sized(tmp_path, catalog):
    found = read(tmp_path, gguf(LLAMA, llama_tensors()), catalog)
    form = formats.form_of(catalog, "auto", found)
    listed = formats.find_format(catalog, "gguf-q4_k_m")
    assert form is not None
    assert listed is not None
    assert found.stored is not None
    assert formats.model_bytes(found, form) == pytest.approx(found.stored.whole, abs=8)
    assert form.error < listed.error
    other = formats.form_of(catalog, "gguf-q8_0", found)
    assert other == formats.find_format(catalog, "gguf-q8_0")


def test_a_model_file_fits_as_a_catalog_id_does(tmp_path, catalog, declare, place):
    from gpusize.memory.fit import fit

    file = tmp_path / "m.gguf"
    file.write_bytes(gguf(LLAMA, llama_tensors()))
    workload = declare(str(file), 8192, engine={"name": "llama.cpp"})
    placement = place("g6.xlarge")
    sized = fit(workload, placement, catalog, architecture_of(str(file), catalog))
    # All but the token embeddings, which stay on the host: 4403 of 4685 MiB.
    assert sized.term(Term.WEIGHTS) / MIB == pytest.approx(4403, rel=0.01)


MIXED = {
    "general.architecture": "gemma3",
    "gemma3.block_count": 12,
    "gemma3.embedding_length": 256,
    "gemma3.feed_forward_length": 512,
    "gemma3.attention.head_count": 4,
    "gemma3.attention.head_count_kv": 2,
    "gemma3.attention.key_length": 64,
    "gemma3.attention.value_length": 64,
    "gemma3.attention.sliding_window": 128,
}


def blocks(count: int, *names: str) -> list[tuple[str, tuple[int, ...], str]]:
    return [(f"blk.{n}.{name}.weight", (256, 256), "F16") for n in range(count) for name in names]


def kinds(found: Architecture) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group in found.attention:
        counts[group.kind] = counts.get(group.kind, 0) + group.layers
    return counts


def test_windows_follow_the_family_or_the_pattern_that_the_file_tells(tmp_path, catalog):
    tensors = blocks(12, "attn_q", "attn_k", "attn_v")
    assert kinds(read(tmp_path, gguf(MIXED, tensors), catalog)) == {"sliding": 10, "full": 2}
    pattern = {"gemma3.attention.sliding_window_pattern": [True, False] * 6}
    found = read(tmp_path, gguf({**MIXED, **pattern}, tensors), catalog)
    assert kinds(found) == {"sliding": 6, "full": 6}


def test_layers_are_what_their_tensors_say(tmp_path, catalog):
    values = {
        **{key.replace("gemma3", "hybrid"): told for key, told in MIXED.items()},
        "general.architecture": "hybrid",
        "hybrid.block_count": 4,
        "hybrid.attention.head_count_kv": [0, 2, 0, 0],
        "hybrid.ssm.inner_size": 512,
        "hybrid.ssm.state_size": 16,
        "hybrid.ssm.group_count": 2,
        "hybrid.ssm.conv_kernel": 4,
    }
    values.pop("hybrid.attention.sliding_window")
    tensors = [
        ("blk.0.ssm_in.weight", (256, 256), "F16"),
        ("blk.1.attn_k.weight", (256, 128), "F16"),
        ("blk.2.ffn_up_exps.weight", (256, 64, 8), "F16"),
        ("blk.3.ssm_in.weight", (256, 256), "F16"),
    ]
    found = read(tmp_path, gguf(values, tensors), catalog)
    assert kinds(found) == {"mamba": 2, "full": 1, "none": 1}
    state = next(group for group in found.attention if group.kind == "mamba")
    assert (state.state_elements, state.conv_elements) == (512 * 16, 3 * (512 + 64))
    assert (found.expert_params, found.kv_heads) == (256 * 64 * 8, 2)


def test_latent_attention_and_layers_for_drafts(tmp_path, catalog):
    values = {
        "general.architecture": "deepseek2",
        "deepseek2.block_count": 3,
        "deepseek2.nextn_predict_layers": 1,
        "deepseek2.embedding_length": 256,
        "deepseek2.attention.head_count": 4,
        "deepseek2.attention.head_count_kv": 1,
        "deepseek2.attention.kv_lora_rank": 512,
        "deepseek2.attention.key_length": 576,
        "deepseek2.attention.key_length_mla": 192,
        "deepseek2.rope.dimension_count": 64,
        "deepseek2.expert_count": 8,
        "deepseek2.expert_used_count": 2,
    }
    tensors = [*blocks(3, "attn_kv_a_mqa"), ("blk.0.ffn_up_exps.weight", (16, 16, 8), "F16")]
    found = read(tmp_path, gguf(values, tensors), catalog)
    assert kinds(found) == {"mla": 2}
    assert (found.kv_lora_rank, found.qk_rope_head_dim, found.head_dim) == (512, 64, 128)
    assert found.linear_params == 2 * 256 * 256
    assert found.total_params - (found.active_params or 0) == 16 * 16 * 6


def test_types_of_forks_are_sized_by_where_tensors_lie(tmp_path, catalog):
    tensors = [(name, shape, "IQ4_KS") for name, shape, _ in blocks(2, "attn_k")]
    values = {**LLAMA, "llama.block_count": 2, "general.file_type": 145}
    data = gguf(values, tensors, sizes=[34816, 34816])
    data += b"\0" * (-len(data) % 32 + 2 * 34816)
    found = read(tmp_path, data, catalog)
    assert found.stored is not None
    assert (found.stored.linear, found.native_format) == (2 * 34816, "gguf-iq4_ks")


def test_all_pieces_of_a_split_file_count(tmp_path, catalog):
    values = {**LLAMA, "split.count": 2}
    tensors = llama_tensors()
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(gguf({"split.no": 1}, tensors[100:]))
    name = "m-00001-of-00002.gguf"
    found = read(tmp_path, gguf(values, tensors[:100]), catalog, name)
    whole = read(tmp_path, gguf(LLAMA, tensors), catalog)
    assert found.stored == whole.stored
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    with pytest.raises(GpuSizeError, match="00002-of-00002"):
        architecture_of(name, catalog, tmp_path)


WHOLE = gguf(LLAMA, llama_tensors()[:8])
BROKEN = [
    (b"", "is not a GGUF file"),
    (b"GGML" + WHOLE[4:], "is not a GGUF file"),
    (WHOLE[:4] + b"\x01" + WHOLE[5:], "version 1"),
    (WHOLE[: len(WHOLE) // 2], "cut off"),
    (WHOLE[:8] + b"\xff" * 8 + WHOLE[16:], "tensors"),
    (WHOLE[:16] + b"\xff" * 8 + WHOLE[24:], "keys"),
    (gguf({"a": "b"}, []), "does not say its architecture"),
    (gguf({"general.architecture": "clip"}, []), "tower for images alone"),
    (gguf({**LLAMA, "llama.block_count": 0}, []), "block_count"),
    (gguf({**LLAMA, "llama.block_count": 4_000_000_000}, []), "block_count"),
    (gguf({**LLAMA, "llama.embedding_length": "wide"}, []), "embedding_length"),
    (gguf({**LLAMA, "split.count": 3}, []), "one of 3 pieces"),
    (gguf(LLAMA, [("blk.0.attn_k.weight", (2**40, 2**40), "F16")]), "impossible size"),
]


@pytest.mark.parametrize(("data", "words"), BROKEN)
def test_what_is_wrong_is_told_in_one_problem(tmp_path, catalog, data, words):
    assert words in told(tmp_path, data, catalog)


def test_a_pipe_is_not_waited_for(tmp_path, catalog):
    os.mkfifo(tmp_path / "m.gguf")
    with pytest.raises(GpuSizeError, match="is not a file"):
        architecture_of("m.gguf", catalog, tmp_path)


@given(place=st.integers(0, len(WHOLE) - 1), new=st.binary(min_size=1, max_size=12))
def test_any_change_is_read_or_told(tmp_path_factory, catalog, place, new):
    folder = tmp_path_factory.getbasetemp()
    data = WHOLE[:place] + new + WHOLE[place + len(new) :]
    try:
        found = read(folder, data, catalog, "changed.gguf")
    except GpuSizeError as error:
        assert len(error.problems) == 1
    else:
        assert found.total_params >= 0
        assert found.stored is not None


@given(data=st.binary(max_size=200))
def test_any_bytes_are_told(tmp_path_factory, catalog, data):
    folder = tmp_path_factory.getbasetemp()
    assert told(folder, b"GGUF\x03\0\0\0" + data, catalog)


@given(shapes=st.lists(st.tuples(st.integers(1, 64), st.integers(1, 64)), min_size=1, max_size=12))
def test_parts_add_up_to_the_whole(tmp_path_factory, catalog, shapes):
    names = ("token_embd", "output", "blk.0.attn_k", "blk.1.ffn_up_exps")
    tensors = [(f"{names[index % 4]}.weight", shape, "F16") for index, shape in enumerate(shapes)]
    found = read(tmp_path_factory.getbasetemp(), gguf(LLAMA, tensors), catalog, "sum.gguf")
    assert found.stored is not None
    assert found.stored.whole == 2 * found.total_params
    assert found.total_params == sum(wide * high for wide, high in shapes)
