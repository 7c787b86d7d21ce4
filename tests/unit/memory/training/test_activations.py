"""What a step keeps for its backward pass, counted by hand.

One layer of the small model keeps of each token, in bytes: norms 10 x 40; inputs of both halves
2 x 2 x 40; attention 2 x (2 x 48 + 2 x 16 + 3 x 48); an MLP 2 x 4 x 72: 1,680.
"""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.architecture import AttentionGroup
from gpusize.memory.training.activations import Share, Step, step_of
from gpusize.memory.training.setup import Habits
from gpusize.workload import Objective
from tests.unit.memory.training.small import GRAVEL, PEBBLE, PLAIN_PEBBLE, declared, setup

ONE = Share(layers=3, tp=1, cp=1, in_flight=2, last=True)
LAYER, BORDER, WALKED = 1_680, 80, 2 * (2 * 40 + 2 * 72)
LOGITS = 128 * 9


def stepped(
    architecture: Any = PEBBLE,
    share: Share = ONE,
    recompute: str = "none",
    loss: str = "plain",
    offloads: bool = False,
    frozen: bool = False,
    objective: Objective = Objective.LANGUAGE,
    row: dict[str, Any] | None = None,
    **more: Any,
) -> Step:
    habits = Habits(recompute, loss, offloads)
    known = setup(objective=objective, habits=habits, **(row or {}))
    return step_of(declared(**more), architecture, known, share, frozen=frozen, spare=7.0)


def layer_of(architecture: Any = PEBBLE, **more: Any) -> float:
    """One layer of one micro batch, all of it kept."""
    return stepped(architecture, Share(1, 1, 1, 1, last=False), **more).kept


def test_a_layer_is_norms_inputs_attention_and_mlp():
    assert layer_of() == LAYER
    assert layer_of(row={"norm_hidden": 0}) == LAYER - 400
    assert layer_of(row={"attention_copies": 0}) == LAYER - 2 * 3 * 48
    assert layer_of(row={"gated_copies": 0}) == LAYER - 2 * 4 * 72


def test_a_layer_of_the_paper():
    """s b h (18 + 4 ff / h), 34 s b h of four widths; of them 2 are masks of dropout.

    Source: Korthikanti et al., arXiv 2205.05198, as theoretical_memory_usage.py of
    NVIDIA/Megatron-LM 00caa53a has it: a plain MLP, as many heads of keys as of queries, norms of
    2 bytes, no copies of queries.
    """
    gpt = PEBBLE._replace(hidden=48, kv_heads=6, intermediate=4 * 48)
    gpt = gpt._replace(linear_params=6 * 12 * 48**2)
    found = layer_of(gpt, row={"norm_hidden": 4, "attention_copies": 0})
    assert found == (34 - 2) * 48


def test_a_plain_mlp_keeps_two_widths_whatever_the_trainer():
    assert layer_of(PLAIN_PEBBLE) == LAYER - 2 * 2 * 72
    assert layer_of(PLAIN_PEBBLE, row={"gated_copies": 7}) == LAYER - 2 * 2 * 72


def test_frozen_layers_keep_no_inputs():
    """No inputs of both halves, and none of the last matrix."""
    assert layer_of(frozen=True) == LAYER - 160 - 2 * 72
    assert layer_of(PLAIN_PEBBLE, frozen=True) == LAYER - 160 - 2 * 3 * 72


def test_quantized_products_keep_inputs_of_one_byte():
    """Half of the inputs of both halves and of the last matrix, where these are kept at all."""
    assert layer_of(computePrecision="fp8") == LAYER - 80 - 72
    assert layer_of(computePrecision="fp8", frozen=True) == layer_of(frozen=True)
    assert layer_of(computePrecision="bf16") == LAYER


def test_routed_experts_keep_their_inputs_and_outputs():
    """Two experts of a token: twice 40 numbers each, in three of five layers; MLPs are 64.8 wide in
    the mean."""
    dense = LAYER - 2 * 4 * 72 + 2 * 4 * 64.8
    assert layer_of(GRAVEL) == pytest.approx(dense + 2 * 2 * 2 * 40 * 3 / 5)
    assert layer_of(GRAVEL, row={"routed_copies": 1}) == pytest.approx(dense + 2 * 2 * 40 * 3 / 5)
    narrow = dense - 80 - 64.8 + 2 * 40 * (2 * 2 - 1) * 3 / 5
    assert layer_of(GRAVEL, computePrecision="fp8") == pytest.approx(narrow)


