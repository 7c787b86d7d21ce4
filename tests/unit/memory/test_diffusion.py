"""Memory of pipelines: components, stages, and published peaks; every term by itself."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.memory.fit import fit
from gpusize.memory.result import Term, Verdict
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.workload import parse_workload
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.units import GIB

FLUX = "black-forest-labs/FLUX.1-dev"
SDXL = "stabilityai/stable-diffusion-xl-base-1.0"
COG = "THUDM/CogVideoX-5b"
HUNYUAN = "hunyuanvideo-community/HunyuanVideo"
CONTEXT = 600 / 1024


def narrow(word: str) -> dict[str, Any]:
    """A CogVideoX clip whose denoiser and text encoder are quantized."""
    held = {"textEncoderFormat": word}
    return {"width": 720, "height": 480, "frames": 49, "weightsFormat": word, "pipeline": held}


@pytest.fixture
def sized(catalog, place):
    """The fit of a picture, on one H100 where nothing else is said."""

    def size(model: str, instance: str = "p5.4xlarge", **fields: Any):
        video = "frames" in fields or "seconds" in fields
        raw = {
            "kind": "batch-inference",
            "modality": "video" if video else "image",
            "model": model,
            "width": 1024,
            "height": 1024,
            "region": "us-east-1",
            **fields,
        }
        return fit(parse_workload(raw), place(instance), catalog)

    return size


def peak(found) -> float:
    """GiB that PyTorch counts."""
    return (found.need - found.term(Term.RUNTIME_OVERHEAD)) / GIB


@pytest.mark.parametrize(
    ("model", "fields", "measured", "within"),
    [
        (FLUX, {}, 33.85, 0.02),
        (FLUX, {"batch": 4}, 39.49, 0.01),
        (FLUX, {"batch": 8}, 47.51, 0.01),
        (FLUX, {"batch": 8, "weightsFormat": "fp8"}, 36.43, 0.01),
        (FLUX, {"weightsFormat": "int8", "pipeline": {"quantizedOnGpu": True}}, 31.61, 0.01),
        (
            FLUX,
            {
                "weightsFormat": "int8",
                "pipeline": {"quantizedOnGpu": True, "fusedProjections": True},
            },
            35.62,
            0.01,
        ),
        (SDXL, {"computePrecision": "fp16"}, 10.47, 0.03),
        (SDXL, {"computePrecision": "fp32", "batch": 4}, 28.09, 0.06),
        (COG, {"width": 720, "height": 480, "frames": 49}, 31.75, 0.01),
        (COG, narrow("fp6"), 19.89, 0.01),
        (COG, narrow("int4dq"), 23.46, 0.01),
        (COG, narrow("sparsify"), 18.73, 0.01),
        (COG, narrow("autoquant"), 24.94, 0.03),
        (FLUX, {"batch": 16, "weightsFormat": "fp6_e3m2"}, 47.7, 0.06),
        (HUNYUAN, {"width": 768, "height": 512, "frames": 121}, 60.1, 0.05),
        (
            HUNYUAN,
            {"width": 768, "height": 512, "frames": 121, "pipeline": {"offload": "model"}},
            28.87,
            0.03,
        ),
        (
            HUNYUAN,
            {"width": 768, "height": 512, "frames": 121, "pipeline": {"tiling": True}},
            43.58,
            0.02,
        ),
    ],
)
def test_published_peaks(sized, model, fields, measured, within) -> None:
    """Sources: diffusers-torchao 9b9f238, diffusers 58eb52c0, huggingface/blog 01e2d213."""
    assert peak(sized(model, **fields)) == pytest.approx(measured, rel=within)


WAN = "Wan-AI/Wan2.2-T2V-A14B"
SHARDED = {"weightsFormat": "fp32", "pipeline": {"shardedWeights": True}}
"""Weights that are sharded keep the width of the checkpoint."""


@pytest.mark.parametrize(
    ("fields", "sharing", "measured"),
    [
        ({"width": 832, "height": 480, "pipeline": {"offload": "model"}}, 1, 41.3),
        ({"width": 1280, "height": 720, "pipeline": {"offload": "model"}}, 1, 59.8),
        ({"width": 832, "height": 480, **SHARDED}, 4, 40.9),
        ({"width": 1280, "height": 720, **SHARDED}, 4, 51.7),
        ({"width": 832, "height": 480, **SHARDED}, 8, 26.2),
        ({"width": 1280, "height": 720, **SHARDED}, 8, 37.0),
    ],
)
def test_gpus_that_share_a_video(catalog, place, fields, sharing, measured) -> None:
    """Source: Wan-Video/Wan2.2 42bf4cf, comp_effic.png: what the driver counts on each GPU."""
    raw = {"kind": "serving", "modality": "video", "model": WAN, "frames": 81, "cp": sharing}
    workload = parse_workload({**raw, "region": "us-east-1", **fields})
    found = fit(workload, place("p5.48xlarge", cp=sharing), catalog)
    assert found.need / GIB == pytest.approx(measured, rel=0.08)


def test_a_decoder_runs_as_published_unless_told(sized) -> None:
    fields: dict[str, Any] = {"width": 1280, "height": 704, "frames": 121}
    held = {"offload": "model"}
    wide = sized("Wan-AI/Wan2.2-TI2V-5B", pipeline=held, **fields)
    assert wide.need / GIB == pytest.approx(22.9, rel=0.05), "Wan-Video/Wan2.2 comp_effic.png"
    assert ("decoderPrecision", "fp32") in {one[:2] for one in wide.assumptions}
    told = {**held, "decoderPrecision": "bf16"}
    narrow = sized("Wan-AI/Wan2.2-TI2V-5B", pipeline=told, **fields)
    assert narrow.need < 0.8 * wide.need
    odd = sized("Wan-AI/Wan2.2-TI2V-5B", pipeline={"decoderPrecision": "fp8"}, **fields)
    assert "decoding in fp8 is not modelled" in odd.reasons


def test_a_format_that_is_less_sure_widens_the_band(sized) -> None:
    tiled = {**narrow("autoquant"), "pipeline": {"textEncoderFormat": "autoquant", "tiling": True}}
    found = sized(COG, **tiled)
    assert found.band > 0.1 * found.term(Term.WEIGHTS)


def test_weights_are_those_of_the_components(sized) -> None:
    params = 11_901_408_320 + 123_060_480 + 4_762_310_656 + 83_819_683
    assert sized(FLUX).term(Term.WEIGHTS) == 2 * params


def test_the_decoder_is_counted_by_the_pixel(sized) -> None:
    found = sized(FLUX)
    per_pixel = 4 * 256 * 2 + 2 * 3 * 2
    assert found.output.stage == "decode"
    assert found.term(Term.ACTIVATIONS) == 1024 * 1024 * per_pixel


def test_the_denoiser_is_counted_by_the_token(sized) -> None:
    found = sized(FLUX, pipeline={"tiling": True}, width=4096, height=4096)
    assert found.output.stage == "denoise"
    assert found.term(Term.ACTIVATIONS) == 18 * (256 * 256 + 512) * 3072 * 2


def test_a_decoder_that_overflows_in_fp16_computes_in_fp32(sized) -> None:
    half, wide = (sized(SDXL, computePrecision=word, batch=4) for word in ("fp16", "bf16"))
    assert half.term(Term.ACTIVATIONS) == 2 * wide.term(Term.ACTIVATIONS)


def test_a_gpu_without_bf16_takes_fp16(sized) -> None:
    old = sized(SDXL, "g4dn.xlarge")
    assert old.assumptions[0].value == "fp16"
    assert old.term(Term.ACTIVATIONS) == 2 * sized(SDXL, "g5.xlarge").term(Term.ACTIVATIONS)


def test_slicing_decodes_one_sample_at_a_time(sized) -> None:
    sliced = sized(SDXL, computePrecision="bf16", batch=4, pipeline={"slicing": True})
    assert peak(sliced) < peak(sized(SDXL, computePrecision="bf16", batch=4))


def test_eight_bit_modules_of_bitsandbytes_are_not_offloaded(sized) -> None:
    fields: dict[str, Any] = {"width": 768, "height": 512, "frames": 121}
    held = {"offload": "model", "tiling": True}
    stays = sized(HUNYUAN, weightsFormat="int8-bitsandbytes", pipeline=held, **fields)
    waits = sized(HUNYUAN, weightsFormat="int8", pipeline=held, **fields)
    assert peak(stays) == pytest.approx(26.18, rel=0.02)
    assert peak(waits) < 0.8 * peak(stays)


def test_products_of_bitsandbytes_hold_twice_the_tensors(sized) -> None:
    fields: dict[str, Any] = {"width": 768, "height": 512, "frames": 121}
    tiled = sized(HUNYUAN, weightsFormat="int8-bitsandbytes", pipeline={"tiling": True}, **fields)
    assert peak(tiled) == pytest.approx(36.92, rel=0.03), "huggingface/blog 01e2d213"
    plain = sized(HUNYUAN, weightsFormat="int8", pipeline={"tiling": True}, **fields)
    assert tiled.term(Term.ACTIVATIONS) == 2 * plain.term(Term.ACTIVATIONS)


def test_seconds_are_frames(sized) -> None:
    sides = {"width": 768, "height": 512}
    assert sized(HUNYUAN, seconds=5, **sides) == sized(HUNYUAN, frames=121, **sides)


def test_the_largest_batch_and_picture_leave_room(sized) -> None:
    output = sized(FLUX, "g6e.xlarge", width=1344, height=768).output
    assert output.largest_width / output.largest_height == pytest.approx(1344 / 768, rel=0.05)
    for fields in (
        {"batch": output.largest_batch},
        {"width": output.largest_width, "height": output.largest_height},
    ):
        taken = {"width": 1344, "height": 768, **fields}
        assert sized(FLUX, "g6e.xlarge", **taken).verdict is Verdict.FITS
    more = {"width": 1344, "height": 768, "batch": output.largest_batch + 1}
    assert sized(FLUX, "g6e.xlarge", **more).verdict is not Verdict.FITS


def test_nothing_fits_beside_weights_that_are_too_large(sized) -> None:
    output = sized(FLUX, "g5.xlarge").output
    assert (output.largest_batch, output.largest_width, output.largest_height) == (0, 0, 0)


@pytest.mark.parametrize(
    ("model", "fields", "reason"),
    [
        ("Lightricks/LTX-2", {"frames": 97}, "parameters of the vae of Lightricks/LTX-2"),
        ("tencent/HunyuanVideo-1.5", {"frames": 97}, "geometry of the denoiser"),
        (FLUX, {"weightsFormat": "awq"}, "whether diffusers loads awq weights is not known"),
        (FLUX, {"computePrecision": "fp8"}, "pipelines in fp8 are not modelled"),
        (
            "fal/AuraFlow",
            {"pipeline": {"fusedProjections": True}},
            "projections of fal/AuraFlow are not known",
        ),
    ],
)
def test_what_is_not_known_is_said(sized, model, fields, reason) -> None:
    found = sized(model, **fields)
    assert found.verdict is Verdict.UNKNOWN
    assert reason in "; ".join(found.reasons)


@pytest.mark.parametrize(
    ("model", "fields", "told"),
    [
        ("FLUX.1-def", {}, "did you mean"),
        ("meta-llama/Llama-3.1-8B", {}, "makes no images"),
        (COG, {}, "is a pipeline that makes videos (declare modality video)"),
        ("stabilityai/stable-audio-open-1.0", {}, "makes audio (declare modality audio)"),
    ],
)
def test_a_model_of_another_modality_is_told(sized, model, fields, told) -> None:
    with pytest.raises(GpuSizeError, match=r".") as caught:
        sized(model, **fields)
    assert told in str(caught.value)


def test_text_is_not_served_by_a_pipeline(catalog, place, declare) -> None:
    with pytest.raises(GpuSizeError, match="makes images"):
        fit(declare(FLUX), place("g6e.xlarge"), catalog)


def test_a_pipeline_is_found_by_its_last_part(sized) -> None:
    assert sized("flux.1-dev").need == sized(FLUX).need


def test_the_volume_holds_what_is_downloaded(catalog, place) -> None:
    raw = {
        "kind": "serving",
        "modality": "image",
        "model": FLUX,
        "width": 1024,
        "height": 1024,
        "region": "us-east-1",
        "pipeline": {"offload": "model"},
    }
    today = datetime.date(2026, 11, 30)
    study = Study(parse_workload(raw), catalog, today=today)
    one = Candidate(study, place("g6e.xlarge"))
    params = sum(part.params for part in catalog.components(FLUX))
    assert one.weight_bytes == 2 * params
    assert one.weight_bytes > one.fit.term(Term.WEIGHTS)
