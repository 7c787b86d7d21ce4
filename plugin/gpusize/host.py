"""The plugin: serves the component and the function `resolve` to programs of any language."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from pulumi.errors import InputPropertyErrorDetails
from pulumi.provider import ConstructResult, Provider
from pulumi.provider import main as serve_provider
from pulumi.provider.provider import CheckFailure, InvokeResult

from gpusize import __version__
from gpusize.component import GpuWorkload, WorkloadError, is_deferred, read
from gpusize.decision import decide
from gpusize.inputs import WIRING, belongs_to_component, deferred
from gpusize.names import to_camel
from gpusize.project import project_folder
from gpusize.schema import QUESTION, SCHEMA_FILE
from gpusize.surroundings import Surroundings, surroundings
from gpusize.tokens import COMPONENT, RESOLVE
from gpusize_catalog.problems import GpuSizeError, Problem


class Host(Provider):
    """Answers the engine; its schema is the checked-in one."""

    def __init__(self) -> None:
        """Read the schema."""
        super().__init__(__version__, SCHEMA_FILE.read_text(encoding="utf-8"))

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: pulumi.Inputs,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Make a component; every problem of the inputs becomes a property error of one answer."""
        if resource_type != COMPONENT:
            raise _property_errors(f"unknown resource type: {resource_type} is not ours", [])
        try:
            component = GpuWorkload(name, inputs, options)
        except WorkloadError as error:
            hidden = deferred(inputs, is_deferred)
            entries = [_entry(problem, hidden) for problem in error.problems]
            told = "; ".join(reason for path, reason in entries if not path)
            summary = f"{error.summary}: {told}" if told else error.summary
            # The engine names the property of each error, so one without stands in the summary.
            raise _property_errors(summary, [one for one in entries if one[0]]) from None
        return ConstructResult(component.urn, component.state)

    def invoke(self, token: str, args: Mapping[str, Any]) -> InvokeResult:
        """Answer the function `resolve`; problems of its arguments are check failures."""
        if token != RESOLVE:
            return InvokeResult({}, [CheckFailure("", f"unknown function {token}")])
        question = {key: value for key, value in args.items() if to_camel(key) in QUESTION}
        others = {key: value for key, value in args.items() if key not in question}
        try:
            return InvokeResult(_resolve(question, others))
        except (GpuSizeError, WorkloadError) as error:
            return InvokeResult(
                {}, [CheckFailure(problem.path, _reason(problem)) for problem in error.problems]
            )


def _resolve(question: Mapping[str, Any], declaration: Mapping[str, Any]) -> dict[str, Any]:
    problems = [
        Problem(key, "must be text") for key, value in question.items() if not _is_text(value)
    ]
    problems += [
        Problem(key, "belongs to the component, the function makes nothing", "leave it out")
        for key in declaration
        if belongs_to_component(to_camel(key))
    ]
    if problems:
        raise GpuSizeError(problems)
    name = question.get("name") or "workload"
    around = _surroundings(question.get("today"))
    _, workload = read(name, declaration, around)
    return decide(name, workload, around).answers


def _surroundings(today: str | None) -> Surroundings:
    try:
        return surroundings(project_folder(Path.cwd()), {"today": today})
    except GpuSizeError as error:
        # Here the date is an argument, not a value of the stack's configuration.
        raise GpuSizeError(
            Problem("today", one.message, one.fix) if one.path == "gpusize:today" else one
            for one in error.problems
        ) from None


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _entry(problem: Problem, hidden: tuple[str, ...]) -> tuple[str, str]:
    """Return path and reason; the engine must not look up what is unknown, secret or wired.

    It shows the value at the path, and panics where that is not known.
    """
    path = problem.path
    top = path.split(".")[0].split("[")[0]
    if (
        top in WIRING
        or ":" in path
        or problem.file
        or any(_touches(path, other) for other in hidden)
    ):
        return "", str(problem)
    return path, _reason(problem)


def _touches(path: str, other: str) -> bool:
    """Tell whether one path lies within the other."""
    short, long = sorted((path, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))


def _reason(problem: Problem) -> str:
    return f"{problem.message} ({problem.fix})" if problem.fix else problem.message


def _property_errors(summary: str, entries: list[tuple[str, str]]) -> pulumi.InputPropertiesError:
    details: list[InputPropertyErrorDetails] = [
        {"property_path": path, "reason": reason} for path, reason in entries
    ]
    return pulumi.InputPropertiesError(summary, details)


def serve() -> None:
    """Serve the engine that started this process, until it ends."""
    serve_provider(Host(), sys.argv[1:])