def test_layers_that_do_one_thing_keep_their_share():
    """Four of attention, two of an MLP: a third of the one and two thirds of the other."""
    mixed = (AttentionGroup("full", 4), AttentionGroup("none", 2))
    hybrid = PEBBLE._replace(attention=mixed)
    assert layer_of(hybrid) == pytest.approx(560 + 544 * 4 / 6 + 576 * 2 / 6)
    sparse = GRAVEL._replace(layers=6, attention=mixed, first_dense_layers=None)
    expected = 560 + 544 * 4 / 6 + 2 * 4 * 60 * 2 / 6 + 320 * 2 / 6
    assert layer_of(sparse) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("recompute", "kept", "again"),
    [("none", LAYER, 0), ("selective", 80 + 0.4 * LAYER, 0.6 * LAYER), ("full", 80, LAYER)],
)
def test_what_recomputation_keeps(recompute, kept, again):
    """Three layers of two micro batches; 2 x 40 of a border; 0.4 of a layer by the trainer."""
    step = stepped(recompute=recompute)
    assert step.kept == pytest.approx(3 * 2 * kept)
    assert step.layer == pytest.approx(WALKED + again)
    assert step.last == WALKED + LAYER
    assert (step.many, step.spare, step.offloaded, step.images, step.tower) == (1, 7, 0, 0, 0)


def test_selective_recomputation_never_keeps_more_than_all():
    step = stepped(recompute="selective", row={"selective_share": 0.99})
    assert step.kept == 6 * LAYER


@pytest.mark.parametrize(
    ("recompute", "kept", "again"), [("none", 6 * 48, 0), ("selective", 0, 48), ("full", 0, 48)]
)
def test_eager_attention_keeps_scores_of_each_head(recompute, kept, again):
    """8 bytes of six heads for each token and each token of the sequence."""
    step = stepped(attention="eager", recompute=recompute)
    assert (step.kept_scores, step.layer_scores, step.last_scores) == (kept, again, 48)
    flash = stepped(recompute=recompute)
    assert (flash.kept_scores, flash.layer_scores, flash.last_scores) == (0, 0, 0)


def test_tensor_ranks_share_layers_and_borders():
    share = ONE._replace(tp=3)
    assert stepped(share=share).kept == 2 * LAYER
    assert stepped(share=share).last == pytest.approx((LAYER + WALKED) / 3)
    assert stepped(share=share, attention="eager").kept_scores == 6 * 48 / 3
    assert stepped(share=share, recompute="full").kept == 2 * BORDER


def test_ranks_of_a_sequence_pass_keys_and_values_on():
    """Two blocks of 2 x 2 x 16 bytes beside what is divided; also where tp divides besides."""
    step = stepped(share=ONE._replace(cp=3))
    assert step.kept == 2 * LAYER
    assert step.layer == pytest.approx((WALKED + 2 * 2 * 2 * 16) / 3)
    both = stepped(share=ONE._replace(tp=2, cp=3))
    assert both.kept == LAYER
    assert both.layer == pytest.approx((WALKED + 2 * 2 * 2 * 16) / 6)


@pytest.mark.parametrize(("loss", "part"), [("plain", 1), ("chunked", 0.25), ("fused", 0.02)])
def test_logits_by_loss(loss, part):
    """100 rows are padded to 128, 9 bytes each."""
    assert stepped(loss=loss).logits == pytest.approx(part * LOGITS)


def test_published_bytes_of_logits(catalog):
    """24 GB of a loss over the 256,000 words of Gemma 2 2B for 8,192 tokens; in MiB 24,000.

    Source: Cut Your Losses in Large-Vocabulary Language Models, arXiv 2411.09009, its abstract.
    """
    row = catalog.trainers("torchtitan")[-1]
    gemma = PEBBLE._replace(vocab=256_000)
    step = stepped(gemma, row={"loss_bytes": row.loss_bytes})
    assert step.logits_for(8_192, 1) / 2**20 == pytest.approx(24_000, rel=0.02)


def test_ranks_share_the_vocabulary_and_the_sequence():
    """128 rows of three tensor ranks are 129."""
    assert stepped(share=ONE._replace(tp=3)).logits == 129 / 3 * 9
    assert stepped(share=ONE._replace(tp=3, cp=2)).logits == 129 / 6 * 9


