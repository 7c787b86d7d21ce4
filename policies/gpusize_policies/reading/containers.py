"""What containers of a task ask for, in the words of Batch, ECS and Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value, count, first

GPU = "GPU"
"""Type of a resource requirement of Batch and ECS."""
LIMITS = ("resources.limits", "resources.requests")
DEVICE = "nvidia.com/gpu"
"""What Kubernetes calls an NVIDIA GPU."""


def gpus_of(container: Props) -> Value:
    """Count the GPUs that one container of Batch or ECS asks for; absent where it names none."""
    asked, complete = container.items("resourceRequirements")
    readers = [Props(one.value) for one in asked if one.known]
    kinds = [one.get("type") for one in readers]
    for one, kind in zip(readers, kinds, strict=True):
        if kind.text.upper() == GPU:
            return count(one.get("value"))
    return ABSENT if complete and all(kind.known for kind in kinds) else UNKNOWN


def gpus_of_pod(container: Props) -> Value:
    """Count the GPUs that one container of a pod asks for."""
    groups = [container.get(path) for path in LIMITS]
    return first(*(count(Props(one.value).own(DEVICE)) if one.known else one for one in groups))


def total(asked: Iterable[Value], complete: bool) -> Value:
    """Add up what containers of one task ask for; absent where none asks."""
    return _together(sum, asked, complete)


def most(asked: Iterable[Value], complete: bool) -> Value:
    """Take the largest of what several tasks ask for; absent where none asks."""
    return _together(max, asked, complete)


def _together(joined: Callable[[list[Any]], Any], asked: Iterable[Value], complete: bool) -> Value:
    found = tuple(asked)
    if not complete or not all(one.known for one in found):
        return UNKNOWN
    said = [one.value for one in found if one.says]
    return Value(joined(said)) if said else ABSENT
