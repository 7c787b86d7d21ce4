"""Asks the pack about a stack as the engine does, in this process."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy.deserialize import deserialize_properties
from pulumi_policy.proxy import unknown_checking_proxy

from bench.trees.making import DECLARED, Resource, Tree
from bench.trees.words import CANARY
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog, load
from gpusize_policies.arriving import CONCERNED, concerns, seen_wire, tied_seen
from gpusize_policies.declarations import FILED, Run
from gpusize_policies.declared import Declared
from gpusize_policies.inputs import Context
from gpusize_policies.machines import Seen
from gpusize_policies.pack import STACK_TYPE, Judge
from gpusize_policies.pack import Stack as Told
from gpusize_policies.reading import Props, Value
from gpusize_policies.registry import RULES
from gpusize_policies.session import Session
from gpusize_policies.settings import Settings
from gpusize_policies.settings_file import parse
from gpusize_policies.setup import Setup

TODAY = datetime.date(2026, 11, 30)
BROKEN = ("could not judge this", "could not be evaluated")
"""What a message says where something went wrong within gpusize."""
ONCE = frozenset(rule.name for rule in RULES if rule.once)
FIRST = frozenset({"waiver-expired", "waiver-invalid"})
"""Rules that speak of a waiver where it is met first."""

Said = frozenset[tuple[str, str, str]]
"""URN, policy name and message of each finding; what holds for a whole run has no URN."""


class Answer(NamedTuple):
    """What the pack said of a stack."""

    said: Said
    broken: tuple[str, ...]
    leaks: tuple[str, ...]


@cache
def catalog() -> Catalog:
    """The catalog, once for all stacks."""
    return load()


@cache
def filed() -> dict[str, Declared]:
    """The workloads of the file beside the program."""
    found = {name: parse_workload(raw, catalog=catalog()) for name, raw in DECLARED.items()}
    return {name: Declared(one, None, key=FILED) for name, one in found.items()}


def settings_of(tree: Tree) -> Settings:
    """Read the settings of a stack; raises ValueError where they cannot be used."""
    found, problems = parse(tree.settings, Path())
    if problems:
        raise ValueError("; ".join(map(str, problems)))
    return found


def judge_of(tree: Tree) -> Judge:
    """Start a pack."""
    given = settings_of(tree)
    judge = Judge(Told(), Setup(Run(given, TODAY, None)))
    run = judge.setup.judging
    judge.session = Session(run, Context(catalog(), run.settings, TODAY))
    judge.session.declarations.filed = filed()
    return judge


def by_wire(tree: Tree, kept: Sequence[int] | None = None) -> Answer:
    """Judge as the pack's own servicer does; `kept` are those that the end of the run has."""
    judge = judge_of(tree)
    found = _first(judge)
    for one in tree.resources:
        request = analyzer_pb2.AnalyzeRequest(
            type=one.type,
            name=one.name,
            urn=one.urn,
            properties=wired(one.props),
            options=analyzer_pb2.AnalyzerResourceOptions(parent=one.parent),
            provider=_provider(one),
        )
        judge.take(one.type, one.urn, request.properties)
        if concerns(request):
            found += _told(one.urn, judge.resource(seen_wire(request, one.parent)))
    whole = [_analyzed(tree.resources[index]) for index in _indexes(tree, kept)]
    is_part = judge.left_out(one.urn for one in whole)
    tied = tied_seen(whole, judge.inputs, judge.session.accelerators.may_be)
    found += judge.stack_findings(list(tied), is_part=is_part)
    return _answer(found)


def by_proxies(tree: Tree, kept: Sequence[int] | None = None) -> Answer:
    """Judge as Pulumi's SDK hands resources to a policy."""
    judge = judge_of(tree)
    found = _first(judge)
    for one in tree.resources:
        if one.type in CONCERNED:
            found += _told(one.urn, judge.resource(_proxied(one)))
    stack = [tree.resources[index] for index in _indexes(tree, kept)]
    found += judge.stack_findings([_proxied(one) for one in stack if one.type in CONCERNED])
    return _answer(found)


def _indexes(tree: Tree, kept: Sequence[int] | None) -> Sequence[int]:
    return range(len(tree.resources)) if kept is None else kept


def _first(judge: Judge) -> list[tuple[str, str, str]]:
    stack = Seen(STACK_TYPE, "app-dev", "urn:stack", {})
    return _told(stack.urn, judge.resource(stack))


def _told(urn: str, found: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    return [(urn, name, message) for name, message in found]


def _answer(found: Iterable[tuple[str, str, str]]) -> Answer:
    told = list(found)
    said = frozenset(map(_placed, told))
    messages = sorted({message for _, _, message in told})
    broken = tuple(one for one in messages if any(word in one for word in BROKEN))
    leaks = tuple(one for one in messages if CANARY.lower() in one.lower())
    return Answer(said, broken, leaks)


def _placed(one: tuple[str, str, str]) -> tuple[str, str, str]:
    """Leave out where something stands that is told once, at the first place that it is met."""
    urn, name, message = one
    if name in FIRST:
        return "", name, message[message.find("the waiver") :]
    return "" if name in ONCE else urn, name, message


def wired(props: Any) -> struct_pb2.Struct:
    """Write properties as the engine sends them."""
    return json_format.ParseDict(dict(props), struct_pb2.Struct())


def _provider(one: Resource) -> Any:
    given = {} if one.region is None else {"region": one.region}
    return analyzer_pb2.AnalyzerProviderResource(properties=wired(given))


def _analyzed(one: Resource) -> Any:
    return analyzer_pb2.AnalyzerResource(
        type=one.type,
        name=one.name,
        urn=one.urn,
        properties=wired(one.props),
        parent=one.parent,
        provider=_provider(one),
        propertyDependencies={
            key: analyzer_pb2.AnalyzerPropertyDependencies(urns=urns)
            for key, urns in one.sources.items()
        },
    )


def _proxied(one: Resource) -> Seen:
    props = unknown_checking_proxy(
        deserialize_properties(json_format.MessageToDict(wired(one.props)))
    )
    provider = unknown_checking_proxy({} if one.region is None else {"region": one.region})
    region = Props(provider).own("region") if provider else Value()
    return Seen(one.type, one.name, one.urn, props, one.parent, region, one.sources)
