"""Managed node groups of EKS."""

from __future__ import annotations

from gpusize_policies.reading.selection import (
    CAPACITY_BLOCK,
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
    count,
    first,
    names_of,
    shaped,
    tag_of,
)

MARKETS = {"ON_DEMAND": ON_DEMAND, "SPOT": SPOT, "CAPACITY_BLOCK": CAPACITY_BLOCK}
DEFAULT_TYPE = "t3.medium"
"""Type of a group that names none, and has no launch template (EKS API, CreateNodegroup)."""
DEFAULT_DISK_GIB, WINDOWS_DISK_GIB = 20, 50
"""GiB of the disk for which none is asked (EKS API, CreateNodegroup, diskSize)."""
WINDOWS = "WINDOWS"
"""Begin of the AMI types of Windows."""
ALLOCATION = "price-capacity-optimized"
"""How spot groups pick (EKS user guide, "Managed node group capacity types", from 1.28 on)."""
NOTHING = Value(())
"""What user data starts on a node of EKS: it joins the cluster, and pods run there."""
NAMES = (
    ("instance_type", "instanceTypes"),
    ("types", "instanceTypes"),
    ("market", "capacityType"),
    ("root_volume_gib", "diskSize"),
    ("subnets", "subnetIds"),
    ("zones", "subnetIds"),
    ("least", "scalingConfig.minSize"),
    ("desired", "scalingConfig.desiredSize"),
    ("most", "scalingConfig.maxSize"),
)


def node_group(props: Props) -> Selection:
    """Read a node group; a launch template says what it leaves out."""
    template = props.get("launchTemplate")
    otherwise = ABSENT if template == ABSENT else DEFERRED
    types = names_of(props, "instanceTypes")
    market = _market(props)
    return Selection(
        workload=first(tag_of(props, "tags"), otherwise),
        instance_type=_type(types, otherwise),
        types=types,
        market=market,
        region=shaped(props.get("region"), is_region),
        capacity_reservation=otherwise,
        root_volume_gib=_disk(props, otherwise),
        root_volume_mbps=otherwise,
        efa_interfaces=otherwise,
        interfaces=otherwise,
        placement_group=otherwise,
        subnets=props.length("subnetIds"),
        allocation=Value(ALLOCATION) if market.text == SPOT else ABSENT,
        least=count(props.get("scalingConfig.minSize")),
        desired=count(props.get("scalingConfig.desiredSize")),
        most=count(props.get("scalingConfig.maxSize")),
        launches=NOTHING,
        named=NAMES,
    )


def _type(types: Value, otherwise: Value) -> Value:
    if not types.known:
        return UNKNOWN
    if types.value:
        return Value(types.value[0])
    return Value(DEFAULT_TYPE) if otherwise == ABSENT else otherwise


def _market(props: Props) -> Value:
    found = first(props.get("capacityType"), Value("ON_DEMAND"))
    word = MARKETS.get(found.text.upper())
    return Value(word) if word else UNKNOWN


def _disk(props: Props, otherwise: Value) -> Value:
    kind = props.get("amiType")
    if not kind.known:
        usual = UNKNOWN
    else:
        is_windows = kind.text.upper().startswith(WINDOWS)
        usual = Value(WINDOWS_DISK_GIB if is_windows else DEFAULT_DISK_GIB)
    return first(count(props.get("diskSize")), usual if otherwise == ABSENT else otherwise)
