"""How a model is cut over ranks, and what the matrices of its layers are."""

from __future__ import annotations

import pytest

from gpusize.architecture import AttentionGroup, architecture_of
from gpusize.memory.training import parts, vision
from gpusize.memory.training.adapters import AdapterParams, adapter_params
from gpusize.memory.weights import Stage
from gpusize.placement import Layout
from gpusize.workload import AdapterTargets, Images
from tests.unit.memory.training.small import AGATE, BF16, GRAVEL, PACKED, PEBBLE, PLAIN_PEBBLE

WHOLE = Stage(6, first=True, last=True)


def test_one_rank_holds_all_parts_of_a_model():
    assert parts.of_rank(PEBBLE, Layout(), WHOLE) == (8_000, 82_560, 0, 520, 0)
    assert parts.of_rank(AGATE, Layout(), WHOLE) == (8_000, 82_560, 0, 520, 497_664)
    assert parts.of_rank(AGATE, Layout(), WHOLE).total == 588_744


def test_tensor_ranks_share_matrices_and_repeat_norms_and_towers():
    held = parts.of_rank(AGATE, Layout(tp=4), WHOLE)
    assert held == (2_000, 20_640, 0, 520, 497_664)
    thirds = parts.of_rank(PEBBLE, Layout(tp=3), WHOLE)
    assert thirds == pytest.approx((8_000 / 3, 27_520, 0, 520, 0))


@pytest.mark.parametrize(
    ("first", "last", "ends", "tower"),
    [(True, False, 4_000, 497_664), (False, False, 0, 0), (False, True, 4_000, 0)],
)
def test_stages_hold_the_end_that_is_theirs(first, last, ends, tower):
    """Two of six layers: a third of the matrices and of the norms."""
    held = parts.of_rank(AGATE, Layout(pp=3), Stage(2, first, last))
    assert held == pytest.approx((ends, 27_520, 0, 520 / 3, tower))


def test_a_tied_head_is_the_table_again_on_another_stage():
    tied = PEBBLE._replace(tie_embeddings=True, head_params=0)
    assert parts.of_rank(tied, Layout(), WHOLE).ends == 4_000
    assert parts.of_rank(tied, Layout(pp=2), Stage(3, False, True)).ends == 4_000
    assert parts.of_rank(tied, Layout(pp=2), Stage(3, True, False)).ends == 4_000


def test_without_a_head_the_table_alone_is_left():
    assert parts.of_rank(PEBBLE, Layout(), WHOLE, headless=True).ends == 4_000
    last = Stage(3, first=False, last=True)
    assert parts.of_rank(PEBBLE, Layout(pp=2), last, headless=True).ends == 0


def test_experts_are_cut_over_tensor_ranks_or_moved_whole():
    stage = Stage(5, first=True, last=True)
    assert parts.of_rank(GRAVEL, Layout(), stage).expert == 28_800
    assert parts.of_rank(GRAVEL, Layout(tp=2), stage).expert == 14_400
    assert parts.of_rank(GRAVEL, Layout(tp=2, dp=2, ep=4), stage).expert == 7_200
    assert parts.of_rank(GRAVEL, Layout(dp=2, ep=2), Stage(2, True, False)).expert == 5_760


def test_each_part_has_bits_of_its_own():
    """4 bits of matrices, 6 of experts, 12 of table and head, 20 of norms and towers."""
    held = parts.Parts(ends=800, linear=1_600, expert=3_200, other=40, tower=20)
    assert parts.Parts(1, 2, 3, 4).total == 10, "no tower but where one is given"
    assert held.bytes_in(PACKED) == (800 * 12 + 1_600 * 4 + 3_200 * 6 + 60 * 20) / 8
    assert held.bytes_in(BF16) == 2 * held.total == 2 * 5_660


