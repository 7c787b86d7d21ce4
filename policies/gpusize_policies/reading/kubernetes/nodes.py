"""Nodes that pods may be put on: node groups, pools of Karpenter, machines of another stack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gpusize_policies.reading.kubernetes.labels import (
    CAPACITY,
    GROUP_CAPACITY,
    IN,
    NODE_GROUP,
    NODE_POOL,
    REGION,
    TYPE_LABELS,
    ZONE,
    Ask,
)
from gpusize_policies.reading.kubernetes.pods import asks_of, labels_asked, renewed
from gpusize_policies.reading.selection import ON_DEMAND, SPOT, Selection
from gpusize_policies.reading.values import Props, Value, text

if TYPE_CHECKING:
    from gpusize.declaring.sidecar import Machines

KEEPS_AWAY = frozenset({"NoSchedule", "NoExecute", "NO_SCHEDULE", "NO_EXECUTE"})
"""Effects of taints that keep pods from nodes, as Kubernetes and as EKS spell them."""
EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
RESERVED = "reserved"
"""Capacity type of Karpenter for on-demand capacity reservations."""
GROUP_MARKETS = {ON_DEMAND: "ON_DEMAND", SPOT: "SPOT", "capacity-block": "CAPACITY_BLOCK"}
MARKETS = {ON_DEMAND: ON_DEMAND, SPOT: SPOT, RESERVED: ON_DEMAND}
"""Capacity types of Karpenter as markets."""
AT = "spec.template.spec"


class Taint(NamedTuple):
    """What keeps pods away that do not tolerate it."""

    key: str
    value: str
    effect: str


class Nodes(NamedTuple):
    """Nodes of one kind."""

    types: tuple[str, ...] | None = None
    """Instance types that are listed; None: those that meet `asks`."""
    asks: tuple[Ask, ...] = ()
    """What Karpenter asks of the type."""
    labels: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    """Labels with the values that they may have; None: any."""
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    region: str = ""
    cluster: str = ""
    """Which cluster they join, where that is told."""
    workloads: tuple[str, ...] = ()
    """Workloads that alone run there; empty: any."""
    number: int | None = None
    urn: str = ""
    """Resource of the stack that makes them, '' where none does."""
    unknown: str = ""
    """What of them is not known, so that nobody can tell which types they have."""
    root_volume_gib: Value = Value()


def of_pool(props: Props) -> Nodes:
    """Read a NodePool of Karpenter."""
    asks = asks_of(props, f"{AT}.requirements")
    said = labels_asked(props.get("spec.template.metadata.labels").value)
    taints = _taints(props, f"{AT}.taints")
    template = props.get(AT)
    if not asks.known or not template.known:
        return Nodes(unknown=f"{AT}.requirements of the NodePool")
    if not said.known or taints is None:
        return Nodes(unknown="labels and taints of the NodePool")
    every = (*asks.value, *said.value)
    free = {one.key: None for one in every if one.key not in TYPE_LABELS}
    labels = {**free, **_listed(one for one in every if one.key not in TYPE_LABELS)}
    labels.setdefault(CAPACITY, None)
    labels.setdefault(ZONE, None)
    labels.setdefault(REGION, None)
    return Nodes(
        asks=tuple(one for one in every if one.key in TYPE_LABELS),
        labels=(*labels.items(), (NODE_POOL, _named(props.get("metadata.name")))),
        taints=taints,
        zones=labels[ZONE] or (),
    )


def _listed(asks: Iterable[Ask]) -> dict[str, tuple[str, ...] | None]:
    """Values that labels may have, where they are listed."""
    found: dict[str, tuple[str, ...] | None] = {}
    for one in asks:
        if one.operator == IN:
            before = found.get(one.key)
            kept = one.values if before is None else tuple(v for v in one.values if v in before)
            found[one.key] = kept
    return found


def of_group(props: Props, selection: Selection, cluster: str) -> Nodes:
    """Read a node group of EKS; `selection` is what it launches, by its launch template too."""
    taints = _taints(props, "taints")
    block = props.get("labels")
    said = labels_asked(block.value)
    if not selection.types.known or not selection.instance_type.known:
        return Nodes(unknown=f"{selection.name_of('instance_type')} of the node group")
    if not block.known or not said.known or taints is None:
        return Nodes(unknown="labels and taints of the node group")
    if not selection.market.text:
        return Nodes(unknown=f"{selection.name_of('market')} of the node group")
    types = selection.types.value or (selection.instance_type.text,)
    zones = selection.zones.value if selection.zones.says else ()
    word = GROUP_MARKETS[selection.market.text]
    labels: dict[str, tuple[str, ...] | None] = {one.key: one.values for one in said.value}
    labels[NODE_GROUP] = _named(props.get("nodeGroupName"))
    labels[GROUP_CAPACITY] = (word,)
    labels[ZONE] = zones or None
    labels[REGION] = (selection.region.text,) if selection.region.text else None
    return Nodes(
        types=tuple(types),
        labels=tuple(labels.items()),
        taints=taints,
        zones=tuple(zones),
        region=selection.region.text,
        cluster=text(props.get("clusterName")).text or cluster,
        root_volume_gib=selection.root_volume_gib,
    )


def of_machines(name: str, machines: Machines) -> Nodes:
    """Take what the sidecar says of machines of another stack: a node group, or a pool."""
    labels: dict[str, tuple[str, ...] | None] = {key: (value,) for key, value in machines.labels}
    labels.setdefault(NODE_GROUP, (name,))
    labels.setdefault(NODE_POOL, (name,))
    if machines.market:
        labels.setdefault(CAPACITY, (machines.market,))
        labels.setdefault(GROUP_CAPACITY, (GROUP_MARKETS[machines.market],))
    labels.setdefault(ZONE, machines.zones or None)
    labels.setdefault(REGION, (machines.region,) if machines.region else None)
    return Nodes(
        types=machines.instance_types,
        labels=tuple(labels.items()),
        zones=machines.zones,
        region=machines.region,
        workloads=machines.workloads,
        number=machines.number,
    )


def _named(value: Value) -> tuple[str, ...] | None:
    """The name as a label; one that is made up when the resource is may be any."""
    return (value.text,) if value.text else None


def _taints(props: Props, path: str) -> tuple[Taint, ...] | None:
    """Read what keeps pods away; None where some of it is not known."""
    items, complete = props.items(path)
    found = []
    for item in items:
        reader = Props(item.value)
        words = [text(reader.own(key)) for key in Taint._fields]
        complete = complete and all(word.known for word in words)
        key, value, effect = (word.text for word in words)
        if effect in KEEPS_AWAY:
            found.append(Taint(renewed(key), value, EFFECTS.get(effect, effect)))
    return tuple(found) if complete else None


def markets_of(labels: Mapping[str, tuple[str, ...] | None]) -> tuple[str, ...]:
    """Return the markets that the labels of nodes allow; none where nothing says it."""
    grouped = {word: market for market, word in GROUP_MARKETS.items()}
    for key, words in ((GROUP_CAPACITY, grouped), (CAPACITY, MARKETS)):
        values = labels.get(key)
        if values:
            return tuple(dict.fromkeys(words[value] for value in values if value in words))
    return ()
