"""One machine from all that a stack says of it: its template, its zone, its placement group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_catalog.units import PERCENT
from gpusize_policies.networks import behind, closed_ways, joining, reaches_s3_by_nat
from gpusize_policies.reading import (
    ABSENT,
    BLOCK,
    CAPACITY_PROVIDER,
    DEFERRED,
    EMR_CLUSTER,
    ENDPOINT_CONFIGURATION,
    GROUP,
    INTERFACE,
    KEEPING,
    MODEL,
    PLACEMENT_GROUP,
    RESERVATION,
    SERVICE,
    SUBNET,
    TASK_DEFINITION,
    TEMPLATES,
    UNKNOWN,
    Props,
    Role,
    Selection,
    Value,
    instances,
    pins,
    reservations,
    select,
)
from gpusize_policies.reading.selection import (
    BY_ATTRIBUTES,
    CAPACITY_BLOCK,
    ODCR,
    ON_DEMAND,
    SPOT,
)
from gpusize_policies.reading.values import ELSEWHERE, agreed, tag_of

if TYPE_CHECKING:
    from gpusize_policies.declared import Declared, Pins


NEARER = (MODEL, TASK_DEFINITION, CAPACITY_PROVIDER, GROUP)
"""What stands between a machine and the templates that it is launched from, the nearest first."""
LAST = tuple(sorted(TEMPLATES))
LAUNCHERS = {
    SERVICE: (TASK_DEFINITION, CAPACITY_PROVIDER),
    CAPACITY_PROVIDER: (GROUP,),
    ENDPOINT_CONFIGURATION: (MODEL,),
    MODEL: (),
    TASK_DEFINITION: (),
    **dict.fromkeys(LAST, ()),
}
"""What says more of what a type launches; of all others a launch template does."""


class Seen(NamedTuple):
    """One resource as a policy sees it: a mapping of plain values or the SDK's proxies."""

    type: str
    name: str
    urn: str
    props: Any
    parent: str = ""
    provider_region: Value = Value()
    sources: Mapping[str, Sequence[str]] = {}
    """URNs of the resources that each property depends on, where they are told."""
    provider_tags: Value = Value()
    """Tags that the provider adds to everything: its property as it stands."""


Stack = Mapping[str, Seen]


def templates(seen: Seen, stack: Stack) -> tuple[Seen, ...]:
    """Return what says more of a machine than it does itself, the nearest first.

    Most often a launch template; of a service of ECS its task and what that is placed on.
    """
    found: dict[str, Seen] = {}
    for kind in LAUNCHERS.get(seen.type, LAST):
        for one in behind((seen,), kind, stack):
            found[one.urn] = one
            found.update((more.urn, more) for more in templates(one, stack))
    return tuple(found.values())


def joined(
    seen: Seen, own: Selection, stack: Stack, joins: Mapping[str, list[Seen]] | None = None
) -> Selection:
    """Fill in what a resource does not say itself from the rest of the stack.

    `joins` is `networks.joining(stack)`, worked out once for many machines.
    """
    told = _served(seen, own, templates(seen, stack))
    found = own
    for kinds in (*((kind,) for kind in NEARER), LAST):
        layer = [select(it.type, it.props) for it in told if it.type in kinds]
        given = merged([one for one in layer if one])
        found = filled(found, given) if given else found
    if found.role is Role.MACHINE and found.market == ABSENT:
        found = found._replace(market=Value(ON_DEMAND))
    chain = (seen, *told)
    found = _with_workload(found, chain, stack)
    found = _with_interfaces(found, chain, stack)
    found = _with_zones(found, chain, stack)
    found = _with_reservation(found, chain, stack)
    found = _with_network(found, chain, stack, joining(stack) if joins is None else joins)
    return _with_group(found, chain, stack)


def _served(seen: Seen, own: Selection, told: tuple[Seen, ...]) -> tuple[Seen, ...]:
    """Leave out models that a variant does not name, where one of those at hand has its name."""
    models = [one for one in told if one.type == MODEL]
    named = _model_name(seen, own.place) if len(models) > 1 else ""
    mine = [one for one in models if Props(one.props).get("name").text == named]
    if not named or not mine:
        return told
    return tuple(one for one in told if one.type != MODEL or one in mine)


