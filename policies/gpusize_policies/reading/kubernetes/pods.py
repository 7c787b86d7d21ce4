"""What a pod asks of the node that it runs on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gpusize_policies.reading.containers import total
from gpusize_policies.reading.kubernetes.labels import IN, OLDER, OPERATORS, Ask
from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value, count, text

NVIDIA, AMD, NEURON = "NVIDIA", "AMD", "AWS"
DEVICES = {
    "nvidia.com/gpu": NVIDIA,
    "amd.com/gpu": AMD,
    "aws.amazon.com/neuron": NEURON,
    "aws.amazon.com/neurondevice": NEURON,
}
"""Resources of which one is a whole device, with its maker in the words of the catalog."""
PARTS = ("nvidia.com/mig-", "nvidia.com/gpu.shared", "aws.amazon.com/neuroncore")
"""Begin of the names of resources of which one is a part of a device."""
MARKS = ("nvidia.com/", "amd.com/gpu", "aws.amazon.com/neuron")
"""Begin of the names of all of them."""
AFFINITY = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
LONGEST_KEY = 317
"""Characters of a label's key: a prefix of 253, a slash, a name of 63 (Kubernetes, "Labels and
Selectors")."""
MOST_TERMS = 64
"""Alternatives, and asks of each, that are read."""
POWERS = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
"""Suffixes of quantities, as exponents of 10 and of 2 (Kubernetes, "Quantity")."""
_QUANTITY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kMGTP]?|[KMGTP]i)", re.ASCII)


class Toleration(NamedTuple):
    """A taint that does not keep the pod away."""

    key: str
    operator: str
    value: str
    effect: str


class Pod(NamedTuple):
    """What a pod asks of a node."""

    maker: str
    """Maker of the devices that it asks for."""
    terms: tuple[tuple[Ask, ...], ...] = ((),)
    """Alternatives, each a set of asks that all have to hold."""
    tolerations: tuple[Toleration, ...] = ()
    memory_bytes: int | None = None
    """Memory that its containers may take; None: that of the whole node."""
    parts: bool = False
    """Whether it asks for parts of devices."""


class Read(NamedTuple):
    """A pod, as far as it is known."""

    pod: Value
    devices: Value
    """How many devices it asks for; absent where it asks for none."""
    containers: tuple[Any, ...]
    complete: bool
    """Whether all containers are known."""
    unknown: str = ""
    """First path below the pod that is not known."""


def read_pod(spec: Props) -> Read:
    """Read the spec of a pod."""
    own, own_complete = spec.items("containers")
    early, early_complete = spec.items("initContainers")
    groups = [_demand(one) for one in own], [_demand(one) for one in early]
    devices = _devices(*groups, own_complete and early_complete)
    terms, tolerations = _terms(spec), _tolerations(spec)
    unknown = next(
        (
            name
            for name, value in (
                ("containers.resources.limits", devices),
                ("nodeSelector", _selector(spec)),
                ("affinity.nodeAffinity", terms),
                ("tolerations", tolerations),
            )
            if not value.known
        ),
        "",
    )
    pod = UNKNOWN if unknown else Value(_pod(groups[0] + groups[1], terms, tolerations))
    values = tuple(one.value for one in own if one.known)
    return Read(pod, devices, values, own_complete, unknown)


class _Demand(NamedTuple):
    """What one container asks for."""

    devices: Value
    makers: tuple[str, ...] = ()
    parts: bool = False
    memory: Value = ABSENT


def _demand(container: Value) -> _Demand:
    props = Props(container.value)
    if not container.known:
        return _Demand(UNKNOWN)
    found: dict[str, Value] = {}
    memory = ABSENT
    for group in ("resources.limits", "resources.requests"):
        block = props.get(group)
        if not block.known:
            return _Demand(UNKNOWN)
        if not isinstance(block.value, Mapping):
            continue
        reader = Props(block.value)
        for key in block.value:
            if isinstance(key, str) and key.startswith(MARKS):
                found.setdefault(key, count(reader.own(key)))
        if group.endswith("limits"):
            memory = quantity(reader.own("memory"))
    asked = {key: value for key, value in found.items() if value != Value(0)}
    whole = {key: value for key, value in asked.items() if key in DEVICES}
    return _Demand(
        total(whole.values(), complete=True),
        tuple(sorted({DEVICES[key] for key in whole})),
        any(key.startswith(PARTS) for key in asked),
        memory,
    )


