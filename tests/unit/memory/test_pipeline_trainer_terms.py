"""The fit of a run that trains a pipeline, counted by hand: modes, plans, formats, problems."""

from __future__ import annotations

import pytest

from gpusize.memory.diffusion_training.job import job_of
from gpusize.memory.diffusion_training.sizer import DiffusionTrainer
from gpusize.memory.result import Term, Verdict
from gpusize.memory.runtime import Device
from gpusize.placement import Layout
from gpusize_catalog.units import GIB, MIB
from tests.unit.memory.pipeline_toys import (
    CLIP,
    DENOISER,
    JOB,
    PIPELINE,
    T5,
    UNET,
    VAE,
    part,
    pipeline_of,
    training,
)
from tests.unit.memory.toys import DENSE

UNIT = 110 * 100 * 2
"""One tensor: 110 tokens of 100 numbers."""
OWN = 4_000_000

L4 = Device(22 * GIB, (8, 9), False)
ROW = {"slack": 0.5, "context_mib": 100, "nccl_mib": 30}
CACHED = {"cachedLatents": True, "cachedTextEmbeddings": True}


class Rows:
    """The catalog with other constants of trainers."""

    def __init__(self, catalog) -> None:
        self.catalog = catalog

    def diffusion_trainer(self, name):
        return self.catalog.diffusion_trainer(name)._replace(**ROW)

    def __getattr__(self, name):
        return getattr(self.catalog, name)


@pytest.fixture
def trainer(catalog):
    def build(facts=PIPELINE, **fields) -> DiffusionTrainer:
        architecture = DENSE._replace(pipeline=facts)
        return DiffusionTrainer(training(**fields), architecture, Rows(catalog))

    return build


def test_a_fit_is_the_peak_its_slack_and_the_process(trainer):
    found = trainer(**CACHED)
    fit = found.measure(L4, Layout())
    states = 16 * OWN
    work = max(2 * OWN + 10 * 26 * UNIT + 30 * UNIT - 4 * OWN, 56 * UNIT)
    copied = 4 * OWN
    assert copied > work
    size = states + copied
    assert dict(fit.terms) == {
        Term.WEIGHTS: 4 * OWN,
        Term.GRADIENTS: 4 * OWN,
        Term.OPTIMIZER_STATES: 8 * OWN,
        Term.OPTIMIZER_STEP: copied,
        Term.ALLOCATOR_SLACK: size // 2,
        Term.RUNTIME_OVERHEAD: 100 * MIB,
    }
    assert fit.need == size * 3 // 2 + 100 * MIB
    assert fit.band == round(((states * 0.06) ** 2 + (copied * 0.3) ** 2) ** 0.5)
    assert found.floor(Layout()) == int(0.88 * states)
    assert (fit.output.stage, fit.output.stored) == ("train", 2 * 5_280_000)
    assert (fit.sharding, fit.host, fit.dp) == ("none", 0, 1)
    assert fit.constants == ("diffusers (any version)",)


def test_a_unet_is_less_sure(trainer):
    facts = pipeline_of(UNET, CLIP, T5, VAE)
    fit = trainer(facts, recompute="full", **CACHED).measure(L4, Layout())
    states, whole = 16 * OWN, fit.need - 100 * MIB
    moving = whole / 1.5 - states
    assert fit.band == pytest.approx(((states * 0.06) ** 2 + (moving * 0.4) ** 2) ** 0.5, abs=1)


def test_copies_talk_and_share_where_they_must(trainer):
    found = trainer(**CACHED)
    assert found.modes(Layout()) == ("none",)
    assert found.modes(Layout(dp=2)) == ("ddp", "fsdp")
    fit = found.measure(L4, Layout(dp=2))
    assert fit.sharding == "ddp"
    assert fit.term(Term.COMMUNICATION) == 30 * MIB
    assert fit.term(Term.GATHERED) == 4 * OWN
    why = "not declared: ddp where a whole copy fits, else fsdp"
    assert fit.assumptions[-1] == ("sharding.mode", "ddp", why)
    small = Device(MIB, (8, 9), False)
    shared = found.measure(small, Layout(dp=2))
    assert (shared.sharding, shared.verdict) == ("fsdp", Verdict.DOES_NOT_FIT)
    block = OWN / 10
    assert shared.term(Term.GATHERED) == 2 * block * 2 + block * 4
    assert found.floor(Layout(dp=2)) == int(0.88 * 8 * OWN)
    told = trainer(sharding={"mode": "zero-1"}, **CACHED)
    assert told.modes(Layout()) == told.modes(Layout(dp=4)) == ("zero-1",)
    zero = told.measure(L4, Layout(dp=4))
    assert zero.sharding == "zero-1"
    assert not any(one.field == "sharding.mode" for one in zero.assumptions)
    alone = found.measure(L4, Layout())
    assert alone.term(Term.COMMUNICATION) == 0
    assert not any(one.field == "sharding.mode" for one in alone.assumptions)


