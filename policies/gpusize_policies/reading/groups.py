"""Auto Scaling groups: which types, in which zones, how many, and how bought."""

from __future__ import annotations

from gpusize.tokens import WORKLOAD_TAG
from gpusize_policies.reading.overrides import (
    Offered,
    instances_of,
    offered,
    price_of_one,
    strategy_of,
)
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
SIZES = ("minSize", "desiredCapacity", "maxSize")
UNITS = "units"
"""Capacity by instances or their weights; other types count vCPUs or memory."""
ALL = 100
"""Percent on demand above the base where a policy says none (aws provider, Group)."""


def group(props: Props) -> Selection:
    """Read a group; what it leaves out its launch template says."""
    given = _offered(props)
    zones = _zones(props)
    least, desired, most = (_instances(props, key, given.weight) for key in SIZES)
    return Selection(
        workload=first(_tag(props), DEFERRED),
        instance_type=given.instance_type,
        market=_market(props),
        zone=Value(zones.value[0]) if zones.says and len(zones.value) == 1 else ABSENT,
        region=shaped(props.get("region"), is_region),
        capacity_reservation=first(_reservation(props), DEFERRED),
        types=given.types,
        more_types=given.more_types,
        requirements=given.requirements,
        efa_interfaces=DEFERRED,
        interfaces=DEFERRED,
        placement_group=_placed(props),
        subnets=first(props.length("vpcZoneIdentifiers"), props.length("availabilityZones")),
        zones=zones,
        max_price=price_of_one(amount(props.get(f"{DISTRIBUTION}.spotMaxPrice")), given.weight),
        allocation=_allocation(props),
        on_demand_base=_instances(props, f"{DISTRIBUTION}.onDemandBaseCapacity", given.weight),
        on_demand_percent=_percent(props),
        least=least,
        desired=desired,
        most=most,
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


def _offered(props: Props) -> Offered:
    """What the overrides list; each may name a template of its own, which says what it does not."""
    items, complete = props.items(OVERRIDES)
    return offered([Props(one.value) for one in items if one.known], complete)


def _instances(props: Props, path: str, weight: Value) -> Value:
    """Instances that a size takes, which counts units of capacity where types have weights."""
    unit = props.get("desiredCapacityType")
    counted = unit == ABSENT or unit.text == UNITS
    units = count(props.get(path))
    return instances_of(units, weight) if counted or not units.says else UNKNOWN


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
    return strategy_of(props.get(f"{DISTRIBUTION}.spotAllocationStrategy"))


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