def _devices(own: list[_Demand], early: list[_Demand], complete: bool) -> Value:
    """Devices of all containers, or of the greediest that runs before them."""
    together = total((one.devices for one in own), complete)
    alone = [one.devices for one in early]
    if not together.known or not all(one.known for one in alone):
        return UNKNOWN
    most = max((one.value for one in (together, *alone) if one.says), default=None)
    return Value(most)


def _pod(demands: Iterable[_Demand], terms: Value, tolerations: Value) -> Pod:
    demands = tuple(demands)
    makers = sorted({maker for one in demands for maker in one.makers})
    asking = [one for one in demands if one.makers]
    known = asking and all(one.memory.says for one in asking)
    return Pod(
        maker=makers[0] if makers else "",
        terms=terms.value,
        tolerations=tolerations.value,
        memory_bytes=sum(one.memory.value for one in asking) if known else None,
        parts=any(one.parts for one in demands) or len(makers) > 1,
    )


def quantity(value: Value) -> Value:
    """Read an amount of bytes; what is none, or milli-bytes, is unknown."""
    if not value.says:
        return value
    if isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
        return Value(int(value.value)) if value.value >= 0 else UNKNOWN
    found = _QUANTITY.fullmatch(value.text)
    if found is None:
        return UNKNOWN
    number, suffix = float(found.group(1)), found.group(2)
    power = 2 ** BINARY[suffix] if suffix in BINARY else 10 ** POWERS[suffix]
    return Value(int(number * power))


def _selector(spec: Props) -> Value:
    """Read the labels that a node must have, as asks."""
    block = spec.get("nodeSelector")
    if not block.known:
        return UNKNOWN
    return labels_asked(block.value)


def labels_asked(block: Any) -> Value:
    """Turn a mapping of labels into asks."""
    if not isinstance(block, Mapping):
        return Value(())
    reader = Props(block)
    found = [(key, text(reader.own(key))) for key in block if isinstance(key, str)]
    if not all(value.known for _, value in found):
        return UNKNOWN
    return Value(tuple(Ask(renewed(key), IN, (value.text,)) for key, value in found))


def _terms(spec: Props) -> Value:
    """Read all that has to hold, in each of the ways that are allowed."""
    selector = _selector(spec)
    terms, complete = spec.items(AFFINITY)
    alternatives = [asks_of(Props(one.value), "matchExpressions") for one in terms[:MOST_TERMS]]
    if not selector.known or not complete or not all(one.known for one in alternatives):
        return UNKNOWN
    own = selector.value
    return Value(tuple((*own, *one.value) for one in alternatives) or (own,))


def asks_of(props: Props, path: str) -> Value:
    """Read a list of asks; one that is not understood makes all of it unknown."""
    items, complete = props.items(path)
    found = [_ask(Props(one.value)) for one in items[:MOST_TERMS]]
    if not complete or None in found:
        return UNKNOWN
    return Value(tuple(one for one in found if one is not None))


def _ask(props: Props) -> Ask | None:
    key, operator = props.own("key"), props.own("operator")
    values, complete = props.items("values")
    if not complete or not key.text or operator.text not in OPERATORS:
        return None
    if len(key.text) > LONGEST_KEY:
        return None
    return Ask(renewed(key.text), operator.text, tuple(_words(values)))


def _words(values: Iterable[Value]) -> Iterator[str]:
    for one in values:
        is_number = isinstance(one.value, (int, float)) and not isinstance(one.value, bool)
        yield str(int(one.value)) if is_number else one.text


def renewed(key: str) -> str:
    """Call a label by its present name."""
    return OLDER.get(key, key)


def _tolerations(spec: Props) -> Value:
    items, complete = spec.items("tolerations")
    found = []
    for item in items:
        reader = Props(item.value)
        words = [text(reader.own(key)) for key in Toleration._fields]
        complete = complete and all(word.known for word in words)
        found.append(Toleration(*(word.text for word in words)))
    return Value(tuple(found)) if complete else UNKNOWN
