"""Every term of a run that trains a pipeline, counted by hand."""

from __future__ import annotations

import pytest

from gpusize.memory.diffusion.activations import decode_bytes
from gpusize.memory.diffusion_training import activations, stages
from gpusize.memory.diffusion_training.stages import Plan, Stage
from gpusize.memory.diffusion_training.states import Held, held_of
from gpusize.memory.diffusion_training.trained import (
    Trained,
    adapter_params,
    trainable_encoders,
    trained_denoiser,
    trained_of,
)
from gpusize.memory.result import Term
from gpusize.workload import Adapter, AdapterTargets
from tests.unit.memory.pipeline_toys import (
    CLIP,
    DENOISER,
    JOB,
    T5,
    UNET,
    VAE,
    pipeline_of,
    training,
)

UNIT = 110 * 100 * 2
"""One tensor: 110 tokens of 100 numbers."""
# Activations


def step(denoiser=DENOISER, *, recomputes=False, trains_mlp=False, **changes):
    job = JOB._replace(**changes)
    return activations.step_of(denoiser, VAE, job, recomputes=recomputes, trains_mlp=trains_mlp)


def test_blocks_keep_twenty_tensors_and_six_where_the_mlp_is_trained():
    assert step() == (10 * 20 * UNIT, 30 * UNIT, 50 * UNIT)
    assert step(trains_mlp=True) == (10 * 26 * UNIT, 30 * UNIT, 56 * UNIT)
    assert step(batch=3) == tuple(3 * size for size in step())
    assert step(precision="fp32") == tuple(2 * size for size in step())


def test_recomputing_keeps_what_goes_into_each_block():
    assert step(recomputes=True) == (10 * UNIT, 50 * UNIT, 50 * UNIT)
    assert step(recomputes=True, trains_mlp=True) == (10 * UNIT, 56 * UNIT, 56 * UNIT)
    wide = DENOISER._replace(stream_bits=32)
    assert step(wide, recomputes=True).kept == 20 * UNIT
    assert step(wide, recomputes=True, precision="fp32").kept == 20 * UNIT
    assert step(DENOISER._replace(stream_bits=8), recomputes=True).kept == 10 * UNIT
    assert step(DENOISER._replace(stream_bits=None), recomputes=True).kept == 10 * UNIT
    assert step(wide).kept == step().kept


def test_a_unet_keeps_tensors_of_its_full_resolution():
    """20 by 12 latent pixels; text is not among them."""
    unit = 240 * 100 * 2
    assert step(UNET) == (910 * unit, 0, 0)
    assert step(UNET, recomputes=True, batch=3) == (3 * 175 * unit, 0, 0)
    assert step(UNET._replace(text_tokens=None)) == (910 * unit, 0, 0)
    assert step(UNET, trains_mlp=True) == step(UNET)


def test_what_is_not_told_keeps_nothing():
    assert step(DENOISER._replace(blocks=None)).kept == 0
    assert step(DENOISER._replace(hidden=None)) == (0, 0, 0)
    assert step(UNET._replace(hidden=None)) == (0, 0, 0)


def test_encoding_takes_half_of_decoding():
    assert activations.encode_bytes(VAE, JOB) == decode_bytes(VAE, JOB) / 2


# What is trained


def test_the_largest_denoiser_is_trained_with_the_declared_captions():
    small = DENOISER._replace(component="transformer-2", params=10)
    blank = DENOISER._replace(params=None)
    for parts in ((DENOISER, small), (small, DENOISER), (blank, DENOISER)):
        assert trained_denoiser(training(), pipeline_of(*parts, VAE)) == DENOISER
    told = trained_denoiser(training(captionTokens=77), pipeline_of())
    assert told == DENOISER._replace(text_tokens=77)


def test_only_clip_is_trained_beside():
    assert trainable_encoders(pipeline_of()) == (CLIP,)
    assert trainable_encoders(pipeline_of(DENOISER, T5, VAE)) == ()
    named = T5._replace(class_or_name="OpenCLIP bigG")
    assert trainable_encoders(pipeline_of(DENOISER, named, VAE)) == (named,)


@pytest.fixture
def split(form):
    def build(word="bf16", encoder="bf16", parts=(), job=JOB, **fields) -> Trained:
        return trained_of(training(**fields), pipeline_of(*parts), job, form(word), form(encoder))

    return build


