"""Every term of a rank's weights by itself, on a model that can be counted by hand."""

from __future__ import annotations

import pytest

from gpusize.architecture import AttentionGroup, Stored
from gpusize.memory import formats, weights
from gpusize.placement import Layout
from tests.unit.memory.toys import (
    DENSE,
    EXPERTS,
    HIDDEN,
    LATENT,
    LINEAR,
    MOE,
    OTHER,
    ROTARY,
    TABLE,
    TIED,
)

WHOLE = weights.Stage(4, True, True)
FIRST, MIDDLE, LAST = (weights.Stage(1, *ends) for ends in ((1, 0), (0, 0), (0, 1)))


@pytest.fixture
def bytes_of(engine, form):
    """Bytes of one rank; `format` and `row` are changes of bf16 and of a vLLM row."""

    def build(model, sizes=None, stage=WHOLE, *, word="bf16", format=None, row=None) -> int:
        taken = form(word)._replace(**(format or {}))
        known = engine("vllm", "0.19.0")._replace(**(row or {}))
        return weights.rank_bytes(model, taken, known, Layout(**(sizes or {})), stage)

    return build


def test_a_whole_model_is_the_sum_of_its_parts(bytes_of):
    padded = 2 * 128 * HIDDEN
    assert bytes_of(DENSE) == 2 * (padded + LINEAR + OTHER) + ROTARY


def test_each_part_has_bits_of_its_own(bytes_of):
    bits = {"embedding_bits": 32, "head_bits": 8, "linear_bits": 4, "other_bits": 64}
    padded = 128 * HIDDEN
    expected = 4 * padded + padded + LINEAR // 2 + 8 * OTHER
    assert bytes_of(DENSE, format=bits) == expected + ROTARY


def test_ranks_cut_the_table_and_the_linears_but_not_the_norms(bytes_of):
    half = 2 * 64 * HIDDEN + LINEAR // 2 + OTHER
    assert bytes_of(DENSE, {"tp": 2}) == 2 * half + ROTARY


