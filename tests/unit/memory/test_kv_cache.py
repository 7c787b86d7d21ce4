"""Bytes of the cache per attention kind, and how engines pack layers of several kinds."""

from __future__ import annotations

import pytest

from gpusize.architecture import Architecture, AttentionGroup, architecture_of
from gpusize.memory import kv_cache
from gpusize_catalog.units import GIB, MIB

BATCHED = 8192
PER_TOKEN = [
    ("meta-llama/Llama-3.1-8B", 1, 16, 131072),
    ("meta-llama/Llama-3.1-8B", 1, 8, 65536),
    ("meta-llama/Llama-3.1-8B", 4, 16, 32768),
    ("meta-llama/Llama-3.1-70B", 1, 16, 327680),
    ("Qwen/Qwen3-235B-A22B", 4, 16, 48128),
    ("Qwen/Qwen3-235B-A22B", 8, 16, 48128),
    ("deepseek-ai/DeepSeek-V3", 1, 16, 70272),
    ("deepseek-ai/DeepSeek-V3", 8, 16, 70272),
    ("google/gemma-2b", 1, 16, 18432),
]


@pytest.mark.parametrize(("model", "tp", "bits", "expected"), PER_TOKEN)
def test_bytes_of_one_token(catalog, engine, model, tp, bits, expected):
    cache = kv_cache.build(
        architecture_of(model, catalog), engine("vllm", "0.19.0"), tp, bits, BATCHED
    )
    assert cache.bytes_for(16) == 16 * expected


def test_sparse_latent_attention_keeps_an_index_key_too(catalog, engine):
    architecture = architecture_of("deepseek-ai/DeepSeek-V3.2", catalog)
    row = engine("vllm", "0.19.0")
    wide = kv_cache.build(architecture, row, 8, 16, BATCHED)
    packed = kv_cache.build(architecture, row, 8, 8, BATCHED)
    assert wide.bytes_for(16) == 16 * 61 * (576 * 2 + 132)
    assert packed.bytes_for(16) == 16 * 61 * (656 + 132)


def test_sparse_attention_over_full_heads_keeps_them_and_an_index_key(catalog, engine):
    architecture = architecture_of("MiniMaxAI/MiniMax-M3", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.19.0"), 4, 16, BATCHED)
    heads = 60 * 2 * 128 * 2
    assert heads * 16 < cache.bytes_for(16) <= (heads + 60 * 132) * 16


def test_old_engines_cached_latent_attention_as_full_heads(catalog, engine):
    architecture = architecture_of("deepseek-ai/DeepSeek-V2", catalog)
    old = kv_cache.build(architecture, engine("vllm", "0.5.4"), 8, 16, BATCHED)
    new = kv_cache.build(architecture, engine("vllm", "0.9.0"), 8, 16, BATCHED)
    assert old.bytes_for(16) > 10 * new.bytes_for(16)


LOGGED_CONCURRENCY = [
    # model, tp, bits, pool GiB, context, batched tokens, concurrency logged
    ("google/gemma-2-2b", 1, 16, 66.47, 8192, 8192, 81.73),
    ("google/gemma-2-9b", 1, 16, 54.12, 8192, 8192, 20.60),
    ("google/gemma-3-27b-it", 1, 16, 19.53, 8192, 8192, 4.46),
    ("openai/gpt-oss-20b", 1, 16, 58.47, 8192, 8192, 155.75),
    ("Qwen/Qwen3.5-27B", 4, 16, 52.15, 262144, 8192, 12.90),
    ("Qwen/Qwen3.6-35B-A3B", 1, 16, 47.55, 131072, 2048, 18.44),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 4, 16, 16.75, 8192, 8192, 44.68),
    ("deepseek-ai/DeepSeek-V2-Lite", 1, 16, 43.61, 8192, 8192, 183.78),
    ("meta-llama/Llama-3.1-8B", 1, 8, 58.11, 8192, 8192, 116.21),
]


@pytest.mark.parametrize(
    ("model", "tp", "bits", "pool", "context", "batched", "logged"), LOGGED_CONCURRENCY
)
def test_a_logged_pool_holds_the_logged_concurrency(
    catalog, engine, model, tp, bits, pool, context, batched, logged
):
    cache = kv_cache.build(
        architecture_of(model, catalog), engine("vllm", "0.19.0"), tp, bits, batched
    )
    held = cache.sequences_in(round(pool * GIB), context)
    assert held == pytest.approx(logged, rel=0.004)


