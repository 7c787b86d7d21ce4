"""From an AWS resource to what it selects: one table of extractors, safe with unknown values.

What the engine gives are proxies: mappings that are no dict, numbers that are floats, and values
that raise when they are touched before they are known. All reads go through `Props`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpusize.tokens import WORKLOAD_TAG

UNKNOWN_ERROR = "UnknownValueError"
"""Class of what Pulumi raises on a read of an unknown value (not imported: no pulumi here)."""

SENTINELS = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""What stands in the wire format for an unknown boolean, number, text, list, asset, archive or
object (pulumi-policy's proxy.py)."""


class Value(NamedTuple):
    """One property: known with its value, known to be absent, or not known."""

    value: Any = None
    known: bool = True

    @property
    def text(self) -> str:
        """The value where it is known and text, else ''."""
        return self.value if self.known and isinstance(self.value, str) else ""


ABSENT = Value()
UNKNOWN = Value(known=False)


class Selection(NamedTuple):
    """What a resource asks AWS for."""

    workload: Value
    instance_type: Value
    market: Value
    """`on-demand`, `spot` or `capacity-block`; absent where whoever launches decides."""
    zone: Value
    region: Value
    capacity_reservation: Value

    @property
    def unknown(self) -> tuple[str, ...]:
        """Properties whose value is not known yet, in camelCase."""
        names = zip(_NAMES, self, strict=True)
        return tuple(name for name, value in names if not value.known)


_NAMES = (
    f"tags.{WORKLOAD_TAG}",
    "instanceType",
    "instanceMarketOptions.marketType",
    "availabilityZone",
    "region",
    "capacityReservationSpecification",
)

LONGEST_PLACE = 40
"""Characters of a region or a zone."""

ON_DEMAND = "on-demand"
"""What AWS takes where an instance names no market."""

MARKETS = {
    "spot": "spot",
    "capacity-block": "capacity-block",
    "interruptible-capacity-reservation": "spot",
}
"""AWS's market types in our words: an interruptible reservation is taken back like spot."""


class Props:
    """Properties of a resource; every read says known, absent or unknown, and none raises."""

    def __init__(self, target: Any) -> None:
        """Wrap a mapping, a proxy of one, or nothing."""
        self._target = target

    def get(self, path: str) -> Value:
        """Read `a.b[0].c`; lists of one block may be left out of the path, as AWS writes them."""
        value = Value(self._target)
        for key in path.split("."):
            value = _step(value, key)
            if not value.known or value.value is None:
                return value
        return value

    def own(self, key: Any) -> Value:
        """Read one key or index as it stands, whatever dots are in it."""
        return _item(self._target, key)

    def items(self, path: str) -> tuple[tuple[Value, ...], bool]:
        """Read a list: its items, and whether all of them are known."""
        found = self.get(path)
        if not found.known:
            return (), False
        if not _is_list(found.value):
            return (), True
        values = tuple(_item(found.value, index) for index in range(len(found.value)))
        return values, all(value.known for value in values)


def _step(value: Value, key: str) -> Value:
    target = value.value
    if _is_list(target):
        head = _item(target, 0) if len(target) else ABSENT
        if not head.known:
            return UNKNOWN
        target = head.value
    return _item(target, key) if isinstance(target, Mapping) else ABSENT


def _item(target: Any, key: Any) -> Value:
    """Read one key; a missing one is absent, an unknown one raises in the proxy."""
    try:
        found = target[key]
    except (KeyError, IndexError, TypeError):
        return ABSENT
    except Exception as error:
        if type(error).__name__ == UNKNOWN_ERROR:
            return UNKNOWN
        raise
    if isinstance(found, str) and found in SENTINELS:
        return UNKNOWN
    return Value(found)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _tag(props: Props, path: str) -> Value:
    """Read the tag that names the workload; its name holds a colon, never a dot."""
    tags = props.get(path)
    if not tags.known:
        return UNKNOWN
    return _step(tags, WORKLOAD_TAG) if isinstance(tags.value, Mapping) else ABSENT


