"""What one rank keeps from step to step, counted by hand of a model of 91,080 parameters."""

from __future__ import annotations

import pytest

from gpusize.memory.weights import Stage
from gpusize.workload import Objective
from tests.unit.memory.training.small import GRAVEL, PEBBLE, is_kept, kept, setup

ALL, ENDS, TABLE, LAYER = 91_080, 8_000, 4_000, 83_080 / 6
FOUR = {"dp": 4}
FIRST = Stage(3, first=True, last=False)
HALF = 4_000 + 41_280 + 260
"""Parameters of the first of two stages."""


def test_one_gpu_keeps_weight_gradient_and_moments():
    """8 bytes of a pure 16-bit parameter; nothing is gathered, nothing is elsewhere."""
    is_kept(
        kept(setup()),
        weights=2 * ALL,
        gradients=2 * ALL,
        states=4 * ALL,
        gathered=0,
        step_copy=0,
        load=0,
        host=0,
        spare=2 * ALL,
        held=8 * ALL,
    )


@pytest.mark.parametrize(
    ("mode", "weights", "gradients", "states"),
    [
        ("ddp", 2, 2, 4),
        ("zero-1", 2, 2, 12 / 4),
        ("zero-2", 2, 2 / 4, 12 / 4),
        ("zero-3", 2 / 4, 2 / 4, 12 / 4),
        ("fsdp", 4 / 4, 4 / 4, 8 / 4),
    ],
)
def test_four_copies_share_what_the_mode_says(mode, weights, gradients, states):
    """ZeRO, arXiv 1910.02054: 4 + 12/N, 2 + 14/N and 16/N bytes a parameter."""
    found = kept(setup(), mode, layout=FOUR)
    is_kept(found, weights=weights * ALL, gradients=gradients * ALL, states=states * ALL)
    assert found.saved == (found.weights, found.states)
    assert found.held == found.weights + found.gradients + found.states + found.gathered


def test_published_bytes_of_zero():
    """arXiv 1910.02054, figure 1: 7.5B on 64 GPUs take 31.4, 16.6 and 1.9 GB."""
    known = setup()
    for mode, gb in (("zero-1", 31.4), ("zero-2", 16.6), ("zero-3", 1.9)):
        found = kept(known, mode, layout={"dp": 64})
        own = found.weights + found.gradients + found.states
        assert own / ALL * 7.5 == pytest.approx(gb, abs=0.05)


def test_a_rank_of_a_stage_keeps_its_part():
    found = kept(setup(), stage=FIRST, layout={"pp": 2})
    is_kept(found, weights=2 * HALF, states=4 * HALF, gathered=0)
    headless = kept(setup(objective=Objective.REWARD))
    is_kept(headless, weights=2 * (ALL - TABLE))


def test_copies_alone_hold_a_bucket_of_all_gradients():
    is_kept(kept(setup(), "ddp", layout=FOUR), gathered=2 * ALL)
    is_kept(kept(setup(), "ddp", stage=FIRST, layout={"pp": 2, "dp": 2}), gathered=2 * HALF)
    is_kept(kept(setup(), "zero-1", layout=FOUR), gathered=0)


def test_fp32_weights_are_cast_whole_where_nothing_is_shared():
    full = setup(plain_recipe="full")
    is_kept(kept(full), weights=4 * ALL, gathered=2 * ALL)
    is_kept(kept(full, "ddp", layout=FOUR), gathered=(2 + 4) * ALL)
    is_kept(kept(full, "zero-1", layout=FOUR), gathered=0)
    adapted = setup("lora", plain_recipe="full")
    is_kept(kept(adapted), gathered=0)


def test_fsdp_gathers_two_layers_and_the_ends():
    """Beside them the gradients of the largest unit, in fp32."""
    found = kept(setup(), "fsdp", layout=FOUR)
    is_kept(found, gathered=2 * (2 * LAYER + ENDS) + 4 * LAYER)
    wide = PEBBLE._replace(embedding_params=30_000, total_params=ALL + 26_000)
    found = kept(setup(), "fsdp", wide, layout=FOUR)
    is_kept(found, gathered=2 * (2 * LAYER + 34_000) + 4 * 34_000)
    adapted = kept(setup("lora"), "fsdp", layout=FOUR)
    is_kept(adapted, gathered=2 * (2 * LAYER + ENDS))


