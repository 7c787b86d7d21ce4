"""A stack with every kind of resource that selects instances: half of it tagged, some starting."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from gpusize.tokens import WORKLOAD_TAG
from tests.resources import samples

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
START = "#!/bin/bash\nvllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192\n"
TAGS = {WORKLOAD_TAG: "chat", "team": "assistants"}
KEYED = [{"key": key, "value": value, "propagateAtLaunch": True} for key, value in TAGS.items()]
NEEDS = {"vcpuCount": {"min": 4}, "memoryMib": {"min": 16384}, "acceleratorCount": {"min": 1}}
TYPES = ("g6.xlarge", "g6e.xlarge", "g5.2xlarge")

OF_EC2: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        TEMPLATE,
        {
            "imageId": "ami-0123456789abcdef0",
            "instanceType": "g6.xlarge",
            "tagSpecifications": [{"resourceType": "instance", "tags": TAGS}],
            "blockDeviceMappings": [
                {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 200, "volumeType": "gp3"}}
            ],
            "metadataOptions": {"httpTokens": "required", "httpEndpoint": "enabled"},
            "networkInterfaces": [{"deviceIndex": 0, "subnetId": "subnet-1", "groups": ["sg"]}],
            "userData": base64.b64encode(START.encode()).decode(),
        },
    ),
    ("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "tags": TAGS}),
    ("aws:ec2/instance:Instance", {"instanceType": "g6e.xlarge", "userData": START, "tags": TAGS}),
    (
        "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
        {"instanceType": "g5.xlarge", "spotPrice": "0.5", "tags": TAGS},
    ),
    (
        "aws:ec2/launchConfiguration:LaunchConfiguration",
        {"instanceType": "g5.xlarge", "userData": START},
    ),
    (
        "aws:autoscaling/group:Group",
        {
            "minSize": 1,
            "maxSize": 4,
            "tags": KEYED,
            "mixedInstancesPolicy": {
                "launchTemplate": {"overrides": [{"instanceType": one} for one in TYPES]}
            },
        },
    ),
    (
        "aws:autoscaling/group:Group",
        {
            "minSize": 0,
            "maxSize": 2,
            "tags": KEYED,
            "mixedInstancesPolicy": {
                "launchTemplate": {"overrides": [{"instanceRequirements": NEEDS}]}
            },
        },
    ),
    (
        "aws:ec2/fleet:Fleet",
        {
            "launchTemplateConfigs": [{"overrides": [{"instanceType": one} for one in TYPES]}],
            "targetCapacitySpecification": {
                "defaultTargetCapacityType": "spot",
                "totalTargetCapacity": 4,
            },
            "tags": TAGS,
        },
    ),
    (
        "aws:ec2/spotFleetRequest:SpotFleetRequest",
        {
            "launchSpecifications": [{"instanceType": "g6.xlarge", "tags": TAGS}],
            "targetCapacity": 2,
        },
    ),
    (
        "aws:ec2/capacityReservation:CapacityReservation",
        {
            "availabilityZone": "us-east-1a",
            "instanceType": "g6.xlarge",
            "instanceCount": 2,
            "tags": TAGS,
        },
    ),
    (
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
        {"capacityBlockOfferingId": "cb-1", "instancePlatform": "Linux/UNIX", "tags": TAGS},
    ),
    (
        "aws:ec2/dedicatedHost:DedicatedHost",
        {"availabilityZone": "us-east-1a", "instanceType": "g6.xlarge", "tags": TAGS},
    ),
)
"""What the samples of managed services have not."""
OTHER: dict[str, Any] = {"bucket": "weights", "tags": {"team": "assistants"}}


@cache
def _kinds() -> tuple[tuple[str, dict[str, Any]], ...]:
    managed = tuple((one.type, one.properties) for one in samples())
    return (*OF_EC2, *managed, (TEMPLATE, OF_EC2[0][1]), ("aws:s3/bucket:Bucket", OTHER))


def mixed(size: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield type, name and properties of so many resources; every other round is not tagged."""
    kinds = _kinds()
    for index in range(size):
        kind, properties = kinds[index % len(kinds)]
        made = copy.deepcopy(properties)
        if index // len(kinds) % 2:
            _untag(made)
        elif isinstance(made.get("tags"), dict):
            made["tags"]["index"] = str(index)
        yield kind, f"r{index}", made


def _untag(value: Any) -> None:
    """Take out the tag that names the workload, wherever it stands."""
    if isinstance(value, dict):
        value.pop(WORKLOAD_TAG, None)
        for item in value.values():
            _untag(item)
    elif isinstance(value, list):
        value[:] = [one for one in value if not (isinstance(one, dict) and _names(one))]
        for item in value:
            _untag(item)


def _names(tag: dict[str, Any]) -> bool:
    return tag.get("key") == WORKLOAD_TAG
