"""Bytes that a stage holds beside weights: the denoiser's tensors, and those of the decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.memory.diffusion import sound
from gpusize.memory.diffusion.weights import decoder_number
from gpusize.memory.formats import BITS_PER_BYTE, COMPUTE_BYTES
from gpusize.pipeline import GENERATOR

if TYPE_CHECKING:
    from gpusize.memory.diffusion.job import Job
    from gpusize_catalog.facts import DiffusionComponent

DENOISER_TENSORS = 18
"""Tensors as wide as the denoiser that are alive at once, for each row and token: residual, norm,
query, key, value, the MLP's four, their inputs and outputs. Source: HunyuanVideo at 768x512x121
(huggingface/blog 01e2d213, video_gen.md): 28.9 GiB with model offload and 43.6 GiB tiled leave 5.0
GiB beside the weights, which is 18 tensors."""
DECODER_TENSORS = {"2d": 4.0, "causal-3d": 6.5, "conditioned-3d": 9.0, "residual-3d": 10.0}
"""Tensors of the decoder's widest layer alive at once, by the kind of decoder. Sources: 2d: 2.05 kB
per pixel in 16 bits, FLUX.1-dev at batch 1 to 16 (diffusers-torchao 9b9f238); causal-3d: 6.4
LTX-Video and 6.7 HunyuanVideo (video_gen.md): convolutions copy their input to pad it; 6.6 Wan2.2
A14B on 4 and 8 GPUs, in 32 bits (comp_effic.png); conditioned-3d: 37 kB per pixel of 8 frames,
CogVideoX (diffusers-torchao); residual-3d: 22.6 GiB on 4 and 8 GPUs, Wan2.2-TI2V-5B in 32 bits
(comp_effic.png): blocks keep their input for a way around them (wan/modules/vae2_2.py)."""
WIDE_STREAM_TENSORS = 22
"""The same of denoisers whose stream is 32 bits wide, in 32 bits: there each token has modulations
of its own, six beside their sum with those of the block, and positions are turned in 64 bits.
Source: Wan2.2-A14B, 41.3 GiB at 832x480x81 and 59.8 at 1280x720x81, of which one denoiser takes
26.6 (Wan-Video/Wan2.2 42bf4cf, comp_effic.png; wan/modules/model.py)."""
UNET = "unet"
INT8_TENSORS = 2
"""Times as many tensors where bitsandbytes multiplies 8-bit integers, in projections and not in the
convolutions of U-Nets: it keeps an 8-bit copy of
each input with its outliers beside it, and results of 32 bits. Source: HunyuanVideo tiled at
768x512x121, 36.9 GiB in 8 bits, of which weights take 26.7 (huggingface/blog 01e2d213,
video_gen.md), against 5.0 GiB beside the weights in 16 bits."""
WIDE_BYTES = COMPUTE_BYTES["fp32"]
COLOURS = 3
OUTPUT_COPIES = 2
"""The decoded picture, and its copy in the range that is shown."""


def tokens(denoiser: DiffusionComponent, decoder: DiffusionComponent, job: Job) -> int:
    """Tokens of one row: the patches of a picture or of sound, and the text."""
    if decoder.sample_rate:
        return sound.tokens(denoiser, decoder, job.seconds)
    latent_frames = 1 + (job.frames - 1) // (decoder.scale_frames or 1)
    side = (decoder.scale or 1) * (denoiser.patch or 1)
    patches = -(-job.width // side) * -(-job.height // side)
    deep = -(-latent_frames // (denoiser.patch_frames or 1))
    return patches * deep + (denoiser.text_tokens or 0)


def denoise_bytes(denoiser: DiffusionComponent, decoder: DiffusionComponent, job: Job) -> int:
    """Activations of one step of the denoiser, of the tokens that one GPU has."""
    stream = (denoiser.stream_bits or 0) // BITS_PER_BYTE
    tensors = WIDE_STREAM_TENSORS if stream == WIDE_BYTES else DENOISER_TENSORS
    if job.int8_products and denoiser.component != UNET:
        tensors *= INT8_TENSORS
    rows = job.batch * (denoiser.rows_per_sample or 1)
    own = -(-tokens(denoiser, decoder, job) // job.sharing)
    return tensors * rows * own * (denoiser.hidden or 0) * max(job.number, stream)


def work_bytes(part: DiffusionComponent, decoder: DiffusionComponent, job: Job) -> int:
    """What a part that works on samples holds beside weights: a denoiser, or a generator."""
    if part.component == GENERATOR:
        return sound.generate_bytes(part, job)
    return denoise_bytes(part, decoder, job)


def result_bytes(decoder: DiffusionComponent, worker: DiffusionComponent, job: Job) -> int:
    """Activations of the decoder, of pictures or of sound."""
    if decoder.sample_rate:
        count = sound.latents(worker, decoder, job.seconds)
        return sound.decode_bytes(decoder, job, count, decoder_number(decoder, job))
    return decode_bytes(decoder, job)


def decode_bytes(decoder: DiffusionComponent, job: Job) -> int:
    """Activations of the decoder: its widest layer over what is decoded at once, and the result."""
    pixels = job.width * job.height
    number = decoder_number(decoder, job)
    at_once = min(pixels, decoder.tile_pixels or pixels) if job.tiling else pixels
    frames = min(job.frames, decoder.decoded_frames or job.frames)
    samples = 1 if job.slicing else job.batch
    positions = at_once * frames / (decoder.decoder_shrink or 1) ** 2
    tensors = DECODER_TENSORS[decoder.decoder_kind]
    widest = positions * samples * (decoder.decoder_width or 0) * tensors * number
    result = OUTPUT_COPIES * COLOURS * pixels * job.frames * job.batch * number
    return round(widest + result)
