"""Where tasks run that nobody declared: on the one pool of their service that a stack has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gpusize.tokens import WORKLOAD_TAG
from gpusize_catalog.problems import Problem, printable
from gpusize_policies.machines import Seen, filled
from gpusize_policies.message import LONGEST_NAME
from gpusize_policies.reading import (
    ABSENT,
    CAPACITY_PROVIDER,
    COMPUTE_ENVIRONMENT,
    DEFERRED,
    ENDPOINT_CONFIGURATION,
    JOB_DEFINITION,
    MODEL,
    SERVICE,
    TASK_DEFINITION,
    Role,
    Selection,
)

POOLS: Mapping[str, str] = {
    JOB_DEFINITION: COMPUTE_ENVIRONMENT,
    TASK_DEFINITION: CAPACITY_PROVIDER,
    SERVICE: CAPACITY_PROVIDER,
    MODEL: ENDPOINT_CONFIGURATION,
}
"""What selects the machines of a task, by the type of the task."""
CALLED = {
    COMPUTE_ENVIRONMENT: "compute environment",
    CAPACITY_PROVIDER: "capacity provider",
    ENDPOINT_CONFIGURATION: "endpoint configuration",
}
SHARED = frozenset({COMPUTE_ENVIRONMENT, CAPACITY_PROVIDER})
"""Pools that need not be tied to their tasks: in no stack does a job name its environment."""
FIX = f"declare the workload, and tag the task and its machines {WORKLOAD_TAG}=<name>"

Parts = Mapping[str, Sequence[Selection]]
"""What each part of a resource selects, by URN."""


class Placed(NamedTuple):
    """The parts of a stack, tasks with the machines that they run on."""

    parts: Parts
    pools: Mapping[str, int]
    """Pools with accelerators, by type."""
    used: frozenset[str]
    """URNs of pools whose tasks say what runs there."""


def is_untagged(selection: Selection) -> bool:
    """Tell whether nothing points at a declaration."""
    workload = selection.workload
    return workload == DEFERRED or (workload.known and not workload.text)


def placed(found: Parts, is_accelerated: Callable[[Selection], bool]) -> Placed:
    """Place each untagged task on the one pool with accelerators that its service has here.

    Where that pool has a declaration, that is what runs there.
    """
    pools: dict[str, list[tuple[str, Selection]]] = {}
    for urn, ones in found.items():
        for part in ones:
            if part.role is Role.MACHINE and part.kind in SHARED and is_accelerated(part):
                pools.setdefault(part.kind, []).append((urn, part))
    used: set[str] = set()

    def on_pool(part: Selection) -> Selection:
        on = pools.get(POOLS.get(part.kind, ""), ())
        if len(on) != 1 or not _waits(part):
            return part
        ((urn, given),) = on
        if not is_untagged(given):
            return part._replace(launches=ABSENT)
        used.add(urn)
        return filled(part, given)._replace(is_pool=True)

    parts = {urn: [on_pool(part) for part in ones] for urn, ones in found.items()}
    return Placed(parts, {kind: len(ones) for kind, ones in pools.items()}, frozenset(used))


def _waits(part: Selection) -> bool:
    """Tell whether a task starts something, and nothing says yet where."""
    is_open = part.instance_type == DEFERRED and part.role is Role.TASK
    if not is_open or not part.launches.says or not is_untagged(part):
        return False
    from gpusize_policies.launched import infer_all

    return bool(infer_all(part.launches.value))


def homeless(part: Selection, engines: Iterable[str], pools: Mapping[str, int]) -> Problem | None:
    """Say what is missing of a task that starts an engine on GPUs; None where it may need none."""
    kind = POOLS.get(part.kind)
    if kind is None or part.instance_type != DEFERRED:
        return None
    if not part.gpus.value and part.kind != MODEL:
        return None
    count = pools.get(kind, 0)
    where = f"{count} of the stack may run it" if count else "the stack has none with GPUs"
    started = ", ".join(dict.fromkeys(engines))
    return Problem("", f"starts {started}, and its {CALLED[kind]} is not known: {where}", FIX)


SHOWN = 3
"""Machines that one sentence names."""


def unread(machines: Iterable[tuple[Seen, Selection]]) -> Problem:
    """Say of which machines it is not known yet what they start."""
    told = [
        f"{', '.join(part.doubts('launches'))} of {printable(seen.name, LONGEST_NAME)}"
        for seen, part in machines
    ]
    more = len(told) - SHOWN
    named = ", ".join(told[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return Problem("", f"what {len(told)} undeclared machines start is not known yet: {named}", FIX)