def test_the_matrices_of_an_mlp_are_counted_by_what_attention_leaves():
    """Five halves of a matrix is the border: 17,280 are one of all layers, 30,720 attention."""
    assert (parts.matrices(PEBBLE), parts.matrices(PLAIN_PEBBLE)) == (3, 2)
    between = PEBBLE._replace(linear_params=30_720 + 43_200)
    assert parts.matrices(between) == 3
    assert parts.matrices(between._replace(linear_params=30_720 + 43_199)) == 2
    assert parts.matrices(PLAIN_PEBBLE._replace(intermediate=None)) == 3
    assert parts.matrices(PLAIN_PEBBLE._replace(experts_total=4)) == 3


@pytest.mark.parametrize(
    ("model", "matrices", "width"),
    [("meta-llama/Llama-3.1-8B", 3, 14_336), ("microsoft/phi-1_5", 2, 8_192)],
)
def test_the_matrices_of_published_models(catalog, model, matrices, width):
    """gate_proj, up_proj, down_proj of Llama; fc1, fc2 of Phi (config.json of both)."""
    architecture = architecture_of(model, catalog)
    assert parts.matrices(architecture) == matrices
    assert parts.mlp_width(architecture) == width


def test_the_width_that_a_token_passes_is_the_mean_of_all_layers():
    """Two dense layers of 72, three of two routed and one shared expert of 20."""
    assert parts.mlp_width(PEBBLE) == 72
    assert parts.mlp_width(GRAVEL) == pytest.approx((2 * 72 + 3 * 60) / 5)
    assert parts.mlp_width(GRAVEL._replace(shared_experts=None)) == (2 * 72 + 3 * 40) / 5
    assert parts.mlp_width(GRAVEL._replace(first_dense_layers=None)) == 60
    assert parts.mlp_width(GRAVEL._replace(moe_intermediate=None)) == (2 * 72 + 3 * 216) / 5
    assert parts.mlp_width(GRAVEL._replace(experts_active=None)) == 72
    assert parts.mlp_width(PEBBLE._replace(intermediate=None)) == 0


def test_experts_are_in_all_layers_but_the_first(catalog):
    """Three of GRAVEL's five; DeepSeek-V3 has three dense ones of 61 (its config.json)."""
    assert parts.routed_share(GRAVEL) == pytest.approx(3 / 5)
    assert parts.routed_share(GRAVEL._replace(first_dense_layers=None)) == 1
    mixed = (AttentionGroup("full", 3), AttentionGroup("none", 2))
    assert parts.routed_share(GRAVEL._replace(attention=mixed)) == pytest.approx(3 / 5 * 2 / 5)
    large = architecture_of("deepseek-ai/DeepSeek-V3", catalog)
    assert parts.routed_share(large) == pytest.approx(58 / 61)


def test_the_width_of_published_experts(catalog):
    """DeepSeek-V2-Lite: one layer of 10,944, 26 of six routed and two shared of 1,408."""
    architecture = architecture_of("deepseek-ai/DeepSeek-V2-Lite", catalog)
    assert parts.mlp_width(architecture) == pytest.approx((10_944 + 26 * 8 * 1_408) / 27)


def test_layers_that_do_one_thing_share_the_work():
    """Four layers of attention and two of an MLP, not six of both."""
    mixed = PEBBLE._replace(attention=(AttentionGroup("full", 4), AttentionGroup("none", 2)))
    assert parts.mlp_share(mixed) == pytest.approx(2 / 6)
    assert parts.mixing_share(mixed) == pytest.approx(4 / 6)
    assert parts.mlp_width(mixed) == pytest.approx(24)
    one = PEBBLE._replace(attention=(AttentionGroup("full", 5), AttentionGroup("none", 1)))
    assert parts.mlp_share(one) == pytest.approx(1 / 6)
    for kind in ("full", "none"):
        alike = PEBBLE._replace(attention=(AttentionGroup(kind, 6),))
        assert parts.mlp_share(alike) == parts.mixing_share(alike) == 1


