"""The GPU of an instance type, one of which nothing is known included."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpusize_catalog.facts import Gpu, InstanceType
    from gpusize_catalog.store import Catalog

UNKNOWN_GPU_FIELDS: dict[str, object] = {"cuda": False, "on_ec2": True, "usable_is_derived": False}


def gpu_of(instance: InstanceType, catalog: Catalog) -> Gpu:
    """The GPU of an instance type; one of which nothing is known where the catalog names none."""
    if instance.gpu_id is not None:
        return catalog.gpu(instance.gpu_id)
    return _nameless(instance, catalog.gpus())


def _nameless(instance: InstanceType, known: Iterable[Gpu]) -> Gpu:
    row = type(next(iter(known)))
    blank: dict[str, object] = dict.fromkeys(row._fields)
    for name in row._fields:
        if name.startswith("native_"):
            blank[name] = False
    blank.update(UNKNOWN_GPU_FIELDS, id="unknown GPU", display_name=f"GPU of {instance.id}")
    return row(**blank)  # type: ignore[arg-type]
