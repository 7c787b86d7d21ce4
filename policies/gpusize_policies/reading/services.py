"""Other services that start machines of a named type: image builds, games, streamed desktops."""

from __future__ import annotations

from gpusize_policies.reading.selection import ON_DEMAND, SPOT, Selection, is_region, is_zone
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    UNKNOWN,
    Props,
    Value,
    count,
    first,
    names_of,
    shaped,
    tag_of,
    text,
)

MARKETS = {"ON_DEMAND": ON_DEMAND, "SPOT": SPOT}
BALANCING = {"SPOT_ONLY": SPOT, "SPOT_PREFERRED": SPOT, "ON_DEMAND_ONLY": ON_DEMAND}
DEFAULT_BALANCING = "SPOT_PREFERRED"
"""Strategy of a game server group that names none (GameLift API, CreateGameServerGroup)."""


def image_builder(props: Props) -> Selection:
    """Read what an image is built and tested on: EC2 Image Builder takes what it gets."""
    types = names_of(props, "instanceTypes")
    return Selection(
        workload=first(tag_of(props, "resourceTags"), tag_of(props, "tags")),
        instance_type=Value(types.value[0]) if types.says else types,
        types=types,
        market=Value(ON_DEMAND),
        zone=shaped(props.get("placement.availabilityZone"), is_zone),
        region=shaped(props.get("region"), is_region),
        named=(("instance_type", "instanceTypes"), ("types", "instanceTypes")),
    )


def game_fleet(props: Props) -> Selection:
    """Read a fleet of GameLift, which has prices of its own."""
    kind = first(props.get("fleetType"), Value("ON_DEMAND"))
    market = MARKETS.get(kind.text.upper())
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=text(props.get("ec2InstanceType")),
        market=Value(market) if market else UNKNOWN,
        region=shaped(props.get("region"), is_region),
        seller="GameLift",
        named=(("instance_type", "ec2InstanceType"), ("market", "fleetType")),
    )


def game_server_group(props: Props) -> Selection:
    """Read a group of game servers: instances of EC2 that GameLift keeps."""
    items, complete = props.items("instanceDefinitions")
    named = [text(Props(item.value).get("instanceType")) for item in items if item.known]
    sure = complete and all(one.known for one in named)
    texts = tuple(dict.fromkeys(one.text for one in named if one.text))
    strategy = first(props.get("balancingStrategy"), Value(DEFAULT_BALANCING))
    market = BALANCING.get(strategy.text.upper())
    otherwise = ABSENT if props.get("launchTemplate") == ABSENT else DEFERRED
    return Selection(
        workload=first(tag_of(props, "tags"), otherwise),
        instance_type=(Value(texts[0]) if texts else ABSENT) if sure else UNKNOWN,
        types=(Value(texts) if texts else ABSENT) if sure else UNKNOWN,
        market=Value(market) if market else UNKNOWN,
        region=shaped(props.get("region"), is_region),
        root_volume_gib=otherwise,
        root_volume_mbps=otherwise,
        subnets=props.length("vpcSubnets"),
        least=count(props.get("minSize")),
        most=count(props.get("maxSize")),
        named=(
            ("instance_type", "instanceDefinitions.instanceType"),
            ("types", "instanceDefinitions"),
            ("market", "balancingStrategy"),
            ("subnets", "vpcSubnets"),
            ("zones", "vpcSubnets"),
        ),
    )
