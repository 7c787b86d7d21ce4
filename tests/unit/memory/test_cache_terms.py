"""What each kind of layer keeps, and how each layout packs it, counted by hand."""

from __future__ import annotations

import pytest

from gpusize.architecture import Architecture, AttentionGroup
from gpusize.memory import kv_cache, kv_compressed
from gpusize.memory.kv_cache import LAYOUTS, NO_LIMIT, GroupedCache, Packing
from gpusize.memory.kv_costs import COSTS, Cost, Rank
from tests.unit.memory.toys import DENSE, LATENT

FULL = AttentionGroup("full", 6, None, 4, 64)
ONE = Rank(tp=1, bits=16, latent=True, heads=32, latent_width=0)
NARROW = Packing(block=16, slack=1.5, batched=100)


def cost(group: AttentionGroup, **changes) -> Cost:
    return COSTS[group.kind](group, ONE._replace(**changes))


# One layer of each kind


@pytest.mark.parametrize(
    ("tp", "bits", "size"),
    [(1, 16, 1024), (1, 8, 512), (1, 4, 256), (2, 16, 512), (4, 16, 256), (8, 16, 256)],
)
def test_a_full_layer_keeps_keys_and_values_of_its_heads(tp, bits, size):
    """4 heads of 64 numbers, keys and values; one head at least on every rank."""
    assert cost(FULL, tp=tp, bits=bits) == (size, None, 0, 6)


def test_values_may_be_narrower_than_keys():
    assert cost(FULL._replace(value_dim=16)).token_bytes == 4 * (64 + 16) * 2


def test_a_window_is_told_and_a_chunk_is_not_freed():
    near = FULL._replace(kind="sliding", window=512)
    assert cost(near) == (1024, 512, 0, 6)
    assert cost(near._replace(kind="chunked")) == (1024, None, 0, 6)


def test_a_latent_is_on_every_rank():
    group = AttentionGroup("mla", 6)
    for tp in (1, 4):
        assert cost(group, tp=tp, latent_width=576) == (576 * 2, None, 0, 6)
    assert cost(group, bits=8, latent_width=576).token_bytes == 576


@pytest.mark.parametrize(("tp", "heads"), [(1, 32), (8, 4), (64, 1)])
def test_old_engines_keep_latents_as_heads_of_256(tp, heads):
    group = AttentionGroup("mla", 6)
    size = cost(group, tp=tp, latent=False, latent_width=576).token_bytes
    assert size == 2 * heads * 256 * 2


def test_an_index_is_128_numbers_of_8_bits_and_a_scale():
    latent = AttentionGroup("indexed", 6)
    assert cost(latent, latent_width=576).token_bytes == 576 * 2 + 128 + 4
    wide = latent._replace(index_dim=64)
    assert cost(wide, latent_width=576).token_bytes == 576 * 2 + 64 + 4
    heads = FULL._replace(kind="indexed")
    assert cost(heads).token_bytes == 1024 + 132
    assert cost(heads, bits=8).token_bytes == 512 + 132


@pytest.mark.parametrize(("bits", "size"), [(16, 1152), (9, 648), (8, 656), (4, 656)])
def test_a_latent_of_eight_bits_is_packed_with_its_scales(bits, size):
    """vLLM fp8_ds_mla: 656 bytes."""
    group = AttentionGroup("indexed", 6)
    assert cost(group, bits=bits, latent_width=576).token_bytes == size + 132


@pytest.mark.parametrize("kind", ["linear", "mamba"])
def test_a_state_is_wide_its_convolution_half_and_ranks_share_both(kind):
    group = AttentionGroup(kind, 6, state_elements=1000, conv_elements=300)
    assert cost(group) == (0, None, 4600, 6)
    assert cost(group, tp=8).state_bytes == 575
    assert cost(group, tp=7).state_bytes == 658, "rounded up"
    assert cost(group._replace(conv_elements=None)).state_bytes == 4000
    assert cost(group._replace(state_elements=None)).state_bytes == 600


def test_a_cross_layer_keeps_the_positions_of_the_encoder():
    group = FULL._replace(kind="cross", positions=1500)
    assert cost(group) == (0, None, 1500 * 1024, 6)
    assert cost(group._replace(positions=None)).state_bytes == 0


# Layouts

GROWS = Cost(1024, None, 0, 6)
NEAR = Cost(1024, 512, 0, 6)
STATE = Cost(0, None, 40_000, 6)