def _model_name(seen: Seen, place: str) -> str:
    """Read which model a variant names; `place` is its path, `productionVariants[1]`."""
    key, _, at = place.rstrip("]").partition("[")
    variants, _ = Props(seen.props).items(key)
    index = int(at) if at.isdigit() else len(variants)
    held = variants[index] if index < len(variants) else ABSENT
    return Props(held.value).get("modelName").text if held.known else ""


def is_deferred(selection: Selection) -> bool:
    """Tell whether only a launch template says what is launched, or how it is bought."""
    said = (selection.workload, selection.instance_type, selection.market, selection.more_types)
    return DEFERRED in said


def pinned(selection: Selection, declared: Declared, regions: Iterable[str]) -> Pins:
    """Return the fields of the workload that a machine decides; the first region counts."""
    from gpusize.workload import Market

    found = pins(selection, declared.workload)
    found.pop("region", None)
    region = next(iter(regions), None)
    if region:
        found["region"] = region
    if selection.role is Role.MACHINE:
        found.setdefault("market", Market.ON_DEMAND)
    nodes = _nodes(selection, declared)
    if nodes is not None:
        found["nodes_per_replica"] = nodes
    replicas = _replicas(selection, declared, nodes)
    if replicas is not None:
        found["replicas"] = replicas
    return found


def is_open(selection: Selection, declared: Declared) -> bool:
    """Tell whether the number of nodes stands with whoever launches the template."""
    workload = declared.workload
    if selection.role is not Role.TEMPLATE or workload is None:
        return False
    return workload.nodes_per_replica is None and not hasattr(workload, "replicas")


def _nodes(selection: Selection, declared: Declared) -> int | None:
    """Instances of one replica where they are not declared.

    A training run takes the whole group; one instance is one node.
    """
    workload, decided = declared.workload, declared.decided
    if workload is None or workload.nodes_per_replica is not None:
        return None
    if selection.nodes.says and selection.nodes.value:
        return int(selection.nodes.value)
    planned = decided.pins if decided else {}
    if planned.get("instance_type") == selection.instance_type.text:
        nodes = planned.get("nodes_per_replica")
        if isinstance(nodes, int):
            return nodes
    if selection.role in KEEPING:
        return None
    if hasattr(workload, "replicas") or selection.is_pool:
        return 1
    return selection.size or 1


