"""Times of pipelines: bounds below what was measured, bands around it, unknown said."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain import to_text
from gpusize.explain_data import timing_data
from gpusize.placement import Layout, Placement
from gpusize.resolve import resolve
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
FLUX = {"modality": "image", "model": "black-forest-labs/FLUX.1-dev", "width": 1024, "height": 1024}
VIDEO = {"modality": "video", "fps": 1.0}
COG = {**VIDEO, "model": "THUDM/CogVideoX-5b", "width": 720, "height": 480, "frames": 49}
SMALL = {**COG, "model": "THUDM/CogVideoX-2b"}
WAN = {**VIDEO, "model": "Wan-AI/Wan2.2-T2V-A14B", "width": 832, "height": 480, "frames": 81}
SDXL = {**FLUX, "model": "stabilityai/stable-diffusion-xl-base-1.0"}
SD15 = {
    "modality": "image",
    "model": "stable-diffusion-v1-5/stable-diffusion-v1-5",
    "width": 512,
    "height": 512,
}


def timed(instance: str, **fields: Any) -> Any:
    raw = {"kind": "batch-inference", "region": "us-east-1", **fields}
    found = CATALOG.instance(instance)
    gpu = CATALOG.gpu(found.gpu_id or "")
    place = Placement(found, gpu, 1, Layout(), "us-east-1", Market.ON_DEMAND)
    return Candidate(Study(parse_workload(raw), CATALOG, today=TODAY), place).timing


@pytest.mark.parametrize(
    ("instance", "fields", "steps", "measured"),
    [
        ("p5.4xlarge", FLUX, 28, 31.685 / 8),
        ("p5.4xlarge", FLUX, 28, 49.438 / 8),
        ("p4de.24xlarge", COG, 50, 243.3 / 49),
        ("p5.4xlarge", COG, 50, 87.5 / 49),
        ("p4de.24xlarge", SMALL, 50, 93.9 / 49),
        ("p4de.24xlarge", WAN, 40, 785.7 / 81),
        ("p5.4xlarge", WAN, 40, 326.9 / 81),
    ],
)
def test_published_times_lie_in_the_band(instance, fields, steps, measured) -> None:
    """Sources: diffusers-torchao 9b9f238; the repository of Wan2.2 at 42bf4cf."""
    pace = timed(instance, steps=steps, **fields).pace
    assert pace.bound < pace.low <= measured <= pace.high


@pytest.mark.parametrize(
    ("fields", "measured"),
    [(SD15, 1.591), (SD15, 1.066), (SD15, 0.819), (SDXL, 5.933), (SDXL, 5.132), (SDXL, 4.102)],
)
def test_published_times_of_u_nets_lie_in_the_band(fields, measured) -> None:
    """Source: fal-ai/stable-diffusion-benchmarks, 50 steps on A100-80GB: eager, compiled,
    TensorRT."""
    pace = timed("p4de.24xlarge", steps=50, **fields).pace
    assert pace.bound < pace.low <= measured <= pace.high


@pytest.mark.parametrize("form", ["fp8", "int4", "nf4"])
def test_quantized_transformers_have_a_wider_band(form) -> None:
    plain = timed("p5.4xlarge", steps=28, **FLUX).pace
    pace = timed("p5.4xlarge", steps=28, weightsFormat=form, **FLUX).pace
    assert pace.bound < pace.low < pace.seconds < pace.high
    assert pace.high / pace.low > plain.high / plain.low


def test_operations_of_a_u_net_are_those_of_its_blocks() -> None:
    """339 G multiplications at 512x512 are published without attention's products (BK-SDM,
    arXiv 2305.15798, from memory); 340 are counted, and 61 of attention."""
    from gpusize.pipeline_timing import forward_flops

    unet = CATALOG.components("stable-diffusion-v1-5/stable-diffusion-v1-5")[0]
    assert forward_flops(unet, 64 * 64 + 77) / 2 == pytest.approx(401.6e9, rel=0.001)
    four_times = forward_flops(unet, 128 * 128 + 77)
    assert four_times > 4 * forward_flops(unet, 64 * 64 + 77)


def test_a_batch_takes_as_long_per_image() -> None:
    one, four = (timed("p5.4xlarge", steps=28, batch=batch, **FLUX).pace for batch in (1, 4))
    assert one == four


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (FLUX, "steps are not declared"),
        ({**FLUX, "steps": 28, "computePrecision": "fp32"}, "fp32"),
        ({**SDXL, "steps": 28, "weightsFormat": "int8"}, "quantized U-Net"),
        ({**FLUX, "steps": 28, "pipeline": {"offload": "sequential"}}, "host memory"),
    ],
)
def test_what_is_not_known_is_said(fields, told) -> None:
    timing = timed("p5.4xlarge", **fields)
    assert timing.pace is None
    assert told in timing.unknown[0]


def test_a_page_tells_the_time() -> None:
    raw = {"kind": "serving", "region": "us-east-1", "steps": 28, **FLUX}
    resolution = resolve(parse_workload(raw), CATALOG, today=TODAY)
    assert "s per image on each GPU" in to_text(resolution)
    assert timing_data(resolution.plan.timing)["per"] == "image"
    without = resolve(parse_workload({**raw, "steps": None}), CATALOG, today=TODAY)
    assert "time per sample is not known: steps are not declared" in to_text(without)


ACE = {"modality": "audio", "model": "ACE-Step/acestep-v15-turbo", "seconds": 240, "steps": 8}
STABLE = {"modality": "audio", "model": "stabilityai/stable-audio-open-1.0", "seconds": 30}


def test_a_song_takes_no_longer_than_published() -> None:
    """Source: ace-step/ACE-Step-1.5, README: under 2 s for a song on an A100."""
    pace = timed("p4d.24xlarge", **ACE).pace
    assert pace.what == "second of sound"
    assert pace.bound < pace.low
    assert pace.seconds * 240 < 2


def test_a_window_takes_the_same_whatever_is_kept_of_it() -> None:
    short, long = (
        timed("g6e.xlarge", **{**STABLE, "steps": 100, "seconds": length}).pace
        for length in (10, 40)
    )
    assert short.seconds * 10 == pytest.approx(long.seconds * 40)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("facebook/musicgen-large", "tokens that transformers makes one by one"),
        ("openai/whisper-large-v3", "the time of recognizing speech is not modelled"),
        ("stabilityai/stable-audio-open-1.0", "steps are not declared"),
    ],
)
def test_times_of_sound_that_are_not_known(model, told) -> None:
    timing = timed("g6.xlarge", modality="audio", model=model, seconds=10)
    assert timing.pace is None
    assert told in timing.unknown[0]