def packed(layout: str, *costs: Cost, packing: Packing = NARROW) -> kv_cache.KvCache:
    return LAYOUTS[layout](costs, packing)


def test_pages_hold_a_block_of_every_layer():
    built = packed("paged", GROWS, NEAR)
    page = 16 * 1024 * 12
    assert (built.unit, built.bytes_for(1), built.bytes_for(17)) == (page, page, 2 * page)
    assert built.bytes_for(17, 3) == 6 * page
    stateful = packed("paged", GROWS, STATE)
    assert stateful.state_bytes == 240_000
    assert stateful.bytes_for(17) == 2 * 16 * 1024 * 6 + 240_000


def test_a_part_of_the_layers_keeps_a_part():
    third = packed("paged", GROWS._replace(layers=1.5), STATE._replace(layers=0.5))
    assert third.bytes_for(16) == 16 * 1536 + 20_000


def test_a_pool_hands_out_whole_pages():
    built = packed("paged", GROWS)
    page = 16 * 1024 * 6
    assert built.sequences_in(page - 1, 16) == 0
    assert built.sequences_in(5 * page, 32) == built.sequences_in(6 * page - 1, 32) == 2.5
    assert built.sequences_in(1, 16) == 0
    assert built.sequences_in(-5 * page, 16) == 0


def test_memory_sets_no_limit_where_nothing_is_kept():
    nothing = packed("paged", Cost(0, None, 0, 0))
    assert nothing.unit == 1
    assert nothing.sequences_in(1, 100) == NO_LIMIT == 2**31
    assert nothing.sequences_in(0, 100) == 0


def test_the_longest_sequence_uses_the_pool_to_the_last_page():
    built = packed("paged", GROWS)
    page = 16 * 1024 * 6
    assert built.longest(3 * page, 1000) == 48
    assert built.longest(3 * page - 1, 1000) == 32
    assert built.longest(3 * page, 48) == 48
    assert built.longest(3 * page, 47) == 47
    assert built.longest(page, 2) == 2
    assert built.longest(0, 2) == 0


def test_equal_groups_share_pages_and_windows_keep_a_step_more():
    built = packed("grouped", GROWS, NEAR)
    assert isinstance(built, GroupedCache)
    assert built.unit == 16 * 1024 * 6
    assert [tuple(group) for group in built.groups] == [(1, 16, None, False), (1, 16, 512, False)]
    # the window: 511 tokens before, 100 of the step, 39 blocks, and one to spare
    assert built.bytes_for(10_000) == (625 + 39 + 1) * built.unit
    assert built.bytes_for(300) == (19 + 19 + 1) * built.unit
    assert built.bytes_for(611) == (39 + 39 + 1) * built.unit
    assert (
        packed("grouped", GROWS, NEAR, packing=NARROW._replace(batched=98)).bytes_for(10_000)
        == (625 + 39 + 1) * built.unit
    ), "609 tokens are one more than 38 blocks"
    assert (
        packed("grouped", GROWS, NEAR, packing=NARROW._replace(batched=97)).bytes_for(10_000)
        == (625 + 38 + 1) * built.unit
    )


def test_layers_that_all_grow_need_no_groups():
    built = packed("grouped", GROWS, GROWS._replace(token_bytes=512))
    assert isinstance(built, kv_cache.PagedCache)
    for other in (NEAR, STATE):
        assert isinstance(packed("grouped", GROWS, other), GroupedCache)


@pytest.mark.parametrize(
    ("counts", "size", "tables"),
    [((6, 8), 8, [1, 1]), ((6, 9), 6, [1, 2]), ((6, 30), 6, [1, 5]), ((6, 31), 6, [1, 6])],
)
def test_counts_below_one_and_a_half_are_padded(counts, size, tables):
    """Groups are as large as the fewest layers, or the most where these are less than 1.5 times."""
    first, second = counts
    built = packed("grouped", GROWS._replace(layers=first), NEAR._replace(layers=second))
    assert isinstance(built, GroupedCache)
    assert built.unit == 16 * 1024 * size
    assert [group.tables for group in built.groups] == tables


def test_a_stage_has_one_layer_of_each_kind_at_least():
    built = packed("grouped", GROWS._replace(layers=6), NEAR._replace(layers=0.4))
    assert isinstance(built, GroupedCache)
    assert built.unit == 16 * 1024
    assert [group.tables for group in built.groups] == [6, 1]