def test_the_largest_matrix_is_of_the_mlp_or_of_the_query():
    assert parts.largest_matrix(PEBBLE) == 40 * 72
    assert parts.largest_matrix(PEBBLE._replace(intermediate=None)) == 40 * 48
    assert parts.largest_matrix(PEBBLE._replace(intermediate=None, heads=0)) == 0
    assert parts.largest_matrix(GRAVEL) == 40 * 48
    assert parts.largest_matrix(GRAVEL._replace(moe_intermediate=50)) == 40 * 50
    assert parts.largest_matrix(GRAVEL._replace(moe_intermediate=None)) == 40 * 72
    assert parts.largest_matrix(PEBBLE._replace(moe_intermediate=90)) == 40 * 72


@pytest.mark.parametrize(
    ("targets", "sides"),
    [
        (AdapterTargets.QUERY_VALUE, 88 + 56),
        (AdapterTargets.ATTENTION, 2 * 88 + 2 * 56),
        (AdapterTargets.DENSE_LINEAR, 2 * 88 + 2 * 56 + 3 * 112),
        (AdapterTargets.ALL_LINEAR, 2 * 88 + 2 * 56 + 3 * 112),
    ],
)
def test_an_adapter_has_its_rank_on_both_sides_of_each_matrix(targets, sides):
    """Query and output 40 + 48, key and value 40 + 16, the MLP 40 + 72; six layers, rank 3."""
    assert adapter_params(PEBBLE, 3, targets, 1) == (3 * 6 * sides, 0)


def test_one_side_of_an_adapter_is_cut_over_tensor_ranks():
    """Query, key, value, gate and up write 48, 16, 16, 72 and 72 numbers, output and down read 48
    and 72: those are cut, the side of 40 is whole seven times."""
    whole, cut = 7 * 40, 48 + 16 + 16 + 2 * 72 + 48 + 72
    assert adapter_params(PEBBLE, 3, AdapterTargets.ALL_LINEAR, 2).dense == 3 * 6 * (280 + 172)
    third = adapter_params(PEBBLE, 3, AdapterTargets.ALL_LINEAR, 3).dense
    assert third == pytest.approx(3 * 6 * (whole + cut / 3))
    attention = adapter_params(PEBBLE, 1, AdapterTargets.ATTENTION, 4).dense
    assert attention == 6 * (4 * 40 + (48 + 16 + 16 + 48) / 4)
    two = adapter_params(PEBBLE, 1, AdapterTargets.QUERY_VALUE, 4).dense
    assert two == 6 * (2 * 40 + (48 + 16) / 4)


def test_a_plain_mlp_has_two_adapters():
    found = adapter_params(PLAIN_PEBBLE, 1, AdapterTargets.ALL_LINEAR, 1)
    assert found.dense == 6 * (2 * 88 + 2 * 56 + 2 * 112)


def test_adapters_of_experts():
    """A shared expert is dense; four routed ones of three layers have 3 x 60 each."""
    assert adapter_params(GRAVEL, 3, AdapterTargets.ALL_LINEAR, 1) == (
        3 * 5 * (288 + 180),
        3 * 3 * 4 * 180,
    )
    assert adapter_params(GRAVEL, 3, AdapterTargets.DENSE_LINEAR, 1) == (3 * 5 * 468, 0)
    assert adapter_params(GRAVEL, 3, AdapterTargets.ALL_LINEAR, 2).expert == 3 * 3 * 4 * 150
    spread = adapter_params(GRAVEL, 3, AdapterTargets.ALL_LINEAR, 2, ep=2)
    assert spread.expert == 3 * 3 * 4 * 180 / 2
    odd = adapter_params(
        GRAVEL._replace(moe_intermediate=21), 1, AdapterTargets.ALL_LINEAR, 1, ep=8
    )
    assert odd.expert == 3 * 4 * 3 * (40 + 21) / 8 == 274.5, "a mean of the ranks"


