"""What one micro batch keeps for its backward pass, and what encoding its pictures takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.diffusion.activations import decode_bytes, tokens
from gpusize.memory.formats import BITS_PER_BYTE

if TYPE_CHECKING:
    from gpusize.memory.diffusion.job import Job
    from gpusize_catalog.facts import DiffusionComponent

UNET = "unet"
KEPT_TENSORS = 20
"""Tensors as wide as a transformer that each of its blocks keeps for each token while its matrices
are frozen and attention keeps no scores. Source: CogVideoX-2b, 49 frames of 720x480, without
recomputation (a-r-r-o-w/finetrainers f476c37, examples/_legacy/training/README.md): 43.8 GiB
reserved are 19.4 in each of 30 blocks beside those below."""
TRAINED_TENSORS = 6
"""More of them where the matrices of the MLP are trained and keep their inputs: the block's width
twice, the MLP's once."""
WALKED_TENSORS = 30
"""Tensors of the block at which the backward pass is. Sources, with recomputation and beside the
block's own: the same table, CogVideoX-5b 22 and CogVideoX-2b 20 at 4 videos a batch; HunyuanVideo
56 and 65 (docs/models/hunyuan_video.md at 8f1c125), whose blocks join attention and MLP."""
UNET_KEPT = 910
UNET_RECOMPUTED = 175
"""Tensors as wide as a U-Net at its full resolution that a picture keeps, without and with
recomputation. Source: Stable Diffusion 1.4 at 512x512, fp16 on T4 (ShivamShrirao/diffusers,
examples/dreambooth/README.md): 2.5 GB and 0.48 GB for one more picture in a batch."""
ENCODER_SHARE = 0.5
"""Encoding against decoding: the encoder's widest layer at full resolution has 128 channels where
the decoder's has 256. Source: block_out_channels of AutoencoderKL (diffusers 0.42)."""


class Step(NamedTuple):
    """Bytes of one micro batch."""

    kept: float
    """Kept of all blocks until the backward pass has been there."""
    first: float
    """Beside them, of the block at which the backward pass begins."""
    last: float
    """Of the block at which it ends, all others being walked back."""


def step_of(
    denoiser: DiffusionComponent,
    decoder: DiffusionComponent,
    job: Job,
    *,
    recomputes: bool,
    trains_mlp: bool,
) -> Step:
    """Activations of the denoiser; `recomputes`: only what goes into each block is kept."""
    count = tokens(denoiser, decoder, job)
    if denoiser.component == UNET:
        unit = (count - (denoiser.text_tokens or 0)) * (denoiser.hidden or 0) * job.number
        many = UNET_RECOMPUTED if recomputes else UNET_KEPT
        return Step(float(many * unit * job.batch), 0.0, 0.0)
    unit = count * (denoiser.hidden or 0) * job.number * job.batch
    blocks = denoiser.blocks or 0
    own = KEPT_TENSORS + (TRAINED_TENSORS if trains_mlp else 0)
    last = float((own + WALKED_TENSORS) * unit)
    if not recomputes:
        return Step(float(blocks * own * unit), float(WALKED_TENSORS * unit), last)
    stream = max(1.0, (denoiser.stream_bits or 0) / BITS_PER_BYTE / job.number)
    return Step(blocks * stream * unit, last, last)


def encode_bytes(decoder: DiffusionComponent, job: Job) -> float:
    """Activations of the VAE that encodes a micro batch."""
    return ENCODER_SHARE * decode_bytes(decoder, job)