def _replicas(selection: Selection, declared: Declared, nodes: int | None) -> object:
    """The replicas that the bounds of a group allow."""
    from gpusize.declared.groups import Replicas

    workload = declared.workload
    least, most = selection.least, selection.most
    if not hasattr(workload, "replicas") or not least.says or not most.value:
        return None
    each = nodes or getattr(workload, "nodes_per_replica", None) or 1
    base, percent = selection.on_demand_base, selection.on_demand_percent
    on_spot = selection.market.text == SPOT and percent.says
    return Replicas.model_construct(
        min=least.value // each,
        max=max(1, most.value // each),
        on_demand_base=(base.value or 0) // each if on_spot else None,
        spot_share=1 - percent.value / PERCENT if on_spot else None,
    )


LISTED = ("types", "more_types", "requirements")
"""Fields of a selection that together say which types may be launched."""
OWN = ("kind", "role", *LISTED)
"""Fields that no template fills in as they stand."""


def merged(given: Sequence[Selection]) -> Selection | None:
    """What several launch templates say together; where they differ nobody knows which counts."""
    if len(given) < 2:
        return given[0] if given else None
    named = [one.instance_type for one in given]
    texts = tuple(dict.fromkeys(one.text for one in named if one.text))
    sure = all(one.known or one == BY_ATTRIBUTES for one in named)
    fields = {
        field: agreed(getattr(one, field) for one in given)
        for field in Selection._fields
        if field not in OWN
    }
    fields["workload"] = agreed(one.workload for one in given if one.workload != ABSENT)
    fields["instance_type"] = Value(texts[0]) if texts else named[0]
    fields["types"] = Value(texts or None) if sure else UNKNOWN
    fields["requirements"] = _united(one.requirements for one in given)
    return _changed(given[0], fields)


def _changed(selection: Selection, fields: Mapping[str, Value]) -> Selection:
    """The same with other values of some fields."""
    return selection._replace(**fields)  # type: ignore[arg-type]


def filled(own: Selection, given: Selection) -> Selection:
    """What a resource does not say, its templates do.

    Types that it lists replace theirs, but for entries that leave the type to a template.
    """
    taken = {
        field: getattr(given, field)
        for field in Selection._fields
        if field not in OWN and getattr(own, field) in (ABSENT, DEFERRED)
    }
    if "instance_type" in taken:
        taken |= {field: getattr(given, field) for field in LISTED}
    elif own.more_types == DEFERRED:
        theirs = given.types if given.types != ABSENT else _only(given.instance_type)
        taken["types"] = _joined_types(own.types, theirs)
        taken["requirements"] = _united((own.requirements, given.requirements))
        taken["more_types"] = ABSENT
    return _changed(own, taken)


def _only(named: Value) -> Value:
    """One type as a list of types; what only attributes say is no type."""
    if named == BY_ATTRIBUTES:
        return ABSENT
    return Value((named.text,)) if named.text else named


def _joined_types(*lists: Value) -> Value:
    if not all(one.known for one in lists):
        return UNKNOWN
    return Value(tuple(dict.fromkeys(name for one in lists for name in one.value or ())) or None)


def _united(requirements: Iterable[Value]) -> Value:
    """All sets of attributes, each once."""
    return _joined_types(*requirements)


def _with_workload(found: Selection, chain: Sequence[Seen], stack: Stack) -> Selection:
    """Take the tag of the cluster that machines are added to."""
    if found.workload != DEFERRED:
        return found
    for one in behind(chain, EMR_CLUSTER, stack):
        return found._replace(workload=tag_of(Props(one.props), "tags"))
    return found


def _with_interfaces(found: Selection, chain: Sequence[Seen], stack: Stack) -> Selection:
    """Count EFA among the interfaces that are resources of their own."""
    kinds = [instances.interface(Props(one.props)) for one in behind(chain, INTERFACE, stack)]
    if found.efa_interfaces.known or not kinds:
        return found
    total = found.interfaces.value if found.interfaces.says else len(kinds)
    sure = len(kinds) >= total and all(kind.known for kind in kinds)
    efa = sum(bool(kind.value) for kind in kinds if kind.known)
    return found._replace(efa_interfaces=Value(efa) if sure else UNKNOWN)


def _with_zones(found: Selection, chain: Sequence[Seen], stack: Stack) -> Selection:
    """Take the zones of the subnets, and count these."""
    subnets = [reservations.zone(Props(one.props)) for one in behind(chain, SUBNET, stack)]
    if found.subnets == ELSEWHERE and subnets:
        found = found._replace(subnets=Value(len(subnets)))
    if found.zones.says:
        return found
    if found.zone.says:
        return found._replace(zones=Value((found.zone.value,)))
    texts = tuple(sorted({zone.text for zone in subnets if zone.text}))
    whole = found.subnets.known and len(subnets) >= (found.subnets.value or 1)
    if not subnets and found.subnets.known and (found.subnets.value or 1) == 1:
        return found
    if not whole or not all(zone.text for zone in subnets):
        return found._replace(zones=UNKNOWN)
    zone = Value(texts[0]) if len(texts) == 1 else found.zone
    return found._replace(zones=Value(texts), zone=zone)


def _with_reservation(found: Selection, chain: Sequence[Seen], stack: Stack) -> Selection:
    """Take the kind, the zone and the placement of a reservation of the stack."""
    for kind, word in ((BLOCK, CAPACITY_BLOCK), (RESERVATION, ODCR)):
        for one in behind(chain, kind, stack):
            zone = reservations.zone(Props(one.props))
            given = select(one.type, one.props)
            placed = found.placement_group
            if kind == RESERVATION and given is not None and placed in (ABSENT, DEFERRED):
                placed = given.placement_group
            return found._replace(
                reservation=Value(word), reservation_zone=zone, placement_group=placed
            )
    return found


def _with_network(
    found: Selection, chain: Sequence[Seen], stack: Stack, joins: Mapping[str, list[Seen]]
) -> Selection:
    """Tell what the security groups and the routes of the stack allow."""
    wired = (*chain, *behind(chain, INTERFACE, stack))
    return found._replace(
        closed_ways=closed_ways(wired, stack, joins),
        s3_by_nat=reaches_s3_by_nat(wired, stack, joins),
    )


def _with_group(found: Selection, chain: Sequence[Seen], stack: Stack) -> Selection:
    """Take the strategy of the placement group."""
    for one in behind(chain, PLACEMENT_GROUP, stack):
        return found._replace(placement_group=reservations.strategy(Props(one.props)))
    return found