def test_narrow_layers_have_longer_blocks():
    built = packed("grouped", GROWS, NEAR._replace(token_bytes=256))
    assert isinstance(built, GroupedCache)
    assert [group.block for group in built.groups] == [16, 64]


def test_blocks_beside_a_state_grow_until_they_hold_it():
    """40,000 bytes of state are 40 tokens of 1,024: three steps of 16."""
    built = packed("grouped", GROWS, STATE)
    assert isinstance(built, GroupedCache)
    assert [tuple(group) for group in built.groups] == [(1, 48, None, False), (1, 48, None, True)]
    assert built.unit == 48 * 1024 * 6
    assert built.bytes_for(1) == built.bytes_for(48) == 2 * built.unit
    assert built.bytes_for(49) == 3 * built.unit
    small = packed("grouped", GROWS, STATE._replace(state_bytes=100))
    assert small.unit == 16 * 1024 * 6


def test_a_model_of_state_alone_takes_a_page_of_it():
    built = packed("grouped", STATE)
    assert built.bytes_for(1) == built.bytes_for(10**6) == 240_000
    assert built.unit == 240_000


def test_two_pools_share_memory_four_to_five():
    """SGLang: 0.8 tokens of the window pool for each of the full one."""
    both = packed("two-pools", GROWS, NEAR)
    each = 6 * 1024
    assert both.bytes_for(10_000) == round(10_000 * each * 1.8)
    # a short one keeps its tokens in both: the window pool runs out first
    assert both.bytes_for(100) == round(100 / 0.8 * each * 1.8)
    kept = 512 + 100
    assert both.bytes_for(612) == round(kept / 0.8 * each * 1.8)
    assert both.bytes_for(700) == round(kept / 0.8 * each * 1.8)
    assert both.bytes_for(766) == round(766 * each * 1.8)
    assert packed("two-pools", GROWS).bytes_for(100) == 100 * each
    near = packed("two-pools", NEAR)
    assert near.bytes_for(100) == 100 * each
    assert near.bytes_for(5_000) == near.bytes_for(612) == 612 * each


def test_two_pools_beside_a_state_are_parted_nine_to_ten():
    """SGLang: 0.9 bytes of state for each of the cache."""
    built = packed("two-pools", GROWS, STATE)
    long, short = 10_000, 10
    assert built.bytes_for(long) == round(long * 6144 * 1.9)
    assert built.bytes_for(short) == round(240_000 * 1.9 / 0.9)


def test_buffers_are_as_long_as_the_context_or_the_window():
    built = packed("preallocated", GROWS, NEAR)
    assert built.bytes_for(10_000) == (10_000 + 624) * 6144
    assert built.bytes_for(17) == 2 * 32 * 6144
    assert built.unit == 1
    assert packed("preallocated", GROWS, STATE).bytes_for(16) == 16 * 6144 + 240_000
    whole = packed("preallocated-whole", GROWS, NEAR)
    assert whole.bytes_for(10_000) == 2 * 10_000 * 6144


# From a model and an engine's row to a cache


@pytest.fixture
def built(engine):
    def build(model: Architecture, tp=1, bits=16, share=1.0, **row) -> kv_cache.KvCache:
        known = engine("vllm", "0.19.0")._replace(**{"cache_layout": "paged", **row})
        return kv_cache.build(model, known, tp, bits, 100, share)

    return build


def test_a_rank_keeps_the_share_of_its_layers(built):
    token = 4 * 2 * 2 * 32 * 2
    assert built(DENSE).bytes_for(16) == 16 * token
    assert built(DENSE, share=0.25).bytes_for(16) == 16 * token // 4
    assert built(DENSE, tp=2, bits=8).bytes_for(16) == 16 * token // 4
    assert built(DENSE, block_tokens=64).bytes_for(1) == 64 * token


def test_latents_of_an_engine(built):
    """48 numbers of the latent and 16 of the rotary key in each of 4 layers."""
    assert built(LATENT).bytes_for(16) == 16 * 4 * 64 * 2
    assert built(LATENT, latent_values=True).bytes_for(16) == 16 * 4 * 112 * 2
    assert built(LATENT, latent_cache=False).bytes_for(16) == 16 * 4 * 2 * 8 * 256 * 2
    bare = LATENT._replace(qk_rope_head_dim=None)
    assert built(bare).bytes_for(16) == 16 * 4 * 48 * 2


