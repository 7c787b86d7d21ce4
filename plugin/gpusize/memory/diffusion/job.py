"""What one run of a pipeline makes, in numbers, and how the pipeline is held."""

from __future__ import annotations

from typing import NamedTuple

from gpusize.memory import formats
from gpusize.workload import Audio, Film, Generation, PipelineOffload


class Job(NamedTuple):
    """One batch of samples."""

    width: int
    height: int
    frames: int
    batch: int
    precision: str
    """Compute precision: bf16, fp16 or fp32."""
    offload: PipelineOffload
    quantized_on_gpu: bool
    fused: bool
    tiling: bool
    slicing: bool
    seconds: float = 0.0
    """Of sound; pictures have none."""
    decoder: str = ""
    """Precision of the decoder; empty: the compute precision."""
    sharing: int = 1
    """GPUs that share each sample."""
    int8_products: bool = False
    """Whether the denoiser multiplies in 8-bit integers that bitsandbytes makes of each input."""
    sharded: bool = False
    """Whether these hold a part of the weights each."""

    @property
    def number(self) -> int:
        """Bytes of one number at the compute precision."""
        return formats.COMPUTE_BYTES[self.precision]


def job_of(workload: Generation | Audio) -> Job:
    """Read a declaration."""
    held = workload.pipeline
    precision = workload.compute_precision
    if precision not in formats.COMPUTE_BYTES:
        precision = formats.DEFAULT_COMPUTE
    width, height, frames, seconds = 0, 0, 1, 0.0
    if isinstance(workload, Audio):
        seconds = workload.seconds
    else:
        width, height = workload.width, workload.height
    if isinstance(workload, Film):
        frames = workload.all_frames
    return Job(
        width,
        height,
        frames,
        workload.batch,
        precision,
        held.offload,
        held.quantized_on_gpu,
        held.fused_projections,
        held.tiling,
        held.slicing,
        seconds,
        held.decoder_precision if held.decoder_precision in formats.COMPUTE_BYTES else "",
        sharded=held.sharded_weights,
    )
