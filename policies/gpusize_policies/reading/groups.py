"""Auto Scaling groups: which types, in which zones, how many, and how bought."""

from __future__ import annotations

from gpusize.tokens import WORKLOAD_TAG
from gpusize_policies.reading.selection import (
    NAMED,
    ON_DEMAND,
    SPOT,
    Selection,
    is_region,
    is_zone,
)
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    UNKNOWN,
    Props,
    Value,
    amount,
    count,
    first,
    present,
    shaped,
    text,
)

POLICY = "mixedInstancesPolicy"
DISTRIBUTION = f"{POLICY}.instancesDistribution"
OVERRIDES = f"{POLICY}.launchTemplate.overrides"
ALL = 100
"""Percent on demand above the base where a policy says none (aws provider, Group)."""
LOWEST_PRICE = "lowest-price"
"""Spot pools that a policy takes where it says no strategy (aws provider, Group)."""
STRATEGIES = frozenset(
    {
        LOWEST_PRICE,
        "capacity-optimized",
        "capacity-optimized-prioritized",
        "price-capacity-optimized",
    }
)


def group(props: Props) -> Selection:
    """Read a group; what it leaves out its launch template says."""
    types = _types(props)
    listed = types.value[0] if types.says and types.value else None
    zones = _zones(props)
    return Selection(
        workload=first(_tag(props), DEFERRED),
        instance_type=Value(listed) if listed else UNKNOWN if not types.known else DEFERRED,
        market=_market(props),
        zone=Value(zones.value[0]) if zones.says and len(zones.value) == 1 else ABSENT,
        region=shaped(props.get("region"), is_region),
        capacity_reservation=first(_reservation(props), DEFERRED),
        types=types,
        efa_interfaces=DEFERRED,
        interfaces=DEFERRED,
        placement_group=_placed(props),
        subnets=first(props.length("vpcZoneIdentifiers"), props.length("availabilityZones")),
        zones=zones,
        max_price=amount(props.get(f"{DISTRIBUTION}.spotMaxPrice")),
        allocation=_allocation(props),
        on_demand_base=count(props.get(f"{DISTRIBUTION}.onDemandBaseCapacity")),
        on_demand_percent=_percent(props),
        least=count(props.get("minSize")),
        desired=count(props.get("desiredCapacity")),
        most=count(props.get("maxSize")),
        launches=DEFERRED,
    )


def _tag(props: Props) -> Value:
    """The tag of the instances: groups have a list of keys and values."""
    tags, complete = props.items("tags")
    readers = [Props(tag.value) for tag in tags if tag.known]
    keys = [reader.get("key") for reader in readers]
    for reader, key in zip(readers, keys, strict=True):
        if key.text == WORKLOAD_TAG:
            return text(reader.get("value"))
    return ABSENT if complete and all(key.known for key in keys) else UNKNOWN


def _types(props: Props) -> Value:
    """The types that the overrides list; by requirements alone nobody knows which."""
    overrides, complete = props.items(OVERRIDES)
    readers = [Props(override.value) for override in overrides if override.known]
    named = [reader.get("instanceType") for reader in readers]
    open_ended = any(present(reader.get("instanceRequirements")) != ABSENT for reader in readers)
    if not complete or open_ended or not all(one.known for one in named):
        return UNKNOWN
    return Value(tuple(dict.fromkeys(one.text for one in named if one.text))) if named else ABSENT


def _market(props: Props) -> Value:
    """How the instances above the base are bought; without a policy the template says it."""
    policy = props.get(POLICY)
    if policy == ABSENT:
        return DEFERRED
    percent = _percent(props)
    if not policy.known or not percent.known:
        return UNKNOWN
    return Value(ON_DEMAND if percent.value >= ALL else SPOT)


def _percent(props: Props) -> Value:
    if props.get(POLICY) == ABSENT:
        return ABSENT
    return first(
        count(props.get(f"{DISTRIBUTION}.onDemandPercentageAboveBaseCapacity")), Value(ALL)
    )


def _allocation(props: Props) -> Value:
    if props.get(POLICY) == ABSENT:
        return ABSENT
    found = first(props.get(f"{DISTRIBUTION}.spotAllocationStrategy"), Value(LOWEST_PRICE))
    return found if found.text in STRATEGIES else UNKNOWN


def _placed(props: Props) -> Value:
    found = present(props.get("placementGroup"))
    return Value(NAMED) if found.says else first(found, DEFERRED)


def _zones(props: Props) -> Value:
    named, complete = props.items("availabilityZones")
    if not complete:
        return UNKNOWN
    texts = tuple(sorted({one.text for one in named if one.text}))
    if not all(is_zone(text) for text in texts):
        return UNKNOWN
    return Value(texts) if texts else ABSENT


def _reservation(props: Props) -> Value:
    path = "capacityReservationSpecification.capacityReservationTarget"
    for key in ("capacityReservationIds", "capacityReservationResourceGroupArns"):
        ids, complete = props.items(f"{path}.{key}")
        if not complete:
            return UNKNOWN
        if ids:
            return text(ids[0])
    return ABSENT
