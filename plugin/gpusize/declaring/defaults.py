"""What a declaration left out and what was taken for it, so that every answer can say so.

Only defaults of the vocabulary itself: what follows from an engine's version or from a model's
checkpoint is said by what computes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpusize.memory.result import Assumption
from gpusize.names import path_to_camel
from gpusize.workload import Group, Workload


class Default(NamedTuple):
    """One default worth saying: the field, and why this value."""

    path: str
    """Dotted path of Python names; a kind without the field has no such default."""
    why: str


DEFAULTS: tuple[Default, ...] = (
    Default("engine.name", "the engine of most published measurements"),
    Default("trainer.name", "the Trainer of transformers, which most others drive"),
    Default("micro_batch", "one at once on each GPU"),
    Default("optimizer", "the usual one"),
    Default("recompute", "trainers keep activations unless they are told otherwise"),
    Default("concurrency", "one sequence at a time"),
    Default("replicas.max", "one copy"),
    Default("user_facing", "a service answers people unless it says otherwise"),
    Default("traffic.shape", "the careful choice: capacity all day"),
    Default("storage.weights", "the usual place"),
    Default("images.per_prompt", "one image in a prompt"),
    Default("images.width", "pixels of an ordinary photo after scaling"),
    Default("images.height", "pixels of an ordinary photo after scaling"),
    Default("batch", "one at a time"),
    Default("cached_latents", "trainers encode each batch unless they are told otherwise"),
    Default("cached_text_embeddings", "trainers encode each caption unless told otherwise"),
    Default("fps", "the frames of a film"),
    Default("pipeline.offload", "the fast choice: everything on the GPU"),
    Default("pipeline.tiling", "what pipelines do unless they are told"),
)


def defaulted(workload: Workload) -> tuple[Assumption, ...]:
    """The defaults in force, as camelCase path, value and reason."""
    return tuple(_in_force(workload))


def _in_force(workload: Workload) -> Iterator[Assumption]:
    for default in DEFAULTS:
        value = _value_left_out(workload, default.path)
        if value is not None:
            yield Assumption(path_to_camel(default.path), _text(value), default.why)
    if workload.interruption_tolerance is None:
        why = f"usual for {workload.kind.value}"
        yield Assumption("interruptionTolerance", workload.tolerance.value, why)


def _value_left_out(workload: Workload, path: str) -> Any:
    """The value at a path when nobody declared it; `None` when somebody did."""
    value: Any = workload
    is_declared = True
    for name in path.split("."):
        if not isinstance(value, Group) or not hasattr(value, name):
            return None
        is_declared = is_declared and name in value.model_fields_set
        value = getattr(value, name)
    return None if is_declared else value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(getattr(value, "value", value))
