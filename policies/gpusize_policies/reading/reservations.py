"""Reserved capacity, and the resources that machines lie in: placement groups and subnets."""

from __future__ import annotations

import datetime

from gpusize_policies.reading.requirements import INCLUDED, SWITCHES, Requirement
from gpusize_policies.reading.selection import (
    CAPACITY_BLOCK,
    CLUSTER,
    NAMED,
    ON_DEMAND,
    Role,
    Selection,
    is_region,
    is_zone,
)
from gpusize_policies.reading.values import (
    ABSENT,
    UNKNOWN,
    Props,
    Value,
    count,
    first,
    present,
    shaped,
    tag_of,
    text,
)

UNLIMITED = "unlimited"
STRATEGIES = frozenset({CLUSTER, "spread", "partition"})
DAY = len("2026-11-30")
ANY_HOST = tuple(dict.fromkeys(SWITCHES, INCLUDED).items())
"""A host takes every type of its family."""


def capacity_reservation(props: Props) -> Selection:
    """Read an on-demand capacity reservation."""
    group = present(props.get("placementGroupArn"))
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=text(props.get("instanceType")),
        market=Value(ON_DEMAND),
        zone=shaped(props.get("availabilityZone"), is_zone),
        region=shaped(props.get("region"), is_region),
        placement_group=Value(NAMED) if group.says else group,
        reserved=count(props.get("instanceCount")),
        reserved_until=_end(props),
        role=Role.RESERVATION,
    )


def capacity_block(props: Props) -> Selection:
    """Read a capacity block: its offering says the type, so it is known once it is bought."""
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=text(props.get("instanceType")),
        market=Value(CAPACITY_BLOCK),
        zone=zone(props),
        region=shaped(props.get("region"), is_region),
        role=Role.BLOCK,
    )


def dedicated_host(props: Props) -> Selection:
    """Read a dedicated host, which takes one type or all of a family."""
    family = text(props.get("instanceFamily"))
    named = first(text(props.get("instanceType")), family)
    pattern = Requirement(switches=ANY_HOST, allowed=(f"{family.text}.*",))
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=named,
        market=Value(ON_DEMAND),
        zone=shaped(props.get("availabilityZone"), is_zone),
        region=shaped(props.get("region"), is_region),
        requirements=Value((pattern,)) if family.text else Value(known=family.known),
        role=Role.HOST,
    )


def _end(props: Props) -> Value:
    """The day on which it ends; absent where it does not."""
    kind, end = props.get("endDateType"), props.get("endDate")
    if kind.text == UNLIMITED:
        return ABSENT
    if not end.says:
        return end
    try:
        return Value(datetime.date.fromisoformat(str(end.value)[:DAY]).isoformat())
    except ValueError:
        return UNKNOWN


def strategy(props: Props) -> Value:
    """Read how a placement group places: cluster, spread or partition."""
    found = props.get("strategy")
    return found if found.text in STRATEGIES else UNKNOWN


def zone(props: Props) -> Value:
    """Read the zone of a subnet, a reservation or a block; absent where it is named otherwise."""
    for key in ("availabilityZone", "availabilityZoneId"):
        found = shaped(props.get(key), is_zone)
        if found != ABSENT:
            return found
    return ABSENT
