"""What stages, images, loading and the optimizer's step add to a run for a moment."""

from __future__ import annotations

import pytest

from gpusize.memory.result import Term
from gpusize.memory.training import sizer
from gpusize.memory.training.kept import Kept
from gpusize.memory.training.sizer import Training
from gpusize.memory.weights import Stage
from gpusize.placement import Layout
from tests.unit.memory.training.small import AGATE, PEBBLE, declared, measured, training
from tests.unit.memory.training.test_activations import STEP

GIB, MIB = 2**30, 2**20
ALL = 91_080
CONTEXT, NCCL = 700 * MIB, 300 * MIB
LOOKING = {"modality": "vision-language", "model": "Qwen/Qwen3-VL-8B-Instruct"}


def test_the_worst_stage_counts(catalog):
    """Of three stages of two layers the last has head and logits, the first more in flight."""
    run = training(catalog)
    found = measured(run, pp=3)
    first, last = (
        sizer.Training._stage(run, run.setup, Layout(pp=3), stage, "none")
        for stage in (Stage(2, True, False), Stage(2, False, True))
    )
    assert found.need == max(first.need, last.need) == first.need
    assert first.need != last.need


@pytest.mark.parametrize(
    ("stage", "pp", "batch", "count"),
    [
        (Stage(6, True, True), 1, None, 1),
        (Stage(2, True, False), 4, None, 4),
        (Stage(2, False, False), 4, None, 3),
        (Stage(2, False, True), 4, None, 1),
        (Stage(2, True, False), 4, 18, 3),
        (Stage(2, True, False), 4, 24, 4),
        (Stage(2, True, False), 4, 60, 4),
        (Stage(2, True, False), 4, 6, 1),
        (Stage(2, True, False), 4, 3, 1),
        (Stage(2, False, False), 4, 12, 2),
    ],
)
def test_micro_batches_in_flight(catalog, stage, pp, batch, count):
    """The first stage begins one for each stage, or as many as there are.

    Source: min(num_microbatches, pp) of theoretical_memory_usage.py, NVIDIA/Megatron-LM 00caa53a.
    Two copies of three sequences are six of the global batch.
    """
    run = training(catalog, microBatch=3, globalBatch=batch)
    assert run._in_flight(Layout(pp=pp, dp=2), stage) == count


