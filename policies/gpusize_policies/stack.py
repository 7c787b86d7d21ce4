"""From a stack export to the decisions that are deployed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.placement import Layout
from gpusize.tokens import COMPONENT
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_policies.message import LONGEST_NAME

if TYPE_CHECKING:
    import datetime

    from gpusize.documents import Document
    from gpusize.lock import Entry
    from gpusize_catalog.store import Catalog

MAX_BYTES = 128 * 2**20
"""Bytes of a stack export; a stack of 10,000 resources has about 40 MB."""


def is_export(data: object) -> bool:
    """Whether plain data is what `pulumi stack export` prints."""
    return isinstance(data, Mapping) and isinstance(data.get("deployment"), Mapping)


def entries(document: Document, today: datetime.date, catalog: Catalog) -> dict[str, Entry]:
    """Return the decision of each component by its name; raises GpuSizeError with all problems."""
    found: dict[str, Entry] = {}
    problems: list[Problem] = []
    for component in _components(document.data):
        entry, wrong = _read(component, today, catalog)
        problems += wrong
        if component.name in found:
            told = f"several components are called {printable(component.name, LONGEST_NAME)}"
            problems.append(Problem(component.path, told, "give each a name of its own"))
        if entry is not None:
            found[component.name] = entry
    if not found and not problems:
        problems.append(Problem("deployment.resources", f"holds no {COMPONENT}"))
    if problems:
        raise GpuSizeError(document.locate(problem) for problem in problems)
    return found


class _Component(NamedTuple):
    """A component of the export: where it stands, its name, what it answered."""

    path: str
    name: str
    outputs: Mapping[str, Any]


def _read(
    component: _Component, today: datetime.date, catalog: Catalog
) -> tuple[Entry | None, list[Problem]]:
    try:
        return _entry(component.outputs, today, catalog), []
    except GpuSizeError as error:
        path, name = component.path, component.name
        return None, [_placed(problem, path, name) for problem in error.problems]


def _components(data: Mapping[str, Any]) -> Iterator[_Component]:
    resources = data["deployment"].get("resources")
    for index, resource in enumerate(resources if isinstance(resources, list) else ()):
        if not isinstance(resource, Mapping) or resource.get("type") != COMPONENT:
            continue
        name = str(resource.get("urn", "")).rsplit("::", 1)[-1]
        outputs = resource.get("outputs")
        path = f"deployment.resources[{index}].outputs"
        yield _Component(path, name, outputs if isinstance(outputs, Mapping) else {})


def _entry(outputs: Mapping[str, Any], today: datetime.date, catalog: Catalog) -> Entry:
    from gpusize.lock import Entry, digest_of
    from gpusize.workload import parse_workload

    layout = outputs.get("layout")
    if not isinstance(outputs.get("instanceType"), str) or not isinstance(layout, Mapping):
        raise GpuSizeError([Problem("", "holds no decision", "deploy a plan that fits first")])
    workload = parse_workload(outputs.get("declaration"), catalog=catalog)
    hourly = outputs.get("hourlyCost")
    return Entry(
        declaration=digest_of(workload),
        instance_type=outputs["instanceType"],
        nodes=_count(outputs.get("nodes")),
        **{size: _count(layout.get(size)) for size in Layout._fields},
        region=_text(outputs, "region"),
        market=_text(outputs, "market"),
        scaling=_text(outputs, "scaling"),
        usd_per_hour=float(hourly) if isinstance(hourly, (int, float)) else None,
        price_date=_text(outputs, "priceDate"),
        catalog_version=_text(outputs, "catalogVersion"),
        catalog_digest=_text(outputs, "catalogDigest"),
        gpusize_version=_text(outputs, "version"),
        date=today.isoformat(),
    )


def _count(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and value >= 1 else 1


def _text(outputs: Mapping[str, Any], key: str) -> str:
    value = outputs.get(key)
    return value if isinstance(value, str) else ""


def _placed(problem: Problem, path: str, name: str) -> Problem:
    inner = f"{path}.declaration.{problem.path}" if problem.path else path
    return Problem(inner, f"workload '{name}': {problem.message}", problem.fix)