def test_unequal_groups_are_padded_to_seven_of_ten(catalog, engine):
    architecture = architecture_of("google/gemma-3-27b-it", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.19.0"), 1, 16, BATCHED)
    per_layer = 2 * 16 * 128 * 2 * 16
    assert isinstance(cache, kv_cache.GroupedCache)
    assert sum(group.tables for group in cache.groups) == 7
    assert cache.unit == 10 * per_layer


def test_nearly_equal_layer_counts_are_padded_not_split(catalog, engine):
    groups = (
        AttentionGroup("sliding", 12, 128, 8, 64),
        AttentionGroup("full", 13, None, 8, 64),
    )
    architecture = architecture_of("openai/gpt-oss-20b", catalog)._replace(attention=groups)
    cache = kv_cache.build(architecture, engine("vllm", "0.19.0"), 1, 16, BATCHED)
    assert isinstance(cache, kv_cache.GroupedCache)
    assert [group.tables for group in cache.groups] == [1, 1]


def test_recurrent_state_takes_one_enlarged_page(catalog, engine):
    architecture = architecture_of("Qwen/Qwen3.6-35B-A3B", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.19.0"), 1, 16, BATCHED)
    assert isinstance(cache, kv_cache.GroupedCache)
    attention, state = sorted(cache.groups, key=lambda group: group.is_state)
    assert attention.block == 1056
    assert state.tables == 3
    assert cache.bytes_for(1) == cache.bytes_for(1000) == 4 * cache.unit


def test_sglang_keeps_a_window_pool_of_four_fifths(catalog, engine):
    architecture = architecture_of("google/gemma-3-27b-it", catalog)
    cache = kv_cache.build(architecture, engine("sglang", "0.5.5"), 1, 8, BATCHED)
    tokens = cache.sequences_in(round(14.91 * GIB), 131072) * 131072
    assert tokens == pytest.approx(75444, rel=0.005)


def test_llama_cpp_caches_windows_only_as_long_as_they_are(catalog, engine):
    architecture = architecture_of("google/gemma-3-27b-it", catalog)
    cache = kv_cache.build(architecture, engine("llama.cpp", "b6000"), 1, 16, 512)
    full = 62 * 2 * 16 * 128 * 2 * 32768
    assert full / MIB == 15872
    assert 0.15 < cache.bytes_for(32768) / full < 0.25


def test_a_cross_layer_keeps_the_encoder_once(catalog, engine):
    architecture = architecture_of("openai/whisper-large-v3", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.8.5"), 1, 16, BATCHED)
    assert cache.state_bytes == 32 * 1500 * 2 * 20 * 64 * 2


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (AttentionGroup("compressed", 4, 128, 1, 512), "compressed"),
        (AttentionGroup("linear", 4), "recurrent state"),
        (AttentionGroup("cross", 4, None, 8, 64), "encoder"),
    ],
)
def test_what_is_not_built_or_not_known_is_said(catalog, group, words):
    architecture = architecture_of("meta-llama/Llama-3.1-8B", catalog)
    assert words in kv_cache.unbuilt_kind(architecture._replace(attention=(group,)))


def test_layers_without_attention_keep_nothing(catalog, engine):
    plain = architecture_of("meta-llama/Llama-3.1-8B", catalog)
    group = plain.attention[0]
    half: Architecture = plain._replace(
        attention=(group._replace(layers=16), AttentionGroup("none", 16))
    )
    row = engine("vllm", "0.19.0")
    whole = kv_cache.build(plain, row, 1, 16, BATCHED).bytes_for(4096)
    assert kv_cache.build(half, row, 1, 16, BATCHED).bytes_for(4096) * 2 == whole


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 100_000])
def test_blocks_are_whole(catalog, engine, tokens):
    architecture = architecture_of("meta-llama/Llama-3.1-8B", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.19.0"), 1, 16, BATCHED)
    assert cache.bytes_for(tokens) == -(-tokens // 16) * 16 * 131072


def test_an_empty_pool_holds_nothing(catalog, engine):
    architecture = architecture_of("meta-llama/Llama-3.1-8B", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.19.0"), 1, 16, BATCHED)
    assert cache.sequences_in(0, 16) == cache.sequences_in(-GIB, 16) == 0
    assert cache.longest(131072 * 16 - 1, 1000) == 0
    assert cache.longest(131072 * 32, 1000) == 32


def test_builds_before_window_caches_keep_windows_at_full_length(catalog, engine):
    architecture = architecture_of("google/gemma-3-27b-it", catalog)
    for name, version in (("llama.cpp", "b5000"), ("llama.cpp", "b5429"), ("ik_llama.cpp", None)):
        cache = kv_cache.build(architecture, engine(name, version), 1, 16, 512)
        assert cache.bytes_for(32768) == 15872 * MIB


@pytest.mark.parametrize(
    ("name", "version", "logged_mib"),
    [("llama.cpp", "b6000", 2074), ("llama.cpp", "b7830", 1098), ("ik_llama.cpp", None, 1098)],
)
def test_latents_are_cached_once_or_twice(catalog, engine, name, version, logged_mib):
    architecture = architecture_of("deepseek-ai/DeepSeek-V3", catalog)
    cache = kv_cache.build(architecture, engine(name, version), 1, 16, 512)
    assert cache.bytes_for(16384) / MIB == pytest.approx(logged_mib, abs=0.5)


def test_window_layers_may_have_more_key_heads_than_full_ones(catalog):
    window, full = sorted(
        architecture_of("XiaomiMiMo/MiMo-V2-Flash", catalog).attention, key=lambda g: g.kind
    )[::-1]
    assert (window.kind, window.kv_heads, full.kind, full.kv_heads) == ("sliding", 8, "full", 4)


@pytest.mark.parametrize(
    ("tokens", "batched", "logged_gib"),
    [(13528, 16384, 5.44), (30000, 16384, 6.66), (912128, 8192, 7.01 / 1.107)],
)
def test_compressed_entries_and_windows_take_what_vllm_logs(
    catalog, engine, tokens, batched, logged_gib
):
    """vllm issues 44376 (two lengths) and 51041, DeepSeek-V4-Flash with an fp8 cache."""
    architecture = architecture_of("deepseek-ai/DeepSeek-V4-Flash", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.26.0"), 2, 8, batched)
    assert cache.bytes_for(tokens) / GIB == pytest.approx(logged_gib, rel=cache.error)
    assert cache.error > kv_cache.PagedCache.error


def test_compressed_entries_grow_by_a_few_bytes_a_token(catalog, engine):
    architecture = architecture_of("deepseek-ai/DeepSeek-V4-Flash", catalog)
    cache = kv_cache.build(architecture, engine("vllm", "0.26.0"), 8, 8, 8192)
    grown = cache.bytes_for(1_000_000) - cache.bytes_for(500_000)
    assert grown / 500_000 == pytest.approx(21 * (584 + 132) / 4 + 20 * 584 / 128, rel=0.001)
