"""Laws that every memory estimate keeps, whatever the architecture."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.architecture import Architecture, AttentionGroup, Stored
from gpusize.memory import formats, kv_cache, runtime, weights
from gpusize.memory.fit import Sizing
from gpusize.memory.result import Fit, Verdict
from gpusize.memory.runtime import engine_row
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, parse_workload
from gpusize_catalog.facts import EngineFacts
from gpusize_catalog.store import Catalog, load
from gpusize_catalog.units import GIB

KINDS = ("full", "sliding", "chunked", "mla", "indexed", "linear", "mamba", "none")
COMPRESSED = ("csa", "hca")
ENGINES = (
    ("vllm", "0.6.6"),
    ("vllm", "0.11.0"),
    ("vllm", "0.33.0"),
    ("sglang", "0.5.23"),
    ("lmdeploy", "0.9.0"),
    ("llama.cpp", "b5000"),
    ("llama.cpp", "b6000"),
    ("ik_llama.cpp", "1"),
)
GATED = 3


@cache
def catalog() -> Catalog:
    return load()


def row(name: str, version: str) -> EngineFacts:
    found = engine_row(catalog(), name, version)
    assert found is not None
    return found


@st.composite
def architectures(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Architecture:
    """A decoder of one or two kinds of layers, dense or a mixture of experts."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2, unique=True))
    counts = [draw(st.integers(1, 40)) for _ in chosen]
    heads = draw(st.sampled_from([8, 16, 32, 64]))
    kv_heads = draw(st.sampled_from([1, 2, 4, 8]))
    head_dim = draw(st.sampled_from([64, 128, 256]))
    hidden = draw(st.sampled_from([1024, 2048, 4096, 8192]))
    intermediate = draw(st.sampled_from([2048, 8192, 16384]))
    experts = draw(st.sampled_from([None, 8, 64]))
    latent = {"mla", "indexed"} & set(chosen)
    groups = tuple(
        AttentionGroup(
            kind,
            count,
            draw(st.integers(128, 4096)) if kind in ("sliding", "chunked") else None,
            kv_heads,
            head_dim,
            state_elements=1 << 19 if kind in ("linear", "mamba") else None,
            conv_elements=1 << 14 if kind in ("linear", "mamba") else None,
        )
        for kind, count in zip(chosen, counts, strict=True)
    )
    layers = sum(counts)
    vocab = draw(st.integers(1000, 260_000))
    tied = draw(st.booleans())
    linear = layers * hidden * (2 * heads + 2 * kv_heads) * head_dim
    linear += 0 if experts else layers * GATED * hidden * intermediate
    expert = layers * experts * GATED * hidden * 1024 if experts else 0
    other = (2 * layers + 1) * hidden
    table = vocab * hidden
    return Architecture(
        name="drawn",
        total_params=table * (1 if tied else 2) + linear + expert + other,
        active_params=None,
        layers=layers,
        hidden=hidden,
        intermediate=intermediate,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        tie_embeddings=tied,
        max_position=131072,
        native_format="bf16",
        attention=groups,
        embedding_params=table,
        head_params=0 if tied else table,
        expert_params=expert,
        linear_params=linear,
        other_params=other,
        kv_lora_rank=512 if latent else None,
        qk_rope_head_dim=64 if latent else None,
        experts_total=experts,
        experts_active=2 if experts else None,
        moe_intermediate=1024 if experts else None,
    )


def build(
    architecture: Architecture, engine: tuple[str, str], tp: int = 1, bits: float = 16
) -> kv_cache.KvCache:
    return kv_cache.build(architecture, row(*engine), tp, bits, 2048)


tokens = st.integers(1, 200_000)
pools = st.integers(1, 200 * GIB)
ranks = st.sampled_from([1, 2, 4, 8, 16])


@pytest.mark.parametrize("kind", [*KINDS, *COMPRESSED])
@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_longer_context_never_needs_less_cache(
    kind: str, engine: tuple[str, str], data: st.DataObject
) -> None:
    built = build(data.draw(architectures((kind, "full"))), engine)
    short, more = data.draw(tokens), data.draw(st.integers(0, 100_000))
    assert built.bytes_for(short) <= built.bytes_for(short + more)
    assert built.bytes_for(short, 2) == 2 * built.bytes_for(short)


