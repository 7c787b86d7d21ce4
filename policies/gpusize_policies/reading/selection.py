"""What a resource asks AWS for, in the words that rules judge."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from gpusize.tokens import WORKLOAD_TAG
from gpusize_policies.reading.values import ABSENT, Value

FLEET = "aws:ec2/fleet:Fleet"
SPOT_FLEET = "aws:ec2/spotFleetRequest:SpotFleetRequest"
LAUNCH_CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"

LONGEST_PLACE = 40
"""Characters of a region or a zone."""
ON_DEMAND = "on-demand"
"""What AWS takes where an instance names no market."""
SPOT = "spot"
CAPACITY_BLOCK = "capacity-block"

CLUSTER = "cluster"
NAMED = "named"
"""A placement group whose strategy nothing says."""

BY_ATTRIBUTES = Value("requirements", known=False)
"""Instance type of what says no type but what a type must have."""

ODCR = "odcr"
"""An on-demand capacity reservation of the stack."""


class Role(str, Enum):
    """What a resource is to the work."""

    MACHINE = "machine"
    """Launches instances."""
    TEMPLATE = "template"
    """Says what others launch."""
    RESERVATION = "reservation"
    """Keeps capacity, used or not."""
    BLOCK = "block"
    """A capacity block, which is paid for whole."""
    HOST = "host"
    """A dedicated host, which is paid for until it is released."""
    TASK = "task"
    """Says what runs, on machines that another resource selects."""
    POD = "pod"
    """Runs on a part of a node that a scheduler picks."""


KEEPING = frozenset({Role.RESERVATION, Role.BLOCK, Role.HOST})
"""Roles of what keeps capacity: the work is judged where it runs."""


class Selection(NamedTuple):
    """What a resource asks AWS for; what it does not say is absent."""

    workload: Value = ABSENT
    instance_type: Value = ABSENT
    market: Value = ABSENT
    """`on-demand`, `spot` or `capacity-block`; absent where whoever launches decides."""
    zone: Value = ABSENT
    region: Value = ABSENT
    capacity_reservation: Value = ABSENT
    reservation: Value = ABSENT
    """`odcr` or `capacity-block` where the reservation is one of the stack."""
    reservation_zone: Value = ABSENT
    types: Value = ABSENT
    """Instance types that may be launched, where several are listed or admitted; a word without a
    size stands for its family until `families.expanded`."""
    more_types: Value = ABSENT
    """Deferred where launch templates add types to those that are listed."""
    requirements: Value = ABSENT
    """Attributes by which AWS picks types: `Requirement`, one or more."""
    admitted: Value = ABSENT
    """What the attributes admit by the catalog: `Admitted`."""
    root_volume_gib: Value = ABSENT
    root_volume_mbps: Value = ABSENT
    efa_interfaces: Value = ABSENT
    interfaces: Value = ABSENT
    """Network interfaces of one instance, EFA or not."""
    placement_group: Value = ABSENT
    """Its strategy, or `named`."""
    subnets: Value = ABSENT
    """How many subnets the instances may lie in."""
    zones: Value = ABSENT
    """The zones of these, where the stack says them."""
    closed_ways: Value = ABSENT
    """Directions in which no security group lets the machine talk to its own kind; '' for none."""
    s3_by_nat: Value = ABSENT
    """Whether what comes from S3 goes through a NAT gateway."""
    max_price: Value = ABSENT
    """USD per hour above which spot capacity is given up."""
    max_price_percent: Value = ABSENT
    """The same as a part of the on-demand price."""
    allocation: Value = ABSENT
    """How a group picks among spot pools."""
    on_demand_base: Value = ABSENT
    """Instances of a group that always run on demand."""
    on_demand_percent: Value = ABSENT
    """Part of the instances above that base which is on demand."""
    least: Value = ABSENT
    desired: Value = ABSENT
    most: Value = ABSENT
    """Instances of a group."""
    reserved: Value = ABSENT
    """Instances of a reservation."""
    reserved_until: Value = ABSENT
    """Day on which a reservation ends, YYYY-MM-DD."""
    least_vcpus: Value = ABSENT
    desired_vcpus: Value = ABSENT
    most_vcpus: Value = ABSENT
    """Size of what is counted in vCPUs and not in instances."""
    gpus: Value = ABSENT
    """GPUs that what runs on one instance asks for."""
    pod: Value = ABSENT
    """What a pod asks of its node: `gpusize_policies.reading.kubernetes.pods.Pod`."""
    places: Value = ABSENT
    """Nodes that it may be put on: a tuple of `gpusize_policies.scheduling.Place`."""
    nodes: Value = ABSENT
    """Instances that one run takes, where what runs says it."""
    launches: Value = ABSENT
    """What is started there: a tuple of `gpusize_policies.launched.Launch`. Its texts hold secrets,
    so rules never see it."""
    kind: str = ""
    """Type of the resource: what properties are called depends on it."""
    role: Role = Role.MACHINE
    place: str = ""
    """Path of the part of the resource that this is, where it has several."""
    seller: str = ""
    """Service that bills the instances at prices of its own; empty: EC2."""
    obstacle: tuple[str, str] = ("", "")
    """Why nobody can tell where it runs, and what would help; empty: nothing speaks against it."""
    is_pool: bool = False
    """Whether other work may share the instances: how many there are says nothing of one run."""
    is_helper: bool = False
    """Whether it serves the work from beside, mostly without an accelerator."""
    named: tuple[tuple[str, str], ...] = ()
    """Fields that other properties say than on EC2."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """Properties whose value is not known yet, in camelCase."""
        return self.doubts(*PROPERTIES)

    def doubts(self, *fields: str) -> tuple[str, ...]:
        """Name those properties behind some fields whose value is not known yet."""
        found = (self.name_of(field) for field in fields if not getattr(self, field).known)
        return tuple(dict.fromkeys(found))

    def name_of(self, field: str) -> str:
        """Name the property that says a field."""
        own = {**PROPERTIES_OF.get(self.kind, {}), **dict(self.named)}
        return own.get(field) or PROPERTIES[field]

    @property
    def size(self) -> int | None:
        """Instances that a group runs: as desired, else its fewest, else its most."""
        sizes = (self.desired, self.least, self.most)
        return next((value.value for value in sizes if value.says and value.value), None)


PROPERTIES = {
    "workload": f"tags.{WORKLOAD_TAG}",
    "instance_type": "instanceType",
    "market": "instanceMarketOptions.marketType",
    "zone": "availabilityZone",
    "region": "region",
    "capacity_reservation": "capacityReservationSpecification",
    "reservation": "capacityReservationSpecification",
    "reservation_zone": "availabilityZone of the reservation",
    "types": "mixedInstancesPolicy.launchTemplate.overrides",
    "more_types": "launchTemplate of the overrides",
    "requirements": "instanceRequirements",
    "admitted": "instanceRequirements",
    "root_volume_gib": "volumeSize of the root volume",
    "root_volume_mbps": "throughput of the root volume",
    "efa_interfaces": "networkInterfaces",
    "interfaces": "networkInterfaces",
    "placement_group": "placementGroup",
    "subnets": "vpcZoneIdentifiers",
    "zones": "zones of the subnets",
    "closed_ways": "rules of the security group",
    "s3_by_nat": "routes of the subnet",
    "max_price": "maxPrice",
    "max_price_percent": "bidPercentage",
    "allocation": "spotAllocationStrategy",
    "on_demand_base": "onDemandBaseCapacity",
    "on_demand_percent": "onDemandPercentageAboveBaseCapacity",
    "least": "minSize",
    "desired": "desiredCapacity",
    "most": "maxSize",
    "reserved": "instanceCount",
    "reserved_until": "endDate",
    "launches": "userData",
    "least_vcpus": "minVcpus",
    "desired_vcpus": "desiredVcpus",
    "most_vcpus": "maxVcpus",
    "gpus": "resourceRequirements",
    "pod": "nodeSelector",
    "places": "types of the nodes",
    "nodes": "numNodes",
}
"""What to call each field in a message: the property that says it."""

_CAPACITY = "targetCapacitySpecification"
PROPERTIES_OF: dict[str, dict[str, str]] = {
    FLEET: {
        "types": "launchTemplateConfigs.overrides",
        "market": f"{_CAPACITY}.defaultTargetCapacityType",
        "subnets": "launchTemplateConfigs.overrides.subnetId",
        "allocation": "spotOptions.allocationStrategy",
        "on_demand_base": f"{_CAPACITY}.onDemandTargetCapacity",
        "on_demand_percent": f"{_CAPACITY}.spotTargetCapacity",
        **dict.fromkeys(("least", "desired", "most"), f"{_CAPACITY}.totalTargetCapacity"),
    },
    SPOT_FLEET: {
        "types": "launchSpecifications or launchTemplateConfigs.overrides",
        "max_price": "spotPrice",
        "subnets": "subnetId of the specifications",
        "allocation": "allocationStrategy",
        "on_demand_base": "onDemandTargetCapacity",
        **dict.fromkeys(("least", "desired", "most"), "targetCapacity"),
    },
    LAUNCH_CONFIGURATION: {"market": "spotPrice", "max_price": "spotPrice"},
}
"""The same where a type of resource calls it otherwise."""


def is_region(text: str) -> bool:
    """Tell what can be a region, `us-east-1`: messages repeat it, so it must be nothing else."""
    *words, number = text.split("-")
    return is_zone(text) and len(words) >= 2 and number.isdigit() and "".join(words).isalpha()


def is_zone(text: str) -> bool:
    """Tell what can be a zone, `us-east-1a` or `use1-az4`."""
    plain = text.replace("-", "")
    named = len(text) <= LONGEST_PLACE and plain.isascii() and plain.isalnum()
    return named and text.islower() and "-" in text