def test_more_ranks_than_key_heads_repeat_keys_and_values(bytes_of):
    at_2, at_4, at_8 = (bytes_of(DENSE, {"tp": tp}) for tp in (2, 4, 8))
    keys_and_values = 4 * HIDDEN * 2 * 32
    # of two heads each of four ranks holds a whole one, not a half; of eight not a quarter
    assert at_4 == 2 * (2 * 32 * HIDDEN + LINEAR // 4 + keys_and_values // 2 + OTHER) + ROTARY
    assert at_8 == 2 * (2 * 16 * HIDDEN + LINEAR // 8 + keys_and_values * 3 // 4 + OTHER) + ROTARY
    assert at_2 == 2 * (2 * 64 * HIDDEN + LINEAR // 2 + OTHER) + ROTARY


def test_repeated_values_may_be_narrower_than_keys(bytes_of):
    narrow = DENSE._replace(attention=(AttentionGroup("full", 4, None, 2, 32, value_dim=8),))
    saved = bytes_of(DENSE, {"tp": 4}) - bytes_of(narrow, {"tp": 4})
    assert saved == 2 * 4 * HIDDEN * (32 - 8) // 2


def test_layers_without_key_heads_repeat_nothing(bytes_of):
    group = AttentionGroup("mamba", 4, state_elements=64)
    plain = DENSE._replace(attention=(group,))
    assert bytes_of(plain, {"tp": 4}) == 2 * (2 * 32 * HIDDEN + LINEAR // 4 + OTHER) + ROTARY


def test_stages_hold_their_layers_and_the_ends_of_the_model(bytes_of):
    share = 2 * (LINEAR + OTHER) // 4
    end = 2 * 128 * HIDDEN
    sizes = [bytes_of(DENSE, {"pp": 4}, stage) for stage in (FIRST, MIDDLE, LAST)]
    assert sizes == [share + end + ROTARY, share + ROTARY, share + end + ROTARY]


def test_a_tied_table_is_held_again_by_a_last_stage_that_is_not_the_first(bytes_of):
    end = 2 * 128 * HIDDEN
    share = 2 * (LINEAR + OTHER) // 4
    assert bytes_of(TIED) == end + 4 * share + ROTARY
    sizes = [bytes_of(TIED, {"pp": 4}, stage) for stage in (FIRST, MIDDLE, LAST)]
    assert sizes == [share + end + ROTARY, share + ROTARY, share + end + ROTARY]


def test_a_table_in_host_memory_is_held_only_where_it_is_the_head_too(bytes_of):
    row = {"host_embeddings": True}
    end = 2 * 128 * HIDDEN
    rest = 2 * (LINEAR + OTHER) + ROTARY
    assert bytes_of(DENSE, row=row) == end + rest
    assert bytes_of(TIED, row=row) == end + rest


def test_a_table_of_positions_is_as_wide_as_a_head_or_its_rotary_part(bytes_of):
    assert bytes_of(DENSE) - bytes_of(DENSE._replace(max_position=None)) == ROTARY
    part = DENSE._replace(qk_rope_head_dim=16)
    assert bytes_of(part) == bytes_of(DENSE) - ROTARY // 2


@pytest.mark.parametrize(
    ("vocab", "tp", "rows"),
    [(1, 1, 64), (64, 1, 64), (65, 1, 128), (64, 3, 66), (129, 8, 192), (32000, 7, 32004)],
)
def test_rows_of_the_vocabulary(vocab, tp, rows):
    assert weights.padded_vocabulary(vocab, tp) == rows


def test_down_projections_of_latents_are_on_every_rank(bytes_of):
    down = HIDDEN * (48 + 16 + 64)
    whole, half = bytes_of(LATENT), bytes_of(LATENT, {"tp": 2})
    rotary = 1000 * 16 * 2
    assert whole == 2 * (2 * 128 * HIDDEN + LINEAR + OTHER) + rotary
    assert half == 2 * (2 * 64 * HIDDEN + LINEAR // 2 + 4 * down // 2 + OTHER) + rotary


def test_latent_attention_may_keep_a_format_of_its_own(bytes_of):
    format = {"linear_bits": 4, "latent_bits": 16}
    rotary, down = 1000 * 16 * 2, HIDDEN * (48 + 16 + 64)
    ends = 2 * 2 * 128 * HIDDEN
    whole = bytes_of(LATENT, format=format)
    assert whole == ends + LINEAR // 2 + 1_000_000 * 12 // 8 + 2 * OTHER + rotary
    half = bytes_of(LATENT, {"tp": 2}, format=format)
    linears = LINEAR // 4 + 1_000_000 * 12 // 16
    assert half == ends // 2 + linears + 2 * 4 * down // 2 + 2 * OTHER + rotary


def test_latent_attention_is_what_linears_hold_beside_the_mlps(bytes_of):
    """Of 4 layers the first is dense; three have a shared expert of 96 numbers."""
    format = {"linear_bits": 4, "latent_bits": 12}
    mlps = 3 * HIDDEN * 512 + 3 * HIDDEN * 96 * 3
    told = LATENT._replace(latent_params=LINEAR - mlps, experts_total=8)
    model = LATENT._replace(
        latent_params=None,
        experts_total=8,
        first_dense_layers=1,
        moe_intermediate=96,
        shared_experts=1,
    )
    assert bytes_of(model, format=format) == bytes_of(told, format=format)
    two = model._replace(shared_experts=2)
    more = told._replace(latent_params=LINEAR - mlps - 3 * HIDDEN * 96 * 3)
    assert bytes_of(two, format=format) == bytes_of(more, format=format)
    sparse = model._replace(first_dense_layers=None)
    all_sparse = told._replace(latent_params=LINEAR - 3 * HIDDEN * 96 * 4)
    assert bytes_of(sparse, format=format) == bytes_of(all_sparse, format=format)
    dense = LATENT._replace(latent_params=None, moe_intermediate=96, shared_experts=1)
    every = LATENT._replace(latent_params=LINEAR - 4 * 3 * HIDDEN * 512)
    assert bytes_of(dense, format=format) == bytes_of(every, format=format)
    thin = model._replace(intermediate=None)
    shared = told._replace(latent_params=LINEAR - 3 * HIDDEN * 96 * 3)
    assert bytes_of(thin, format=format) == bytes_of(shared, format=format), "no dense width"
    for alone in ({"shared_experts": None}, {"moe_intermediate": None}):
        routed = told._replace(latent_params=LINEAR - 3 * HIDDEN * 512)
        assert bytes_of(model._replace(**alone), format=format) == bytes_of(routed, format=format)
    nothing = LATENT._replace(latent_params=None, linear_params=1000)
    none = LATENT._replace(latent_params=0, linear_params=1000)
    assert bytes_of(nothing, format=format) == bytes_of(none, format=format)


def experts(bytes_of, sizes, model=MOE, **more) -> int:
    """Bytes of the routed experts alone."""
    without = model._replace(expert_params=0)
    return bytes_of(model, sizes, **more) - bytes_of(without, sizes, **more)


@pytest.mark.parametrize(
    ("sizes", "share"),
    [
        ({}, 1),
        ({"tp": 2}, 1 / 2),
        ({"dp": 4}, 1),
        ({"ep": 2, "dp": 2}, 1 / 2),
        ({"ep": 4, "dp": 4}, 1 / 4),
        ({"tp": 4, "ep": 4}, 1 / 4),
        ({"tp": 4, "ep": 2}, 1 / 4),
        ({"tp": 4, "dp": 2, "ep": 8}, 1 / 8),
        ({"tp": 4, "dp": 2, "ep": 2}, 1 / 8),
        ({"tp": 2, "dp": 4, "ep": 2}, 1 / 4),
        ({"dp": 3, "ep": 3}, 3 / 8),
    ],
)
def test_experts_are_cut_by_tp_or_moved_whole_by_ep(bytes_of, sizes, share):
    assert experts(bytes_of, sizes) == EXPERTS * 2 * share
    eight = {"expert_bits": 8}
    assert experts(bytes_of, sizes, format=eight) == EXPERTS * share


def test_experts_need_their_number_to_be_cut(bytes_of):
    assert experts(bytes_of, {}, MOE._replace(experts_total=None)) == 0


@pytest.mark.parametrize(
    ("tp", "tile", "padding"),
    [
        (1, 64, 128 / 96),
        (2, 16, 1),
        (4, 16, 32 / 24),
        (4, 64, 64 / 24),
        (8, 1, 1),
    ],
)
def test_padded_experts_are_whole_tiles(bytes_of, tp, tile, padding):
    """The hidden width of 256 is padded to 384, that of one expert, 96, on each rank."""
    format = {"pad_hidden": 128 * 3, "pad_intermediate": 1}
    size = experts(bytes_of, {"tp": tp}, format=format, row={"expert_tile": tile})
    assert size == pytest.approx(EXPERTS * 2 / tp * 384 / 256 * padding, abs=1)
    wide = experts(
        bytes_of, {"tp": tp}, format={**format, "pad_intermediate": tile}, row={"expert_tile": 1}
    )
    assert wide == size


def test_experts_that_are_not_padded_take_their_parameters(bytes_of):
    row, format = {"expert_tile": 64}, {"pad_hidden": 1, "pad_intermediate": 64}
    assert experts(bytes_of, {}, row=row, format=format) == EXPERTS * 2
    format = {"pad_hidden": 512, "pad_intermediate": 64}
    blank = MOE._replace(moe_intermediate=None)
    assert experts(bytes_of, {}, blank, row=row, format=format) == EXPERTS * 2
    named = blank._replace(intermediate=96)
    assert experts(bytes_of, {}, named, row=row, format=format) == pytest.approx(
        EXPERTS * 2 * 2 * 128 / 96, abs=1
    )


def test_a_tower_is_on_the_first_stage_and_cut_where_its_heads_can_be(bytes_of):
    tower = 4_000
    seeing = DENSE._replace(vision_params=tower, vision_heads=6)
    own = OTHER - tower
    ends = 2 * 128 * HIDDEN
    assert bytes_of(seeing) == bytes_of(DENSE)
    assert bytes_of(seeing, {"tp": 2}) == bytes_of(DENSE, {"tp": 2}) - 2 * tower // 2
    assert bytes_of(seeing, {"tp": 4}) == bytes_of(DENSE, {"tp": 4})
    unknown = seeing._replace(vision_heads=None)
    assert bytes_of(unknown, {"tp": 4}) == bytes_of(DENSE, {"tp": 4}) - 2 * tower * 3 // 4
    share = (2 * LINEAR + 2 * own) // 4
    sizes = [bytes_of(seeing, {"pp": 4}, stage) for stage in (FIRST, MIDDLE, LAST)]
    assert sizes == [
        share + 2 * tower + ends + ROTARY,
        share + ROTARY,
        share + ends + ROTARY,
    ]


def test_draft_layers_are_as_large_as_those_of_the_body(form):
    body = EXPERTS + LINEAR
    two = MOE._replace(mtp_layers=2)
    assert weights.draft_bytes(two, form("bf16"), 1) == 2 * body // 4 * 2
    assert weights.draft_bytes(two, form("bf16"), 4) == 2 * body // 4 * 2 // 4
    assert weights.draft_bytes(two, form("nvfp4"), 1) == 2 * body // 4 * 2, "never quantized"
    assert weights.draft_bytes(MOE, form("bf16"), 1) == 0


def test_adapter_slots_repeat_the_residual_stream_and_cut_the_rest():
    """Rank 16 on q, k, v, o, gate, up and down: 256 of each on one side, 4 layers, 2 bytes."""
    whole, cut = 7 * 256, 2 * 8 * 32 + 2 * 2 * 32 + 3 * 512
    assert weights.lora_bytes(DENSE, 1, 1) == 16 * (whole + cut) * 4 * 2
    assert weights.lora_bytes(DENSE, 3, 2) == 3 * 16 * (whole + cut // 2) * 4 * 2
    assert weights.lora_bytes(MOE, 1, 1) == 16 * (whole + cut - 3 * (512 - 96)) * 4 * 2
    bare = DENSE._replace(intermediate=None)
    assert weights.lora_bytes(bare, 1, 1) == 16 * (whole + cut - 3 * 256) * 4 * 2


def test_differing_stages_are_listed_once():
    assert weights.distinct_stages(8, 4) == (
        weights.Stage(2, True, False),
        weights.Stage(2, False, False),
        weights.Stage(2, False, True),
    )
    assert weights.distinct_stages(4, 1) == (WHOLE,)


# Formats


def test_a_model_is_the_sum_of_its_parts_in_their_bits(form):
    odd = form("bf16")._replace(
        embedding_bits=32, head_bits=8, expert_bits=4, linear_bits=2, other_bits=64
    )
    expected = 4 * TABLE + TABLE + EXPERTS / 2 + LINEAR / 4 + 8 * OTHER
    assert formats.model_bytes(MOE, odd) == expected


def test_formats_are_found_by_id_and_alias_in_any_case(catalog):
    for word in ("fp8", "FP8", "W8A8-FP8", "fp8-dynamic"):
        found = formats.find_format(catalog, word)
        assert found is not None and found.id == "fp8"
    assert formats.find_format(catalog, "fp7") is None


@pytest.mark.parametrize(
    ("precision", "form", "size"),
    [
        ("auto", "fp32", 4),
        ("auto", "bf16", 2),
        ("auto", "awq", 2),
        ("fp32", "bf16", 4),
        ("fp16", "fp32", 2),
        ("fp8", "fp32", 2),
    ],
)
def test_numbers_are_computed_as_declared_else_as_stored(precision, form, size):
    assert formats.compute_bytes(precision, form) == size


@pytest.mark.parametrize(
    ("declared", "number", "bits"),
    [("auto", 2, 16), ("auto", 4, 32), ("fp8", 2, 8), ("fp32", 2, 32), ("awq", 2, None)],
)
def test_bits_of_a_cached_number(catalog, declared, number, bits):
    assert formats.cache_bits(catalog, declared, number) == bits


def test_an_unknown_cache_format_has_no_bits(catalog):
    assert formats.cache_bits(catalog, "fp7", 2) is None


def test_told_bytes_are_spread_over_the_parameters_of_each_part(catalog):
    stored = Stored("bf16", embedding=TABLE, head=3 * TABLE, linear=LINEAR // 2, other=4 * OTHER)
    form = formats.form_of(catalog, "auto", DENSE._replace(stored=stored))
    assert form is not None
    parts = (form.embedding_bits, form.head_bits, form.linear_bits, form.other_bits)
    assert parts == (8, 24, 4, 32)
    assert (form.latent_bits, form.expert_bits, form.error) == (4, 16, 0.005)
    tied = formats.form_of(catalog, "auto", TIED._replace(stored=stored._replace(head=0)))
    assert tied is not None
    assert tied.head_bits == 8, "the table is the head too"


def test_a_told_total_scales_every_part_alike(catalog, form):
    listed = form("bf16")
    half = Stored("bf16", total=formats.model_bytes(DENSE, listed) // 2)
    found = formats.form_of(catalog, "auto", DENSE._replace(stored=half))
    assert found is not None
    names = ("embedding", "head", "expert", "linear", "other", "latent")
    for name in names:
        bits = getattr(found, f"{name}_bits")
        assert bits == pytest.approx(getattr(listed, f"{name}_bits") / 2)
    assert found.error == 0.005
    empty = DENSE._replace(
        embedding_params=0, head_params=0, linear_params=0, other_params=0, stored=half
    )
    assert formats.form_of(catalog, "auto", empty) is not None


def test_told_bytes_do_not_count_in_another_format(catalog, form):
    stored = DENSE._replace(stored=Stored("bf16", total=10**9))
    assert formats.form_of(catalog, "fp8", stored) == form("fp8")
    assert formats.form_of(catalog, "auto", DENSE._replace(native_format=None)) is None
    assert formats.resolved_format("auto", DENSE._replace(native_format="")) is None
