"""Bytes that making sound takes beside weights: generators token by token, and the decoder."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from gpusize.memory import alone

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize.memory.diffusion.job import Job
    from gpusize_catalog.facts import DiffusionComponent

FORWARD_TENSORS = 10
"""Tensors as wide as a generator alive at once for each position that it reads: the residual, its
norm, and the MLP before and after its function, four times as wide each. Counted in transformers
5.24.0, modeling_bark.py and modeling_musicgen.py."""
KEY_AND_VALUE = 2
GROWING = 1
"""Layers whose cache lies there twice while it grows by a token: transformers makes it anew."""
DECODER_TENSORS = 4.0
"""Tensors of the widest layer of a sound decoder alive at once: the residual, the activation and
two of its terms. Counted in diffusers 0.42.1, autoencoder_oobleck.py; the residual units of EnCodec
(transformers 5.24.0) hold as many. No published peak is known."""
ACTIVATIONS_ERROR = 0.5
"""Tensors are counted; no published peak is known but that of Bark, which is 0.1 GiB higher."""
STEP_SECONDS = 1.0
"""Longest clips are looked for in steps so long."""
MOST_SECONDS = 600


def latents(worker: DiffusionComponent, decoder: DiffusionComponent, seconds: float) -> int:
    """Latents of one clip."""
    return worker.latents or ceil(seconds * (decoder.sample_rate or 0) / (decoder.scale or 1))


def tokens(denoiser: DiffusionComponent, decoder: DiffusionComponent, seconds: float) -> int:
    """Tokens of one row of a denoiser."""
    patches = -(-latents(denoiser, decoder, seconds) // (denoiser.patch or 1))
    return patches + (denoiser.text_tokens or 0)


def generate_bytes(part: DiffusionComponent, job: Job) -> int:
    """Keys and values of all positions, and the tensors of one pass."""
    kept, at_once = _positions(part, job.seconds)
    rows = job.batch * (part.rows_per_sample or 1)
    width = part.hidden or 0
    cached = ((part.blocks or 0) + GROWING) * KEY_AND_VALUE * width * kept
    scores = alone.SCORE_TENSORS * (part.eager_heads or 0) * at_once**2
    return rows * job.number * (cached + FORWARD_TENSORS * width * at_once + scores)


def _positions(part: DiffusionComponent, seconds: float) -> tuple[int, int]:
    """Positions that a generator keeps in its cache, and that it reads in one pass."""
    if part.tokens_per_second is None:
        return 0, part.positions or 0
    prompt = part.text_tokens or 0
    made = prompt + ceil(part.tokens_per_second * seconds)
    kept = min(made, part.positions or made)
    slides = part.positions is not None and not prompt
    return kept, kept if slides else max(1, prompt)


def decode_bytes(decoder: DiffusionComponent, job: Job, count: int, number: int) -> int:
    """Activations of the decoder over so many latents of each clip, bytes."""
    at_once = min(count, decoder.tile_latents or count) if job.tiling else count
    samples = at_once * (decoder.scale or 1)
    clips = 1 if job.slicing else job.batch
    widest = DECODER_TENSORS * samples * (decoder.decoder_width or 0) * clips
    return round(widest * number)


def longest(limit: float | None, holds: Callable[[float], bool]) -> float:
    """Seconds of the longest clip that holds; 0 where not even one second does."""
    if limit is not None and holds(limit):
        return limit
    steps = int((limit or MOST_SECONDS) / STEP_SECONDS)
    return alone.most(steps, lambda count: holds(count * STEP_SECONDS)) * STEP_SECONDS