def test_a_teachers_logits_stand_beside_the_students():
    assert stepped(objective=Objective.DISTILLATION).logits == pytest.approx(2 * LOGITS)


def test_only_the_last_stage_has_logits_and_only_of_a_vocabulary():
    assert stepped(share=ONE._replace(last=False)).logits == 0
    for objective in (Objective.REWARD, Objective.CLASSIFICATION, Objective.EMBEDDING):
        assert stepped(objective=objective).logits == 0


@pytest.mark.parametrize(
    ("objective", "many"),
    [(Objective.LANGUAGE, 1), (Objective.PREFERENCE, 2), (Objective.UNPAIRED, 1)],
)
def test_sequences_of_a_sample(objective, many):
    assert stepped(objective=objective).many == many


def test_offloaded_borders_leave_two_behind():
    """Six borders of two micro batches: four wait in host memory."""
    assert STEP.hosted(10, 3) == 0
    step = stepped(recompute="full", offloads=True)
    assert (step.kept, step.offloaded) == (2 * BORDER, 4 * BORDER)
    assert step.hosted(10, 3) == 4 * BORDER * 30
    single = stepped(recompute="full", offloads=True, share=ONE._replace(layers=1, in_flight=1))
    assert (single.kept, single.offloaded) == (BORDER, 0)
    pair = stepped(objective=Objective.PREFERENCE, recompute="full", offloads=True)
    assert pair.hosted(10, 3) == 4 * BORDER * 60


STEP = Step(
    kept=10,
    kept_scores=1,
    layer=6,
    layer_scores=0.5,
    last=20,
    last_scores=0.25,
    logits=14,
    many=2,
    spare=100,
    images=30,
    tower=50,
)


def test_a_micro_batch_is_the_largest_of_three_moments():
    """4 tokens: at the loss (10 + 4 + 14) x 4 + 30, at the first layer (20 + 1) x 4, in the tower
    50; two sequences of a sample, and 100 bytes of gradients that are not there at the loss."""
    assert STEP.bytes_for(4) == 2 * 142 - 100
    assert STEP.bytes_for(4, 3) == 6 * 142 - 100
    assert STEP._replace(spare=200).bytes_for(4) == 2 * 84
    assert STEP._replace(spare=200, tower=90).bytes_for(4) == 2 * 90
    assert STEP._replace(spare=200, tower=90).bytes_for(4, 2) == 4 * 142 - 200


def test_a_layer_that_is_walked_stands_in_the_place_of_smaller_logits():
    """Of 24 tokens a layer holds 6 + 12 for each: more than 14."""
    assert STEP.bytes_for(24) == 2 * ((10 + 24 + 18) * 24 + 30) - 100
    assert STEP.logits_for(24, 1) == 0
    assert STEP.logits_for(16, 1) == 0
    assert STEP.logits_for(15, 1) == 14 * 15 * 2
    assert STEP.logits_for(15, 3) == 14 * 15 * 6


@pytest.mark.parametrize(
    ("pool", "samples"),
    [(-1, 0), (0, 0), (183, 0), (184, 1), (467, 1), (468, 2), (10_000, 35)],
)
def test_samples_that_a_pool_holds(pool, samples):
    """A sample is 284 bytes at the loss, the first of them 100 less."""
    assert STEP.sequences_in(pool, 4) == samples


def test_samples_are_bound_by_the_first_layer_and_the_tower_too():
    roomy = STEP._replace(spare=10**6)
    assert roomy.sequences_in(1_000, 4) == 1_000 // 168
    assert roomy._replace(tower=90).sequences_in(1_000, 4) == 1_000 // 180
    assert roomy.sequences_in(-1, 4) == roomy.sequences_in(0, 4) == 0


def test_the_longest_sequence_that_a_pool_holds():
    sizes = [STEP.bytes_for(tokens) for tokens in range(1, 41)]
    assert sizes == sorted(sizes)
    for tokens in (3, 17, 24, 39):
        size = sizes[tokens - 1]
        assert STEP.longest(size, 40) == tokens
        assert STEP.longest(size - 1, 40) == tokens - 1
    assert STEP.longest(sizes[-1] * 2, 40) == 40
    assert STEP.longest(-1, 40) == 0
