"""Components of pipelines that can be counted by hand."""

from __future__ import annotations

from typing import Any

from gpusize.memory.diffusion.job import Job
from gpusize.pipeline import PipelineFacts
from gpusize.workload import PipelineOffload, parse_workload
from gpusize_catalog.facts import DiffusionComponent

WORDS = frozenset({"model", "component", "class_or_name", "makes", "decoder_kind", "native_format"})


def part(component: str, **facts: Any) -> DiffusionComponent:
    """A component of which only these facts are known."""
    blank = {name: "" if name in WORDS else None for name in DiffusionComponent._fields}
    return DiffusionComponent(**{**blank, "model": "toy", "component": component, **facts})


DENOISER = part(
    "transformer",
    params=4_000_000,
    makes="image",
    hidden=100,
    blocks=10,
    attention_sets=12,
    patch=2,
    patch_frames=1,
    rows_per_sample=1,
    text_tokens=50,
    stream_bits=16,
)
UNET = DENOISER._replace(component="unet", patch=1, blocks=None)
CLIP = part("text-encoder", class_or_name="CLIP toy", params=300_000)
T5 = part("text-encoder", class_or_name="T5 toy", params=900_000)
VAE = part(
    "vae",
    params=80_000,
    scale=8,
    scale_frames=4,
    decoder_kind="2d",
    decoder_width=16,
    decoder_shrink=1,
)
CODEC = part(
    "codec",
    params=70_000,
    scale=320,
    scale_frames=1,
    decoder_kind="1d",
    decoder_width=32,
    sample_rate=24_000,
)
GENERATOR = part(
    "generator", params=2_000_000, makes="audio", hidden=64, blocks=6, tokens_per_second=50.0
)
PIPELINE = PipelineFacts("toy", "image", (DENOISER, CLIP, T5, VAE))

JOB = Job(
    width=160,
    height=96,
    frames=1,
    batch=1,
    precision="bf16",
    offload=PipelineOffload.NONE,
    quantized_on_gpu=False,
    fused=False,
    tiling=False,
    slicing=False,
)
"""A picture of 20 by 12 latent pixels: 10 by 6 patches of two."""
PATCHES = 60
ADAPTER: dict[str, Any] = {"adapter": {"rank": 8, "targets": "attention"}}


def training(method="full", **fields: Any):
    raw = {
        "kind": "fine-tuning",
        "modality": "image",
        "model": "black-forest-labs/FLUX.1-dev",
        "region": "us-east-1",
        "method": method,
        "width": 160,
        "height": 96,
        **({} if method == "full" else ADAPTER),
    }
    return parse_workload({**raw, **fields})


def pipeline_of(*parts: DiffusionComponent) -> PipelineFacts:
    return PipelineFacts("toy", "image", parts or PIPELINE.parts)