@given(architectures(), st.sampled_from(ENGINES), pools, tokens)
def test_the_longest_sequence_is_the_longest(
    architecture: Architecture, engine: tuple[str, str], pool: int, limit: int
) -> None:
    built = build(architecture, engine)
    longest = built.longest(pool, limit)
    assert 0 <= longest <= limit
    if longest:
        assert built.bytes_for(longest) <= pool
    if longest < limit:
        assert built.bytes_for(longest + 1) > pool


@given(architectures(), st.sampled_from(ENGINES), pools, st.integers(0, GIB), tokens)
def test_a_larger_pool_never_holds_fewer_sequences(
    architecture: Architecture, engine: tuple[str, str], pool: int, more: int, length: int
) -> None:
    built = build(architecture, engine)
    assert built.sequences_in(pool, length) <= built.sequences_in(pool + more, length)


STATELESS = tuple(kind for kind in KINDS if kind not in ("linear", "mamba"))
"""Beside recurrent state blocks grow and shrink with it, and rounding can go either way."""


@given(architectures(STATELESS), st.sampled_from(ENGINES), tokens, ranks)
def test_more_ranks_or_fewer_bits_never_need_more_cache(
    architecture: Architecture, engine: tuple[str, str], length: int, tp: int
) -> None:
    size = build(architecture, engine, tp).bytes_for(length)
    assert build(architecture, engine, 2 * tp).bytes_for(length) <= size
    if "indexed" not in {group.kind for group in architecture.attention}:
        assert build(architecture, engine, tp, 8).bytes_for(length) <= size


def rank(architecture: Architecture, word: str, layout: Layout, engine: EngineFacts) -> list[int]:
    form = catalog().format(word)
    assert form is not None
    return [
        weights.rank_bytes(architecture, form, engine, layout, stage)
        for stage in weights.stages(architecture.layers, layout.pp)
    ]


@given(architectures(), st.sampled_from(["bf16", "fp8", "awq", "nvfp4"]), ranks, st.integers(1, 4))
def test_sharding_loses_no_weights(architecture: Architecture, word: str, tp: int, pp: int) -> None:
    if pp > architecture.layers:
        return
    engine = row("vllm", "0.19.0")
    whole = sum(rank(architecture, word, Layout(), engine))
    parts = rank(architecture, word, Layout(tp, pp), engine)
    held = tp * sum(parts)
    assert held >= whole - tp * pp * 2
    repeated = 2 * (architecture.other_params + architecture.embedding_params) * tp * pp
    repeated += 2 * 2 * architecture.hidden * architecture.head_dim * architecture.layers * tp
    repeated += 2 * architecture.layers * architecture.hidden * (512 + 64) * tp
    padding = 64 * tp * architecture.hidden * 2 * 2 * tp
    tables = 131072 * 256 * 2 * tp * pp
    assert held <= whole + repeated + padding + tables


@given(architectures(), ranks)
def test_more_ranks_never_hold_more_weights_each(architecture: Architecture, tp: int) -> None:
    engine = row("vllm", "0.19.0")
    few = max(rank(architecture, "bf16", Layout(tp), engine))
    assert max(rank(architecture, "bf16", Layout(2 * tp), engine)) <= few * 1.001


@given(architectures(), st.data())
def test_quantizing_never_adds_weights(architecture: Architecture, data: st.DataObject) -> None:
    words = [form.id for form in catalog().formats() if form.id not in ("fp32", "mxfp4")]
    word = data.draw(st.sampled_from(words))
    engine = row("vllm", "0.19.0")
    whole = sum(rank(architecture, "bf16", Layout(), engine))
    assert sum(rank(architecture, word, Layout(), engine)) <= whole


def size(
    architecture: Architecture,
    engine: dict[str, Any],
    memory: float,
    tp: int = 1,
    length: int = 8192,
) -> Fit:
    instance = catalog().instance("p5.48xlarge")
    gpu = catalog().gpu("H100")._replace(usable_bytes=round(memory * GIB))
    workload = parse_workload(
        {
            "kind": "serving",
            "model": "meta-llama/Llama-3.1-8B",
            "region": "us-east-1",
            "contextLength": length,
            "engine": {"maxBatchedTokens": 2048, "maxSequences": 64, **engine},
        }
    )
    placement = Placement(instance, gpu, 1, Layout(tp), "us-east-1", Market.ON_DEMAND)
    return Sizing(workload, architecture, catalog()).fit(placement)


