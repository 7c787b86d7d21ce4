"""Runs that train pipelines: how long they take, what is said of them, what would fit."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain_data import fit_data, timing_data
from gpusize.placement import Layout, Placement
from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.resolving.weighing import reasons_of
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
FLUX: dict[str, Any] = {
    "kind": "fine-tuning",
    "modality": "image",
    "method": "lora",
    "model": "black-forest-labs/FLUX.1-dev",
    "region": "us-east-1",
    "width": 1024,
    "height": 1024,
    "recompute": "full",
    "cachedLatents": True,
    "cachedTextEmbeddings": True,
    "globalBatch": 4,
    "trainSteps": 1000,
}
SDXL = {**FLUX, "model": "stabilityai/stable-diffusion-xl-base-1.0"}
HOUR = 3600


@pytest.fixture(scope="module")
def shipped() -> Catalog:
    return load()


def placed(shipped: Catalog, raw: dict[str, Any], instance: str, copies: int = 1) -> Candidate:
    study = Study(parse_workload(raw), shipped, today=TODAY)
    row = shipped.instance(instance)
    gpu = shipped.gpu(row.gpu_id or "")
    layout = Layout(dp=copies)
    return Candidate(study, Placement(row, gpu, 1, layout, "us-east-1", Market.ON_DEMAND))


def decided(shipped: Catalog, raw: dict[str, Any]) -> Resolution:
    return resolve(parse_workload(raw), shipped, today=TODAY)


def test_a_run_on_a_consumer_gpu_takes_about_as_long_as_published(shipped: Catalog) -> None:
    # FLUX.1-dev, QLoRA at 512x768 with captions of 77 tokens, 700 steps of 4 pictures on an RTX
    # 4090 in 41 minutes: huggingface/blog 2ece681, flux-qlora.md.
    raw = {**FLUX, "method": "qlora", "width": 512, "height": 768, "trainSteps": 700}
    there = placed(shipped, {**raw, "captionTokens": 77}, "g6.xlarge")
    gpu = shipped.gpu("RTX4090")
    timing = there.study.candidate(there.placement._replace(gpu=gpu)).timing
    assert timing.hours_range is not None
    low, high = timing.hours_range
    assert low < 41 / 60 < high
    assert timing.hours_to_end == pytest.approx(41 / 60, rel=0.3)


def test_a_run_is_as_long_as_its_steps_or_its_samples(shipped: Catalog) -> None:
    steps = placed(shipped, FLUX, "g6e.xlarge")
    epochs = {**FLUX, "trainSteps": None, "samples": 400, "epochs": 10}
    samples = placed(shipped, {k: v for k, v in epochs.items() if v is not None}, "g6e.xlarge")
    assert steps.timing.hours_to_end == samples.timing.hours_to_end
    seconds = steps.timing.step_seconds
    assert seconds is not None
    assert steps.timing.hours_to_end == pytest.approx(seconds * 1000 / HOUR)
    assert steps.run_hours == steps.timing.hours_to_end
    assert timing_data(steps.timing)["tokensPerSecond"] is None


def test_a_run_of_unknown_length_has_steps_and_no_hours(shipped: Catalog) -> None:
    raw = {key: value for key, value in FLUX.items() if key != "trainSteps"}
    found = placed(shipped, raw, "g6e.xlarge")
    assert found.timing.step_seconds is not None
    assert found.timing.hours_to_end is None
    assert any("neither trainSteps nor runHours" in text for text in found.cost.unknowns)


def test_a_run_of_known_steps_and_unknown_speed_says_which_is_missing(shipped: Catalog) -> None:
    unet = {**FLUX, "model": "stabilityai/stable-diffusion-xl-base-1.0"}
    found = placed(shipped, unet, "g6e.xlarge")
    assert found.timing.step_seconds is None
    (why,) = [text for text in found.cost.unknowns if "no cost per run" in text]
    assert why.startswith("how long a step takes is not known")


def test_encoding_captions_takes_time_and_encoding_pictures_an_unknown_one(
    shipped: Catalog,
) -> None:
    cached = placed(shipped, FLUX, "g6e.xlarge").timing
    raw = {**FLUX, "cachedLatents": False, "cachedTextEmbeddings": False}
    anew = placed(shipped, raw, "p5.4xlarge").timing
    there = placed(shipped, FLUX, "p5.4xlarge").timing
    assert (anew.step_seconds or 0) > (there.step_seconds or 0)
    assert any("encoding the pictures" in text for text in anew.unknown)
    assert cached.unknown == ()


def test_copies_share_the_work_and_talk_about_what_is_trained(shipped: Catalog) -> None:
    one = placed(shipped, FLUX, "g6e.12xlarge").timing
    four = placed(shipped, FLUX, "g6e.12xlarge", 4).timing
    assert one.step_seconds == pytest.approx(4 * (four.step_seconds or 0))
    full = placed(shipped, {**FLUX, "method": "full", "sharding": "fsdp"}, "g6e.12xlarge", 4).timing
    assert (full.communication_share or 0) > 10 * (four.communication_share or 1)


def test_the_time_of_a_unet_is_not_known(shipped: Catalog) -> None:
    found = placed(shipped, SDXL, "g6.xlarge")
    assert found.timing.step_seconds is None
    assert "the time of a UNet2DConditionModel is not modelled" in found.timing.unknown
    resolution = decided(shipped, SDXL)
    assert resolution.plan is not None
    assert any("time of a step is not known" in reason for reason in resolution.plan.reasons)


def test_a_fit_says_its_stage_and_the_most_that_fits(shipped: Catalog) -> None:
    data = fit_data(placed(shipped, FLUX, "g6e.xlarge").fit)
    assert (data["stage"], data["sharding"]) == ("train", "none")
    assert data["largestBatch"] >= 1
    assert data["largestWidth"] >= 1024
    assert "sequenceLength" not in data


def test_a_misfit_is_told_in_pictures_by_one_rule(shipped: Catalog) -> None:
    kept = {"checkpoints": {"intervalMinutes": 30}, "interruptionTolerance": "none"}
    raw = {**FLUX, **kept, "microBatch": 16, "globalBatch": 16}
    found = reasons_of(placed(shipped, raw, "g6e.xlarge"))
    assert [reason.name for reason in found] == ["lora-base-exceeds-vram"]
    assert found[0].text.startswith("micro batches of 16 x 1024x1024 pixels need")
    assert found[0].fix.startswith("microBatch ")


def test_a_misfit_of_what_encodes_names_its_stage(shipped: Catalog) -> None:
    raw = {**FLUX, "model": "black-forest-labs/FLUX.2-dev", "method": "qlora"}
    found = [reason.text for reason in reasons_of(placed(shipped, raw, "g6e.xlarge"))]
    assert any(text.startswith("to encode text, micro batches of 1") for text in found)


def test_what_would_fit_is_tried_from_what_costs_least(shipped: Catalog) -> None:
    raw = {**FLUX, "cachedLatents": False, "cachedTextEmbeddings": False, "recompute": "none"}
    found = decided(shipped, {**raw, "instanceType": "g6.xlarge"})
    assert found.plan is None
    told = "cachedLatents and cachedTextEmbeddings, recompute full, method qlora: g6.xlarge"
    assert found.would_fit[0].startswith(told)
    many = decided(
        shipped, {**FLUX, "microBatch": 16, "globalBatch": 16, "instanceType": "g6e.xlarge"}
    )
    assert any(text.startswith("microBatch ") for text in many.would_fit)
