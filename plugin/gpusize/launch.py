"""Properties of the EC2 launch template and instances that run a decided workload.

Pulumi's camelCase names, as the aws provider 7 has them. Wiring values are passed on unread: they
may be outputs that only the engine knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gpusize.decision import present
from gpusize.tokens import WORKLOAD_TAG

if TYPE_CHECKING:
    from gpusize.decision import Decision

Properties = dict[str, Any]

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"

ROOT_DEVICE = "/dev/xvda"
"""Root device name of Amazon Linux AMIs."""
VOLUME_TYPE = "gp3"
"""The one EBS type whose throughput is set apart from its size."""
METADATA_HOPS = 2
"""Network hops to the metadata service: 2, so that a container on the instance reaches it."""


def tags(decision: Decision) -> dict[str, str]:
    """Return the tags of everything made for the workload."""
    return {"Name": decision.name, **decision.workload.tags, WORKLOAD_TAG: decision.name}


def launch_template(
    decision: Decision, wiring: Mapping[str, Any], encode: Callable[[Any], Any]
) -> Properties:
    """Describe a launch template of the decided type, market, root volume and tags.

    `encode` turns user data into the base64 that a launch template wants.
    """
    own = tags(decision)
    profile = wiring.get("iamInstanceProfile")
    user_data = wiring.get("userData")
    return present(
        {
            "region": decision.workload.region,
            "description": f"gpusize workload {decision.name}",
            "updateDefaultVersion": True,
            "instanceType": decision.answers["instanceType"],
            "imageId": wiring.get("imageId"),
            "keyName": wiring.get("keyName"),
            "vpcSecurityGroupIds": wiring.get("securityGroupIds"),
            "iamInstanceProfile": None if profile is None else {"name": profile},
            "userData": None if user_data is None else encode(user_data),
            "instanceMarketOptions": _market_options(decision.answers["market"]),
            "capacityReservationSpecification": _reservation(decision),
            "placement": _placement(decision),
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
    decision: Decision, wiring: Mapping[str, Any], template: Any, version: Any
) -> Properties:
    """Describe one instance from the launch template."""
    return present(
        {
            "region": decision.workload.region,
            "launchTemplate": {"id": template, "version": version},
            "subnetId": wiring.get("subnetId"),
            "tags": tags(decision),
        }
    )


def _market_options(market: str) -> Properties | None:
    """On demand is what EC2 does without any option."""
    if market == "spot":
        # A launch template takes the interruption behaviour only with the request type.
        once = {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"}
        return {"marketType": "spot", "spotOptions": once}
    return {"marketType": "capacity-block"} if market == "capacity-block" else None


def _reservation(decision: Decision) -> Properties | None:
    reservation = decision.workload.capacity_reservation
    if not reservation:
        return None
    return {"capacityReservationTarget": {"capacityReservationId": reservation}}


def _placement(decision: Decision) -> Properties | None:
    zone = decision.workload.zone
    return {"availabilityZone": zone} if zone else None


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