@pytest.mark.parametrize(
    ("fields", "copies", "accumulates"),
    [
        ({}, 1, False),
        ({"microBatch": 2, "globalBatch": 2}, 1, False),
        ({"microBatch": 2, "globalBatch": 4}, 1, True),
        ({"microBatch": 2, "globalBatch": 4}, 2, False),
        ({"globalBatch": 8}, 4, True),
    ],
)
def test_gradients_stay_where_a_step_has_more_than_one_batch(trainer, fields, copies, accumulates):
    found = trainer(**fields)
    plan = found._plan(Layout(dp=copies), found.job.batch)
    assert plan.accumulates is accumulates


def test_a_plan_follows_the_declaration(trainer):
    plain = trainer()._plan(Layout(), 1)
    assert plain == (False, False, False, False, True)
    cached = trainer(**CACHED, recompute="full")._plan(Layout(), 1)
    assert cached[:4] == (True, True, False, True)
    only = trainer(cachedLatents=True)._plan(Layout(), 1)
    assert (only.cached_text, only.cached_latents) == (False, True)
    assert not trainer(method="lora")._plan(Layout(), 1).trains_mlp
    every = {"rank": 8, "targets": "all-linear"}
    assert trainer(method="lora", adapter=every)._plan(Layout(), 1).trains_mlp


def test_the_most_that_is_said_to_fit_is_the_last(trainer):
    usable = GIB + 200 * MIB + 16 * OWN * 2
    device = Device(usable, (8, 9), False)
    output = trainer(**CACHED).measure(device, Layout()).output
    assert 1 < output.largest_batch < 1024
    for batch, fits in ((output.largest_batch, True), (output.largest_batch + 1, False)):
        fit = trainer(microBatch=batch, **CACHED).measure(device, Layout())
        assert (fit.verdict is Verdict.FITS) is fits


@pytest.mark.parametrize(("copies", "mode"), [(1, "none"), (2, "ddp")])
def test_a_batch_that_leaves_a_gib_to_the_byte_is_still_one(trainer, copies, mode):
    layout = Layout(dp=copies)
    found = trainer(sharding={"mode": mode} if copies > 1 else {}, recompute="full", **CACHED)
    need = found.measure(L4, layout).need
    for usable, batch in ((need + GIB, True), (need + GIB - 1, False)):
        fit = found.measure(Device(usable, (8, 9), False), layout)
        assert bool(fit.output.largest_batch) is batch
        assert (fit.verdict is Verdict.FITS) is batch


def test_a_run_is_a_job_of_one_micro_batch():
    job = job_of(training(microBatch=3, tiling=True, computePrecision="fp16"))
    assert job == JOB._replace(batch=3, tiling=True, precision="fp16")
    assert job_of(training()) == JOB
    assert job_of(training(computePrecision="fp8")).precision == "bf16"
    film = training(modality="video", model="THUDM/CogVideoX-5b", frames=17)
    assert job_of(film).frames == 17


# What is taken for granted, and what is not known


def test_formats_are_usual_for_the_method(trainer):
    def told(found: DiffusionTrainer) -> dict[str, str]:
        return {one.field: one.value for one in found.assumptions}

    assert told(trainer()) == {"trainer": "diffusers", "computePrecision": "bf16"}
    assert told(trainer(method="lora"))["weightsFormat"] == "bf16"
    assert told(trainer(method="qlora"))["weightsFormat"] == "nf4"
    assert trainer(method="qlora").form.id == "nf4"
    declared_all = trainer(
        method="lora", weightsFormat="int8", trainer="kohya", computePrecision="fp16"
    )
    assert told(declared_all) == {}
    assert (declared_all.form.id, declared_all.encoder.id) == ("int8", "fp16")
    assert trainer(textEncoderFormat="fp8").encoder.id == "fp8"


@pytest.mark.parametrize(
    ("facts", "fields", "problem"),
    [
        (PIPELINE, {"computePrecision": "fp8"}, "training in fp8 is not modelled"),
        (
            PIPELINE,
            {"weightsFormat": "int8"},
            "weights of format int8 cannot be trained: take bf16",
        ),
        (
            PIPELINE,
            {"method": "qlora", "weightsFormat": "bf16"},
            "qlora keeps quantized weights, bf16 is not",
        ),
        (
            PIPELINE,
            {"method": "lora", "weightsFormat": "awq"},
            "whether trainers of pipelines load awq weights is not known",
        ),
        (
            pipeline_of(DENOISER._replace(blocks=None), VAE),
            {},
            "blocks of toy are not known",
        ),
        (
            pipeline_of(DENOISER, T5, VAE),
            {"trainTextEncoder": True},
            "no trainer that is known trains the text encoder of toy",
        ),
    ],
)
def test_problems_are_named(trainer, facts, fields, problem):
    assert trainer(facts, **fields).problems == [problem]


def test_what_is_known_has_no_problems(trainer):
    for facts, fields in (
        (PIPELINE, {}),
        (PIPELINE, {"trainTextEncoder": True}),
        (pipeline_of(UNET, T5, VAE), {}),
        (PIPELINE, {"method": "lora", "weightsFormat": "int8"}),
    ):
        assert trainer(facts, **fields).problems == []
    two = pipeline_of(DENOISER, DENOISER._replace(component="transformer-2"), VAE)
    why = "it has several, of which one is trained at a time"
    assert trainer(two).assumptions[-1].why == why
    assert all(one.why != why for one in trainer().assumptions)
    assert part("vae").params is None
