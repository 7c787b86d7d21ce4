"""Runs that train pipelines, against peaks that their trainers publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.placement import Placement
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

COG = "a-r-r-o-w/finetrainers f476c37, examples/_legacy/training/README.md"
FINE = "a-r-r-o-w/finetrainers 8f1c125, docs/models"
BLOG = "huggingface/blog 2ece681, flux-qlora.md"
TUNER = "bghira/SimpleTuner bc8e6ab, documentation/quickstart/FLUX.md"
MUSUBI = "kohya-ss/musubi-tuner 30c658c, docs/qwen_image.md"
SHIVAM = "ShivamShrirao/diffusers, examples/dreambooth/README.md"
GB = 1e9 / GIB

CACHED = {"cachedLatents": True, "cachedTextEmbeddings": True}
VIDEO = {"modality": "video", "width": 720, "height": 480, "frames": 49, "recompute": "full"}
WIDE = {**VIDEO, "width": 768, "height": 512, "trainer": "finetrainers", "tiling": True}
PICTURE = {"modality": "image", "width": 1024, "height": 1024, "recompute": "full", **CACHED}
PORTRAIT = {
    **PICTURE,
    "width": 512,
    "height": 768,
    "captionTokens": 77,
    "optimizer": "adamw-8bit",
}
OLD = {**PICTURE, "width": 512, "height": 512, "method": "full", "optimizer": "adamw-8bit"}
FLUX = "black-forest-labs/FLUX.1-dev"
SD = "stable-diffusion-v1-5/stable-diffusion-v1-5"
HUNYUAN = "hunyuanvideo-community/HunyuanVideo"


def lora(rank: int, **more: Any) -> dict[str, Any]:
    return {"method": "lora", "adapter": {"rank": rank, "targets": "attention"}, **more}


RESERVED = (
    (COG, 43.8, {"model": "THUDM/CogVideoX-2b", **VIDEO, **lora(16), "recompute": "none"}, CACHED),
    (COG, 45.8, {"model": "THUDM/CogVideoX-2b", **VIDEO, **lora(256), "recompute": "none"}, CACHED),
    (COG, 21.8, {"model": "THUDM/CogVideoX-2b", **VIDEO, **lora(16), "microBatch": 4}, CACHED),
    (COG, 46.5, {"model": "THUDM/CogVideoX-5b", **VIDEO, **lora(16), "microBatch": 4}, CACHED),
    (COG, 47.3, {"model": "THUDM/CogVideoX-5b", **VIDEO, **lora(256), "microBatch": 4}, CACHED),
    (COG, 33.9, {"model": "THUDM/CogVideoX-2b", **VIDEO, "method": "full"}, CACHED),
    (FINE, 52.9, {**WIDE, **VIDEO, "model": "THUDM/CogVideoX-5b", "method": "full"}, CACHED),
    (FINE, 20.4, {**WIDE, "model": "Lightricks/LTX-Video", "method": "full"}, CACHED),
    (FINE, 17.6, {**WIDE, "model": "Lightricks/LTX-Video", **lora(128)}, {}),
    (FINE, 42.4, {**WIDE, "model": HUNYUAN, **lora(128)}, CACHED),
    (FINE, 56.3, {**WIDE, "model": HUNYUAN, **lora(128)}, {}),
)
"""GiB that the allocator reserves at the peak of training."""
PROCESS = (
    (BLOG, 9 * GB, {"model": FLUX, **PORTRAIT, **lora(4, method="qlora"), "globalBatch": 4}),
    (BLOG, 26 * GB, {"model": FLUX, **PORTRAIT, **lora(4), "globalBatch": 4}),
    (TUNER, 30 * GB, {"model": FLUX, **PICTURE, "method": "lora", "trainer": "simpletuner"}),
    (
        TUNER,
        18 * GB,
        {
            "model": FLUX,
            **PICTURE,
            "method": "lora",
            "trainer": "simpletuner",
            "weightsFormat": "int8",
        },
    ),
    (
        MUSUBI,
        42.0,
        {
            "model": "Qwen/Qwen-Image",
            **PICTURE,
            "method": "lora",
            "trainer": "musubi-tuner",
            "textEncoderFormat": "fp8",
        },
    ),
    (SHIVAM, 9.92 * GB, {"model": SD, **OLD}),
    (SHIVAM, 11.17 * GB, {"model": SD, **OLD, "recompute": "none"}),
    (SHIVAM, 13.67 * GB, {"model": SD, **OLD, "recompute": "none", "microBatch": 2}),
    (SHIVAM, 11.56 * GB, {"model": SD, **OLD, "globalBatch": 2}),
    (SHIVAM, 15.79 * GB, {"model": SD, **OLD, "optimizer": "adamw"}),
)
"""GiB of the whole process, CUDA's own among them."""
NEAR = 0.2


@pytest.fixture(scope="module")
def sized(catalog: Catalog, place: Callable[..., Placement]) -> Callable[..., Fit]:
    def build(raw: dict[str, Any], instance: str = "p5.48xlarge", **sizes: int) -> Fit:
        declared = {"kind": "fine-tuning", "region": "us-east-1", "method": "lora", **raw}
        return fit(parse_workload(declared), place(instance, **sizes), catalog)

    return build


@pytest.mark.parametrize(("source", "peak", "raw", "cached"), RESERVED)
def test_what_the_allocator_reserves(
    source: str, peak: float, raw: dict[str, Any], cached: dict[str, Any], sized: Callable[..., Fit]
) -> None:
    found = sized({**raw, **cached})
    seen = (found.need or 0) - found.term(Term.RUNTIME_OVERHEAD)
    assert seen / GIB == pytest.approx(peak, rel=NEAR), source