def test_in_full_nothing_of_the_denoiser_is_frozen(split):
    assert split() == (DENOISER, 4_000_000, 0, (600_000, 1_800_000), 160_000)
    both = split(trainTextEncoder=True)
    assert both == (DENOISER, 4_300_000, 0, (1_800_000,), 160_000)
    assert split(encoder="fp32").encoders == (1_200_000, 3_600_000)
    assert split(job=JOB._replace(precision="fp32"), encoder="fp32").decoder == 320_000
    assert split(parts=(DENOISER, T5)).decoder == 0
    blank = (DENOISER._replace(params=None), CLIP._replace(params=None), VAE._replace(params=None))
    assert split(parts=blank)[1:] == (0, 0, (0,), 0)
    assert split(parts=blank, method="lora").frozen == 0


def test_adapters_freeze_all_but_themselves(split):
    attention = 8 * 2 * 4 * 12 * 100
    clip = 8 * 6e-4 * 300_000
    found = split(method="lora")
    assert found == (DENOISER, attention, 8_000_000, (600_000, 1_800_000), 160_000)
    four = split("nf4", method="qlora")
    assert four.frozen == round(60_000 * 2 + 3_940_000 * 4.5 / 8)
    both = split(method="lora", trainTextEncoder=True)
    assert both.params == pytest.approx(attention + clip)
    assert both.encoders == found.encoders, "its weights stay, an adapter is beside them"


@pytest.mark.parametrize(
    ("targets", "sides"),
    [
        ("query-value", 2 * 2 * 12),
        ("attention", 2 * 4 * 12),
        ("all-linear", 2 * 4 * 12 + 10 * 10),
    ],
)
def test_an_adapter_has_two_sides_of_each_matrix(targets, sides):
    """Ten sides of an MLP's two matrices: one and four widths, four and one."""
    adapter = Adapter(rank=8, targets=AdapterTargets(targets))
    assert adapter_params(DENOISER, adapter) == 8 * sides * 100
    assert adapter_params(DENOISER, Adapter(rank=2, targets=adapter.targets)) == 2 * sides * 100
    joint = DENOISER._replace(attention_sets=None)
    own = sides - 2 * (2 if targets == "query-value" else 4) * (12 - 20)
    assert adapter_params(joint, adapter) == 8 * own * 100, "two sets in each block"


@pytest.mark.parametrize(
    ("targets", "share"), [("query-value", 3e-4), ("attention", 6e-4), ("all-linear", 12e-4)]
)
def test_an_adapter_of_a_unet_is_a_share_of_it(targets, share):
    adapter = Adapter(rank=8, targets=AdapterTargets(targets))
    expected = pytest.approx(8 * share * 4_000_000)
    assert adapter_params(UNET, adapter) == expected
    assert adapter_params(UNET._replace(blocks=9), adapter) == expected
    assert adapter_params(DENOISER._replace(hidden=None), adapter) == expected
    assert adapter_params(DENOISER._replace(blocks=None), adapter) == expected
    assert adapter_params(UNET._replace(params=None), adapter) == 0


# What is kept from step to step

OWN = 4_000_000
FULL = Trained(DENOISER, OWN, 0, (), 0)
ADAPTED = Trained(DENOISER, 1_000, 8_000_000, (), 0)
MATRIX = 5 * 100**2 * 2


@pytest.fixture
def kept(catalog, form):
    def build(trained=FULL, copies=1, mode="none", word="bf16", row=None, **fields) -> Held:
        known = catalog.diffusion_trainer("diffusers")._replace(**(row or {}))
        method = "lora" if trained.frozen else "full"
        workload = training(**{"method": method, **fields})
        return held_of(workload, known, form(word), trained, copies, mode)

    return build


def test_full_training_keeps_four_wide_numbers_of_each_parameter(kept):
    """Weight, gradient and two moments in fp32; the step copies one moment, bf16 is cast."""
    assert kept() == (4 * OWN, 4 * OWN, 8 * OWN, 0, 2 * OWN, 4 * OWN, 0)
    assert kept(computePrecision="fp32").cast == 0
    assert kept(ema=True).states == 12 * OWN
    assert kept(row={"step_copy": False}).step_copy == 0
    assert kept(optimizer="sgd")[2:6] == (0, 0, 2 * OWN, 0)


