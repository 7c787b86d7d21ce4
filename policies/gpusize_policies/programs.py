"""The workloads that a Pulumi YAML program declares, read from its text alone.

Raw AWS resources of a program are judged in `pulumi preview`, where their inputs are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpusize.inputs import combine, separate
from gpusize.tokens import COMPONENT, SHORT_COMPONENT
from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from gpusize.documents import Document
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog

TOKENS = (COMPONENT, SHORT_COMPONENT)


def read_program(
    document: Document, catalog: Catalog
) -> tuple[dict[str, tuple[str, Workload]], list[Problem]]:
    """Read each `GpuWorkload` as name -> (path of its properties, workload), and all problems."""
    resources = document.data["resources"]
    if not isinstance(resources, Mapping):
        return {}, [Problem("resources", "is no mapping of names to resources")]
    found: dict[str, tuple[str, Workload]] = {}
    problems: list[Problem] = []
    for name, resource in resources.items():
        if not isinstance(resource, Mapping) or resource.get("type") not in TOKENS:
            continue
        path = f"resources.{name}.properties"
        workload, wrong = _read(resource.get("properties"), catalog)
        problems += (_below(path, problem) for problem in wrong)
        if workload is not None:
            found[str(name)] = (path, workload)
    if not found and not problems:
        fix = f"declare one with `type: {COMPONENT}`, or name a file of declarations"
        problems.append(Problem("resources", "declares no GPU workload", fix))
    return found, problems


def _read(properties: object, catalog: Catalog) -> tuple[Workload | None, tuple[Problem, ...]]:
    from gpusize.workload import parse_workload

    given, told = separate(properties if properties is not None else {}, _is_deferred)
    workload: Workload | None = None
    parsing: tuple[Problem, ...] = ()
    try:
        workload = parse_workload(given.declaration, catalog=catalog)
    except GpuSizeError as error:
        parsing = error.problems
    problems = combine(told, parsing)
    return (None if problems else workload), problems


def _below(path: str, problem: Problem) -> Problem:
    return Problem(f"{path}.{problem.path}" if problem.path else path, problem.message, problem.fix)


def _is_deferred(value: object) -> bool:
    """Tell an interpolation or a function call, which only the engine evaluates."""
    if isinstance(value, str):
        return "${" in value.replace("$${", "")
    return isinstance(value, Mapping) and any(str(key).startswith("fn::") for key in value)
