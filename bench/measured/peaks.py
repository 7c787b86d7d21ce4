"""What a measured figure counts: the tensors alone, what the allocator holds, the whole process."""

from __future__ import annotations

import re

from bench.measured.frame import Row
from gpusize.architecture import architecture_for
from gpusize.memory.diffusion import stages, weights
from gpusize.memory.diffusion.sizer import Diffusion
from gpusize.memory.result import Fit, Term
from gpusize.workload import Audio, Generation
from gpusize_catalog.store import Catalog

PROCESS = re.compile(r"process|GPU (peak )?memory", re.IGNORECASE)
"""Of figures that the driver tells, the CUDA context among them."""
RESERVED = re.compile(r"\breserved?\b|max_memory_reserved")
OLDER_BLOCKS = 1 / 2 + 1 / 8
"""Segments that the blocks of a decoder of images before the last leave: each has four times the
positions of the one before, and half of the channels in the last step. PyTorch gives larger tensors
new segments while there is memory (its notes on CUDA memory management)."""
DECODE = "decode"


def is_process(row: Row) -> bool:
    """Whether the figure is of the whole process, its CUDA context among it."""
    return bool(PROCESS.search(row["mem_kind"] or ""))


def peak_of(row: Row, found: Fit, workload: Generation | Audio, catalog: Catalog) -> int:
    """Bytes that the row's figure counts."""
    need = found.need or 0
    if is_process(row):
        return need
    tensors = need - found.term(Term.RUNTIME_OVERHEAD)
    if RESERVED.search(row["mem_kind"] or ""):
        return tensors + _unused(workload, catalog) - found.term(Term.ACTIVATIONS)
    return tensors


def _unused(workload: Generation | Audio, catalog: Catalog) -> int:
    """What all stages hold beside weights, in segments of their own, and what older blocks left."""
    sizer = Diffusion(workload, architecture_for(workload, catalog), catalog)
    held = weights.weights_of(sizer.pipeline, sizer.job, sizer.form, sizer.encoder)
    found = stages.stages(sizer.pipeline, sizer.job, held)
    return round(
        sum(
            stage.activations * (1 + OLDER_BLOCKS if stage.name == DECODE else 1) for stage in found
        )
    )
