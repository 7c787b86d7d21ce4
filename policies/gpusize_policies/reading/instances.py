"""Instances, spot requests and launch templates."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize_policies.reading.launches import template_user_data, user_data
from gpusize_policies.reading.requirements import requirements_of
from gpusize_policies.reading.selection import (
    BY_ATTRIBUTES,
    NAMED,
    ON_DEMAND,
    SPOT,
    Role,
    Selection,
    is_region,
    is_zone,
)
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    ELSEWHERE,
    UNKNOWN,
    Props,
    Value,
    amount,
    count,
    first,
    present,
    shaped,
    tag_of,
    text,
)

MARKETS = {
    "spot": "spot",
    "capacity-block": "capacity-block",
    "interruptible-capacity-reservation": "spot",
}
"""AWS's market types in our words: an interruptible reservation is taken back like spot."""

ROOT_DEVICES = ("/dev/xvda", "/dev/sda1")
"""Root device names of Amazon Linux, and of Ubuntu, Red Hat and Windows images."""
GP3 = "gp3"
GP3_MBPS = 125
"""MB/s of a gp3 volume for which none is asked (EC2 CreateVolume, Throughput)."""
EFA = ("efa", "efa-only")
"""Interface types that EFA traffic takes."""


def instance(props: Props) -> Selection:
    """Read an instance: what it leaves out its launch template may say."""
    template = props.get("launchTemplate")
    otherwise = ABSENT if template.known and template.value is None else DEFERRED
    market = first(market_of(props), otherwise)
    return _common(props, otherwise)._replace(
        market=Value(ON_DEMAND) if market == ABSENT else market,
        capacity_reservation=first(reservation_of(props), otherwise),
        max_price=amount(props.get("instanceMarketOptions.spotOptions.maxPrice")),
    )


def spot_request(props: Props) -> Selection:
    """Read a request of one spot instance."""
    template = props.get("launchTemplate")
    otherwise = ABSENT if template.known and template.value is None else DEFERRED
    return _common(props, otherwise)._replace(
        market=Value(SPOT),
        capacity_reservation=reservation_of(props),
        max_price=amount(props.get("spotPrice")),
    )


def _common(props: Props, otherwise: Value) -> Selection:
    group = present(props.get("placementGroup"), props.get("placementGroupId"))
    size, speed = volume_of(props, "rootBlockDevice")
    efa, interfaces = _attached(props)
    return Selection(
        workload=first(tag_of(props, "tags"), tag_of(props, "tagsAll"), otherwise),
        instance_type=first(text(props.get("instanceType")), otherwise),
        zone=shaped(props.get("availabilityZone"), is_zone),
        region=shaped(props.get("region"), is_region),
        root_volume_gib=size,
        root_volume_mbps=speed,
        efa_interfaces=first(efa, otherwise),
        interfaces=first(interfaces, otherwise),
        placement_group=first(Value(NAMED) if group.says else group, otherwise),
        launches=first(user_data(props), otherwise),
    )


def launch_template(props: Props) -> Selection:
    """Read a launch template; who launches may say more."""
    group = present(props.get("placement.groupName"), props.get("placement.groupId"))
    size, speed = _mapped_volume(props)
    efa, interfaces = _described(props)
    asked = requirements_of(props)
    named = text(props.get("instanceType"))
    return Selection(
        workload=first(*_launched_tags(props), tag_of(props, "tags")),
        instance_type=named if asked == ABSENT else BY_ATTRIBUTES,
        market=market_of(props),
        zone=shaped(props.get("placement.availabilityZone"), is_zone),
        region=shaped(props.get("region"), is_region),
        capacity_reservation=reservation_of(props),
        root_volume_gib=size,
        root_volume_mbps=speed,
        efa_interfaces=efa,
        interfaces=interfaces,
        placement_group=Value(NAMED) if group.says else group,
        max_price=amount(props.get("instanceMarketOptions.spotOptions.maxPrice")),
        launches=template_user_data(props),
        requirements=Value((asked.value,)) if asked.says else asked,
        role=Role.TEMPLATE,
    )