engines = st.sampled_from(
    [{"name": name, "version": version} for name, version in ENGINES if name != "llama.cpp"]
)


@given(architectures(), engines, st.floats(0.1, 0.95), st.floats(0, 0.05))
def test_a_larger_memory_fraction_never_lowers_the_sequences(
    architecture: Architecture, engine: dict[str, Any], fraction: float, more: float
) -> None:
    low = size(architecture, {**engine, "memoryFraction": fraction}, 80)
    high = size(architecture, {**engine, "memoryFraction": fraction + more}, 80)
    assert low.sequences is not None and high.sequences is not None
    assert low.sequences <= high.sequences


RANK = {Verdict.DOES_NOT_FIT: 0, Verdict.TIGHT: 1, Verdict.FITS: 2}


@given(architectures(), engines, st.floats(8, 300), st.floats(0, 200))
def test_a_bigger_gpu_never_turns_a_fit_into_a_misfit(
    architecture: Architecture, engine: dict[str, Any], memory: float, more: float
) -> None:
    small = size(architecture, engine, memory)
    large = size(architecture, engine, memory + more)
    if small.verdict is not Verdict.DOES_NOT_FIT:
        assert large.verdict is not Verdict.DOES_NOT_FIT
    assert small.sequences is not None and large.sequences is not None
    assert small.sequences <= large.sequences


@given(architectures(), engines, st.floats(8, 300))
def test_a_verdict_agrees_with_its_figures(
    architecture: Architecture, engine: dict[str, Any], memory: float
) -> None:
    fit = size(architecture, engine, memory)
    assert fit.margin is not None
    assert (fit.verdict is Verdict.DOES_NOT_FIT) == (fit.margin < -fit.band)
    if fit.verdict is Verdict.FITS:
        assert fit.margin >= GIB
        assert fit.sequences is not None and fit.sequences >= 0.99
    else:
        assert fit.reasons
    assert all(size >= 0 for _, size in fit.terms)


@given(architectures(), tokens)
def test_newer_builds_of_llama_cpp_cache_no_more(architecture: Architecture, length: int) -> None:
    whole, twice, once = (
        build(architecture, ("llama.cpp", version)).bytes_for(length)
        for version in ("b5145", "b5430", "b7830")
    )
    assert once <= twice <= whole


@given(
    architectures(),
    st.sampled_from(["bf16", "fp8", "gguf-q4_k_m", "nvfp4"]),
    st.tuples(*[st.integers(1, 2**40)] * 5),
    st.integers(0, 2**42),
)
def test_what_files_hold_is_what_is_sized(
    architecture: Architecture, word: str, parts: tuple[int, ...], total: int
) -> None:
    sizes = dict(zip(("embedding", "head", "expert", "linear", "other"), parts, strict=True))
    held = {
        part: size for part, size in sizes.items() if getattr(architecture, f"{part}_params") > 0
    }
    for stored in (Stored(word, **held), Stored(word, total=total)):
        exact = architecture._replace(native_format=word, stored=stored)
        form = formats.form_of(catalog(), "auto", exact)
        assert form is not None
        assert formats.model_bytes(exact, form) == pytest.approx(stored.whole, rel=1e-6, abs=8)
        assert formats.form_of(catalog(), "fp32", exact) == formats.find_format(catalog(), "fp32")


@given(architectures(), st.sampled_from(ENGINES), st.integers(1, 16384), st.integers(1, 1024))
def test_more_tokens_and_sequences_never_need_less_activations(
    architecture: Architecture, engine: tuple[str, str], count: int, sequences: int
) -> None:
    def needs(tokens: int, sequences: int, context: int) -> int:
        step = runtime.Step(1, runtime.Batch(tokens, sequences), 2, context, False)
        seen = architecture._replace(vision_params=10**9, image_patches=20_000)
        return runtime.activation_bytes(row(*engine), seen, step)

    base = needs(count, sequences, 2048)
    assert base <= needs(count + 512, sequences, 2048)
    assert base <= needs(count, sequences + 64, 2048)
    assert base <= needs(count, sequences, 4096)
