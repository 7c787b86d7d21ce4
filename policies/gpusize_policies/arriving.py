"""Resources as they arrive, from the SDK or from the engine itself, made ready to be judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from gpusize.tokens import COMPONENT
from gpusize_policies.decode import (
    decode,
    may_ask,
    may_point,
    may_select,
    may_start,
    text_of,
)
from gpusize_policies.machines import Seen
from gpusize_policies.networks import joining_urns
from gpusize_policies.reading import (
    BLOCK,
    CAPACITY_PROVIDER,
    EMR_CLUSTER,
    GROUP,
    MODEL,
    SURROUNDINGS,
    TASK_DEFINITION,
    TEMPLATES,
    Props,
    Value,
)
from gpusize_policies.reading.kubernetes import NODES, PODS
from gpusize_policies.reading.tags import DEFAULT_TAGS
from gpusize_policies.session import KINDS

CONCERNED = KINDS | SURROUNDINGS
"""Types of resources that are judged, or that something is judged by."""
TELLING = TEMPLATES | {CAPACITY_PROVIDER, EMR_CLUSTER, GROUP, MODEL, TASK_DEFINITION}
"""Types that may say for what rests on them which workload it is, or what it starts."""
BY_OUTPUTS = frozenset({COMPONENT, BLOCK})
"""Types of which the end of a run knows more than their inputs say. Of others it may know less:
what the provider computes is unknown in a preview."""


def seen_proxy(resource: Any, inputs: Any = None) -> Seen:
    """Read what the SDK hands to a policy."""
    parent = getattr(resource, "parent", None)
    provider = resource.provider.props if resource.provider else None
    depends = getattr(resource, "property_dependencies", {})
    return Seen(
        type=resource.resource_type,
        name=resource.name,
        urn=resource.urn,
        props=resource.props if inputs is None else inputs,
        parent=parent.urn if parent is not None else resource.opts.parent or "",
        provider_region=Props(provider).own("region") if provider is not None else Value(),
        provider_tags=Props(provider).own(DEFAULT_TAGS) if provider is not None else Value(),
        sources={key: tuple(one.urn for one in ones) for key, ones in depends.items()},
    )


def seen_wire(
    resource: Any,
    parent: str,
    inputs: Any = None,
    sources: Mapping[str, Sequence[str]] = {},
) -> Seen:
    """Read what the engine sends, decoded once."""
    region = text_of(resource.provider.properties, "region")
    tags = text_of(resource.provider.properties, DEFAULT_TAGS)
    return Seen(
        type=resource.type,
        name=resource.name,
        urn=resource.urn,
        props=decode(resource.properties if inputs is None else inputs),
        parent=parent,
        provider_region=Props({"region": region}).own("region"),
        provider_tags=Props({DEFAULT_TAGS: tags}).own(DEFAULT_TAGS),
        sources=sources,
    )


def concerns(resource: Any) -> bool:
    """Tell from the raw message whether a resource can be judged at all."""
    if resource.type not in KINDS:
        return False
    if resource.type == COMPONENT:
        return True
    if resource.type in PODS:
        return may_ask(resource.properties)
    return may_point(resource.properties) or may_start(resource.properties)


def tied_seen(
    resources: Sequence[Any],
    inputs: Mapping[str, Any],
    knows: Callable[[str], bool] = lambda _: False,
    ties: Callable[[str, str, str], bool] = lambda *_: False,
) -> Iterator[Seen]:
    """Decode those resources of a stack that may point at a workload, and what they rest on.

    So may those that select a type of which `knows` says that it can have accelerators, and those
    that `ties` says something else ties to one, by type, name and URN.
    """
    by_urn = {one.urn: one for one in resources if one.type in CONCERNED}
    behind = {
        one.urn: {key: tuple(on.urns) for key, on in one.propertyDependencies.items()}
        for one in by_urn.values()
    }
    joins = joining_urns((urn, one.type, behind[urn]) for urn, one in by_urn.items())
    own = {
        urn
        for urn, one in by_urn.items()
        if ties(one.type, one.name, urn)
        or concerns(one)
        or (one.type not in PODS and may_select(inputs.get(urn, one.properties), knows))
    }
    open_urns = [urn for urn in by_urn if _may_matter(urn, behind, by_urn, own)]
    tied: dict[str, None] = {}
    nodes = [urn for urn, one in by_urn.items() if one.type in NODES]
    while open_urns:
        urn = open_urns.pop()
        if urn in by_urn and urn not in tied:
            tied[urn] = None
            if by_urn[urn].type in PODS:
                open_urns += nodes
            open_urns += (on for urns in behind[urn].values() for on in urns)
            open_urns += joins.get(urn, ())
    for urn, one in by_urn.items():
        if urn in tied:
            yield seen_wire(one, one.parent, inputs.get(urn), behind[urn])


def _may_matter(
    urn: str,
    behind: Mapping[str, Mapping[str, Sequence[str]]],
    by_urn: Mapping[str, Any],
    own: Collection[str],
) -> bool:
    """Tell whether a resource may matter, itself or by what it launches; `own` are the former."""
    known: dict[str, None] = {}
    open_urns = [urn]
    while open_urns:
        one = open_urns.pop()
        if one in known or one not in by_urn:
            continue
        known[one] = None
        if one != urn and by_urn[one].type not in TELLING:
            continue
        if one in own:
            return True
        open_urns += (on for urns in behind[one].values() for on in urns)
    return False
