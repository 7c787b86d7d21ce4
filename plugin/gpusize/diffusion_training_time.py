"""How long a step takes that trains a pipeline: operations of its transformer, and what moves.

An estimate takes the share of the peak that published runs reach, a bound takes all of it. Encoding
captions that are not cached counts, encoding pictures does not. The share of communication is that
were nothing hidden, as of training runs of language models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.links import LINK_SHARE, inner_link, outer_link
from gpusize.memory.diffusion.activations import tokens
from gpusize.memory.diffusion_training.job import job_of
from gpusize.memory.diffusion_training.trained import adapter_params, trained_denoiser
from gpusize.memory.training.recipe import ADAPTED
from gpusize.memory.training.sharing import WHOLE
from gpusize.pipeline_timing import FLOPS_PER_PARAM, forward_flops
from gpusize.speed import wide_flops
from gpusize.timing import Timing, unmodelled
from gpusize_catalog.units import HOUR

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.links import Link
    from gpusize.memory.result import Fit
    from gpusize.pipeline import PipelineFacts
    from gpusize.placement import Placement
    from gpusize.workload import DiffusionTraining
    from gpusize_catalog.facts import DiffusionComponent

COMPUTE_SHARE = 0.4
LOW_SHARE, HIGH_SHARE = 0.12, 0.55
"""Share of the GPU's 16-bit peak, and its range. Sources: FLUX.1-dev, QLoRA at 512x768 on an RTX
4090, 700 steps of 4 pictures in 41 minutes: 0.47 (huggingface/blog 2ece681, flux-qlora.md);
generation by the same transformers reaches 0.28 to 0.62, training of language models 0.32 to 0.55
(see there); the low end is assumed, for small pictures one by one on large GPUs, which wait for the
host."""
HALF = 2
"""Bytes of a weight or gradient that moves."""


def diffusion_training_time(
    placement: Placement, fit: Fit, architecture: Architecture, workload: DiffusionTraining
) -> Timing:
    """Time one step and the whole run; what is not known makes the answer unknown, not zero."""
    pipeline = architecture.pipeline
    assert pipeline is not None
    link = outer_link(placement) if placement.domains > 1 else inner_link(placement)
    denoiser = trained_denoiser(workload, pipeline)
    shared = placement.layout.gpus > 1
    missing = _missing(placement, fit, denoiser, link if shared else None)
    blank = unmodelled(*missing)
    if shared:
        blank = unmodelled(*missing, link=link, share=None)
    if missing:
        return blank
    gpu, copies = placement.gpu, placement.layout.dp
    peak = wide_flops(gpu) * placement.instance.partition
    whole = workload.global_batch or workload.micro_batch * copies
    best = _flops(workload, pipeline, denoiser) * whole / copies / peak
    micro_steps = max(1, -(-whole // (workload.micro_batch * copies)))
    moved = _moved(workload, fit, denoiser, link, copies, micro_steps, LINK_SHARE)
    step = max(best / COMPUTE_SHARE, moved)
    least = _moved(workload, fit, denoiser, link, copies, micro_steps, 1.0)
    ends = [max(best / share, moved) for share in (HIGH_SHARE, LOW_SHARE)]
    found = blank._replace(
        step_seconds=step,
        step_bound=max(best, least),
        communication_share=moved / (best / COMPUTE_SHARE + moved),
        unknown=_remarks(workload, fit),
    )
    steps = steps_of(workload, whole)
    if steps is None:
        return found
    hours = (ends[0] * steps / HOUR, ends[1] * steps / HOUR)
    return found._replace(hours_to_end=step * steps / HOUR, hours_range=hours)


def steps_of(workload: DiffusionTraining, whole: int) -> float | None:
    """Steps of the run at so many samples each; None where its length is not declared."""
    if workload.train_steps is not None:
        return float(workload.train_steps)
    if workload.samples is None:
        return None
    return workload.samples * workload.epochs / whole


def _missing(
    placement: Placement, fit: Fit, denoiser: DiffusionComponent, link: Link | None
) -> tuple[str, ...]:
    missing = []
    if fit.need is None:
        missing.append("memory of the run is not known")
    if denoiser.blocks is None or denoiser.hidden is None:
        missing.append(f"the time of a {denoiser.class_or_name} is not modelled")
    if not wide_flops(placement.gpu):
        missing.append(f"tensor throughput of {placement.gpu.id} is not known")
    if link is not None and not link.bandwidth:
        missing.append(f"bandwidth of {link.name} is not known")
    return tuple(missing)


def _remarks(workload: DiffusionTraining, fit: Fit) -> tuple[str, ...]:
    """What the time leaves out."""
    found = []
    if fit.host:
        found.append("what moves to and from the host, and its own steps, are not in the time")
    if not workload.cached_latents:
        found.append("encoding the pictures is not in the time: cachedLatents does it once")
    return tuple(found)


def _flops(
    workload: DiffusionTraining, pipeline: PipelineFacts, denoiser: DiffusionComponent
) -> float:
    """Operations of one sample: forwards, gradients of inputs, perhaps of weights, perhaps again.

    Text encoders go forwards alone, over the tokens of one caption.
    """
    decoder = pipeline.decoder
    assert decoder is not None
    passes = 2 if workload.method.value in ADAPTED else 3
    passes += int(workload.recompute.value == "full")
    whole = passes * forward_flops(denoiser, tokens(denoiser, decoder, job_of(workload)))
    if not workload.cached_text_embeddings:
        params = sum(part.params or 0 for part in pipeline.encoders)
        whole += FLOPS_PER_PARAM * params * (denoiser.text_tokens or 0)
    return whole


def _moved(
    workload: DiffusionTraining,
    fit: Fit,
    denoiser: DiffusionComponent,
    link: Link,
    copies: int,
    micro_steps: int,
    share: float,
) -> float:
    """Seconds between GPUs in one step: gradients once, weights for each micro batch where shared.

    Computing goes on meanwhile.
    """
    if copies == 1:
        return 0.0
    held = float(denoiser.params or 0)
    adapted = workload.method.value in ADAPTED
    trained = adapter_params(denoiser, workload.adapter) if adapted else held
    if fit.sharding not in WHOLE:
        return link.all_reduce(copies, trained * HALF, share)
    gathered = link.all_reduce(copies, held * HALF, share)
    return micro_steps * (gathered + link.all_reduce(copies, trained * HALF, share) / 2)