def test_weights_declared_in_16_bits_are_trained_in_them(kept):
    for word in ("bf16", "fp16"):
        assert kept(weightsFormat=word) == (2 * OWN, 2 * OWN, 4 * OWN, 0, 0, 2 * OWN, 0)
    assert kept(weightsFormat="fp32") == kept()
    pure = kept(row={"plain_recipe": "mixed"}, weightsFormat="bf16")
    assert pure[:3] == (2 * OWN, 2 * OWN, 12 * OWN), "only full recipes become pure ones"


def test_eight_bit_optimizers_step_in_place(kept):
    moment = 1 + 4 / 256
    assert kept(optimizer="adamw-8bit")[2:] == (2 * moment * OWN, 0, 2 * OWN, 0, 0)
    paged = kept(optimizer="paged-adamw-8bit")
    assert (paged.states, paged.host, paged.step_copy) == (0, 2 * moment * OWN, 0)
    mean = kept(optimizer="paged-adamw-8bit", ema=True)
    assert (mean.states, mean.host) == (4 * OWN, 2 * moment * OWN)


def test_adapters_are_kept_wide_beside_frozen_weights(kept):
    found = kept(ADAPTED)
    assert found == (8_000_000 + 4_000, 4_000, 8_000, 0, 0, 4_000, 0)
    narrow = kept(ADAPTED, row={"adapter_bytes": 2})
    assert narrow[:3] == (8_000_000 + 2_000, 2_000, 4_000)


def test_copies_that_share_nothing_hold_gradients_twice_for_a_moment(kept):
    assert kept(copies=4, mode="ddp") == kept()._replace(gathered=4 * OWN)
    assert kept(copies=4, mode="none") == kept()


def test_zero_shares_states_and_then_gradients(kept):
    """The mixed recipe: 16-bit weights and gradients, a master copy and moments in fp32."""
    first, second = (kept(copies=4, mode=mode) for mode in ("zero-1", "zero-2"))
    assert first == (2 * OWN, 2 * OWN, 12 * OWN / 4, 0, 0, 4 * OWN / 4, 0)
    assert second == first._replace(gradients=2 * OWN / 4)
    third = kept(copies=4, mode="zero-3")
    assert third[:3] == (2 * OWN / 4, 2 * OWN / 4, 3 * OWN)
    pure = kept(copies=4, mode="zero-1", row={"zero_recipe": "pure"})
    assert pure.step_copy == 0, "states are shared"
    assert kept(copies=1, mode="zero-1", row={"zero_recipe": "pure"}).step_copy == 2 * OWN


def test_sharing_weights_gathers_two_blocks_and_the_gradient_of_one(kept):
    found = kept(copies=4, mode="fsdp")
    block = OWN / 10
    assert found == (OWN, OWN, 2 * OWN, 2 * block * 2 + block * 4, 0, 0, 0)
    frozen = kept(ADAPTED, copies=4, mode="fsdp")
    assert frozen.gathered == 2 * block * 2
    assert frozen.weights == 2_000_000 + 1_000
    unet = kept(FULL._replace(denoiser=UNET), copies=4, mode="zero-3")
    assert unet.gathered == 2 * (OWN / 4) * 2 + (OWN / 4) * 4, "a level of four"
    blank = kept(FULL._replace(denoiser=UNET._replace(params=None)), copies=4, mode="fsdp")
    assert blank.gathered == 0


def test_offload_moves_states_and_then_everything(kept):
    states = kept(copies=4, mode="zero-2", sharding={"mode": "zero-2", "offload": "optimizer"})
    assert (states.states, states.step_copy, states.host) == (0, 0, 12 * OWN / 4)
    assert (states.weights, states.gradients) == (2 * OWN, 2 * OWN / 4)
    all_of_it = {"mode": "zero-3", "offload": "all"}
    everything = kept(copies=4, mode="zero-3", sharding=all_of_it)
    assert everything[:3] == (0, 0, 0)
    assert everything.host == 16 * OWN / 4
    assert everything.gathered > 0
    paged = kept(
        copies=4,
        mode="zero-3",
        sharding=all_of_it,
        optimizer="paged-adamw-8bit",
    )
    moments = 2 * (1 + 4 / 256)
    assert paged.host == pytest.approx((2 + 2 + 4 + moments) * OWN / 4)


