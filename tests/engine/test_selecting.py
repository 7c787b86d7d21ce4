"""Every resource of EC2 that selects an accelerator, raw, in a preview on the real engine."""

from __future__ import annotations

import json

import pytest

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
CANARY = "CANARY-31fe"
TAG = {"gpusize:workload": "chat"}
CHAT = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "bf16",
    "contextLength": 8192,
    "promptTokens": 700,
    "outputTokens": 250,
    "concurrency": 4,
    "runHours": 8,
    "interruptionTolerance": "restartable",
    "region": "us-east-1",
}
BIG = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct"}
DECLARED = json.dumps({"workloads": {"chat": CHAT, "big": BIG}})
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
SPOT = {"allocationStrategy": "price-capacity-optimized"}
SECRET = {"fn::secret": CANARY}


def resource(kind, **properties):
    return {"type": kind, "properties": properties}


def fleet(*overrides, template="template", **more):
    reference = {"launchTemplateId": f"${{{template}.id}}", "version": "1"}
    capacity = {"defaultTargetCapacityType": "spot", "totalTargetCapacity": 2}
    return resource(
        "aws:ec2/fleet:Fleet",
        tags=TAG,
        targetCapacitySpecification=capacity,
        spotOptions=SPOT,
        launchTemplateConfigs=[
            {"launchTemplateSpecification": reference, "overrides": list(overrides)}
        ],
        **more,
    )


def group(workload, **properties):
    tags = [{"key": "gpusize:workload", "value": workload, "propagateAtLaunch": True}]
    return resource(GROUP, minSize=1, maxSize=1, tags=tags, **properties)


def mixed(*overrides, template="template"):
    reference = {"launchTemplateId": f"${{{template}.id}}"}
    return {
        "mixedInstancesPolicy": {
            "launchTemplate": {
                "launchTemplateSpecification": reference,
                "overrides": list(overrides),
            }
        }
    }


def spot_fleet(**properties):
    return resource(
        "aws:ec2/spotFleetRequest:SpotFleetRequest",
        iamFleetRole="arn:aws:iam::123456789012:role/fleet",
        targetCapacity=2,
        **properties,
    )


STACK = {
    "template": resource(TEMPLATE, imageId="ami-1", userData=SECRET),
    "old": resource(TEMPLATE, instanceType="g4dn.xlarge"),
    "config": resource(
        "aws:ec2/launchConfiguration:LaunchConfiguration",
        imageId="ami-1",
        instanceType="g5.xlarge",
        userData=SECRET,
    ),
    "configured": group("big", launchConfiguration="${config.name}"),
    "fleet": fleet({"instanceType": "g6.xlarge"}, {"instanceType": "inf2.xlarge"}),
    "open-fleet": fleet({"instanceType": "g6.xlarge"}, {"subnetId": "subnet-1"}, template="old"),
    "fitting-fleet": fleet({"instanceType": "g6.xlarge"}, {"instanceType": "g6e.xlarge"}),
    "spot-fleet": spot_fleet(
        allocationStrategy="priceCapacityOptimized",
        launchSpecifications=[
            {"ami": "ami-1", "instanceType": "g4dn.xlarge", "tags": TAG, "userData": SECRET}
        ],
    ),
    "by-template": spot_fleet(
        tags=TAG,
        allocationStrategy="lowestPrice",
        launchTemplateConfigs=[
            {
                "launchTemplateSpecification": {"id": "${template.id}", "version": "1"},
                "overrides": [{"instanceType": "g6.xlarge"}, {"instanceType": "g5.xlarge"}],
            }
        ],
    ),
    "host": resource(
        "aws:ec2/dedicatedHost:DedicatedHost",
        availabilityZone="us-east-1a",
        instanceType="g3.4xlarge",
        tags=TAG,
    ),
    "block": resource(
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
        capacityBlockOfferingId="cb-0123",
        instancePlatform="Linux/UNIX",
        tags=TAG,
    ),
    "loose": group(
        "chat",
        **mixed(
            {
                "instanceRequirements": {
                    "vcpuCount": {"min": 4},
                    "memoryMib": {"min": 16384},
                    "acceleratorCount": {"min": 1, "max": 1},
                }
            }
        ),
    ),
    "several": group(
        "chat",
        **mixed(
            {"instanceType": "g6.xlarge"},
            {"launchTemplateSpecification": {"launchTemplateId": "${old.id}"}},
        ),
    ),
}
TOLD = {
    ("weights-exceed-vram", "configured"),
    ("heterogeneous-override-unfit", "fleet"),
    ("heterogeneous-override-unfit", "open-fleet"),
    ("bf16-unsupported", "spot-fleet"),
    ("spot-single-pool", "by-template"),
    ("retired-instance", "host"),
    ("attribute-selection-too-loose", "loose"),
    ("heterogeneous-override-unfit", "several"),
}


def program(workshop, resources):
    # Values that stand there twice would become aliases, which programs in YAML may not have.
    plain = json.loads(json.dumps({"config": CONFIG, "resources": resources}))
    return workshop.yaml(plain, **{"gpusize.yaml": DECLARED})


def test_raw_resources_of_each_kind_are_judged(workshop):
    made = program(workshop, STACK)
    run = made.preview().fail()
    told = {(one.policy, one.resource) for one in run.violations}
    assert told >= TOLD
    assert not {name for _, name in told} & {"fitting-fleet", "template", "old", "config"}
    # What a block is becomes known when it is bought.
    assert "block" not in {name for _, name in told}
    assert CANARY not in run.text


def test_what_was_deployed_is_judged_alike(workshop):
    made = program(workshop, STACK)
    made.up(policy_pack=None).succeed()
    run = made.policy_analyze().fail()
    assert {(one.policy, one.resource) for one in run.violations} >= TOLD


UNKNOWN = "${later.id}"


@pytest.mark.parametrize(
    "made",
    [
        fleet({"instanceType": UNKNOWN}),
        spot_fleet(launchSpecifications=[{"ami": "ami-1", "instanceType": UNKNOWN, "tags": TAG}]),
        group("chat", **mixed({"instanceRequirements": {"acceleratorNames": [UNKNOWN]}})),
        resource(
            "aws:ec2/dedicatedHost:DedicatedHost",
            availabilityZone="us-east-1a",
            instanceFamily=UNKNOWN,
            tags=TAG,
        ),
    ],
    ids=["fleet", "spot fleet", "requirements", "host"],
)
def test_types_that_are_not_known_yet_are_one_advice(workshop, made):
    later = resource("aws:ec2/securityGroup:SecurityGroup")
    template = resource(TEMPLATE, imageId="ami-1")
    run = program(workshop, {"later": later, "template": template, "made": made}).preview()
    assert [(one.policy, one.level) for one in run.succeed().violations] == [
        ("cannot-evaluate", "advisory")
    ]
