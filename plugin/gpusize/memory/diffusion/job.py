"""What one run of a pipeline makes, in numbers, and how the pipeline is held."""

from __future__ import annotations

from typing import NamedTuple

from gpusize.memory import formats
from gpusize.workload import Film, Generation, PipelineOffload


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

    @property
    def number(self) -> int:
        """Bytes of one number at the compute precision."""
        return formats.COMPUTE_BYTES[self.precision]


def job_of(workload: Generation) -> Job:
    """Read a declaration."""
    held = workload.pipeline
    precision = workload.compute_precision
    if precision not in formats.COMPUTE_BYTES:
        precision = formats.DEFAULT_COMPUTE
    frames = workload.all_frames if isinstance(workload, Film) else 1
    return Job(
        workload.width,
        workload.height,
        frames,
        workload.batch,
        precision,
        held.offload,
        held.quantized_on_gpu,
        held.fused_projections,
        held.tiling,
        held.slicing,
    )
