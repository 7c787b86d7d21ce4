"""What properties each type of resource has: from the stand-in provider and from the samples.

A shape is a mapping of properties, a list with the shape of its items, `Text` of one, or `LEAF`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from gpusize_policies.reading import EXTRACTORS, PARTED, SURROUNDINGS
from tests.fakes.aws import schema
from tests.resources import samples
from tests.rules.examples import examples
from tests.rules.stacks import token

LEAF = "leaf"


class Text(NamedTuple):
    """A text that holds JSON of a shape."""

    shape: Any


class Known(NamedTuple):
    """Shapes by type, and what stood in the properties of a name."""

    shapes: Mapping[str, Mapping[str, Any]]
    """Properties that something reads, as the samples have them."""
    more: Mapping[str, Mapping[str, Any]]
    """All that the provider takes."""
    values: Mapping[str, tuple[Any, ...]]


FURTHER: dict[str, dict[str, Any]] = {
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": {
        "availabilityZone": LEAF,
        "instanceType": LEAF,
        "region": LEAF,
        "spotPrice": LEAF,
        "tags": LEAF,
        "userDataBase64": LEAF,
    },
    "aws:ec2/launchConfiguration:LaunchConfiguration": {
        "instanceType": LEAF,
        "rootBlockDevice": {"volumeSize": LEAF, "volumeType": LEAF},
        "spotPrice": LEAF,
        "userData": LEAF,
    },
    "aws:ec2/capacityReservation:CapacityReservation": {
        "availabilityZone": LEAF,
        "endDate": LEAF,
        "instanceCount": LEAF,
        "instanceType": LEAF,
        "placementGroupArn": LEAF,
        "tags": LEAF,
    },
    "aws:ec2/dedicatedHost:DedicatedHost": {
        "availabilityZone": LEAF,
        "instanceFamily": LEAF,
        "instanceType": LEAF,
        "tags": LEAF,
    },
    "aws:ec2/spotFleetRequest:SpotFleetRequest": {
        "allocationStrategy": LEAF,
        "launchSpecifications": [{"instanceType": LEAF, "tags": LEAF, "userData": LEAF}],
        "onDemandTargetCapacity": LEAF,
        "spotPrice": LEAF,
        "tags": LEAF,
        "targetCapacity": LEAF,
    },
    "aws:ec2/networkInterface:NetworkInterface": {"interfaceType": LEAF, "securityGroups": [LEAF]},
    "aws:ec2/securityGroupRule:SecurityGroupRule": {
        "protocol": LEAF,
        "securityGroupId": LEAF,
        "self": LEAF,
        "sourceSecurityGroupId": LEAF,
        "type": LEAF,
    },
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": {
        "ipProtocol": LEAF,
        "referencedSecurityGroupId": LEAF,
        "securityGroupId": LEAF,
    },
    "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation": {
        "routeTableId": LEAF,
        "vpcEndpointId": LEAF,
    },
}
"""Properties that are read and that no sample has."""
OF_INSTANCES = {
    "availabilityZone": LEAF,
    "instanceMarketOptions": {"marketType": LEAF, "spotOptions": {"maxPrice": LEAF}},
    "networkInterfaces": [{"interfaceType": LEAF, "networkInterfaceId": LEAF}],
    "region": LEAF,
    "tags": LEAF,
    "userData": LEAF,
}
"""The same of everything that describes instances."""
DESCRIBING = (
    "aws:ec2/instance:Instance",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
)


@cache
def known() -> Known:
    """Gather every type that something is read of."""
    shapes: dict[str, Any] = {kind: {} for kind in (*EXTRACTORS, *PARTED, *sorted(SURROUNDINGS))}
    values: dict[str, dict[str, Any]] = {}
    for kind, properties in _samples():
        if kind in shapes:
            shapes[kind] = joined(shapes[kind], shape_of(properties))
            _gather(properties, "", values)
    for kind, shape in FURTHER.items():
        shapes[kind] = joined(shapes[kind], shape)
    for kind in DESCRIBING:
        shapes[kind] = joined(shapes[kind], OF_INSTANCES)
    loaded = schema.load()
    more = {
        kind: _written(loaded["resources"][kind]["inputs"], loaded["shapes"])
        for kind in shapes
        if kind in loaded["resources"]
    }
    return Known(shapes, more, {key: tuple(found.values()) for key, found in values.items()})


def _samples() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for sample in samples():
        yield sample.type, sample.properties
    for example in examples():
        for one in (example.resources or {}).values():
            yield token(one["type"]), one["properties"]


def shape_of(value: Any) -> Any:
    """Return the shape of a value."""
    if isinstance(value, Mapping):
        return {key: LEAF if key == "tags" else shape_of(item) for key, item in value.items()}
    if isinstance(value, list):
        shape: Any = LEAF
        for item in value:
            shape = joined(shape, shape_of(item))
        return [shape]
    held = _held(value)
    return LEAF if held is None else Text(shape_of(held))


def _held(value: Any) -> Any:
    """Return what a text of JSON holds, None where it is none."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def joined(one: Any, other: Any) -> Any:
    """Return a shape with all that either has."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        return {key: joined(one.get(key, LEAF), other.get(key, LEAF)) for key in keys}
    if isinstance(one, list) and isinstance(other, list):
        return [joined(one[0], other[0])]
    if isinstance(one, Text) and isinstance(other, Text):
        return Text(joined(one.shape, other.shape))
    return other if one == LEAF else one


def _written(short: Mapping[str, Any], shapes: Mapping[str, Any]) -> dict[str, Any]:
    """Write out the provider's short form."""
    return {key.rstrip("!"): _kind(kind, shapes) for key, kind in short.items()}


def _kind(short: Any, shapes: Mapping[str, Any]) -> Any:
    if isinstance(short, list):
        return [_kind(short[0], shapes)]
    if isinstance(short, dict):
        return _written(short, shapes)
    return _written(shapes[short[1:]], shapes) if short.startswith("#") else LEAF


def _gather(value: Any, name: str, values: dict[str, dict[str, Any]]) -> None:
    """Remember each value under the name of the property that it stands in."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _gather(item, key, values)
    elif isinstance(value, list):
        for item in value:
            _gather(item, name, values)
    elif (held := _held(value)) is not None:
        _gather(held, name, values)
    elif not (isinstance(value, str) and "${" in value):
        values.setdefault(name, {})[repr(value)] = value
