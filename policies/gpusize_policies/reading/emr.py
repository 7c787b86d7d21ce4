"""EMR on EC2: clusters, and the groups and fleets that are added to them."""

from __future__ import annotations

from gpusize_policies.reading.selection import ON_DEMAND, SPOT, Selection, is_region
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    UNKNOWN,
    Props,
    Value,
    amount,
    count,
    first,
    shaped,
    tag_of,
    text,
)

PRIMARY = "masterInstance"
CORE = "coreInstance"
CONFIGS = "instanceTypeConfigs"
STRATEGIES = frozenset(
    {
        "capacity-optimized",
        "capacity-optimized-prioritized",
        "diversified",
        "lowest-price",
        "price-capacity-optimized",
    }
)
"""How a fleet picks among spot pools (EMR API, SpotProvisioningSpecification)."""


def cluster(props: Props) -> tuple[Selection, ...]:
    """Read the primary node and the core nodes, as groups or as fleets."""
    found = []
    for role in (PRIMARY, CORE):
        for kind, read in (("Group", _group), ("Fleet", _fleet)):
            place = f"{role}{kind}"
            held = props.get(place)
            if held == ABSENT:
                continue
            part = read(Props(held.value) if held.known else None, place)
            found.append(
                part._replace(
                    workload=tag_of(props, "tags"),
                    region=shaped(props.get("region"), is_region),
                    subnets=_subnets(props),
                    is_helper=role == PRIMARY,
                    place=place,
                )
            )
    return tuple(found)


def _subnets(props: Props) -> Value:
    one = props.get("ec2Attributes.subnetId")
    return first(Value(1) if one.says else one, props.length("ec2Attributes.subnetIds"))


def instance_group(props: Props) -> Selection:
    """Read a group of task nodes; its cluster has the tags."""
    found = _group(props, "")
    return found._replace(workload=DEFERRED, region=shaped(props.get("region"), is_region))


def instance_fleet(props: Props) -> Selection:
    """Read a fleet of task nodes; its cluster has the tags."""
    found = _fleet(props, "")
    return found._replace(workload=DEFERRED, region=shaped(props.get("region"), is_region))


def _group(props: Props | None, place: str) -> Selection:
    """A group: on spot where it bids, at most for the on-demand price."""
    if props is None:
        return Selection(instance_type=UNKNOWN, market=UNKNOWN, named=_names(place))
    bid = props.get("bidPrice")
    return Selection(
        instance_type=text(props.get("instanceType")),
        market=Value(ON_DEMAND if bid.value in (None, "") else SPOT) if bid.known else UNKNOWN,
        max_price=amount(bid),
        desired=count(props.get("instanceCount")),
        named=_names(place),
    )


def _fleet(props: Props | None, place: str) -> Selection:
    """A fleet: EMR takes what it gets of its types."""
    if props is None:
        return Selection(instance_type=UNKNOWN, market=UNKNOWN, named=_names(place))
    types = _types(props)
    market = _market(props)
    return Selection(
        instance_type=Value(types.value[0]) if types.says else types,
        types=types,
        market=market,
        allocation=_allocation(props) if market.text == SPOT else ABSENT,
        max_price=_least(props, "bidPrice"),
        max_price_percent=_least(props, "bidPriceAsPercentageOfOnDemandPrice"),
        named=_names(place),
    )


def _types(props: Props) -> Value:
    items, complete = props.items(CONFIGS)
    named = [text(Props(item.value).get("instanceType")) for item in items if item.known]
    if not complete or not all(one.known for one in named):
        return UNKNOWN
    texts = tuple(dict.fromkeys(one.text for one in named if one.text))
    return Value(texts) if texts else ABSENT


def _least(props: Props, key: str) -> Value:
    """The lowest limit that any type of a fleet has."""
    items, complete = props.items(CONFIGS)
    bids = [amount(Props(item.value).get(key)) for item in items if item.known]
    if not complete or not all(one.known for one in bids):
        return UNKNOWN
    said = [one.value for one in bids if one.says]
    return Value(min(said)) if said else ABSENT


def _market(props: Props) -> Value:
    """Spot where any of it is: that part decides what interruptions cost."""
    steady, spot = (
        count(props.get(key)) for key in ("targetOnDemandCapacity", "targetSpotCapacity")
    )
    if spot.known and spot.value:
        return Value(SPOT)
    return Value(ON_DEMAND) if spot.known and (steady.known or spot.value == 0) else UNKNOWN


def _allocation(props: Props) -> Value:
    found = props.get("launchSpecifications.spotSpecifications.allocationStrategy")
    if found == ABSENT:
        return found
    return found if found.text in STRATEGIES else UNKNOWN


def _names(place: str) -> tuple[tuple[str, str], ...]:
    dot = f"{place}." if place else ""
    is_fleet = place.endswith("Fleet")
    named = {
        "instance_type": f"{CONFIGS}.instanceType" if is_fleet else "instanceType",
        "types": CONFIGS,
        "market": "targetSpotCapacity" if is_fleet else "bidPrice",
        "max_price": f"{CONFIGS}.bidPrice" if is_fleet else "bidPrice",
        "max_price_percent": f"{CONFIGS}.bidPriceAsPercentageOfOnDemandPrice",
        "allocation": "launchSpecifications.spotSpecifications",
        "desired": "instanceCount",
    }
    found = tuple((field, f"{dot}{name}") for field, name in named.items())
    return (*found, ("subnets", "ec2Attributes.subnetIds"), ("zones", "ec2Attributes.subnetIds"))
