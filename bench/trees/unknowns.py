"""Every property of the cases of the rules in turn not known: what is said stays, or is doubted."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from pulumi_policy.proxy import unknown_checking_proxy

from bench.trees.judging import catalog
from gpusize.workload import parse_workload
from gpusize_policies.declarations import FILED
from gpusize_policies.declared import Declared
from gpusize_policies.finding import Finding, Severity
from gpusize_policies.inputs import Context
from gpusize_policies.session import Run, Session
from tests.resources import paths
from tests.rules.examples import NAME, Example, catalog_of, examples, settings_of
from tests.rules.stacks import UNKNOWN, references, seen

WAYS: dict[str, Callable[[Any], Any]] = {"wire": dict, "proxy": unknown_checking_proxy}
DOUBT = "GPU900"
ON_TYPES = frozenset({"GPU901"})
"""Rules on what has a GPU: a type that is not known is told where all must be declared."""
ON_RUN = frozenset({"GPU906"})
"""Rules on what a whole run accepted."""


class Change(NamedTuple):
    """One property of a case that is not known."""

    example: Example
    path: tuple[Any, ...]

    def __str__(self) -> str:
        """Name the case and the property."""
        return f"{self.example}: {'.'.join(map(str, self.path))}"


def changes() -> Iterator[Change]:
    """Every property of every resource of every case, groups and leaves."""
    for example in examples():
        for name, resource in (example.resources or {}).items():
            for path in paths(resource["properties"]):
                yield Change(example, (name, "properties", *path))


def changed(change: Change) -> dict[str, Any]:
    """Return the resources with one property unknown; what it rests on stays the same."""
    resources: Any = copy.deepcopy(change.example.resources)
    target = resources
    for key in change.path[:-1]:
        target = target[key]
    last = change.path[-1]
    target[last] = references(target[last]) or UNKNOWN
    found: dict[str, Any] = resources
    return found


def wrongs(change: Change) -> list[str]:
    """Say what is wrong with what is said where a property is not known, both ways."""
    before = _kinds(_known(change.example))
    found: list[str] = []
    for way, wrap in WAYS.items():
        said = judged(change.example, changed(change), wrap)
        doubts = [one for one in said if one.code == DOUBT]
        lost = before - _kinds(said) - ON_TYPES
        new = {one.code for one in said if one.severity is Severity.ERROR} - before - {DOUBT}
        found += [f"{way}: {code} is new" for code in sorted(new)]
        if lost and not doubts:
            found.append(f"{way}: {', '.join(sorted(lost))} is silent, and no doubt is told")
        places = [one.subject.resource for one in doubts if "unknownProperties" in one.numbers]
        if len(places) > len(set(places)):
            found.append(f"{way}: one resource is doubted twice")
    return found


@cache
def _example(code: str, title: str) -> Example:
    return next(one for one in examples(code) if one.title == title)


@cache
def _said(code: str, title: str) -> tuple[Finding, ...]:
    example = _example(code, title)
    return judged(example, example.resources or {}, dict)


def _known(example: Example) -> tuple[Finding, ...]:
    return _said(example.code, example.title)


def _kinds(findings: tuple[Finding, ...]) -> set[str]:
    return {one.code for one in findings} - ON_RUN - {DOUBT}


def judged(
    example: Example, resources: Mapping[str, Any], wrap: Callable[[Any], Any]
) -> tuple[Finding, ...]:
    """Judge the stack of a case as the policy pack does."""
    today = datetime.date.fromisoformat(example.today)
    settings = settings_of(example)
    context = Context(catalog_of(example, catalog()), settings, today)
    session = Session(Run(settings, today), context)
    workload = (
        parse_workload(example.workload, catalog=context.catalog) if example.workload else None
    )
    session.declarations.filed = {NAME: Declared(workload, None, key=FILED)} if workload else {}
    stack = [one._replace(props=wrap(one.props)) for one in seen(resources)]
    early = [finding for one in stack for finding in session.judge(one)]
    return (*early, *(finding for _, finding in session.finish(stack)))
