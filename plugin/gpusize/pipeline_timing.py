"""How long a pipeline takes: the operations of its transformer or U-Net, step by step.

The bound takes the peak of the GPU for granted. The estimate lies between the shares of the peak
that published runs reach; text encoding and the decoding of pictures are small beside it and are
not counted, the decoding of sound is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats
from gpusize.memory.diffusion import sound
from gpusize.memory.diffusion.activations import tokens
from gpusize.memory.diffusion.job import job_of
from gpusize.speed import wide_flops
from gpusize.timing import Pace, Timing, unmodelled
from gpusize.workload import Audio, Generation, PipelineOffload, VideoGeneration

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.placement import Placement
    from gpusize.workload import Workload
    from gpusize_catalog.facts import DiffusionComponent, FormatFacts
    from gpusize_catalog.store import Catalog


class Shares(NamedTuple):
    """Share of the GPU's 16-bit peak that a denoiser reaches: the usual one, and its range."""

    usual: float
    least: float
    most: float


SHARES = Shares(0.42, 0.28, 0.62)
"""Of transformers in 16 bits. Sources: FLUX.1-dev on H100 0.34 eager, 0.53 compiled, CogVideoX on
A100 0.41 to 0.47 and on H100 0.30 to 0.38 (diffusers-torchao 9b9f238), Wan2.2-A14B on A100 0.59 and
on H100 0.44 (its repository, comp_effic.png)."""
UNET_SHARES = Shares(0.30, 0.15, 0.55)
"""Of U-Nets, whose small layers leave a GPU waiting. Source: fal-ai/stable-diffusion-benchmarks, 50
steps on A100-80GB: Stable Diffusion 1.5 0.16 eager, 0.24 compiled, 0.31 TensorRT; SDXL 0.37, 0.42
and 0.53."""
EIGHT_BIT_SHARES = Shares(0.45, 0.19, 0.75)
"""Of transformers in 8 bits: eager they lose to 16 bits, compiled they gain. Sources:
diffusers-torchao 9b9f238 and huggingface/blog 0b53cb19: 0.19 to 0.41 eager, 0.39 to 0.75 compiled;
int8 with dynamic activations, eager on H100, is slower still (0.02 to 0.05)."""
FOUR_BIT_SHARES = Shares(0.12, 0.03, 0.33)
"""Of transformers in fewer bits, which are unpacked before each product. Sources: as above: int4
0.03 to 0.11, gguf 0.15 to 0.16, nf4 0.31."""
AS_WIDE = frozenset({"fp6-e3m2", "fp5-e2m2", "fp4-e2m1", "int8-sparse"})
"""Formats of fewer bits whose kernels keep up with 16 bits where there are many tokens. Source:
diffusers-torchao 9b9f238, FLUX.1-dev at batch 16 and CogVideoX: 0.31 to 0.53."""
EIGHT_BITS = 8
BLOCK_PARAMS = 12
"""Parameters of a block that one token passes, times its width squared: four projections, and an
MLP four times as wide."""
FLOPS_PER_PARAM = 2
SCORE_FLOPS = 4
"""Operations of attention for each pair of tokens and each number of the width: scores, sum."""


def timing_of_pipeline(
    workload: Workload, architecture: Architecture, placement: Placement, catalog: Catalog
) -> Timing:
    """Time one sample; copies on several GPUs move nothing between them."""
    pace, unknown = _pace(workload, architecture, placement, catalog)
    return unmodelled(*unknown)._replace(pace=pace)