@pytest.mark.parametrize(("source", "peak", "raw"), PROCESS)
def test_what_the_process_takes(
    source: str, peak: float, raw: dict[str, Any], sized: Callable[..., Fit]
) -> None:
    assert (sized(raw).need or 0) / GIB == pytest.approx(peak, rel=NEAR), source


def test_that_a_5b_video_model_ran_out_of_80_gib_is_no_surprise(sized: Callable[..., Fit]) -> None:
    raw = {"model": "THUDM/CogVideoX-5b", **VIDEO, **lora(16), **CACHED, "recompute": "none"}
    found = sized(raw)
    assert found.verdict is not Verdict.FITS, COG
    assert found.output is not None
    assert found.output.largest_batch == 0, COG


@pytest.mark.parametrize(
    ("model", "rank", "params"),
    [
        ("THUDM/CogVideoX-5b", 128, 132_120_576),
        ("Lightricks/LTX-Video", 128, 117_440_512),
        ("stabilityai/stable-diffusion-xl-base-1.0", 4, 5_806_080),
    ],
)
def test_adapters_are_as_large_as_trainers_say(
    model: str, rank: int, params: int, catalog: Catalog
) -> None:
    from gpusize.memory.diffusion_training.trained import adapter_params
    from gpusize.pipeline import find_pipeline
    from gpusize.workload import Adapter, AdapterTargets

    pipeline = find_pipeline(model, catalog)
    assert pipeline is not None
    adapter = Adapter(rank=rank, targets=AdapterTargets.ATTENTION)
    assert adapter_params(pipeline.denoisers[0], adapter) == pytest.approx(params, rel=0.07)


def test_a_mean_of_the_weights_is_kept_beside_them(sized: Callable[..., Fit]) -> None:
    raw = {**OLD, "model": SD}
    more = sized({**raw, "ema": True}).term(Term.OPTIMIZER_STATES)
    assert more - sized(raw).term(Term.OPTIMIZER_STATES) == 859_520_964 * 4


def test_text_encoders_that_can_be_trained_are(sized: Callable[..., Fit]) -> None:
    raw = {**OLD, "model": SD, "cachedTextEmbeddings": False}
    trained = sized({**raw, "trainTextEncoder": True})
    assert trained.term(Term.GRADIENTS) == (859_520_964 + 123_060_480) * 4
    others = sized({**PICTURE, "model": "Qwen/Qwen-Image", **lora(4)}).verdict
    assert others is not Verdict.UNKNOWN
    asked = {**PICTURE, "cachedTextEmbeddings": False, "trainTextEncoder": True}
    found = sized({**asked, "model": "Qwen/Qwen-Image", **lora(4)})
    assert found.verdict is Verdict.UNKNOWN
    assert "trains the text encoder" in found.reasons[0]


def test_of_two_denoisers_one_is_trained_at_a_time(sized: Callable[..., Fit]) -> None:
    raw = {**VIDEO, **lora(16), **CACHED}
    one = sized({**raw, "model": "Wan-AI/Wan2.1-T2V-14B"})
    two = sized({**raw, "model": "Wan-AI/Wan2.2-T2V-A14B"})
    assert two.need == one.need
    assert "one is trained at a time" in " ".join(each.why for each in two.assumptions)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"weightsFormat": "awq"}, "load awq weights"),
        ({"weightsFormat": "int8", "method": "full"}, "cannot be trained"),
        ({"weightsFormat": "bf16", "method": "qlora"}, "qlora keeps quantized weights"),
        ({"computePrecision": "fp8"}, "training in fp8 is not modelled"),
    ],
)
def test_what_is_not_known_is_said(
    raw: dict[str, Any], why: str, sized: Callable[..., Fit]
) -> None:
    found = sized({**PICTURE, "model": FLUX, **raw})
    assert found.verdict is Verdict.UNKNOWN
    assert why in found.reasons[0]


def test_copies_share_where_a_whole_one_does_not_fit(sized: Callable[..., Fit]) -> None:
    found = sized({**PICTURE, "model": FLUX, "method": "full"}, "p4de.24xlarge", dp=8)
    assert (found.sharding, found.verdict) == ("fsdp", Verdict.FITS)


def test_swapped_blocks_wait_in_the_host(sized: Callable[..., Fit]) -> None:
    """15 of the 60 blocks of Qwen-Image: a quarter of 20,430,401,088 weights of two bytes."""
    more = {"model": "Qwen/Qwen-Image", **PICTURE, **lora(16), "trainer": "musubi-tuner"}
    whole, swapped = sized(more), sized({**more, "swappedBlocks": 15})
    quarter = 2 * 20_430_401_088 / 4
    assert whole.term(Term.WEIGHTS) - swapped.term(Term.WEIGHTS) == pytest.approx(quarter)
    assert swapped.host - whole.host == pytest.approx(quarter)
    all_of_them = sized({**more, "swappedBlocks": 99})
    assert all_of_them.host - whole.host == pytest.approx(4 * quarter)


def test_blocks_that_are_trained_in_full_are_not_swapped(sized: Callable[..., Fit]) -> None:
    more = {"model": "Qwen/Qwen-Image", **PICTURE, "method": "full"}
    assert sized({**more, "swappedBlocks": 15}).verdict is Verdict.UNKNOWN
