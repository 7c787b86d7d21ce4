"""What a model of sound does, by its facts, and what of a declaration does not go with it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from gpusize.workload import SoundEngine
from gpusize_catalog.problems import Problem

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Audio


class Task(str, Enum):
    """How a model of sound works."""

    DENOISING = "removes noise in steps"
    GENERATING = "makes tokens one after the other"
    RECOGNIZING = "writes down what is said"


def task_of(architecture: Architecture) -> Task | None:
    """The task that a model's parts are made for; None where it is no model of sound."""
    pipeline = architecture.pipeline
    if pipeline is None:
        return Task.RECOGNIZING if _hears(architecture) else None
    if pipeline.makes != "audio":
        return None
    return Task.GENERATING if pipeline.generates else Task.DENOISING


def _hears(architecture: Architecture) -> bool:
    """Whether a decoder looks back on an encoder of fixed length: windows of sound."""
    return any(group.kind == "cross" and group.positions for group in architecture.attention)


def misfits(workload: Audio, architecture: Architecture) -> Iterator[Problem]:
    """Yield what was declared and does not go with what the model does."""
    task, name = task_of(architecture), architecture.name
    if task is None:
        return
    if workload.steps is not None and task is not Task.DENOISING:
        yield Problem("steps", f"{name} {task.value}, it removes no noise", "leave it out")
    if workload.beams is not None and task is not Task.RECOGNIZING:
        yield Problem("beams", f"{name} {task.value}, it recognizes no speech", "leave it out")
    if workload.engine is SoundEngine.FASTER_WHISPER and task is not Task.RECOGNIZING:
        yield Problem(
            "engine", f"faster-whisper only transcribes, {name} makes sound", "leave it out"
        )
    if task is Task.RECOGNIZING and "pipeline" in workload.model_fields_set:
        yield Problem("pipeline", f"{name} is one model, not a pipeline", "leave it out")
    limit = architecture.pipeline.longest_seconds if architecture.pipeline else None
    if limit is not None and workload.seconds > limit:
        told = f"{workload.seconds:g} is longer than the {limit:g} s that {name} makes"
        yield Problem("seconds", told, f"give at most {limit:g}")
