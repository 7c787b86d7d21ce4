"""Whether a model does what is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.sound import misfits, task_of
from gpusize.workload import Audio
from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog

MADE = {"image": "images", "video": "videos", "audio": "audio"}
"""What pipelines make, by modality."""


def require(workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
    """Raise `GpuSizeError` where the model is made for something else, with all problems."""
    makes = architecture.pipeline.makes if architecture.pipeline else ""
    modality = workload.modality.value
    name = architecture.name
    if makes and makes != modality:
        told = f"{name} is a pipeline that makes {MADE[makes]}"
        raise GpuSizeError([Problem("model", told, f"declare modality {makes}")])
    hears = isinstance(workload, Audio) and task_of(architecture) is not None
    if modality in MADE and not makes and not hears:
        listed = " or ".join(catalog.suggest("diffusion_components", name))
        fix = f"did you mean {listed}?" if listed else "name a pipeline of the catalog"
        raise GpuSizeError([Problem("model", f"{name} makes no {MADE[modality]}", fix)])
    problems = list(misfits(workload, architecture)) if isinstance(workload, Audio) else []
    if problems:
        raise GpuSizeError(problems)