def test_groups_that_keep_the_same_are_one(built):
    split = DENSE._replace(attention=(DENSE.attention[0]._replace(layers=3),) * 2)
    (cost,) = built(split).costs
    assert cost.layers == 6
    assert len(built(split, cache_layout="grouped").costs) == 1


def test_a_model_without_attention_keeps_nothing(built):
    none = DENSE._replace(attention=(AttentionGroup("none", 4),))
    assert built(none).bytes_for(1000) == 0
    assert built(none).state_bytes == 0


def test_slack_of_one_pads_only_equal_counts(built):
    groups = (AttentionGroup("full", 4, None, 2, 32), AttentionGroup("sliding", 5, 128, 2, 32))
    model = DENSE._replace(attention=groups)
    for slack, unit in ((None, 4), (1.5, 5)):
        found = built(model, cache_layout="grouped", group_slack=slack)
        assert found.unit == 16 * 256 * unit


def test_errors_of_the_cache_are_stated(built):
    assert built(DENSE).error == 0.005
    assert kv_compressed.ERROR == 0.15


@pytest.mark.parametrize(
    "group",
    [
        FULL,
        FULL._replace(kind="cross", positions=10),
        AttentionGroup("mamba", 4, state_elements=1),
        AttentionGroup("none", 4),
        AttentionGroup("csa", 4, 128, 1, 512),
    ],
)
def test_what_is_modelled_is_no_question(group):
    assert kv_cache.unbuilt_kind(DENSE._replace(attention=(group,))) == ""


# Compressed entries


def compressed(*groups: AttentionGroup, bits: float = 8, share: float = 1.0):
    return kv_compressed.bytes_of(DENSE._replace(attention=groups), bits, share)


WINDOW = AttentionGroup("sliding", 2, 128, 1, 512)
SPARSE = AttentionGroup("csa", 3, 128, 1, 512)
HEAVY = AttentionGroup("hca", 5, 64, 1, 512)
PACKED = 448 + 64 * 2 + 8
"""Bytes of an fp8 entry, as vLLM has it: 584."""


def test_an_entry_of_eight_bits_keeps_its_rotary_part_wide():
    assert PACKED == 584
    assert compressed(WINDOW) == (0, 2 * 584, 128)
    assert compressed(WINDOW, bits=4) == (0, 2 * 584, 128)
    assert compressed(WINDOW, bits=16) == (0, 2 * 1024, 128)
    assert compressed(WINDOW, bits=9) == (0, 2 * 1024, 128)
    assert compressed(WINDOW, bits=32) == (0, 2 * 2048, 128)
    tiny = WINDOW._replace(head_dim=64)
    assert compressed(tiny).held == 2 * 128, "never more than its 16 bits"


def test_compressed_layers_keep_an_entry_for_several_tokens():
    """csa: every 4 tokens, with an index of 132 bytes; hca: every 128; states in fp32, twice."""
    sparse = compressed(SPARSE)
    assert sparse.growing == 3 * (584 + 132) / 4
    assert sparse.held == 3 * 584 + 3 * 2 * (512 + 128) * 8
    heavy = compressed(HEAVY)
    assert heavy.growing == pytest.approx(5 * 584 / 128)
    assert heavy.held == 5 * 584 + 5 * 512 * 8
    assert heavy.window == 64
    both = compressed(SPARSE, HEAVY, WINDOW._replace(window=None))
    assert both.growing == pytest.approx(sparse.growing + heavy.growing)
    assert both.held == sparse.held + heavy.held + 2 * 584
    assert both.window == 128
    assert compressed(WINDOW._replace(window=None)).window == 1
    assert compressed(SPARSE, share=1 / 3).held == pytest.approx(sparse.held / 3)


def test_windows_are_padded_and_hold_a_step_more(built):
    model = DENSE._replace(attention=(SPARSE, WINDOW))
    cache = built(model, bits=8, cache_layout="grouped")
    found = compressed(SPARSE, WINDOW)
    assert cache.bytes_for(1000) == round(1008 * found.growing + 1.32 * 227 * found.held)
    assert cache.bytes_for(100) == round(112 * found.growing + 1.32 * 100 * found.held)
    assert cache.bytes_for(112) == round(112 * found.growing + 1.32 * 112 * found.held)
    assert cache.error == 0.15
    assert cache.state_bytes == 0
