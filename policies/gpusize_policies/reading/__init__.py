"""From an AWS resource to what it selects: one table of extractors, safe with unknown values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpusize_policies.reading import (
    batch,
    ecs,
    eks,
    emr,
    fleets,
    groups,
    instances,
    reservations,
    sagemaker,
    services,
)
from gpusize_policies.reading.kubernetes import NODE_POOLS, PODS
from gpusize_policies.reading.networks import NETWORKS
from gpusize_policies.reading.selection import (
    FLEET,
    KEEPING,
    LAUNCH_CONFIGURATION,
    SPOT_FLEET,
    Role,
    Selection,
    is_region,
)
from gpusize_policies.reading.values import ABSENT, DEFERRED, SENTINELS, UNKNOWN, Props, Value

if TYPE_CHECKING:
    from gpusize.workload import Workload

INSTANCE = "aws:ec2/instance:Instance"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
HOST = "aws:ec2/dedicatedHost:DedicatedHost"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SUBNET = "aws:ec2/subnet:Subnet"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"
CAPACITY_PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
SERVICE = "aws:ecs/service:Service"
COMPUTE_ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
JOB_DEFINITION = "aws:batch/jobDefinition:JobDefinition"
ENDPOINT_CONFIGURATION = "aws:sagemaker/endpointConfiguration:EndpointConfiguration"
MODEL = "aws:sagemaker/model:Model"
EMR_CLUSTER = "aws:emr/cluster:Cluster"

EXTRACTORS: dict[str, Callable[[Props], Selection]] = {
    INSTANCE: instances.instance,
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": instances.spot_request,
    LAUNCH_TEMPLATE: instances.launch_template,
    LAUNCH_CONFIGURATION: instances.launch_configuration,
    GROUP: groups.group,
    FLEET: fleets.fleet,
    SPOT_FLEET: fleets.spot_fleet,
    RESERVATION: reservations.capacity_reservation,
    BLOCK: reservations.capacity_block,
    HOST: reservations.dedicated_host,
    COMPUTE_ENVIRONMENT: batch.environment,
    JOB_DEFINITION: batch.job,
    "aws:eks/nodeGroup:NodeGroup": eks.node_group,
    CAPACITY_PROVIDER: ecs.capacity_provider,
    TASK_DEFINITION: ecs.task,
    SERVICE: ecs.service,
    "aws:emr/instanceFleet:InstanceFleet": emr.instance_fleet,
    "aws:emr/instanceGroup:InstanceGroup": emr.instance_group,
    "aws:gamelift/fleet:Fleet": services.game_fleet,
    "aws:gamelift/gameServerGroup:GameServerGroup": services.game_server_group,
    "aws:imagebuilder/infrastructureConfiguration:InfrastructureConfiguration": (
        services.image_builder
    ),
    "aws:sagemaker/app:App": sagemaker.app,
    "aws:sagemaker/dataQualityJobDefinition:DataQualityJobDefinition": sagemaker.processing,
    MODEL: sagemaker.model,
    "aws:sagemaker/monitoringSchedule:MonitoringSchedule": sagemaker.monitoring,
    "aws:sagemaker/notebookInstance:NotebookInstance": sagemaker.notebook,
}
"""How to read each resource type that selects instances in one way."""

PARTED: dict[str, Callable[[Props], tuple[Selection, ...]]] = {
    EMR_CLUSTER: emr.cluster,
    "aws:sagemaker/domain:Domain": sagemaker.domain,
    ENDPOINT_CONFIGURATION: sagemaker.endpoint_configuration,
    "aws:sagemaker/hyperParameterTuningJob:HyperParameterTuningJob": sagemaker.tuning_job,
    "aws:sagemaker/pipeline:Pipeline": sagemaker.pipeline,
    "aws:sagemaker/space:Space": sagemaker.space,
    "aws:sagemaker/trainingJob:TrainingJob": sagemaker.training_job,
    "aws:sagemaker/userProfile:UserProfile": sagemaker.user_profile,
    **PODS,
}
"""How to read those of which each part selects instances of its own."""

TEMPLATES = frozenset({LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION})
"""Types that say what others launch."""

SURROUNDINGS = frozenset({PLACEMENT_GROUP, SUBNET, INTERFACE}) | NETWORKS | NODE_POOLS
"""Types that say nothing of their own about the work, and something about what rests on them."""


def pins(selection: Selection, workload: Workload | None) -> dict[str, object]:
    """Return the fields of a workload that a resource decides, as far as they are known."""
    from gpusize.workload import Market

    found: dict[str, object] = {
        "instance_type": selection.instance_type.text,
        "market": Market(selection.market.text) if selection.market.text else None,
        "zone": selection.zone.text,
        "region": selection.region.text,
        "capacity_reservation": selection.capacity_reservation.text,
    }
    if workload is not None:
        found["storage"] = _storage(selection, workload)
        found["reserve"] = _reserve(selection)
    return {name: value for name, value in found.items() if value}


def _storage(selection: Selection, workload: Workload) -> object:
    """The declared storage with the root volume that the resource has."""
    sizes = {
        "root_volume_gib": selection.root_volume_gib,
        "root_volume_throughput_mbps": selection.root_volume_mbps,
    }
    given = {name: value.value for name, value in sizes.items() if value.says and value.value}
    return workload.storage.model_copy(update=given) if given else None


def _reserve(selection: Selection) -> object:
    """The reservation as the declaration would word it."""
    from gpusize.declared.groups import Reserve

    if selection.role is not Role.RESERVATION or not selection.reserved.value:
        return None
    until = selection.reserved_until.text or None
    return Reserve.model_construct(instances=selection.reserved.value, until=until)


def selections(resource_type: str, props: Any) -> tuple[Selection, ...]:
    """Return what each part of a resource selects, most often one."""
    parts = PARTED.get(resource_type)
    if parts is not None:
        return tuple(part._replace(kind=resource_type) for part in parts(Props(props)))
    found = select(resource_type, props)
    return (found,) if found is not None else ()


def select(resource_type: str, props: Any) -> Selection | None:
    """Return what a resource selects; None where its type selects nothing, or in several parts."""
    extractor = EXTRACTORS.get(resource_type)
    return extractor(Props(props))._replace(kind=resource_type) if extractor else None


__all__ = [
    "ABSENT",
    "BLOCK",
    "CAPACITY_PROVIDER",
    "COMPUTE_ENVIRONMENT",
    "DEFERRED",
    "EMR_CLUSTER",
    "ENDPOINT_CONFIGURATION",
    "EXTRACTORS",
    "FLEET",
    "GROUP",
    "HOST",
    "INSTANCE",
    "INTERFACE",
    "JOB_DEFINITION",
    "KEEPING",
    "LAUNCH_TEMPLATE",
    "MODEL",
    "PARTED",
    "PLACEMENT_GROUP",
    "RESERVATION",
    "SENTINELS",
    "SERVICE",
    "SPOT_FLEET",
    "SUBNET",
    "SURROUNDINGS",
    "TASK_DEFINITION",
    "TEMPLATES",
    "UNKNOWN",
    "Props",
    "Role",
    "Selection",
    "Value",
    "instances",
    "is_region",
    "pins",
    "reservations",
    "select",
    "selections",
]
