"""What runs on machines that another resource selects: jobs of Batch and tasks of ECS."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from gpusize_policies.reading import ABSENT, DEFERRED, UNKNOWN, Role, Selection, Value


class Tasks(NamedTuple):
    """The tasks of a stack, by workload."""

    by_workload: Mapping[str, tuple[Selection, ...]]
    placed: Collection[str]
    """Workloads of which the stack has machines too."""


def tasks_of(selections: Iterable[Selection], components: Iterable[str]) -> Tasks:
    """Gather what runs; `components` name the workloads that bring their own machines."""
    found: dict[str, tuple[Selection, ...]] = {}
    placed = set(components)
    for one in selections:
        name = one.workload.text
        if name and one.role is Role.TASK:
            found[name] = (*found.get(name, ()), one)
        elif name and one.role is Role.MACHINE:
            placed.add(name)
    return Tasks(found, frozenset(placed))


def with_task(selection: Selection, tasks: Tasks) -> Selection:
    """Let what runs on a pool say which GPUs and how many instances it takes."""
    running = tasks.by_workload.get(selection.workload.text, ())
    if not selection.is_pool or not running:
        return selection
    selection = selection._replace(
        gpus=_largest(one.gpus for one in running), nodes=_largest(one.nodes for one in running)
    )
    if selection.launches in (ABSENT, DEFERRED):
        selection = selection._replace(launches=_together(one.launches for one in running))
    named = [one.types for one in running if one.types.says]
    if named and len(named) == len(running):
        types = tuple(dict.fromkeys(word for one in named for word in one.value))
        selection = selection._replace(types=Value(types), instance_type=Value(types[0]))
    return selection


def _together(values: Iterable[Value]) -> Value:
    """All that several tasks start."""
    found = tuple(values)
    if not all(one.known for one in found):
        return UNKNOWN
    said = tuple(dict.fromkeys(item for one in found for item in one.value or ()))
    return Value(said or None)


def _largest(values: Iterable[Value]) -> Value:
    found = tuple(values)
    if not all(one.known for one in found):
        return UNKNOWN
    said = [one.value for one in found if one.says]
    return Value(max(said)) if said else ABSENT