def test_between_stages_fsdp_keeps_weights_and_gradients_whole():
    """torch FSDP reshards after a backward pass alone: 2 bytes, and 4 of gradients."""
    layout = {"pp": 2, "dp": 2}
    is_kept(kept(setup(), "fsdp", stage=FIRST, layout=layout), gathered=6 * HALF)
    is_kept(kept(setup("lora"), "fsdp", stage=FIRST, layout=layout), gathered=2 * HALF)
    last = Stage(3, first=False, last=True)
    is_kept(kept(setup(), "zero-3", stage=last, layout=layout), gathered=2 * (2 * LAYER + 4_000))


@pytest.mark.parametrize(
    ("mode", "live", "bucket", "params"),
    [
        ("zero-2", 0, 0, 0),
        ("zero-2", 0, 300, 3 * 300),
        ("zero-2", 1_000, 10**6, 3 * ALL),
        ("zero-3", 0, 0, 2 * LAYER + ENDS),
        ("zero-3", 0, 300, 2 * LAYER + ENDS + 3 * 300),
        ("zero-3", 1_000, 0, 2 * 1_000 + TABLE),
        ("zero-3", 10**6, 0, 2 * 83_080 + TABLE),
        ("zero-3", 1_000, 300, 2 * 1_000 + TABLE + 3 * 300),
        ("zero-1", 1_000, 300, 0),
        ("fsdp", 1_000, 300, 2 * LAYER + ENDS + 2 * LAYER),
    ],
)
def test_what_zero_gathers(mode, live, bucket, params):
    """Two buckets of gradients and one of weights; fetched layers twice, the table once."""
    known = setup(live_params=live, bucket_params=bucket)
    is_kept(kept(known, mode, layout=FOUR), gathered=2 * params)


def test_the_table_is_no_larger_than_the_ends_and_is_cut_over_tensor_ranks():
    known = setup(live_params=1_000)
    halved = kept(known, "zero-3", layout={"dp": 2, "tp": 2})
    is_kept(halved, gathered=2 * (2 * 1_000 + TABLE / 2))
    middle = kept(known, "zero-3", stage=Stage(2, False, False), layout={"pp": 3, "dp": 2})
    is_kept(middle, gathered=2 * 2 * 1_000)


def test_trained_ends_make_buckets_of_their_own():
    """Beside an adapter no buckets but for the ends: at least of the table's size."""
    ends = {"adapter": {"trainEmbeddings": True}}
    for bucket, size in ((300, TABLE), (5_000, 5_000), (10**6, ENDS)):
        known = setup("lora", bucket_params=bucket)
        is_kept(kept(known, "zero-2", layout=FOUR, **ends), gathered=2 * 3 * size)
        is_kept(kept(known, "zero-2", layout=FOUR), gathered=0)
        is_kept(kept(known, "zero-1", layout=FOUR, **ends), gathered=0)
    is_kept(kept(setup("lora"), "zero-2", layout=FOUR, **ends), gathered=0)
    live = setup("lora", live_params=1_000, bucket_params=300)
    found = kept(live, "zero-3", layout=FOUR, **ends)
    is_kept(found, gathered=2 * (2 * 1_000 + TABLE + 3 * TABLE))
    assert kept(setup("lora", bucket_params=300), "ddp", layout=FOUR, **ends).gathered > 0


def test_a_step_copies_one_moment_or_an_fp32_group():
    """ZeRO with a master copy: 4 bytes of its part, in ZeRO-3 of live parameters at most."""
    copied = setup(step_copy=True)
    is_kept(kept(copied), step_copy=2 * ALL)
    is_kept(kept(copied, "ddp", layout=FOUR), step_copy=2 * ALL)
    is_kept(kept(copied, "fsdp", layout=FOUR), step_copy=0)
    is_kept(kept(copied, optimizer="sgd"), step_copy=0)
    live = setup(live_params=1_000)
    is_kept(kept(live, "zero-1", layout=FOUR), step_copy=4 * ALL / 4)
    is_kept(kept(live, "zero-2", layout=FOUR), step_copy=4 * ALL / 4)
    is_kept(kept(live, "zero-3", layout=FOUR), step_copy=4 * 1_000)
    is_kept(kept(setup(live_params=10**6), "zero-3", layout=FOUR), step_copy=4 * ALL / 4)
    is_kept(kept(setup(zero_recipe="pure"), "zero-1", layout=FOUR), step_copy=0)
    adapter = 16 * 3_744
    is_kept(kept(setup("lora", step_copy=True)), step_copy=4 * adapter)
    is_kept(kept(setup("lora", step_copy=True), "zero-1", layout=FOUR), step_copy=4 * adapter / 4)