def launch_configuration(props: Props) -> Selection:
    """Read what launch templates have replaced; it has no tags, so only a group refers to it."""
    size, speed = volume_of(props, "rootBlockDevice")
    price = amount(props.get("spotPrice"))
    return Selection(
        instance_type=text(props.get("instanceType")),
        market=Value(SPOT if price.says else ON_DEMAND) if price.known else UNKNOWN,
        region=shaped(props.get("region"), is_region),
        root_volume_gib=size,
        root_volume_mbps=speed,
        max_price=price,
        launches=user_data(props),
        role=Role.TEMPLATE,
    )


def market_of(props: Props) -> Value:
    """Read the market of an instance or a template, absent where it names none."""
    options = props.get("instanceMarketOptions")
    if not options.known or options.value is None:
        return options
    found = props.get("instanceMarketOptions.marketType")
    if not found.known or (found.text and found.text not in MARKETS):
        return UNKNOWN
    return Value(MARKETS.get(found.text))


def reservation_of(props: Props) -> Value:
    """Read the id of the reservation, or of the group of reservations, that is launched into."""
    path = "capacityReservationSpecification.capacityReservationTarget"
    return first(
        text(props.get(f"{path}.capacityReservationId")),
        text(props.get(f"{path}.capacityReservationResourceGroupArn")),
    )


def volume_of(props: Props, path: str) -> tuple[Value, Value]:
    """Read size (GiB) and throughput (MB/s) of a volume; of gp3 it is known where none is asked."""
    speed = count(props.get(f"{path}.throughput"))
    kind = props.get(f"{path}.volumeType")
    if speed == ABSENT:
        speed = Value(GP3_MBPS) if kind.text == GP3 else Value(known=kind.known)
    return count(props.get(f"{path}.volumeSize")), speed


def _mapped_volume(props: Props) -> tuple[Value, Value]:
    """The same of the mapping that stands for the root volume; other mappings are data."""
    mappings, complete = props.items("blockDeviceMappings")
    readers = [Props(mapping.value) for mapping in mappings if mapping.known]
    devices = [reader.get("deviceName") for reader in readers]
    for reader, device in zip(readers, devices, strict=True):
        if device.text in ROOT_DEVICES:
            return volume_of(reader, "ebs")
    known = complete and all(device.known for device in devices)
    return (ABSENT, ABSENT) if known else (UNKNOWN, UNKNOWN)


def _attached(props: Props) -> tuple[Value, Value]:
    """EFA and other interfaces of an instance: it names them, and what they are stands there."""
    attached = first(props.get("primaryNetworkInterface"), props.get("networkInterfaces"))
    if attached == ABSENT:
        return ABSENT, ABSENT
    listed = (props.length("networkInterfaces"), props.length("secondaryNetworkInterfaces"))
    if not attached.known or not all(one.known for one in listed):
        return UNKNOWN, UNKNOWN
    primary = int(props.get("primaryNetworkInterface").says)
    return ELSEWHERE, Value(primary + sum(one.value or 0 for one in listed))


def _described(props: Props) -> tuple[Value, Value]:
    """EFA and all interfaces that a template describes; of one that it names it does not say."""
    listed, complete = props.items("networkInterfaces")
    total = props.length("networkInterfaces")
    if total == ABSENT:
        return ABSENT, ABSENT
    readers = [Props(one.value) for one in listed if one.known]
    kinds = [reader.get("interfaceType") for reader in readers]
    named = [present(reader.get("networkInterfaceId")) for reader in readers]
    if any(one.says for one in named):
        return ELSEWHERE, total
    sure = complete and all(one.known for one in (*kinds, *named))
    return Value(sum(kind.text in EFA for kind in kinds)) if sure else UNKNOWN, total


def interface(props: Props) -> Value:
    """Tell whether a network interface of the stack is one of EFA."""
    kind = props.get("interfaceType")
    return Value(kind.text in EFA) if kind.known else UNKNOWN


def _launched_tags(props: Props) -> Iterator[Value]:
    """The tag on the instances that a template launches, then that of what it may launch."""
    specifications, complete = props.items("tagSpecifications")
    readers = [Props(specification.value) for specification in specifications]
    kinds = [reader.get("resourceType") for reader in readers]
    for reader, kind in zip(readers, kinds, strict=True):
        if kind.text == "instance":
            yield tag_of(reader, "tags")
    if not complete or not all(kind.known for kind in kinds):
        yield UNKNOWN
