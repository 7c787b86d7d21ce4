"""Bytes of the components of a pipeline, each in its own format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE, COMPUTE_BYTES

if TYPE_CHECKING:
    from gpusize.memory.diffusion.job import Job
    from gpusize.pipeline import PipelineFacts
    from gpusize_catalog.facts import DiffusionComponent, FormatFacts

KEPT_SHARE = 0.015
"""Part of a quantized component that stays as it was: embeddings, norms, first and last layers.
Source: diffusers-torchao at 9b9f238, weights after loading: FLUX.1-dev transformer in int8 11.95 GB
of 11.90e9 parameters (0.4 %), CogVideoX-5b with its T5 10.61 GB of 10.33e9 (2.7 %)."""
IMMOVABLE = frozenset({"int8-bitsandbytes"})
"""Formats whose modules stay where they were loaded. Source: transformers and diffusers refuse to
move 8-bit bitsandbytes modules; HunyuanVideo with model offload (video_gen.md) holds 25.7 GiB
beside its tiled decoder: the 8-bit transformer and the text encoder together."""
GATHERED_BLOCKS = 2
"""The block at work and the next one, at the compute precision. Source: PyTorch 2 FSDP gathers the
next unit while one works (backward_prefetch and forward_prefetch of its documentation)."""
FUSED = 3
"""Projections that are fused: query, key, value."""


class Weights(NamedTuple):
    """Bytes of components that can wait in host memory, by stage, and of those that cannot."""

    encoders: tuple[int, ...]
    denoisers: tuple[int, ...]
    decoder: int
    fixed: int
    """Of these what cannot be moved to host memory, whatever is offloaded."""

    @property
    def total(self) -> int:
        """All together."""
        return sum(self.encoders) + sum(self.denoisers) + self.decoder + self.fixed


def is_wide(form: FormatFacts) -> bool:
    """Whether a format is computed in as it lies."""
    return form.id in COMPUTE_BYTES


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
    shards = job.sharing if job.sharded else 1
    encoders = [
        part_bytes(part.params or 0, encoder, job.number) // shards for part in pipeline.encoders
    ]
    denoisers = [_denoiser(part, denoiser, job) // shards for part in pipeline.denoisers]
    fixed = sum(encoders) if encoder.id in IMMOVABLE else 0
    fixed += sum(denoisers) if denoiser.id in IMMOVABLE else 0
    return Weights(
        tuple([0 if encoder.id in IMMOVABLE else size for size in encoders]),
        tuple([0 if denoiser.id in IMMOVABLE else size for size in denoisers]),
        (decoder.params or 0) * number if decoder else 0,
        fixed,
    )


def gathered(pipeline: PipelineFacts, job: Job) -> int:
    """Bytes of the blocks that a GPU has whole at once, where each holds a part of the weights."""
    if not job.sharded or job.sharing == 1:
        return 0
    largest = max((part.params or 0) / (part.blocks or 1) for part in pipeline.denoisers)
    return round(GATHERED_BLOCKS * largest * job.number)


def unquantized(pipeline: PipelineFacts, job: Job) -> int:
    """Bytes of all components before they are quantized in place."""
    fused = sum(fused_params(part) for part in pipeline.denoisers) if job.fused else 0
    return (pipeline.params + fused) * job.number


def fused_params(part: DiffusionComponent) -> int:
    """Parameters of the fused projections, held beside those they are made of."""
    return FUSED * (part.hidden or 0) ** 2 * (part.attention_sets or 0)


def decoder_number(decoder: DiffusionComponent, job: Job) -> int:
    """Bytes of one number in the decoder."""
    if job.decoder:
        return COMPUTE_BYTES[job.decoder]
    if decoder.upcasts_fp16 and job.precision == "fp16":
        return COMPUTE_BYTES["fp32"]
    return job.number


def _denoiser(part: DiffusionComponent, form: FormatFacts, job: Job) -> int:
    size = part_bytes(part.params or 0, form, job.number)
    if not job.fused:
        return size
    bits = job.number * BITS_PER_BYTE if is_wide(form) else form.linear_bits
    return size + round(fused_params(part) * bits / BITS_PER_BYTE)
