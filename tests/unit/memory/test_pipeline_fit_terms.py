"""The fit of a pipeline that can be counted by hand: what is read, the peak, its error."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.memory.diffusion import activations, sizer, sound
from gpusize.memory.diffusion.job import Job, job_of
from gpusize.memory.diffusion.sizer import Diffusion
from gpusize.memory.fit import Sizing
from gpusize.memory.result import Term, Verdict
from gpusize.memory.runtime import Device
from gpusize.pipeline import PipelineFacts
from gpusize.placement import Layout
from gpusize.workload import PipelineOffload, parse_workload
from gpusize_catalog.units import GIB, MIB
from tests.unit.memory.pipeline_toys import (
    CODEC,
    DENOISER,
    GENERATOR,
    JOB,
    PATCHES,
    PIPELINE,
    T5,
    VAE,
)
from tests.unit.memory.toys import DENSE

L4 = Device(22 * GIB, (8, 9), False)
WORK = 18 * (PATCHES + 50) * 200
PARAMS = 4_000_000 + 300_000 + 900_000 + 80_000
CONTEXT = 600 * MIB
SOUND = PipelineFacts("toy", "audio", (GENERATOR._replace(rows_per_sample=1), CODEC))


def declared(**fields: Any):
    raw = {
        "kind": "serving",
        "modality": "image",
        "model": "black-forest-labs/FLUX.1-dev",
        "region": "us-east-1",
        "width": 160,
        "height": 96,
    }
    if fields.get("modality") == "audio":
        raw = {**raw, "model": "facebook/musicgen-large"}
        del raw["width"], raw["height"]
    return parse_workload({**raw, **fields})


@pytest.fixture
def pipeline(catalog):
    def build(facts=PIPELINE, **fields) -> Diffusion:
        return Diffusion(declared(**fields), DENSE._replace(pipeline=facts), catalog)

    return build


# What is read


def test_a_declaration_becomes_a_job():
    assert job_of(declared()) == JOB
    held = {
        "offload": "model",
        "quantizedOnGpu": True,
        "fusedProjections": True,
        "tiling": True,
        "slicing": True,
        "decoderPrecision": "fp32",
        "shardedWeights": True,
    }
    found = job_of(declared(batch=3, computePrecision="fp16", cp=4, pipeline=held))
    assert found == Job(
        160,
        96,
        1,
        3,
        "fp16",
        PipelineOffload.MODEL,
        quantized_on_gpu=True,
        fused=True,
        tiling=True,
        slicing=True,
        decoder="fp32",
        sharded=True,
    )
    for way in ("tiling", "slicing", "quantizedOnGpu", "fusedProjections", "shardedWeights"):
        one = job_of(declared(cp=4, pipeline={way: True}))
        switched = (one.tiling, one.slicing, one.quantized_on_gpu, one.fused, one.sharded)
        assert sum(switched) == 1, way
    odd = job_of(declared(computePrecision="fp8", pipeline={"decoderPrecision": "fp8"}))
    assert (odd.precision, odd.decoder) == ("bf16", "")


def test_films_have_frames_and_sound_has_seconds():
    film = {"modality": "video", "model": "THUDM/CogVideoX-5b"}
    assert job_of(declared(**film, frames=49)).frames == 49
    assert job_of(declared(**film, seconds=2, fps=8)).frames == 17
    heard = job_of(declared(modality="audio", seconds=2.5))
    assert (heard.width, heard.height, heard.frames, heard.seconds) == (0, 0, 1, 2.5)
    assert (JOB.seconds, JOB.sharing, JOB.int8_products, JOB.sharded) == (0, 1, False, False)
    assert [JOB._replace(precision=word).number for word in ("fp32", "bf16", "fp16")] == [4, 2, 2]


# The peak and its error


def test_the_need_is_the_peak_and_the_process(pipeline):
    found = pipeline()
    fit = found.measure(L4, Layout(dp=2))
    result = activations.decode_bytes(VAE, JOB)
    work = max(WORK, result)
    assert work == result
    overhead = CONTEXT + round(0.05 * work)
    assert dict(fit.terms) == {
        Term.WEIGHTS: 2 * PARAMS,
        Term.ACTIVATIONS: work,
        Term.RUNTIME_OVERHEAD: overhead,
    }
    assert fit.need == 2 * PARAMS + work + overhead
    error = round(((2 * PARAMS * 0.01) ** 2 + (work * 0.25) ** 2) ** 0.5)
    assert fit.band == error
    assert found.floor(Layout()) == 2 * PARAMS + work - error
    assert (fit.dp, fit.host, fit.constants) == (2, 0, ("diffusers",))
    assert (fit.output.stage, fit.output.stored) == ("decode", 2 * PARAMS)
    assert fit.output.largest_seconds is None


def test_gpus_that_share_a_sample_have_a_part_of_its_tokens(pipeline):
    wide = PIPELINE._replace(parts=(DENOISER._replace(hidden=10_000), *PIPELINE.parts[1:]))
    found = pipeline(wide)
    for sharing in (1, 2, 4):
        tokens = -(-110 // sharing)
        fit = found.measure(L4, Layout(cp=sharing))
        assert fit.term(Term.ACTIVATIONS) == 18 * tokens * 10_000 * 2
        weights = 2 * PARAMS
        error = ((weights * 0.01) ** 2 + (18 * tokens * 20_000 * 0.25) ** 2) ** 0.5
        assert found.floor(Layout(cp=sharing)) == pytest.approx(
            weights + 18 * tokens * 20_000 - error, abs=1
        )


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({}, 0.01),
        ({"weightsFormat": "fp16"}, 0.01),
        ({"weightsFormat": "int8"}, 0.03),
        ({"pipeline": {"textEncoderFormat": "int8"}}, 0.03),
        ({"weightsFormat": "autoquant"}, 0.1),
    ],
)
def test_quantized_weights_are_less_sure(pipeline, fields, share):
    fit = pipeline(**fields).measure(L4, Layout())
    weights, work = (fit.term(term) for term in (Term.WEIGHTS, Term.ACTIVATIONS))
    assert fit.band == round(((weights * share) ** 2 + (work * 0.25) ** 2) ** 0.5)


def test_sound_is_less_sure_and_made_by_transformers(pipeline):
    fit = pipeline(SOUND, modality="audio", seconds=2.0).measure(L4, Layout())
    weights, work = (fit.term(term) for term in (Term.WEIGHTS, Term.ACTIVATIONS))
    assert fit.band == round(((weights * 0.01) ** 2 + (work * 0.5) ** 2) ** 0.5)
    assert fit.constants == ("transformers",)
    assert fit.output.largest_seconds == 600
    assert (fit.output.largest_width, fit.output.largest_height) == (0, 0)


def test_the_longest_clip_is_the_last_that_leaves_the_headroom(pipeline):
    made = pipeline(SOUND, modality="audio", seconds=2.0)
    device = Device(2 * GIB, (8, 9), False)
    longest = made.measure(device, Layout()).output.largest_seconds
    assert 10 < longest < 600
    for seconds, fits in ((longest, True), (longest + 1, False)):
        other = pipeline(SOUND, modality="audio", seconds=seconds).measure(device, Layout())
        assert (other.verdict is Verdict.FITS) is fits
    short = SOUND._replace(parts=(SOUND.parts[0]._replace(longest_seconds=9.5), CODEC))
    limited = pipeline(short, modality="audio", seconds=2.0).measure(device, Layout())
    assert limited.output.largest_seconds == 9.5
    assert sound.ACTIVATIONS_ERROR == 0.5


def test_the_largest_batch_is_the_last_that_leaves_the_headroom(pipeline):
    device = Device(2 * GIB, (8, 9), False)
    batch = pipeline().measure(device, Layout()).output.largest_batch
    assert 10 < batch < 1024
    for count, fits in ((batch, True), (batch + 1, False)):
        found = pipeline(batch=count).measure(device, Layout())
        assert (found.verdict is Verdict.FITS) is fits


def test_a_batch_that_leaves_a_gib_to_the_byte_is_still_one(pipeline):
    need = pipeline().measure(L4, Layout()).need
    for usable, batch in ((need + GIB, 1), (need + GIB - 1, 0)):
        fit = pipeline().measure(Device(usable, (8, 9), False), Layout())
        assert fit.output.largest_batch == batch
        assert (fit.verdict is Verdict.FITS) is bool(batch)


def test_what_waits_in_host_memory_is_all_that_can(pipeline):
    assert pipeline().measure(L4, Layout()).host == 0
    for offload in ("model", "sequential"):
        found = pipeline(pipeline={"offload": offload}).measure(L4, Layout())
        assert found.host == 2 * PARAMS
    stays = pipeline(weightsFormat="int8-bitsandbytes", pipeline={"offload": "model"})
    assert stays.measure(L4, Layout()).host == 2 * (300_000 + 900_000 + 80_000)
    assert stays.job.int8_products
    assert not pipeline(weightsFormat="int8").job.int8_products


# Precisions


def precision(fit) -> tuple[str, str]:
    return next((one.value, one.why) for one in fit.assumptions if one.field == "computePrecision")


def test_a_gpu_without_bf16_falls_back_where_nothing_is_declared(pipeline):
    old, new, unknown = (
        L4._replace(capability=capability) for capability in ((7, 5), (8, 0), None)
    )
    plain = PIPELINE._replace(parts=(*PIPELINE.parts[:3], VAE._replace(upcasts_fp16=True)))
    result = activations.decode_bytes(VAE, JOB)
    fell = pipeline(plain).measure(old, Layout())
    assert precision(fell) == ("fp16", "not declared: the GPU computes no bf16")
    assert fell.term(Term.ACTIVATIONS) == 2 * result
    for device in (new, unknown, L4):
        fit = pipeline(plain).measure(device, Layout())
        assert precision(fit) == ("bf16", "not declared: what pipelines are published for")
        assert fit.term(Term.ACTIVATIONS) == result
    told = pipeline(plain, computePrecision="bf16").measure(old, Layout())
    assert told.term(Term.ACTIVATIONS) == result
    assert told.assumptions == ()


def test_a_pipeline_is_computed_as_it_is_published(pipeline):
    wide = PIPELINE._replace(parts=(DENOISER._replace(native_format="fp32"), *PIPELINE.parts[1:]))
    found = pipeline(wide)
    assert found.job.precision == "fp32"
    assert found.assumptions == [("computePrecision", "fp32", "not declared: as published")]
    assert found.measure(L4, Layout()).term(Term.WEIGHTS) == 4 * PARAMS
    assert found.measure(L4._replace(capability=(7, 5)), Layout()).assumptions[0].value == "fp32"
    assert pipeline(wide, computePrecision="bf16").job.precision == "bf16"


@pytest.mark.parametrize(
    ("bits", "compute", "word"),
    [(32, "auto", "fp32"), (16, "auto", ""), (16, "fp32", "bf16"), (32, "fp32", "")],
)
def test_a_decoder_runs_as_published_where_that_differs(pipeline, bits, compute, word):
    facts = PIPELINE._replace(parts=(*PIPELINE.parts[:3], VAE._replace(decoder_bits=bits)))
    found = pipeline(facts, computePrecision=compute)
    assert found.job.decoder == word
    taken = [one.value for one in found.assumptions if one.field == "decoderPrecision"]
    assert taken == ([word] if word else [])
    told = pipeline(facts, computePrecision=compute, pipeline={"decoderPrecision": "fp16"})
    assert told.job.decoder == "fp16"
    assert told.problems == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"computePrecision": "fp8"}, "pipelines in fp8 are not modelled, only their weights"),
        ({"pipeline": {"decoderPrecision": "fp8"}}, "decoding in fp8 is not modelled"),
        ({"weightsFormat": "awq"}, "whether diffusers loads awq weights is not known"),
        (
            {"pipeline": {"textEncoderFormat": "awq"}},
            "whether diffusers loads awq weights is not known",
        ),
    ],
)
def test_problems_are_named(pipeline, fields, problem):
    found = pipeline(**fields)
    assert found.problems == [problem]
    assert found.form.id == found.encoder.id == "bf16", "sized as computed where asked at all"


def test_fusing_needs_the_projections_to_be_known(pipeline):
    blank = PIPELINE._replace(parts=(DENOISER._replace(attention_sets=None), T5, VAE))
    fused = {"pipeline": {"fusedProjections": True}}
    assert pipeline(blank, **fused).problems == ["projections of toy are not known"]
    assert pipeline(blank).problems == pipeline(**fused).problems == []


@pytest.mark.parametrize("word", ["fp32", "fp16", "int8", "nf4", "gguf-q4_k_m"])
def test_formats_that_diffusers_loads(pipeline, word):
    found = pipeline(weightsFormat=word)
    assert found.problems == []
    assert found.form.id == word


def test_pictures_have_no_length(catalog):
    sizing = Sizing(declared(), DENSE._replace(pipeline=PIPELINE), catalog)
    assert sizing.context_length == 0


def test_errors_are_stated():
    assert (sizer.WEIGHTS_ERROR, sizer.QUANTIZED_ERROR, sizer.ACTIVATIONS_ERROR) == (
        0.01,
        0.03,
        0.25,
    )