def test_the_first_stage_keeps_as_many_micro_batches_as_stages(catalog):
    """Layers / p of p micro batches are as much as all layers of one: 6 x 1,680 bytes a token.

    So counts theoretical_memory_usage.py of NVIDIA/Megatron-LM 00caa53a, whatever p is.
    """
    run = training(catalog)
    for pp in (2, 3, 6):
        stage = sizer.Training._stage(
            run, run.setup, Layout(pp=pp), Stage(6 // pp, True, False), "none"
        )
        assert stage.step.kept == 6 * 1_680


@pytest.mark.parametrize(
    ("method", "targets", "form", "frozen"),
    [
        ("full", "all-linear", 16, False),
        ("lora", "attention", 16, True),
        ("lora", "query-value", 16, True),
        ("lora", "all-linear", 16, False),
        ("lora", "dense-linear", 16, False),
        ("lora", "attention", 15, False),
        ("lora", "attention", 32, True),
    ],
)
def test_layers_are_frozen_where_no_adapter_needs_their_inputs(
    catalog, method, targets, form, frozen
):
    """Quantized matrices keep their inputs: their products save them (bitsandbytes)."""
    adapter = {} if method == "full" else {"adapter": {"targets": targets}}
    run = training(catalog, method=method, **adapter)
    known = run.setup._replace(form=run.setup.form._replace(linear_bits=form))
    whole = Stage(6, True, True)
    step = run._step(known, Layout(), whole, run.kept(known, Layout(), whole, "none"))
    assert step.kept == 6 * (1_680 - (160 + 144 if frozen else 0))


@pytest.mark.parametrize("train", [False, True])
def test_images_lie_on_the_first_stage(catalog, train):
    """74 x 74 patches of 14 pixels, bound by 1,000: of 144 numbers, twice 34 bytes kept."""
    run = training(catalog, AGATE, trainVision=train, **LOOKING)
    assert [item.field for item in run.assumptions].count("images") == 1
    for stage, in_flight in ((Stage(2, True, False), 3), (Stage(2, False, False), 0)):
        layout = Layout(pp=3)
        kept = run.kept(run.setup, layout, stage, "none")
        step = run._step(run.setup, layout, stage, kept)
        assert step.images == 1_000 * 144 * 2 * 34 * in_flight * train
        assert step.tower == 1_000 * 144 * 30 * bool(in_flight)


def test_images_of_recomputed_layers_are_their_inputs(catalog):
    run = training(catalog, AGATE, trainVision=True, **LOOKING)
    habits = run.setup.habits._replace(recompute="full")
    known = run.setup._replace(habits=habits)
    whole = Stage(6, True, True)
    step = run._step(known, Layout(), whole, run.kept(known, Layout(), whole, "none"))
    assert step.images == 1_000 * 144 * 2 * 2


def test_a_model_of_words_has_no_tower_to_train(catalog):
    run = Training(declared(**LOOKING), PEBBLE, catalog)
    assert run.problems == ["the vision tower of pebble is not known"]


KEPT = Kept(100, 200, 300, 400, 50, 1_700, 0, 0, (0, 0))


@pytest.mark.parametrize(
    ("step_copy", "load", "expected"),
    [
        (50, 0, [(Term.ACTIVATIONS, 128), (Term.LOGITS, 56)]),
        (184, 0, [(Term.ACTIVATIONS, 128), (Term.LOGITS, 56)]),
        (185, 0, [(Term.OPTIMIZER_STEP, 185)]),
        (50, 1_184, [(Term.ACTIVATIONS, 128), (Term.LOGITS, 56)]),
        (50, 1_185, [(Term.LOADING, 185)]),
        (190, 1_190, [(Term.OPTIMIZER_STEP, 190)]),
        (190, 1_191, [(Term.LOADING, 191)]),
    ],
)
def test_the_largest_of_loading_a_batch_and_the_step_counts(step_copy, load, expected):
    """184 bytes of two tokens' batch, of which logits take 56; 1,000 are held."""
    step = STEP._replace(spare=0, images=40)
    assert step.bytes_for(2, 1) == 2 * ((12 + 14) * 2 + 40) == 184
    found = sizer._moments(step, 2, 1, KEPT._replace(step_copy=step_copy, load=load), 1_000)
    assert found == expected


def test_logits_are_no_more_than_the_batch():
    step = STEP._replace(spare=230)
    batch = step.bytes_for(4)
    assert batch == 168
    assert step.logits_for(4, 1) == 112
    least = step._replace(last=0, last_scores=0, tower=30)
    assert sizer._moments(least, 4, 1, KEPT, 10**4) == [(Term.ACTIVATIONS, 0), (Term.LOGITS, 60)]


@pytest.mark.parametrize(
    ("usable", "before", "pool"),
    [(3_100, 0, 2_000), (1_000, 0, 0), (895, 0, -100), (3_100, 2_000, 2_000), (3_100, 2_001, 0)],
)
def test_the_pool_is_what_is_left_for_micro_batches(usable, before, pool):
    """1,000 bytes are fixed and the allocator takes 5 % more; loading or a step may not fit."""
    sized = sizer.Sized("none", (), 0, 0, 1_000, before, 0.05, STEP, 0, 0, (0, 0))
    assert sized.pool(usable) == pool


def test_offloaded_inputs_wait_in_the_host(catalog):
    """Six borders of 80 bytes for 128 tokens of three sequences, two of them still here."""
    run = training(catalog, microBatch=3, offloadActivations=True, recompute="full")
    habits = run.setup.habits._replace(recompute="full", offloads_activations=True)
    run.setup = run.setup._replace(habits=habits)
    found = measured(run)
    assert found.host == found.host_activations == 4 * 80 * 128 * 3
    paged = training(catalog, optimizer="paged-adamw-8bit")
    paged.setup = paged.setup._replace(habits=habits)
    found = measured(paged)
    assert found.host_activations == 4 * 80 * 128
    assert found.host - found.host_activations == round(2 * (1 + 4 / 256) * ALL)


def test_terms_of_less_than_a_byte_are_left_out(catalog):
    run = training(catalog, optimizer="sgd")
    assert Term.OPTIMIZER_STATES not in dict(measured(run).terms)
    assert Term.GATHERED not in dict(measured(run).terms)


def test_what_is_fixed_leaves_the_rest_to_micro_batches(catalog):
    """8 bytes of a parameter and 5 % more, the context; with two GPUs their buffers besides."""
    found = measured(training(catalog))
    assert found.kv_pool == pytest.approx((8 * GIB - CONTEXT) / 1.05 - 8 * ALL, abs=1)
    spread = measured(training(catalog, sharding="ddp"), dp=2)
    fixed = 10 * ALL * 1.05 + CONTEXT + NCCL
    assert spread.kv_pool == pytest.approx((8 * GIB - fixed) / 1.05, abs=1)


def test_a_step_of_the_optimizer_stands_in_the_place_of_a_batch(catalog):
    run = training(catalog, row={"step_copy": True}, sequenceLength=1)
    found = measured(run)
    assert found.term(Term.OPTIMIZER_STEP) == 2 * ALL
    assert found.need == round((8 + 2) * ALL * 1.05) + CONTEXT
    tight = run._worst(run.setup, Layout(), "none")
    assert tight.before == 2 * ALL
    assert tight.pool(round(10 * ALL * 1.05) + CONTEXT - 10) == 0
    assert tight.pool(round(10 * ALL * 1.05) + CONTEXT + 10) >= 2 * ALL


def test_loading_stands_in_the_place_of_a_batch(catalog):
    run = training(
        catalog,
        method="lora",
        row={"loads_whole": True},
        sharding="fsdp",
        sequenceLength=1,
        adapter={"rank": 1},
    )
    found = measured(run, dp=64)
    sized = run._worst(run.setup, Layout(dp=64), "fsdp")
    kept = run.kept(run.setup, Layout(dp=64), Stage(6, True, True), "fsdp")
    assert found.term(Term.LOADING) == round(kept.load - kept.held) > 0
    assert sized.before == pytest.approx(kept.load - kept.held)