def test_gradients_that_come_while_activations_go():
    is_kept(kept(setup(), "ddp", layout=FOUR), spare=2 * ALL)
    is_kept(kept(setup(), "fsdp", layout=FOUR), spare=4 * ALL / 4)
    is_kept(kept(setup(keeps_gradients=True)), spare=0)
    is_kept(kept(setup(), "zero-2", layout=FOUR), spare=0)
    is_kept(kept(setup("lora")), spare=0)


@pytest.mark.parametrize(("batch", "spare"), [(None, 2), (9, 2), (12, 2), (15, 0)])
def test_accumulated_gradients_stand_all_along(batch, spare):
    """Four copies of three sequences are a step of twelve."""
    found = kept(setup(), "ddp", layout=FOUR, microBatch=3, globalBatch=batch)
    is_kept(found, gradients=2 * ALL, spare=spare * ALL)


def test_a_step_in_the_backward_pass_keeps_the_gradients_of_one_part():
    inside = {"optimizerInBackward": True, "trainer": "torchtune"}
    known = setup(step_copy=True)
    is_kept(kept(known, **inside), gradients=2 * LAYER, step_copy=0, spare=0, states=4 * ALL)
    wide = PEBBLE._replace(embedding_params=30_000)
    is_kept(kept(known, architecture=wide, **inside), gradients=2 * 34_000)
    many = kept(setup(), "fsdp", layout={"dp": 64}, **inside)
    is_kept(many, gradients=4 * ALL / 64)
    adapted = kept(setup("lora"), **inside)
    is_kept(adapted, gradients=4 * 16 * 3_744)


def test_offloaded_states_lie_in_the_host():
    moved = {"sharding": {"mode": "fsdp", "offload": "optimizer"}}
    found = kept(setup(), "fsdp", layout=FOUR, **moved)
    is_kept(found, host=2 * ALL, states=0, weights=ALL, gradients=ALL, step_copy=0, spare=ALL)
    assert found.saved == pytest.approx((ALL, 2 * ALL))
    zero = {"sharding": {"mode": "zero-1", "offload": "optimizer"}}
    is_kept(kept(setup(), "zero-1", layout=FOUR, **zero), host=3 * ALL, step_copy=0)


def test_all_is_offloaded_where_weights_are_shared():
    """ZeRO-3 with all in the host leaves what is gathered (DeepSpeed memory.rst)."""
    moved = {"sharding": {"mode": "fsdp", "offload": "all"}}
    found = kept(setup(), "fsdp", layout=FOUR, **moved)
    is_kept(found, host=4 * ALL, states=0, weights=0, gradients=0, spare=0)
    assert found.held == found.gathered > 0
    alone = {"sharding": {"offload": "all"}}
    is_kept(kept(setup(), "ddp", layout=FOUR, **alone), host=4 * ALL, weights=2 * ALL)


def test_paged_moments_lie_in_the_host():
    """Two of a byte each and the scale of 256 of them; a master copy stays."""
    paged = {"optimizer": "paged-adamw-8bit"}
    moments = 2 * (1 + 4 / 256)
    is_kept(kept(setup(), **paged), host=moments * ALL, states=0)
    shared = kept(setup(), "zero-1", layout=FOUR, **paged)
    is_kept(shared, host=moments * ALL / 4, states=4 * ALL / 4)
    is_kept(kept(setup(), optimizer="adamw-8bit"), host=0, states=moments * ALL)


GRAVEL_DENSE, EXPERTS = 59_000, 28_800


def test_experts_that_are_spread_have_fewer_copies():
    """ep = 4 over two tensor ranks and four copies: two copies of each expert are left."""
    known = setup(zero_recipe="mixed-fp32-gradients")
    dense = (ENDS + 50_080) / 2 + 920
    found = kept(known, "zero-1", GRAVEL, layout={"tp": 2, "dp": 4, "ep": 4})
    is_kept(found, weights=2 * (dense + EXPERTS / 4), states=12 * (dense / 4 + EXPERTS / 4 / 2))
    alone = kept(known, "zero-1", GRAVEL, layout={"tp": 2, "dp": 4})
    is_kept(alone, states=12 * (dense / 4 + EXPERTS / 2 / 4))
    most = kept(known, "zero-1", GRAVEL, layout={"dp": 2, "ep": 4})
    is_kept(most, states=12 * (GRAVEL_DENSE / 2 + EXPERTS / 4))
