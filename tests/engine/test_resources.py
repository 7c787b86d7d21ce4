"""Every kind of resource that a component makes, on the real engine, without a cloud."""

from __future__ import annotations

import json
from collections import Counter

import pytest

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
COMPONENT = "gpusize:index:GpuWorkload"
CANARY = "CANARY-52ab"
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "engine": "vllm@0.20",
    "contextLength": 8192,
    "concurrency": 8,
    "promptTokens": 700,
    "outputTokens": 250,
    "region": "us-east-1",
}
OFFICE = {
    **CHAT,
    "traffic": {"start": "08:00", "timeZone": "Europe/Berlin", "hoursPerDay": 10, "daysPerWeek": 5},
    "createGroup": True,
    "subnetIds": ["${first.id}", "${second.id}"],
}
BATCH = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "promptTokens": 700,
    "outputTokens": 250,
    "concurrency": 8,
    "region": "us-east-1",
    "runHours": 4,
    "interruptionTolerance": "restartable",
    "market": "spot",
}
NODES = {
    **CHAT,
    "model": "meta-llama/Llama-3.1-405B-Instruct",
    "weightsFormat": "bf16",
    "instanceType": "p5.48xlarge",
    "nodesPerReplica": 2,
    "zone": "us-east-1a",
}
NETWORK = {
    "vpc": {"type": "aws:ec2/vpc:Vpc", "properties": {"cidrBlock": "10.0.0.0/16"}},
    "first": {"type": "aws:ec2/subnet:Subnet", "properties": {"vpcId": "${vpc.id}"}},
    "second": {"type": "aws:ec2/subnet:Subnet", "properties": {"vpcId": "${vpc.id}"}},
}


def program(workshop, workload, **more):
    component = {"type": COMPONENT, "properties": workload}
    made = {"config": CONFIG, "resources": {**NETWORK, "chat": component}, **more}
    return workshop.yaml(made)


def again(made, workshop, workload, **more):
    """Change the workload of a program, in its folder, with its state."""
    other = program(workshop, workload, **more)
    (made.folder / "Pulumi.yaml").write_text((other.folder / "Pulumi.yaml").read_text())
    return made


def state(made):
    return made.export()["deployment"].get("resources", ())


def kinds(made):
    return Counter(one["type"].rpartition(":")[2] for one in state(made))


def inputs(made, kind):
    return [one["inputs"] for one in state(made) if one["type"].endswith(f":{kind}")]


def test_a_scheduled_group_lives_changes_and_goes(workshop):
    outputs = {"group": "${chat.groupName}", "types": "${chat.groupInstanceTypes}"}
    made = program(workshop, OFFICE, outputs=outputs)
    assert made.preview().succeed().violations == ()
    made.up().succeed()
    answered = made.outputs()
    assert answered["types"][0] == "g6.xlarge"
    assert len(answered["types"]) > 1
    (group,) = inputs(made, "Group")
    assert len(group["vpcZoneIdentifiers"]) == 2
    assert {one["autoscalingGroupName"] for one in inputs(made, "Schedule")} == {answered["group"]}
    assert set(made.preview("--expect-no-changes").succeed().changes) == {"same"}

    wider = {**OFFICE, "replicas": {"min": 2, "max": 5}}
    changed = again(made, workshop, wider, outputs=outputs).up().succeed()
    assert changed.changes["update"] == 4  # the component, the group and both actions
    assert "replace" not in changed.changes
    assert inputs(made, "Group")[0]["maxSize"] == 5
    assert made.outputs()["group"] == answered["group"]

    made.destroy().succeed()
    assert kinds(made) == {}