def _market(props: Props) -> Value:
    options = props.get("instanceMarketOptions")
    if not options.known or options.value is None:
        return options
    found = props.get("instanceMarketOptions.marketType")
    if not found.known or (found.text and found.text not in MARKETS):
        return UNKNOWN
    return Value(MARKETS.get(found.text))


def _reservation(props: Props) -> Value:
    path = "capacityReservationSpecification.capacityReservationTarget"
    return _first(
        props.get(f"{path}.capacityReservationId"),
        props.get(f"{path}.capacityReservationResourceGroupArn"),
    )


def _first(*values: Value) -> Value:
    """Return the first value that is there or may be there."""
    return next((value for value in values if not value.known or value.value is not None), ABSENT)


def is_region(text: str) -> bool:
    """Tell what can be a region, `us-east-1`: messages repeat it, so it must be nothing else."""
    *words, number = text.split("-")
    return is_zone(text) and len(words) >= 2 and number.isdigit() and "".join(words).isalpha()


def is_zone(text: str) -> bool:
    """Tell what can be a zone, `us-east-1a` or `use1-az4`."""
    plain = text.replace("-", "")
    named = len(text) <= LONGEST_PLACE and plain.isascii() and plain.isalnum()
    return named and text.islower() and "-" in text


def _shaped(value: Value, has_shape: Callable[[str], bool]) -> Value:
    """Take a text of another shape for unknown: it may be anything, a secret too."""
    return UNKNOWN if value.text and not has_shape(value.text) else value


def _instance(props: Props) -> Selection:
    template = props.get("launchTemplate")
    otherwise = ABSENT if template.known and template.value is None else UNKNOWN
    market = _first(_market(props), otherwise)
    return Selection(
        workload=_first(_tag(props, "tags"), _tag(props, "tagsAll")),
        instance_type=_first(props.get("instanceType"), otherwise),
        market=Value(ON_DEMAND) if market == ABSENT else market,
        zone=_shaped(props.get("availabilityZone"), is_zone),
        region=_shaped(props.get("region"), is_region),
        capacity_reservation=_reservation(props),
    )


def _launch_template(props: Props) -> Selection:
    return Selection(
        workload=_first(*_launched_tags(props), _tag(props, "tags")),
        instance_type=props.get("instanceType"),
        market=_market(props),
        zone=_shaped(props.get("placement.availabilityZone"), is_zone),
        region=_shaped(props.get("region"), is_region),
        capacity_reservation=_reservation(props),
    )


def _launched_tags(props: Props) -> Iterator[Value]:
    """The tag on the instances that a template launches, then that of what it may launch."""
    specifications, complete = props.items("tagSpecifications")
    readers = [Props(specification.value) for specification in specifications]
    kinds = [reader.get("resourceType") for reader in readers]
    for reader, kind in zip(readers, kinds, strict=True):
        if kind.text == "instance":
            yield _tag(reader, "tags")
    if not complete or not all(kind.known for kind in kinds):
        yield UNKNOWN


EXTRACTORS: dict[str, Callable[[Props], Selection]] = {
    "aws:ec2/instance:Instance": _instance,
    "aws:ec2/launchTemplate:LaunchTemplate": _launch_template,
}
"""How to read each resource type that selects instances."""


def pins(selection: Selection) -> dict[str, object]:
    """Return the fields of a workload that a resource decides, as far as they are known."""
    from gpusize.workload import Market

    found: dict[str, object] = {
        "instance_type": selection.instance_type.text,
        "market": Market(selection.market.text) if selection.market.text else None,
        "region": selection.region.text,
        "capacity_reservation": selection.capacity_reservation.text,
    }
    return {name: value for name, value in found.items() if value}


def select(resource_type: str, props: Any) -> Selection | None:
    """Return what a resource selects; None where its type selects no instances."""
    extractor = EXTRACTORS.get(resource_type)
    return extractor(Props(props)) if extractor else None
