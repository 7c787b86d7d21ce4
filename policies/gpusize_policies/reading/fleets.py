"""EC2 fleets and spot fleets: several types at once, from templates or specifications."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize_policies.reading.instances import volume_of
from gpusize_policies.reading.launches import user_data
from gpusize_policies.reading.overrides import (
    Offered,
    instances_of,
    offered,
    price_of_one,
    strategy_of,
)
from gpusize_policies.reading.selection import (
    CAPACITY_BLOCK,
    NAMED,
    ON_DEMAND,
    SPOT,
    Selection,
    is_region,
)
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    UNKNOWN,
    Props,
    Value,
    agreed,
    amount,
    count,
    first,
    present,
    shaped,
    tag_of,
)

CAPACITY = "targetCapacitySpecification"
UNITS = "units"
MARKETS = (ON_DEMAND, SPOT, CAPACITY_BLOCK)


def fleet(props: Props) -> Selection:
    """Read an EC2 fleet: its overrides, and how much of it is on demand and on spot."""
    given = _of_templates(props, "maxPrice")
    total = count(props.get(f"{CAPACITY}.totalTargetCapacity"))
    market, base = _shares(props, total)
    unit = props.get(f"{CAPACITY}.targetCapacityUnitType")
    found = _common(props, given, total, unit)
    return found._replace(
        workload=first(tag_of(props, "tags"), DEFERRED),
        market=market,
        on_demand_base=instances_of(base, given.weight) if market.text == SPOT else ABSENT,
        on_demand_percent=Value(0) if market.text == SPOT else ABSENT,
        allocation=strategy_of(props.get("spotOptions.allocationStrategy")),
        max_price=price_of_one(given.max_price, given.weight),
    )


def spot_fleet(props: Props) -> Selection:
    """Read a spot fleet request, from specifications of its own or from templates."""
    entries, complete = _entries(props, "launchSpecifications")
    if entries or not complete:
        given = offered(entries, complete, "spotPrice")
    else:
        given = _of_templates(props, "spotPrice")
    price = first(given.max_price, amount(props.get("spotPrice")))
    base = count(props.get("onDemandTargetCapacity"))
    unit = props.get("targetCapacityUnitType")
    found = _common(props, given, count(props.get("targetCapacity")), unit)
    found = found._replace(
        market=Value(SPOT),
        on_demand_base=instances_of(base, given.weight),
        on_demand_percent=Value(0),
        allocation=strategy_of(props.get("allocationStrategy")),
        max_price=price_of_one(price, given.weight),
        workload=first(tag_of(props, "tags"), *_tags(entries), DEFERRED),
    )
    return _specified(found, entries) if entries else found


def _common(props: Props, given: Offered, total: Value, unit: Value) -> Selection:
    """What both kinds of fleets say alike."""
    counted = unit == ABSENT or unit.text == UNITS
    size = instances_of(total, given.weight) if counted else UNKNOWN
    zones = given.zones.value if given.zones.says else ()
    return Selection(
        instance_type=given.instance_type,
        types=given.types,
        more_types=given.more_types,
        requirements=given.requirements,
        region=shaped(props.get("region"), is_region),
        zone=Value(next(iter(zones))) if len(zones) == 1 else ABSENT,
        zones=given.zones,
        subnets=given.subnets,
        capacity_reservation=DEFERRED,
        efa_interfaces=DEFERRED,
        interfaces=DEFERRED,
        placement_group=DEFERRED,
        launches=DEFERRED,
        least=size,
        desired=size,
        most=size,
    )


def _entries(props: Props, path: str) -> tuple[list[Props], bool]:
    items, complete = props.items(path)
    return [Props(one.value) for one in items if one.known], complete


def _of_templates(props: Props, price: str) -> Offered:
    """What all templates of a fleet offer, with their overrides."""
    configs, complete = _entries(props, "launchTemplateConfigs")
    entries: list[Props] = []
    bare = False
    for config in configs:
        overrides, whole = _entries(config, "overrides")
        complete = complete and whole
        entries += overrides
        bare = bare or not overrides
    found = offered(entries, complete, price)
    if bare and entries and complete:
        return found._replace(more_types=DEFERRED)
    return found


def _shares(props: Props, total: Value) -> tuple[Value, Value]:
    """The market above what is always on demand, and how many units that is."""
    kind = props.get(f"{CAPACITY}.defaultTargetCapacityType")
    steady = count(props.get(f"{CAPACITY}.onDemandTargetCapacity"))
    spot = count(props.get(f"{CAPACITY}.spotTargetCapacity"))
    if kind.text not in MARKETS or not all(one.known for one in (steady, spot, total)):
        return UNKNOWN, UNKNOWN
    if kind.text == CAPACITY_BLOCK:
        return kind, ABSENT
    whole = total.value or 0
    if kind.text == SPOT:
        base = steady.value or 0
        on_spot = spot.value if spot.says else whole - base
    else:
        on_spot = spot.value or 0
        base = steady.value if steady.says else max(0, whole - on_spot)
    return (Value(SPOT), Value(base)) if on_spot > 0 else (Value(ON_DEMAND), ABSENT)


def _tags(entries: list[Props]) -> Iterator[Value]:
    """The tags on the instances of the specifications, where they agree."""
    found = agreed(tag_of(entry, "tags") for entry in entries)
    yield found


def _specified(found: Selection, entries: list[Props]) -> Selection:
    """What specifications say of volume and placement, which templates say otherwise."""
    volumes = [volume_of(entry, "rootBlockDevices") for entry in entries]
    groups = [present(entry.get("placementGroup")) for entry in entries]
    group = agreed(groups)
    return found._replace(
        root_volume_gib=agreed(size for size, _ in volumes),
        root_volume_mbps=agreed(speed for _, speed in volumes),
        placement_group=Value(NAMED) if group.says else group,
        capacity_reservation=ABSENT,
        efa_interfaces=ABSENT,
        interfaces=ABSENT,
        launches=agreed(user_data(entry, encoded="") for entry in entries),
    )
