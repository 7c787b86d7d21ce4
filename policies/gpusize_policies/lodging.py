"""From the nodes that a pod may be put on to the types of the catalog, and what it sees of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.facts import Status
from gpusize_policies.decode import ACCELERATED
from gpusize_policies.finding import Provenance
from gpusize_policies.reading.families import SIZE
from gpusize_policies.reading.kubernetes.labels import IN, TYPE, meets
from gpusize_policies.reading.kubernetes.pods import NVIDIA
from gpusize_policies.reading.requirements import Admitted, is_elsewhere
from gpusize_policies.reading.selection import Role, Selection
from gpusize_policies.reading.values import ABSENT, Value

if TYPE_CHECKING:
    from gpusize_catalog.facts import InstanceType
    from gpusize_catalog.store import Catalog
    from gpusize_policies.scheduling import Place


class Share(NamedTuple):
    """What a pod takes of its node."""

    gpus: int
    memory_bytes: int | None


TOO_SMALL = (
    "none of the nodes that it may run on has that many devices of the kind that it asks for",
    "ask for fewer, or let it run on nodes with more",
)


def lodged(selection: Selection, catalog: Catalog, region: str) -> Selection:
    """Fill in the types that a pod may run on: those that are listed, those that labels admit."""
    named: dict[str, None] = {}
    admitted: dict[str, tuple[str, ...]] = {}
    for place in selection.places.value:
        for name, doubts in _types(place, selection, catalog, region):
            if _is_listed(place):
                named.setdefault(name)
            else:
                admitted[name] = min(admitted.get(name, doubts), doubts, key=len)
    for name in named:
        admitted.pop(name, None)
    types = (*named, *sorted(admitted))
    if not types:
        return selection._replace(obstacle=TOO_SMALL)
    return selection._replace(
        instance_type=Value(types[0]),
        types=Value(types) if len(types) > 1 or admitted else ABSENT,
        admitted=_admitted(admitted),
    )


def is_stranded(selection: Selection) -> bool:
    """Tell whether nobody can say what a pod runs on."""
    if selection.role is not Role.POD:
        return any(selection.obstacle)
    known = selection.pod.known and selection.gpus.known and selection.instance_type.text
    return any(selection.obstacle) or not known


def share_of(selection: Selection | None) -> Share | None:
    """What a pod takes of its node; None where it takes all, or is none."""
    if selection is None or not selection.gpus.value or not selection.places.says:
        return None
    memory = selection.pod.value.memory_bytes if selection.pod.says else None
    return Share(selection.gpus.value, memory)


def shared(catalog: Catalog, share: Share) -> Catalog:
    """Return the catalog as a pod sees it."""
    from gpusize_catalog.shares import Shares

    return Shares(catalog, share.gpus, share.memory_bytes)


def on_share(provenance: Provenance, share: Share | None) -> Provenance:
    """Say how many GPUs a pod sees, whatever its node has."""
    if share is None:
        return provenance
    told = f"(its pod sees {share.gpus} GPU{'s' if share.gpus > 1 else ''} of a node)"
    numbers = {**provenance.numbers, "podGpus": share.gpus}
    return Provenance(" ".join(filter(None, (told, provenance.text))), numbers)


def gpus_of(selection: Selection, types: Iterable[InstanceType]) -> int:
    """Devices that what runs on one machine has."""
    share = share_of(selection)
    return share.gpus if share else max(one.gpus or 1 for one in types)


def _admitted(found: dict[str, tuple[str, ...]]) -> Value:
    if not found:
        return ABSENT
    undecided = sorted({doubt for doubts in found.values() for doubt in doubts})
    names = tuple(sorted(found))
    doubtful = tuple(name for name in names if found[name])
    return Value(Admitted(names, doubtful, tuple(undecided), by_labels=True))


def _is_listed(place: Place) -> bool:
    """Tell whether somebody wrote the types down."""
    return place.types is not None or any(_lists(ask.key, ask.operator) for ask in place.asks)


def _lists(key: str, operator: str) -> bool:
    return key == TYPE and operator == IN


def _types(
    place: Place, selection: Selection, catalog: Catalog, region: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what may come, each with the labels that nobody can tell of it."""
    for name in _names(place, catalog):
        instance = catalog.find_instance(name)
        if instance is None:
            # A new type: nobody knows what it has, so the rules say that it is not known.
            if SIZE in name and ACCELERATED.match(name):
                yield name, ()
            continue
        doubts = _doubts(place, instance, selection, catalog)
        if doubts is None:
            continue
        if _is_listed(place) or _is_sold(instance, place, catalog, region):
            yield name, doubts


def _names(place: Place, catalog: Catalog) -> Iterable[str]:
    """Names to choose among, in the order in which they are written."""
    lists = [ask.values for ask in place.asks if _lists(ask.key, ask.operator)]
    if place.types is not None:
        lists.insert(0, place.types)
    if not lists:
        return (one.id for one in catalog.instances())
    return (name for name in lists[0] if all(name in others for others in lists[1:]))


def _doubts(
    place: Place, instance: InstanceType, selection: Selection, catalog: Catalog
) -> tuple[str, ...] | None:
    gpu = catalog.gpu(instance.gpu_id) if instance.gpu_id else None
    maker = selection.pod.value.maker if selection.pod.says else NVIDIA
    asked = selection.gpus.value or 1 if selection.gpus.known else 1
    if gpu is None or gpu.vendor != maker:
        return None
    if instance.gpus is not None and instance.gpus < asked:
        return None
    return meets(place.asks, instance, gpu)


def _is_sold(instance: InstanceType, place: Place, catalog: Catalog, region: str) -> bool:
    if instance.status is Status.RETIRED or is_elsewhere(instance, catalog, region):
        return False
    sold = instance.usage_classes
    return not place.markets or not sold or not sold.isdisjoint(place.markets)
