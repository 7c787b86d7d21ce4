"""What of a pipeline is trained and what is frozen, in parameters and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.diffusion.weights import decoder_number, part_bytes
from gpusize.memory.diffusion_training.activations import UNET
from gpusize.memory.training.recipe import ADAPTED

if TYPE_CHECKING:
    from gpusize.memory.diffusion.job import Job
    from gpusize.pipeline import PipelineFacts
    from gpusize.workload import Adapter, DiffusionTraining
    from gpusize_catalog.facts import DiffusionComponent, FormatFacts

ADAPTER_SHARE = 6e-4
"""Parameters of an adapter on attention, for each rank and parameter of a U-Net or a CLIP encoder,
at most. Source: counted from the classes of diffusers 0.42 and transformers 5.24: U-Net of SDXL
5.7e-4, of Stable Diffusion 1.5 2.3e-4; CLIP ViT-L 6.0e-4, OpenCLIP bigG 4.7e-4."""
MLP_FACTOR = 2.0
"""The same with adapters on the MLPs too: of a block of SDXL's U-Net 1.8 times as much."""
PAIRS = {"query-value": 2, "attention": 4, "all-linear": 4}
"""Matrices of one set of projections that have an adapter."""
MLP_SIDES = 10
"""Sides of an MLP's two matrices, in widths: one and four, four and one."""
TRAINABLE_ENCODER = "CLIP"
"""Text encoders that trainers can train. Source: README_sd3.md and README_flux.md of the dreambooth
examples of diffusers: T5 stays frozen."""


class Trained(NamedTuple):
    """A pipeline, as a training run holds it."""

    denoiser: DiffusionComponent
    params: float
    """Parameters that are trained: all of the denoiser, or the adapter."""
    frozen: int
    """Bytes of the denoiser's frozen weights, which copies may share; 0 where all are trained."""
    encoders: tuple[int, ...]
    """Bytes of the text encoders that are not trained in full."""
    decoder: int
    """Bytes of the VAE."""


def trained_denoiser(workload: DiffusionTraining, pipeline: PipelineFacts) -> DiffusionComponent:
    """What removes the noise, of several the largest, with the tokens of the declared captions."""
    found = max(pipeline.denoisers, key=lambda part: part.params or 0)
    tokens = workload.caption_tokens
    return found if tokens is None else found._replace(text_tokens=tokens)


def trainable_encoders(pipeline: PipelineFacts) -> tuple[DiffusionComponent, ...]:
    """Text encoders that trainers can train."""
    return tuple(
        [part for part in pipeline.encoders if part.class_or_name.find(TRAINABLE_ENCODER) >= 0]
    )


def trained_of(
    workload: DiffusionTraining,
    pipeline: PipelineFacts,
    job: Job,
    form: FormatFacts,
    encoder: FormatFacts,
) -> Trained:
    """Split a pipeline into what is trained and what is frozen."""
    denoiser = trained_denoiser(workload, pipeline)
    beside = trainable_encoders(pipeline) if workload.train_text_encoder else ()
    adapted = workload.method.value in ADAPTED
    if adapted:
        params = sum(adapter_params(part, workload.adapter) for part in (denoiser, *beside))
    else:
        params = float(sum(part.params or 0 for part in (denoiser, *beside)))
    held = [part for part in pipeline.encoders if adapted or part not in beside]
    decoder = pipeline.decoder
    return Trained(
        denoiser,
        params,
        part_bytes(denoiser.params or 0, form, job.number) if adapted else 0,
        tuple([part_bytes(part.params or 0, encoder, job.number) for part in held]),
        (decoder.params or 0) * decoder_number(decoder, job) if decoder else 0,
    )


def adapter_params(part: DiffusionComponent, adapter: Adapter) -> float:
    """Parameters of an adapter on one component."""
    targets = adapter.targets.value
    if part.component == UNET or part.hidden is None or part.blocks is None:
        share = ADAPTER_SHARE * PAIRS[targets] / PAIRS["attention"]
        factor = MLP_FACTOR if targets == "all-linear" else 1.0
        return adapter.rank * share * factor * (part.params or 0)
    sets = part.attention_sets or 2 * part.blocks
    sides = 2 * PAIRS[targets] * sets
    if targets == "all-linear":
        sides += MLP_SIDES * part.blocks
    return float(adapter.rank * sides * part.hidden)