def _pace(
    workload: Workload, architecture: Architecture, placement: Placement, catalog: Catalog
) -> tuple[Pace | None, tuple[str, ...]]:
    flops, unknown = _flops(workload, architecture)
    gpu = placement.gpu
    peak = wide_flops(gpu) * placement.instance.partition
    if not unknown and not peak:
        unknown = f"tensor throughput of {gpu.id} is not known"
    form = _narrow_form(workload, catalog)
    is_unet = not unknown and _is_unet(architecture)
    if is_unet and form is not None:
        unknown = "the time of a quantized U-Net is not modelled"
    if unknown:
        return None, (unknown,)
    at_peak = flops / peak
    shares = UNET_SHARES if is_unet else _shares(form)
    fastest = 1.0
    if form is not None:
        most = max(gpu.fp8_flops or 0.0, gpu.int8_ops or 0.0, gpu.fp4_flops or 0.0)
        fastest = max(1.0, most * placement.instance.partition / peak)
    what = "second of video" if isinstance(workload, VideoGeneration) else "image"
    what = "second of sound" if isinstance(workload, Audio) else what
    usual, low = at_peak / shares.usual, at_peak / shares.most
    return Pace(what, usual, low, at_peak / shares.least, at_peak / fastest), ()


def _shares(form: FormatFacts | None) -> Shares:
    if form is None or form.id in AS_WIDE:
        return SHARES
    return EIGHT_BIT_SHARES if form.linear_bits >= EIGHT_BITS else FOUR_BIT_SHARES


def _narrow_form(workload: Workload, catalog: Catalog) -> FormatFacts | None:
    """The format of a denoiser's weights where they are quantized."""
    form = formats.find_format(catalog, workload.weights_format)
    return None if form is None or form.id in formats.COMPUTE_BYTES else form


def _is_unet(architecture: Architecture) -> bool:
    pipeline = architecture.pipeline
    return pipeline is not None and pipeline.denoisers[0].pixel_flops is not None


def _flops(workload: Workload, architecture: Architecture) -> tuple[float, str]:
    """Operations of an image or a second of video or sound, and why they are not known."""
    pipeline = architecture.pipeline
    if pipeline is None or not isinstance(workload, (Generation, Audio)):
        return 0.0, "not a pipeline"
    decoder = pipeline.decoder
    denoiser = pipeline.denoisers[0]
    if pipeline.generates:
        return 0.0, "the time of tokens that transformers makes one by one is not modelled"
    if workload.steps is None:
        return 0.0, "steps are not declared"
    if workload.pipeline.offload is PipelineOffload.SEQUENTIAL:
        return 0.0, "layers that wait in host memory take a time that is not modelled"
    if (getattr(workload, "cp", None) or 1) > 1:
        return 0.0, "the time of samples that GPUs share is not modelled"
    if workload.compute_precision == "fp32":
        return 0.0, "the time of fp32 is not modelled"
    if decoder is None or not is_counted(denoiser):
        return 0.0, f"the time of a {denoiser.class_or_name} is not modelled"
    job = job_of(workload)
    once = forward_flops(denoiser, tokens(denoiser, decoder, job))
    whole = once * (denoiser.passes or 1) * workload.steps
    if isinstance(workload, Audio):
        if decoder.decoder_flops is None:
            return 0.0, f"the time of a {decoder.class_or_name} is not modelled"
        samples = sound.latents(denoiser, decoder, job.seconds) * (decoder.scale or 1)
        return (whole + samples * decoder.decoder_flops) / job.seconds, ""
    return (whole / workload.length if isinstance(workload, VideoGeneration) else whole), ""


def is_counted(denoiser: DiffusionComponent) -> bool:
    """Whether the operations of a denoiser are known."""
    if denoiser.pixel_flops is not None:
        return denoiser.pair_flops is not None
    return denoiser.blocks is not None and denoiser.hidden is not None


def forward_flops(denoiser: DiffusionComponent, count: int) -> float:
    """Operations of a denoiser on one row of so many tokens; those of a U-Net are latent pixels."""
    if denoiser.pixel_flops is not None:
        pixels = count - (denoiser.text_tokens or 0)
        return denoiser.pixel_flops * pixels + (denoiser.pair_flops or 0.0) * pixels**2
    width = denoiser.hidden or 0
    per_token = FLOPS_PER_PARAM * BLOCK_PARAMS * width**2 + SCORE_FLOPS * width * count
    return float(per_token * (denoiser.blocks or 0) * count)
