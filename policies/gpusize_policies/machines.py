"""One machine from all that a stack says of it: its template, its zone, its placement group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_policies.networks import behind, closed_ways, joining, reaches_s3_by_nat
from gpusize_policies.reading import (
    ABSENT,
    BLOCK,
    DEFERRED,
    INTERFACE,
    LAUNCH_TEMPLATE,
    PLACEMENT_GROUP,
    RESERVATION,
    SUBNET,
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
from gpusize_policies.reading.selection import CAPACITY_BLOCK, ODCR, ON_DEMAND, SPOT

if TYPE_CHECKING:
    from gpusize_policies.declared import Declared, Pins

PERCENT = 100


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


Stack = Mapping[str, Seen]


def templates(seen: Seen, stack: Stack) -> tuple[Seen, ...]:
    """Return the launch templates of the stack that a machine is launched from."""
    if seen.type == LAUNCH_TEMPLATE:
        return ()
    return tuple(behind((seen,), LAUNCH_TEMPLATE, stack))


def joined(
    seen: Seen, own: Selection, stack: Stack, joins: Mapping[str, list[Seen]] | None = None
) -> Selection:
    """Fill in what a resource does not say itself from the rest of the stack.

    `joins` is `networks.joining(stack)`, worked out once for many machines.
    """
    template = next(iter(templates(seen, stack)), None)
    given = select(template.type, template.props) if template else None
    found = _filled(own, given) if given else own
    if found.role is Role.MACHINE and found.market == ABSENT:
        found = found._replace(market=Value(ON_DEMAND))
    chain = (seen, template) if template else (seen,)
    found = _with_interfaces(found, chain, stack)
    found = _with_zones(found, chain, stack)
    found = _with_reservation(found, chain, stack)
    found = _with_network(found, chain, stack, joining(stack) if joins is None else joins)
    return _with_group(found, chain, stack)


def is_deferred(selection: Selection) -> bool:
    """Tell whether only a launch template says what is launched, or how it is bought."""
    return DEFERRED in (selection.workload, selection.instance_type, selection.market)


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
    planned = decided.pins if decided else {}
    if planned.get("instance_type") == selection.instance_type.text:
        nodes = planned.get("nodes_per_replica")
        if isinstance(nodes, int):
            return nodes
    if selection.role is Role.RESERVATION:
        return None
    return 1 if hasattr(workload, "replicas") else selection.size or 1


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


def _filled(own: Selection, given: Selection) -> Selection:
    """What a resource does not say, its template does."""
    fields = (field for field in Selection._fields if field != "role")
    taken = {
        field: getattr(given, field)
        for field in fields
        if getattr(own, field) in (ABSENT, DEFERRED)
    }
    return own._replace(**taken)


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
            if given is not None and placed in (ABSENT, DEFERRED):
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
