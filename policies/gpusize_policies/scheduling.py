"""From a pod to the nodes that it may be put on: those of the stack, of the sidecar, of its asks.

Only what is required counts: what a pod prefers keeps it from no node. Sources: Kubernetes,
"Assigning Pods to Nodes" and "Taints and Tolerations".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpusize_policies.reading.kubernetes.labels import (
    CAPACITY,
    GROUP_CAPACITY,
    IN,
    REGION,
    TELLING,
    TYPE_LABELS,
    ZONE,
    Ask,
    holds,
)
from gpusize_policies.reading.kubernetes.nodes import Nodes, Taint, markets_of
from gpusize_policies.reading.kubernetes.pods import DEVICES, Pod, Toleration
from gpusize_policies.reading.selection import SPOT, Selection, is_region, is_zone
from gpusize_policies.reading.values import ABSENT, Value

NOWHERE = (
    "nothing says which instance types it runs on: no node group, NodePool or machine takes it",
    "ask for `node.kubernetes.io/instance-type` in its nodeSelector, or describe the nodes under"
    " `machines` of gpusize.yaml",
)
SEVERAL = (
    "it may run in several clusters of this stack",
    "ask for the label `eks.amazonaws.com/nodegroup` in its nodeSelector",
)
EVERY_EFFECT = ""
EXISTS = "Exists"
DAEMON_SET = ":DaemonSet"


class Place(NamedTuple):
    """Nodes that a pod may be put on."""

    types: tuple[str, ...] | None
    """Instance types that are listed; None: all that meet `asks`."""
    asks: tuple[Ask, ...]
    markets: tuple[str, ...] = ()


class _Match(NamedTuple):
    nodes: Nodes
    place: Place
    labels: dict[str, tuple[str, ...] | None]


def hosts(own: Selection, every: Sequence[Nodes]) -> tuple[Nodes, ...]:
    """Return the nodes that a pod may be put on."""
    if any(own.obstacle) or not own.pod.known or not own.gpus.known:
        return ()
    pod: Pod = own.pod.value
    return tuple(one for one in every if _matches(pod, own.workload.text, one))


def placed(own: Selection, every: Sequence[Nodes]) -> Selection:
    """Say where a pod may be put of the nodes that are its `hosts`, or why nobody can tell."""
    if any(own.obstacle) or not own.pod.known or not own.gpus.known:
        return own
    pod: Pod = own.pod.value
    matches = [one for nodes in every for one in _matches(pod, own.workload.text, nodes)]
    unknown = next((one.nodes.unknown for one in matches if one.nodes.unknown), "")
    if unknown:
        named = tuple(pair for pair in own.named if pair[0] != "instance_type")
        return own._replace(named=(*named, ("instance_type", unknown)), instance_type=_UNKNOWN)
    if len({one.nodes.cluster for one in matches if one.nodes.cluster}) > 1:
        return own._replace(obstacle=SEVERAL)
    if not matches:
        matches = _alone(pod)
    if not matches:
        return own._replace(obstacle=NOWHERE)
    return _on(own, matches)


_UNKNOWN = Value(known=False)


def assigned(own: Selection, every: Sequence[Nodes]) -> Selection:
    """Say on which machines of another stack a job runs, where the sidecar names its workload."""
    name = own.workload.text
    matches = [
        _Match(one, Place(one.types, (), markets_of(dict(one.labels))), dict(one.labels))
        for one in every
        if name and name in one.workloads
    ]
    return _on(own, matches) if matches else own


def _on(own: Selection, matches: Sequence[_Match]) -> Selection:
    """Take over what the nodes say alike."""
    markets = {market for one in matches for market in one.place.markets}
    market = SPOT if SPOT in markets else next(iter(sorted(markets)), None)
    zones = tuple(dict.fromkeys(zone for one in matches for zone in _zones(one)))
    open_zones = any(not _zones(one) for one in matches)
    regions = {region for one in matches for region in _regions(one)}
    region = regions.pop() if len(regions) == 1 else ""
    own = _on_each(own, [one.nodes.number for one in matches])
    return own._replace(
        places=Value(tuple(dict.fromkeys(one.place for one in matches))),
        market=Value(market) if market else ABSENT,
        zones=Value(zones) if zones and not open_zones else ABSENT,
        zone=Value(zones[0]) if len(zones) == 1 and not open_zones else ABSENT,
        region=Value(region) if is_region(region) else ABSENT,
    )


def _on_each(own: Selection, numbers: Sequence[int | None]) -> Selection:
    """A DaemonSet has a pod on every node."""
    known = [number for number in numbers if number is not None]
    if not own.kind.endswith(DAEMON_SET) or len(known) != len(numbers):
        return own
    total = Value(sum(known))
    return own._replace(least=total, desired=total, most=total)


def _zones(match: _Match) -> tuple[str, ...]:
    return tuple(zone for zone in match.labels.get(ZONE) or () if is_zone(zone))


def _regions(match: _Match) -> tuple[str, ...]:
    return match.labels.get(REGION) or ()


def _matches(pod: Pod, workload: str, nodes: Nodes) -> list[_Match]:
    """Return each way in which a pod may be put on some nodes."""
    if nodes.workloads and workload not in nodes.workloads:
        return []
    if not all(_is_tolerated(pod, taint) for taint in nodes.taints):
        return []
    labels = dict(nodes.labels)
    found = []
    for term in pod.terms:
        narrowed = _narrowed(labels, [one for one in term if one.key not in TYPE_LABELS])
        if nodes.unknown:
            narrowed = labels
        if narrowed is None:
            continue
        asks = (*nodes.asks, *(one for one in term if one.key in TYPE_LABELS))
        found.append(_Match(nodes, Place(nodes.types, asks, markets_of(narrowed)), narrowed))
    return found


def _narrowed(
    labels: dict[str, tuple[str, ...] | None], asks: Iterable[Ask]
) -> dict[str, tuple[str, ...] | None] | None:
    """Keep of the values that labels may have those that are asked for; None: none is left."""
    found = dict(labels)
    for ask in asks:
        values = found.get(ask.key, ())
        if values:
            values = tuple(value for value in values if holds(ask, (value,)))
            if not values:
                return None
            found[ask.key] = values
        elif holds(ask, values) is False:
            return None
        elif values is None and ask.operator == IN:
            found[ask.key] = ask.values
    return found


def _is_tolerated(pod: Pod, taint: Taint) -> bool:
    """Tell whether a taint lets a pod in; the one of devices, a pod that asks for them.

    The admission plugin ExtendedResourceToleration adds that toleration where it is on.
    """
    if DEVICES.get(taint.key) == pod.maker:
        return True
    return any(_tolerates(one, taint) for one in pod.tolerations)


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect not in (EVERY_EFFECT, taint.effect):
        return False
    if one.operator == EXISTS:
        return one.key in ("", taint.key)
    return one.key == taint.key and one.value == taint.value


def _alone(pod: Pod) -> list[_Match]:
    """Take the pod's own asks, where each way of it says what the type has to be."""
    found = []
    for term in pod.terms:
        asks = tuple(one for one in term if one.key in TYPE_LABELS)
        if not any(one.key in TELLING and one.operator == IN for one in asks):
            return []
        open_labels = dict.fromkeys((CAPACITY, GROUP_CAPACITY, ZONE, REGION))
        labels = _narrowed({**dict.fromkeys(one.key for one in term), **open_labels}, term)
        if labels is not None:
            found.append(_Match(Nodes(), Place(None, asks, markets_of(labels)), labels))
    return found