def test_norms_and_packed_weights_unfold_a_matrix(kept):
    dora = kept(ADAPTED, method="dora")
    assert dora.gathered == 2 * MATRIX
    packed = kept(ADAPTED, word="nf4", method="qlora")
    assert packed.gathered == MATRIX
    assert kept(ADAPTED, word="nf4", method="dora").gathered == 3 * MATRIX
    assert kept(ADAPTED, word="fp32").gathered == 0
    assert kept(FULL, word="nf4").gathered == 0
    blank = ADAPTED._replace(denoiser=DENOISER._replace(hidden=None))
    assert kept(blank, method="dora").gathered == 0


# Stages

HELD = Held(weights=1_000, gradients=400, states=800, gathered=50, cast=30, step_copy=20, host=0)
RUN = Trained(DENOISER, 10, 0, (70, 90), 40)
PLAN = Plan(
    cached_text=False,
    cached_latents=False,
    accumulates=False,
    recomputes=False,
    trains_mlp=False,
)
ENCODING = activations.encode_bytes(VAE, JOB._replace(batch=2))
STEP = step(batch=2)


def seen(held=HELD, trained=RUN, **changes) -> dict[str, dict[str, float]]:
    found = stages.stages(trained, VAE, JOB._replace(batch=2), held, PLAN._replace(**changes))
    return {stage.name: {term.value: size for term, size in stage.terms} for stage in found}


def test_components_lie_beside_the_run_unless_what_they_make_is_cached():
    plain = seen()
    assert list(plain) == ["encode pictures", "train"]
    assert plain["train"]["weights"] == 1_000 + 70 + 90 + 40
    assert plain["encode pictures"] == {
        "weights": 1_200,
        "optimizer-states": 800,
        "activations": ENCODING,
    }
    held = seen(accumulates=True)["encode pictures"]
    assert held == {**plain["encode pictures"], "gradients": 400}
    text = seen(cached_text=True)
    assert text["encode text"] == {"weights": 90}
    assert text["train"]["weights"] == 1_040
    latents = seen(cached_latents=True)
    assert latents["encode pictures"] == {"weights": 40, "activations": ENCODING / 2}
    assert latents["train"]["weights"] == 1_160
    assert list(seen(cached_text=True, cached_latents=True)) == [
        "encode text",
        "encode pictures",
        "train",
    ]
    bare = seen(trained=RUN._replace(encoders=()), cached_text=True)
    assert bare["encode text"] == {"weights": 0}


def test_the_fullest_moment_of_a_step():
    train = seen()["train"]
    begin = 30 + STEP.kept + STEP.first
    assert train == {
        "weights": 1_200,
        "gradients": 400,
        "optimizer-states": 800,
        "gathered": 50,
        "activations": begin - 400,
    }
    assert seen(accumulates=True)["train"]["activations"] == begin
    late = seen(HELD._replace(gradients=10**9))["train"]
    assert late["activations"] == STEP.last
    copied = seen(HELD._replace(step_copy=begin - 399))["train"]
    assert copied["optimizer-step"] == begin - 399
    assert "activations" not in copied
    same = seen(HELD._replace(step_copy=begin - 400))["train"]
    assert "optimizer-step" not in same


def test_a_step_is_told_what_is_recomputed_and_trained():
    wide = seen(trains_mlp=True)["train"]["activations"]
    assert wide == 30 - 400 + sum(step(batch=2, trains_mlp=True)[:2])
    again = seen(recomputes=True)["train"]["activations"]
    assert again == max(30 - 400 + sum(step(batch=2, recomputes=True)[:2]), STEP.last)


def test_sizes_and_states_of_a_stage():
    one = Stage("one", ((Term.WEIGHTS, 1), (Term.GRADIENTS, 2), (Term.ACTIVATIONS, 4)))
    assert (one.size, one.states) == (7, 3)
    two = one._replace(name="two")
    small = Stage("small", ((Term.WEIGHTS, 6),))
    assert stages.peak(iter((one, two, small))).name == "two", "the later of two alike"
    assert stages.peak(iter((small, one))).name == "one"
