"""ECS: capacity providers, which launch instances, and what runs on them."""

from __future__ import annotations

from gpusize_policies.reading import containers, launches
from gpusize_policies.reading.documents import listed
from gpusize_policies.reading.requirements import requirements_of
from gpusize_policies.reading.selection import (
    BY_ATTRIBUTES,
    ON_DEMAND,
    SPOT,
    Role,
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
    shaped,
    tag_of,
    text,
)

AT = "managedInstancesProvider.instanceLaunchTemplate"
MARKETS = {"ON_DEMAND": ON_DEMAND, "RESERVED": ON_DEMAND, "SPOT": SPOT}
"""Option types of managed instances: reserved ones are on-demand instances in a reservation."""
NAMES = (
    ("instance_type", AT),
    ("requirements", f"{AT}.instanceRequirements"),
    ("market", f"{AT}.capacityOptionType"),
    ("capacity_reservation", f"{AT}.capacityReservations"),
    ("root_volume_gib", f"{AT}.storageConfiguration.storageSizeGib"),
    ("subnets", f"{AT}.networkConfiguration.subnets"),
    ("zones", f"{AT}.networkConfiguration.subnets"),
)
TASK_NAMES = (
    ("instance_type", "instance type of the capacity provider"),
    ("market", "market of the capacity provider"),
    ("gpus", "resourceRequirements in containerDefinitions"),
    ("launches", "containerDefinitions"),
)


def capacity_provider(props: Props) -> Selection:
    """Read a provider: one of managed instances, else its Auto Scaling group says everything."""
    managed = props.get("managedInstancesProvider")
    if managed == ABSENT:
        return _deferred(props)
    word = first(props.get(f"{AT}.capacityOptionType"), Value("ON_DEMAND"))
    market = MARKETS.get(word.text.upper())
    template = props.get(AT)
    asked = requirements_of(Props(template.value)) if template.known else UNKNOWN
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=BY_ATTRIBUTES if asked.says else UNKNOWN,
        requirements=Value((asked.value,)) if asked.says else asked,
        market=Value(market) if market else UNKNOWN,
        region=shaped(props.get("region"), is_region),
        capacity_reservation=text(props.get(f"{AT}.capacityReservations.reservationGroupArn")),
        root_volume_gib=count(props.get(f"{AT}.storageConfiguration.storageSizeGib")),
        subnets=props.length(f"{AT}.networkConfiguration.subnets"),
        is_pool=True,
        named=NAMES,
    )


def _deferred(props: Props) -> Selection:
    """What another resource says: the group of a provider, the provider of a service."""
    return Selection(
        workload=first(tag_of(props, "tags"), DEFERRED),
        instance_type=DEFERRED,
        market=DEFERRED,
        region=shaped(props.get("region"), is_region),
        is_pool=True,
        named=TASK_NAMES,
    )


def task(props: Props) -> Selection:
    """Read a task definition: the GPUs that its containers ask for."""
    held, complete = listed(props.get("containerDefinitions"))
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=DEFERRED,
        market=DEFERRED,
        region=shaped(props.get("region"), is_region),
        gpus=containers.total(map(containers.gpus_of, held), complete),
        launches=launches.json_containers(props.get("containerDefinitions")),
        role=Role.TASK,
        named=TASK_NAMES,
    )


def service(props: Props) -> Selection:
    """Read a service: its task definition and its capacity provider say what runs, and where."""
    found = _deferred(props)
    if props.length("capacityProviderStrategies").value:
        return found
    return found._replace(role=Role.TASK)
