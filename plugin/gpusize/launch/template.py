"""The launch template, and one instance from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.decision import present
from gpusize.launch.capacity import specification
from gpusize.launch.common import Properties, Wires, market, tags, zone
from gpusize.launch.network import interfaces
from gpusize.launch.stop import ending, stops_by_itself

if TYPE_CHECKING:
    from gpusize.decision import Decision

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"

ROOT_DEVICE = "/dev/xvda"
"""Root device name of Amazon Linux AMIs."""
VOLUME_TYPE = "gp3"
"""The one EBS type whose throughput is set apart from its size."""
METADATA_HOPS = 2
"""Network hops to the metadata service: 2, so that a container on the instance reaches it."""


class Around(NamedTuple):
    """What was made before the template, or given, and what is made from it."""

    groups: Any = None
    """Security groups."""
    placement_group: Any = None
    reservation: Any = None
    for_group: bool = False
    """Whether an Auto Scaling group launches from it, which chooses market, zone and subnet."""


def launch_template(
    decision: Decision, wiring: Mapping[str, Any], around: Around, wires: Wires
) -> Properties:
    """Describe a launch template of the decided type, market, network, root volume and tags."""
    own = tags(decision)
    profile = wiring.get("iamInstanceProfile")
    user_data = wiring.get("userData")
    subnet = None if around.for_group else subnet_of(wiring, wires)
    cards = interfaces(decision, around.groups, subnet)
    return present(
        {
            "region": decision.workload.region,
            "description": f"gpusize workload {decision.name}",
            "updateDefaultVersion": True,
            "instanceType": decision.answers["instanceType"],
            "imageId": wiring.get("imageId"),
            "keyName": wiring.get("keyName"),
            "vpcSecurityGroupIds": around.groups if cards is None else None,
            "networkInterfaces": cards,
            "iamInstanceProfile": None if profile is None else {"name": profile},
            "userData": None if user_data is None else wires.encode(user_data),
            "instanceMarketOptions": _market_options(market(decision), around.for_group),
            "capacityReservationSpecification": specification(around.reservation),
            "placement": _placement(decision, around),
            "instanceInitiatedShutdownBehavior": (
                ending(decision) if stops_by_itself(decision) and not around.for_group else None
            ),
            "blockDeviceMappings": _root_volume(decision, wiring.get("rootDeviceName")),
            "metadataOptions": {
                "httpEndpoint": "enabled",
                "httpTokens": "required",
                "httpPutResponseHopLimit": METADATA_HOPS,
            },
            "tagSpecifications": [
                {"resourceType": kind, "tags": own} for kind in ("instance", "volume")
            ],
            "tags": own,
        }
    )


def instance(
    decision: Decision, wiring: Mapping[str, Any], template: Any, version: Any, wires: Wires
) -> Properties:
    """Describe one instance from the launch template."""
    on_interfaces = interfaces(decision, None, None) is not None
    return present(
        {
            "region": decision.workload.region,
            "launchTemplate": {"id": template, "version": version},
            "subnetId": None if on_interfaces else subnet_of(wiring, wires),
            "tags": tags(decision),
        }
    )


def subnet_of(wiring: Mapping[str, Any], wires: Wires) -> Any:
    """Return the subnet of single instances; of several the first."""
    subnet, several = wiring.get("subnetId"), wiring.get("subnetIds")
    return wires.first(several) if subnet is None and several not in (None, (), []) else subnet


def _market_options(name: str, for_group: bool) -> Properties | None:
    """On demand is what EC2 does without any option; a group asks for spot itself."""
    if name == "spot" and not for_group:
        # A launch template takes the interruption behaviour only with the request type.
        once = {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"}
        return {"marketType": "spot", "spotOptions": once}
    return {"marketType": "capacity-block"} if name == "capacity-block" else None


def _placement(decision: Decision, around: Around) -> Properties | None:
    where = None if around.for_group else zone(decision)
    found = present({"availabilityZone": where, "groupName": around.placement_group})
    return found or None


def _root_volume(decision: Decision, device: Any) -> list[Properties] | None:
    size = decision.answers.get("rootVolumeGib")
    if size is None:
        return None
    volume = present(
        {
            "volumeSize": size,
            "volumeType": VOLUME_TYPE,
            "throughput": decision.answers.get("rootVolumeThroughputMbps"),
            "encrypted": "true",
            "deleteOnTermination": "true",
        }
    )
    return [{"deviceName": device or ROOT_DEVICE, "ebs": volume}]
