"""Laws that every estimate of a run that trains a pipeline keeps."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.constraints import DECLARATION
from gpusize.constraints.reason import Weight
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.placement import Layout, Placement
from gpusize.resolve import resolve
from gpusize.resolving.weighing import reasons_of
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import Catalog, load

IMAGES = (
    "stable-diffusion-v1-5/stable-diffusion-v1-5",
    "stabilityai/stable-diffusion-xl-base-1.0",
    "stabilityai/stable-diffusion-3.5-medium",
    "black-forest-labs/FLUX.1-dev",
    "Qwen/Qwen-Image",
)
VIDEOS = ("THUDM/CogVideoX-2b", "Wan-AI/Wan2.1-T2V-1.3B", "Lightricks/LTX-Video")
TRAINERS = ("diffusers", "finetrainers", "kohya", "musubi-tuner", "simpletuner")
METHODS = ("full", "lora", "qlora", "dora")
STATES = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
TODAY = datetime.date(2026, 11, 30)
ROUNDING = 64
LARGEST_MATRIX = 2**27
"""Bytes of one matrix that is unpacked, at most."""


@cache
def catalog() -> Catalog:
    return load()


def sized(raw: dict[str, Any], copies: int = 1) -> Fit:
    instance = catalog().instance("p4d.24xlarge")._replace(gpus=copies)
    gpu = catalog().gpu("A100-40GB")
    layout = Layout(dp=copies)
    placement = Placement(instance, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    found = fit(parse_workload(raw), placement, catalog())
    assert found.verdict is not Verdict.UNKNOWN, found.reasons
    return found


def kept(found: Fit) -> int:
    return sum(found.term(term) for term in STATES)


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    video = draw(st.booleans())
    raw: dict[str, Any] = {
        "kind": "fine-tuning",
        "region": "us-east-1",
        "modality": "video" if video else "image",
        "model": draw(st.sampled_from(VIDEOS if video else IMAGES)),
        "trainer": draw(st.sampled_from(TRAINERS)),
        "method": draw(st.sampled_from(METHODS)),
        "width": draw(st.sampled_from([256, 512, 1024])),
        "height": draw(st.sampled_from([256, 512, 768])),
        "microBatch": draw(st.integers(1, 4)),
        "optimizer": draw(st.sampled_from(["adamw", "adamw-8bit", "paged-adamw-8bit", "sgd"])),
        "recompute": draw(st.sampled_from(["none", "full"])),
        "cachedLatents": draw(st.booleans()),
        "cachedTextEmbeddings": draw(st.booleans()),
        "ema": draw(st.booleans()),
    }
    if video:
        raw["frames"] = draw(st.sampled_from([17, 49]))
    return raw


@given(run=runs())
def test_recomputing_never_adds(run: dict[str, Any]) -> None:
    again, kept_all = (sized({**run, "recompute": word}).need or 0 for word in ("full", "none"))
    assert again <= kept_all


@given(run=runs(), what=st.sampled_from(["cachedLatents", "cachedTextEmbeddings"]))
def test_caching_never_adds(run: dict[str, Any], what: str) -> None:
    there, gone = (sized({**run, what: word}).need or 0 for word in (False, True))
    assert gone <= there


@given(
    run=runs(),
    mode=st.sampled_from(["ddp", "zero-1", "zero-2", "zero-3", "fsdp"]),
    copies=st.sampled_from([1, 2, 4]),
)
def test_more_shards_never_add_states(run: dict[str, Any], mode: str, copies: int) -> None:
    raw = {**run, "cachedLatents": True, "cachedTextEmbeddings": True, "sharding": mode}
    few, many = sized(raw, copies), sized(raw, 2 * copies)
    assert few.output is not None
    assert many.output is not None
    if many.output.stage == few.output.stage == "train":
        assert kept(many) <= kept(few) + ROUNDING


@given(run=runs(), key=st.sampled_from(["microBatch", "width", "height", "frames"]))
def test_larger_pictures_and_batches_never_need_less(run: dict[str, Any], key: str) -> None:
    if key not in run:
        return
    steps = {"microBatch": 1, "frames": 8}
    more = {**run, key: run[key] + steps.get(key, 64)}
    assert (sized(more).need or 0) >= (sized(run).need or 0)


@given(run=runs())
def test_four_bits_never_need_more_than_sixteen_and_a_matrix(run: dict[str, Any]) -> None:
    cached = {**run, "cachedLatents": True, "cachedTextEmbeddings": True}
    packed = sized({**cached, "method": "qlora"})
    wide = sized({**cached, "method": "lora", "weightsFormat": "bf16"})
    assert (packed.need or 0) <= (wide.need or 0) + LARGEST_MATRIX


@given(run=runs())
def test_what_is_said_to_fit_fits(run: dict[str, Any]) -> None:
    found = sized(run)
    assert found.output is not None
    if found.output.largest_batch:
        wider = sized({**run, "microBatch": found.output.largest_batch})
        assert wider.verdict is Verdict.FITS
    if found.output.largest_width:
        sides = {"width": found.output.largest_width, "height": found.output.largest_height}
        assert sized({**run, **sides}).verdict is Verdict.FITS


@given(
    run=runs(),
    steps=st.sampled_from([None, 100, 20000]),
    minutes=st.sampled_from([None, 30.0, 900.0]),
    whole=st.sampled_from([None, 4]),
)
@settings(deadline=None, max_examples=20)
def test_nothing_speaks_against_what_gpusize_chose(
    run: dict[str, Any], steps: int | None, minutes: float | None, whole: int | None
) -> None:
    raw = dict(run)
    if steps is not None:
        raw["trainSteps"] = steps
    if minutes is not None:
        raw["checkpoints"] = {"intervalMinutes": minutes}
    if whole is not None:
        raw["globalBatch"] = whole * raw["microBatch"]
    resolution = resolve(parse_workload(raw), catalog(), today=TODAY)
    if resolution.plan is None or resolution.candidate is None:
        return
    loud = [
        reason
        for reason in reasons_of(resolution.candidate)
        if reason.weight is not Weight.ADVICE and reason.name not in DECLARATION
    ]
    assert loud == []