def test_experts_without_a_shared_one_leave_no_dense_mlp():
    alone = GRAVEL._replace(shared_experts=None)
    found = adapter_params(alone, 1, AdapterTargets.ALL_LINEAR, 1)
    assert found.dense == 5 * 288
    late = GRAVEL._replace(first_dense_layers=None, moe_intermediate=None, shared_experts=None)
    found = adapter_params(late, 1, AdapterTargets.ALL_LINEAR, 1)
    assert found == AdapterParams(5 * 288, 5 * 4 * 3 * (40 + 72))
    blank = late._replace(intermediate=None)
    assert adapter_params(blank, 1, AdapterTargets.ALL_LINEAR, 1) == (5 * 288, 0)
    bare = PEBBLE._replace(intermediate=None)
    assert adapter_params(bare, 1, AdapterTargets.ALL_LINEAR, 1) == (6 * 288, 0)


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("microsoft/phi-1_5", 1_572_864),
        ("meta-llama/Llama-2-7b-hf", 4_194_304),
        ("meta-llama/Llama-2-13b-hf", 6_553_600),
        ("tiiuae/falcon-40b", 12_042_240),
    ],
)
def test_published_parameters_of_an_adapter(catalog, model, params):
    """Rank 8 on query and value: resource-tables.md of Lightning-AI/litgpt, 26857050."""
    architecture = architecture_of(model, catalog)
    assert adapter_params(architecture, 8, AdapterTargets.QUERY_VALUE, 1) == (params, 0)


def test_a_tower_is_as_deep_as_its_parameters_say():
    assert vision.tower_of(AGATE) == (497_664, 144, 2)
    assert vision.tower_of(PEBBLE) is None
    usual = AGATE._replace(vision_heads=None, vision_params=3 * 12 * 1152**2)
    assert vision.tower_of(usual) == (3 * 12 * 1152**2, 1152, 3)


def test_the_depth_of_a_published_tower(catalog):
    """SigLIP of Gemma 3: 27 layers of 1152 (vision_config of its config.json)."""
    tower = vision.tower_of(architecture_of("google/gemma-3-4b-it", catalog))
    assert tower.width == 1152
    assert tower.depth == pytest.approx(27, rel=0.03)


def test_patches_are_tiles_of_14_pixels_up_to_the_limit_of_the_model(catalog):
    """100 x 50 pixels are 8 x 4 tiles."""
    images = Images(per_prompt=3, width=100, height=50)
    assert vision.patches(AGATE, images) == 3 * 32
    assert vision.patches(AGATE._replace(image_patches=20), images) == 3 * 20
    assert vision.patches(AGATE._replace(image_patches=None), images) == 3 * 32
    gemma = architecture_of("google/gemma-3-4b-it", catalog)
    assert vision.patches(gemma, Images(width=896, height=896)) == 64 * 64


@pytest.mark.parametrize(
    ("trained", "recompute", "bytes_"),
    [(False, "none", 0), (True, "none", 34), (True, "selective", 34), (True, "full", 2)],
)
def test_what_images_take(trained, recompute, bytes_):
    """32 patches of 144: 30 bytes while they pass, and what two layers keep."""
    images = Images(width=100, height=50)
    found = vision.pictures(AGATE, images, trained=trained, recompute=recompute)
    assert found == (32 * 144 * 2 * bytes_, 32 * 144 * 30)
    none = vision.pictures(PEBBLE, images, trained=trained, recompute=recompute)
    assert none == vision.NO_PICTURES == (0, 0)


def test_adapters_of_a_tower():
    """Four matrices of attention, two sides each, and two of 1 + 4 widths: 18 widths a rank."""
    assert vision.adapter_params(AGATE, 3) == 18 * 3 * 144 * 2
    assert vision.adapter_params(PEBBLE, 3) == 0


def test_where_the_tokens_of_images_count():
    beside = AGATE._replace(attention=(AttentionGroup("full", 5), AttentionGroup("cross", 1)))
    assert vision.where_images_count(AGATE, "sequenceLength").value == "within sequenceLength"
    assert vision.where_images_count(beside, "sequenceLength").value == "beside the sequence"
    assert vision.where_images_count(beside, "x").why == "its layers cross to them"
    assert vision.where_images_count(AGATE, "x").why == "the model reads them as tokens"
