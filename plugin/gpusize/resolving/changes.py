"""What becomes of a workload when its declaration is changed: the plan of the changed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize.resolving.study import Study

if TYPE_CHECKING:
    from gpusize.resolution import Plan
    from gpusize.settings import ResolveSettings

PURCHASE = frozenset({"region", "zone", "budget"})
"""Fields that change neither memory nor time."""
TARGETS = frozenset({"latency", "deadline_hours"})
"""Fields that change only what times are compared with."""


PLACED = frozenset(
    {"instance_type", "nodes_per_replica", "market", "replicas", "tp", "pp", "dp", "ep", "cp"}
)
"""Fields that say where and how often the same work runs: what was measured of it stays."""


def plan_with(study: Study, settings: ResolveSettings | None = None, **changes: Any) -> Plan | None:
    """The plan of the changed declaration, where nothing speaks against it.

    `changes` are fields of the workload by their Python names, with values of their types.
    """
    from gpusize.constraints import KEEPING
    from gpusize.resolve import decide
    from gpusize.resolving.weighing import blocks, reasons_of

    resolution = decide(_changed(study, settings or study.settings, changes))
    candidate = resolution.candidate
    if candidate is None:
        return None
    if any(blocks(reason) and reason.name not in KEEPING for reason in reasons_of(candidate)):
        return None
    return resolution.plan


def _changed(study: Study, settings: ResolveSettings, changes: dict[str, Any]) -> Study:
    """A study of the changed declaration that keeps of the old one what the change leaves."""
    if not changes.keys() <= PURCHASE | TARGETS | PLACED:
        changes = {**changes, "measured": ()}
    workload = study.workload.model_copy(update=changes)
    if changes.keys() <= PURCHASE:
        return study.bought(workload, settings)
    if changes.keys() <= TARGETS:
        return study.hurried(workload)
    return Study(
        workload,
        study.catalog,
        today=study.today,
        settings=settings,
        architecture=study.architecture,
        name=study.name,
    )