def test_nodes_have_a_network_and_a_reservation(workshop):
    workload = {
        **NODES,
        "createInstance": True,
        "subnetId": "${first.id}",
        "vpcId": "${vpc.id}",
        "userData": {"fn::secret": f"echo {CANARY}"},
        "reserve": {"until": "2027-06-30"},
    }
    made = program(workshop, workload)
    shown = made.preview().succeed()
    made.up().succeed()
    assert {
        "PlacementGroup": 1,
        "SecurityGroup": 1,
        "SecurityGroupIngressRule": 1,
        "SecurityGroupEgressRule": 2,
        "CapacityReservation": 1,
        "LaunchTemplate": 1,
        "Instance": 2,
    }.items() <= kinds(made).items()
    (template,) = inputs(made, "LaunchTemplate")
    assert len(template["networkInterfaces"]) == 33
    assert all(one["subnetId"] for one in template["networkInterfaces"])
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target["capacityReservationId"].startswith("cr-")
    (reservation,) = inputs(made, "CapacityReservation")
    assert reservation["placementGroupArn"].endswith(template["placement"]["groupName"])
    assert made.preview("--expect-no-changes").succeed().changes.keys() == {"same"}
    assert CANARY not in shown.text + json.dumps(made.export())

    moved = again(made, workshop, {**workload, "zone": "us-east-1b"}).up().succeed()
    # A reservation lies in one zone, and an instance reads its template once.
    assert moved.changes["replace"] == 1 + 2
    made.destroy().succeed()
    assert kinds(made) == {}


def test_idle_instances_have_an_alarm(workshop):
    workload = {
        **BATCH,
        "createInstance": True,
        "subnetId": "${first.id}",
        "autoStop": {"idleMinutes": 30},
    }
    made = program(workshop, workload, outputs={"alarms": "${chat.alarmNames}"})
    made.up().succeed()
    (alarm,) = inputs(made, "MetricAlarm")
    assert alarm["dimensions"]["InstanceId"].startswith("i-")
    assert alarm["alarmActions"] == ["arn:aws:automate:us-east-1:ec2:terminate"]
    assert len(made.outputs()["alarms"]) == 1
    changed = again(made, workshop, {**workload, "keyName": "ops"}).up().succeed()
    assert changed.changes["replace"] == 1  # an instance reads its template once
    again(made, workshop, {**BATCH, "createInstance": True, "subnetId": "${first.id}"})
    assert made.up().succeed().changes["delete"] == 1
    made.destroy().succeed()
    assert kinds(made) == {}


def test_a_spot_group_names_types_that_fit(workshop):
    replicas = {"max": 3, "onDemandBase": 1}
    workload = {**BATCH, "createGroup": True, "subnetIds": ["${first.id}"], "replicas": replicas}
    made = program(workshop, workload)
    assert made.preview().succeed().policies.keys() <= {"cannot-evaluate"}
    made.up().succeed()
    (group,) = inputs(made, "Group")
    distribution = group["mixedInstancesPolicy"]["instancesDistribution"]
    assert distribution["onDemandBaseCapacity"] == 1
    assert distribution["spotAllocationStrategy"] == "price-capacity-optimized"
    assert group["capacityRebalance"]
    made.policy_analyze().succeed()


def test_a_block_is_bought_and_launched_into(workshop):
    workload = {
        **NODES,
        "market": "capacity-block",
        "capacityBlockOfferingId": "cb-0123",
        "createGroup": True,
        "subnetIds": ["${first.id}", "${second.id}"],
        "vpcId": "${vpc.id}",
        "securityGroupIds": [{"fn::secret": f"sg-{CANARY}"}],
        "allowMisfit": True,
    }
    made = program(workshop, workload)
    made.up(policy_pack=None).succeed()
    assert kinds(made)["CapacityBlockReservation"] == 1
    assert kinds(made)["PlacementGroup"] == 0
    (group,) = inputs(made, "Group")
    assert len(group["vpcZoneIdentifiers"]) == 1
    assert (group["minSize"], group["maxSize"]) == (2, 2)
    (template,) = inputs(made, "LaunchTemplate")
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert CANARY not in json.dumps(made.export())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"createGroup": True}, "subnetIds"),
        ({"reserve": {"instances": 1}}, "zone"),
        ({"groupTypes": 0}, "groupTypes"),
    ],
)
def test_what_cannot_be_made_is_a_property_error(workshop, more, told):
    run = program(workshop, {**CHAT, **more}).preview(policy_pack=None).fail()
    assert told in run.text
    assert "Traceback" not in run.text
