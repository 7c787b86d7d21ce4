"""From attributes that a type must have to the types of the catalog, and the one that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.lodging import lodged
from gpusize_policies.reading import Role, Selection, Value
from gpusize_policies.reading.requirements import admitted
from gpusize_policies.reading.selection import BY_ATTRIBUTES, ON_DEMAND

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from gpusize.resolving.listed import Survey
    from gpusize.workload import Workload
    from gpusize_policies.inputs import Context


def opened(selection: Selection, context: Context, region: str) -> Selection:
    """Fill in the types that attributes admit; a host of a family is judged as its first type."""
    if selection.places.says:
        return lodged(selection, context.catalog, region)
    if not selection.requirements.says:
        return selection
    asked = selection.requirements.value
    found = admitted(asked, context.catalog, region, _markets(selection))
    listed = selection.types.value if selection.types.says else ()
    types = tuple(dict.fromkeys((*listed, *found.types)))
    if selection.role is Role.HOST and types:
        selection = selection._replace(instance_type=Value(types[0]))
    return selection._replace(types=Value(types or None), admitted=Value(found))


def _markets(selection: Selection) -> tuple[str, ...]:
    """The markets that instances are bought in; none where it is not known."""
    if not selection.market.text:
        return ()
    base, percent = selection.on_demand_base, selection.on_demand_percent
    is_mixed = not base.known or not percent.known or bool(base.value or percent.value)
    return (selection.market.text, *((ON_DEMAND,) if is_mixed else ()))


def is_choice(selection: Selection) -> bool:
    """Tell whether attributes alone say what is launched, or a scheduler picks among types."""
    if selection.places.says:
        return selection.types.says
    return selection.instance_type == BY_ATTRIBUTES and bool(
        selection.admitted.value and selection.types.value
    )


def represented(selection: Selection, found: Survey | None) -> Selection:
    """Judge the cheapest type that does the work, else the first: the rest is told of all."""
    names = selection.types.value
    passing = found.best(names) if found else ()
    return selection._replace(instance_type=Value(passing[0] if passing else names[0]))


def surveyed(
    workload: Workload,
    names: tuple[str, ...],
    context: Context,
    base_dir: Path | None,
    name: str = "",
) -> Survey | None:
    """Judge every type on a workload; None where the model is not known."""
    from gpusize.resolving.listed import survey
    from gpusize.resolving.study import Study

    today: datetime.date = context.today
    settings = context.settings.resolving
    try:
        study = Study(
            workload,
            context.catalog,
            today=today,
            settings=settings,
            base_dir=base_dir,
            name=name,
        )
    except GpuSizeError:
        return None
    return survey(study, names)
