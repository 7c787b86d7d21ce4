"""A training run of a pipeline as a job of the pipeline: its pictures, one micro batch of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.memory import formats
from gpusize.memory.diffusion.job import Job
from gpusize.workload import Film, PipelineOffload

if TYPE_CHECKING:
    from gpusize.workload import DiffusionTraining


def job_of(workload: DiffusionTraining) -> Job:
    """Read a declaration."""
    precision = workload.compute_precision
    if precision not in formats.COMPUTE_BYTES:
        precision = formats.DEFAULT_COMPUTE
    return Job(
        workload.width,
        workload.height,
        workload.all_frames if isinstance(workload, Film) else 1,
        workload.micro_batch,
        precision,
        PipelineOffload.NONE,
        quantized_on_gpu=False,
        fused=False,
        tiling=workload.tiling,
        slicing=False,
    )
