"""How long a pipeline takes: the operations of its transformer, step by step.

The bound takes the peak of the GPU for granted. The estimate lies between the shares of the peak
that published runs reach; text encoding and the decoding of pictures are small beside it and are
not counted, the decoding of sound is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.memory.diffusion import sound
from gpusize.memory.diffusion.activations import tokens
from gpusize.memory.diffusion.job import job_of
from gpusize.timing import Pace, Timing, unmodelled
from gpusize.workload import Audio, Generation, PipelineOffload, VideoGeneration

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.placement import Placement
    from gpusize.workload import Workload
    from gpusize_catalog.facts import DiffusionComponent

COMPUTE_SHARE = 0.42
LOW_SHARE, HIGH_SHARE = 0.28, 0.62
"""Share of the GPU's 16-bit peak, and its range. Sources: FLUX.1-dev on H100 0.34 eager, 0.53
compiled, CogVideoX on A100 0.41 to 0.47 and on H100 0.30 to 0.38 (diffusers-torchao 9b9f238),
Wan2.2-A14B on A100 0.59 and on H100 0.44 (its repository, comp_effic.png)."""
BLOCK_PARAMS = 12
"""Parameters of a block that one token passes, times its width squared: four projections, and an
MLP four times as wide."""
FLOPS_PER_PARAM = 2
SCORE_FLOPS = 4
"""Operations of attention for each pair of tokens and each number of the width: scores, sum."""


def timing_of_pipeline(
    workload: Workload, architecture: Architecture, placement: Placement
) -> Timing:
    """Time one sample; copies on several GPUs move nothing between them."""
    pace, unknown = _pace(workload, architecture, placement)
    return unmodelled(*unknown)._replace(pace=pace)


def _pace(
    workload: Workload, architecture: Architecture, placement: Placement
) -> tuple[Pace | None, tuple[str, ...]]:
    flops, unknown = _flops(workload, architecture)
    gpu = placement.gpu
    peak = (gpu.bf16_flops or gpu.fp16_flops or 0.0) * placement.instance.partition
    if not unknown and not peak:
        unknown = f"tensor throughput of {gpu.id} is not known"
    if unknown:
        return None, (unknown,)
    best = flops / peak
    what = "second of video" if isinstance(workload, VideoGeneration) else "image"
    what = "second of sound" if isinstance(workload, Audio) else what
    return Pace(what, best / COMPUTE_SHARE, best / HIGH_SHARE, best / LOW_SHARE, best), ()


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
    if workload.compute_precision == "fp32":
        return 0.0, "the time of fp32 is not modelled"
    if decoder is None or denoiser.blocks is None or denoiser.hidden is None:
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


def forward_flops(denoiser: DiffusionComponent, count: int) -> float:
    """Operations of a transformer on one row of so many tokens."""
    width = denoiser.hidden or 0
    per_token = FLOPS_PER_PARAM * BLOCK_PARAMS * width**2 + SCORE_FLOPS * width * count
    return float(per_token * (denoiser.blocks or 0) * count)
