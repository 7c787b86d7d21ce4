"""Bytes of the components of a pipeline, each in its own format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE, COMPUTE_BYTES, WIDE

if TYPE_CHECKING:
    from gpusize.memory.diffusion.job import Job
    from gpusize.pipeline import PipelineFacts
    from gpusize_catalog.facts import DiffusionComponent, FormatFacts

KEPT_SHARE = 0.015
"""Part of a quantized component that stays as it was: embeddings, norms, first and last layers.
Source: diffusers-torchao at 9b9f238, weights after loading: FLUX.1-dev transformer in int8 11.95 GB
of 11.90e9 parameters (0.4 %), CogVideoX-5b with its T5 10.61 GB of 10.33e9 (2.7 %)."""
FUSED = 3
"""Projections that are fused: query, key, value."""


class Weights(NamedTuple):
    """Bytes of components, by the stage that needs them."""

    encoders: tuple[int, ...]
    denoisers: tuple[int, ...]
    decoder: int

    @property
    def total(self) -> int:
        """All together."""
        return sum(self.encoders) + sum(self.denoisers) + self.decoder


def is_wide(form: FormatFacts) -> bool:
    """Whether a format is computed in as it lies."""
    return form.id in WIDE


def part_bytes(params: int, form: FormatFacts, number: int) -> int:
    """Bytes of a component; what quantization leaves alone keeps the compute precision."""
    if is_wide(form):
        return params * COMPUTE_BYTES[form.id]
    kept = params * KEPT_SHARE
    return round(kept * number + (params - kept) * form.linear_bits / BITS_PER_BYTE)


def weights_of(
    pipeline: PipelineFacts, job: Job, denoiser: FormatFacts, encoder: FormatFacts
) -> Weights:
    """Bytes of every component at work."""
    decoder = pipeline.decoder
    number = decoder_number(decoder, job) if decoder else job.number
    return Weights(
        tuple([part_bytes(part.params or 0, encoder, job.number) for part in pipeline.encoders]),
        tuple([_denoiser(part, denoiser, job) for part in pipeline.denoisers]),
        (decoder.params or 0) * number if decoder else 0,
    )


def unquantized(pipeline: PipelineFacts, job: Job) -> int:
    """Bytes of all components before they are quantized in place."""
    fused = sum(fused_params(part) for part in pipeline.denoisers) if job.fused else 0
    return (pipeline.params + fused) * job.number


def fused_params(part: DiffusionComponent) -> int:
    """Parameters of the fused projections, held beside those they are made of."""
    return FUSED * (part.hidden or 0) ** 2 * (part.attention_sets or 0)


def decoder_number(decoder: DiffusionComponent, job: Job) -> int:
    """Bytes of one number in the decoder."""
    if decoder.upcasts_fp16 and job.precision == "fp16":
        return COMPUTE_BYTES["fp32"]
    return job.number


def _denoiser(part: DiffusionComponent, form: FormatFacts, job: Job) -> int:
    size = part_bytes(part.params or 0, form, job.number)
    if not job.fused:
        return size
    bits = job.number * BITS_PER_BYTE if is_wide(form) else form.linear_bits
    return size + round(fused_params(part) * bits / BITS_PER_BYTE)
