"""What a component makes beside the launch template, on Pulumi's mocks."""

from __future__ import annotations

import json

import pulumi
import pytest

from gpusize.component import WorkloadError
from tests.fakes.aws import schema
from tests.unit.component.mocked import run

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weights_format": "fp8",
    "engine": "vllm@0.20",
    "context_length": 8192,
    "concurrency": 8,
    "region": "us-east-1",
}
OFFICE = {
    **CHAT,
    "traffic": {
        "start": "08:00",
        "time_zone": "Europe/Berlin",
        "hours_per_day": 10,
        "days_per_week": 5,
    },
    "replicas": {"min": 2, "max": 3},
}
BIG = {
    **CHAT,
    "model": "meta-llama/Llama-3.1-405B-Instruct",
    "weights_format": "fp16",
    "instance_type": "p5.48xlarge",
    "nodes_per_replica": 2,
}
BATCH = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "context_length": 8192,
    "concurrency": 8,
    "region": "us-east-1",
    "run_hours": 4,
    "market": "spot",
}
BLOCK = {**BIG, "market": "capacity-block"}
IN_GROUP = {"create_group": True, "subnet_ids": ["subnet-1", "subnet-2"]}

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
GROUP = "aws:autoscaling/group:Group"
SCHEDULE = "aws:autoscaling/schedule:Schedule"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK_RESERVATION = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def only(mocks, kind):
    (found,) = mocks.inputs(kind)
    return found


def kinds(mocks):
    return {one.typ for one in mocks.made}


@pytest.mark.parametrize(
    "args",
    [
        {**OFFICE, **IN_GROUP},
        {**BATCH, **IN_GROUP, "replicas": {"max": 3, "on_demand_base": 1, "spot_share": 0.5}},
        {**BATCH, "create_instance": True, "auto_stop": {"idle_minutes": 30}},
        {**BIG, **IN_GROUP, "vpc_id": "vpc-1", "reserve": {"instances": 3}, "zone": "us-east-1a"},
        {**BLOCK, "create_instance": True, "capacity_block_offering_id": "cbr-1"},
    ],
    ids=["scheduled group", "spot group", "instances", "reserved nodes", "block"],
)
def test_resources_have_properties_that_the_provider_knows(args):
    known = schema.load()["resources"]
    mocks, _, _ = run({**args, "allow_misfit": True})
    for one in mocks.made[1:]:
        resource = known[one.typ]
        names = {key.rstrip("!") for key in resource["inputs"]} | resource["outputs"].keys()
        required = {key.rstrip("!") for key in resource["inputs"] if key.endswith("!")}
        assert required <= set(one.inputs) <= names, one.typ
        assert one.inputs["region"] == "us-east-1"


def test_a_group_keeps_all_replicas_of_a_service():
    mocks, _, outputs = run({**CHAT, **IN_GROUP, "replicas": {"min": 1, "max": 3}})
    group = only(mocks, GROUP)
    assert (group["minSize"], group["maxSize"]) == (1, 3)
    assert group["vpcZoneIdentifiers"] == ["subnet-1", "subnet-2"]
    assert {"key": "gpusize:workload", "value": "chat", "propagateAtLaunch": True} in group["tags"]
    policy = group["mixedInstancesPolicy"]
    assert policy["launchTemplate"]["launchTemplateSpecification"] == {
        "launchTemplateId": "chat-id",
        "version": "3",
    }
    named = [one["instanceType"] for one in policy["launchTemplate"]["overrides"]]
    assert named == outputs["group_instance_types"]
    assert named[0] == outputs["instance_type"] == "g6.xlarge"
    assert 1 < len(named) <= 4
    assert policy["instancesDistribution"]["onDemandPercentageAboveBaseCapacity"] == 100
    assert "capacityRebalance" not in group
    assert outputs["group_name"] == "chat-id"
    assert SCHEDULE not in kinds(mocks)


def test_types_of_a_group_are_as_many_as_asked_for():
    most = run({**CHAT, **IN_GROUP, "group_types": 2})[2]["group_instance_types"]
    assert len(most) == 2
    assert run({**CHAT, **IN_GROUP, "group_types": 1})[2]["group_instance_types"] == ["g6.xlarge"]
    pinned = run({**CHAT, **IN_GROUP, "instance_type": "g6e.xlarge"})[2]
    assert pinned["group_instance_types"] == ["g6e.xlarge"]


def test_a_group_on_spot_asks_for_it_itself():
    replicas = {"max": 4, "on_demand_base": 1, "spot_share": 0.75}
    mocks, _, _ = run({**BATCH, **IN_GROUP, "replicas": replicas})
    group = only(mocks, GROUP)
    assert group["minSize"] == 0
    assert group["maxSize"] == 4
    assert group["capacityRebalance"] is True
    assert group["mixedInstancesPolicy"]["instancesDistribution"] == {
        "onDemandAllocationStrategy": "prioritized",
        "onDemandBaseCapacity": 1,
        "onDemandPercentageAboveBaseCapacity": 25,
        "spotAllocationStrategy": "price-capacity-optimized",
    }
    assert "instanceMarketOptions" not in only(mocks, TEMPLATE)


def test_a_scheduled_group_follows_the_traffic():
    mocks, _, _ = run({**OFFICE, **IN_GROUP})
    group = only(mocks, GROUP)
    assert (group["minSize"], group["maxSize"]) == (0, 3)
    up, down = mocks.inputs(SCHEDULE)
    assert up["recurrence"] == "0 8 * * 1,2,3,4,5"
    assert down["recurrence"] == "0 18 * * 1,2,3,4,5"
    assert [up[key] for key in ("minSize", "desiredCapacity", "maxSize")] == [2, 2, 3]
    assert [down[key] for key in ("minSize", "desiredCapacity", "maxSize")] == [0, 0, 3]
    assert up["timeZone"] == "Europe/Berlin"
    assert up["autoscalingGroupName"] == "chat-id"


def test_the_default_time_zone_is_left_to_aws():
    traffic = {"hours_per_day": 10}
    mocks, _, _ = run({**CHAT, **IN_GROUP, "traffic": traffic})
    assert all("timeZone" not in one for one in mocks.inputs(SCHEDULE))


def test_a_group_takes_one_subnet_where_that_is_all_there_is():
    mocks, _, _ = run({**CHAT, "create_group": True, "subnet_id": "subnet-9"})
    assert only(mocks, GROUP)["vpcZoneIdentifiers"] == ["subnet-9"]


def test_nodes_of_a_replica_are_close_and_talk_to_each_other():
    mocks, said, outputs = run(
        {**BIG, "create_instance": True, "subnet_ids": ["subnet-1", "subnet-2"], "vpc_id": "vpc-1"}
    )
    assert said == []
    template = only(mocks, TEMPLATE)
    assert outputs["efa_interfaces"] == 32
    assert len(template["networkInterfaces"]) == 33
    assert all(one["securityGroups"] == ["chat-id"] for one in template["networkInterfaces"])
    assert all(one["subnetId"] == "subnet-1" for one in template["networkInterfaces"])
    assert "vpcSecurityGroupIds" not in template
    assert template["placement"] == {"groupName": "chat-id"}
    assert only(mocks, PLACEMENT_GROUP)["strategy"] == "cluster"
    assert only(mocks, SECURITY_GROUP)["vpcId"] == "vpc-1"
    within = {"securityGroupId": "chat-id", "referencedSecurityGroupId": "chat-id"}
    assert within.items() <= only(mocks, INGRESS).items()
    inner, outer = mocks.inputs(EGRESS)
    assert within.items() <= inner.items()
    assert outer["cidrIpv4"] == "0.0.0.0/0"
    assert all("subnetId" not in one for one in mocks.inputs(INSTANCE))
    assert len(mocks.inputs(INSTANCE)) == 2
    assert outputs["security_group_id"] == outputs["placement_group_name"] == "chat-id"


def test_given_security_groups_stay_and_decide_what_goes_out():
    mocks, _, _ = run({**BIG, "vpc_id": "vpc-1", "security_group_ids": ["sg-1"]})
    first = only(mocks, TEMPLATE)["networkInterfaces"][0]
    assert first["securityGroups"] == ["sg-1", "chat-id"]
    assert len(mocks.inputs(EGRESS)) == 1


def test_a_missing_vpc_is_remarked_where_nodes_must_talk():
    mocks, said, _ = run(BIG)
    assert any("vpcId" in line for line in said)
    assert SECURITY_GROUP not in kinds(mocks)


def test_nodes_in_a_group_stay_in_one_subnet_on_one_type():
    mocks, _, outputs = run({**BIG, **IN_GROUP, "vpc_id": "vpc-1", "replicas": 2})
    group = only(mocks, GROUP)
    assert (group["minSize"], group["maxSize"]) == (4, 4)
    assert group["vpcZoneIdentifiers"] == ["subnet-1"]
    assert outputs["group_instance_types"] == ["p5.48xlarge"]
    assert all("subnetId" not in one for one in only(mocks, TEMPLATE)["networkInterfaces"])


def test_one_instance_needs_no_network_of_its_own():
    mocks, _, outputs = run({**CHAT, "vpc_id": "vpc-1"})
    assert kinds(mocks) == {"gpusize:index:GpuWorkload", TEMPLATE}
    assert outputs["efa_interfaces"] is None


def test_an_existing_placement_group_is_used():
    mocks, _, outputs = run({**BIG, "placement_group": "ours"})
    assert only(mocks, TEMPLATE)["placement"] == {"groupName": "ours"}
    assert PLACEMENT_GROUP not in kinds(mocks)
    assert outputs["placement_group_name"] == "ours"


def test_a_reservation_is_made_and_launched_into():
    reserve = {"until": "2027-06-30"}
    mocks, _, outputs = run(
        {**CHAT, **IN_GROUP, "reserve": reserve, "replicas": 2, "zone": "us-east-1b"}
    )
    reservation = only(mocks, RESERVATION)
    assert reservation["instanceType"] == outputs["instance_type"]
    assert reservation["instanceCount"] == 2
    assert reservation["availabilityZone"] == "us-east-1b"
    assert reservation["instanceMatchCriteria"] == "targeted"
    assert reservation["endDate"] == "2027-06-30T00:00:00Z"
    assert only(mocks, TEMPLATE)["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "chat-id"}
    }
    assert only(mocks, GROUP)["launchTemplate"] == {"id": "chat-id", "version": "3"}
    assert outputs["group_instance_types"] == ["g6.xlarge"]
    assert outputs["capacity_reservation_id"] == "chat-id"


def test_an_open_reservation_has_no_end():
    mocks, _, _ = run({**CHAT, "reserve": {"instances": 5}, "zone": "us-east-1b"})
    reservation = only(mocks, RESERVATION)
    assert reservation["instanceCount"] == 5
    assert reservation["endDateType"] == "unlimited"
    assert "endDate" not in reservation


def test_a_block_is_bought_by_its_offering():
    args = {**BLOCK, "capacity_block_offering_id": "cbr-1", "allow_misfit": True}
    mocks, _, outputs = run(args)
    assert only(mocks, BLOCK_RESERVATION)["capacityBlockOfferingId"] == "cbr-1"
    template = only(mocks, TEMPLATE)
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "chat-id"}
    }
    assert PLACEMENT_GROUP not in kinds(mocks)
    assert outputs["capacity_reservation_id"] == "chat-id"


def test_an_existing_block_is_referred_to():
    block = {
        **BLOCK,
        "capacity_reservation": "cr-1",
        "capacity_block": {"days": 7, "zone": "us-east-1c"},
    }
    mocks, _, outputs = run({**block, "allow_misfit": True})
    assert only(mocks, TEMPLATE)["placement"] == {"availabilityZone": "us-east-1c"}
    assert outputs["capacity_reservation_id"] == "cr-1"


def test_idle_instances_on_spot_are_ended():
    mocks, said, outputs = run(
        {**BATCH, "create_instance": True, "auto_stop": {"idle_minutes": 31, "max_hours": 5}}
    )
    alarm = only(mocks, ALARM)
    assert alarm["dimensions"] == {"InstanceId": "chat-0-id"}
    assert alarm["alarmActions"] == ["arn:aws:automate:us-east-1:ec2:terminate"]
    assert (alarm["period"], alarm["evaluationPeriods"]) == (300, 7)
    assert alarm["threshold"] == 12.5
    assert only(mocks, TEMPLATE)["instanceInitiatedShutdownBehavior"] == "terminate"
    assert outputs["alarm_names"] == ["chat-0-idle-id"]
    assert any("maxHours" in line for line in said)


def test_idle_instances_on_demand_are_stopped():
    mocks, _, _ = run(
        {
            **BATCH,
            "region": "us-gov-west-1",
            "instance_type": "g4dn.xlarge",
            "market": "on-demand",
            "create_instance": True,
            "auto_stop": {"idle_minutes": 3000},
            "idle_cpu_percent": 3,
            "allow_misfit": True,
        }
    )
    alarm = only(mocks, ALARM)
    assert alarm["alarmActions"] == ["arn:aws-us-gov:automate:us-gov-west-1:ec2:stop"]
    assert (alarm["period"], alarm["evaluationPeriods"]) == (3600, 50)
    assert alarm["threshold"] == 3
    assert only(mocks, TEMPLATE)["instanceInitiatedShutdownBehavior"] == "stop"


def test_a_group_and_a_block_have_no_alarms():
    idle = {"auto_stop": {"idle_minutes": 30}}
    mocks, said, _ = run({**BATCH, **IN_GROUP, **idle})
    assert ALARM not in kinds(mocks)
    assert any("a group replaces" in line for line in said)
    block = {**BATCH, **idle, "instance_type": "p5.48xlarge", "market": "capacity-block"}
    mocks, said, _ = run({**block, "create_instance": True, "allow_misfit": True})
    assert ALARM not in kinds(mocks)
    assert any("paid for whole" in line for line in said)


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"reserve": {"instances": 2}}, "zone"),
        ({"capacity_block_offering_id": "cbr-1"}, "capacityBlockOfferingId"),
        ({"create_group": True}, "subnetIds"),
        ({"create_group": True, "subnet_ids": []}, "subnetIds"),
        ({**IN_GROUP, "create_instance": True}, "createGroup"),
        ({"group_types": 2.5}, "groupTypes"),
        ({"group_types": 0}, "groupTypes"),
        ({"idle_cpu_percent": "5"}, "idleCpuPercent"),
        ({"idle_cpu_percent": 101}, "idleCpuPercent"),
    ],
)
def test_what_cannot_be_made_is_told(args, path):
    with pytest.raises(WorkloadError) as caught:
        run({**CHAT, **args})
    assert path in {problem.path for problem in caught.value.problems}


def test_a_block_is_bought_or_named_not_both():
    both = {"capacity_reservation": "cr-1", "capacity_block_offering_id": "cbr-1"}
    with pytest.raises(WorkloadError, match="stands beside"):
        run({**BLOCK, **both, "allow_misfit": True})


def test_cloudwatch_looks_back_a_week_at_most():
    with pytest.raises(WorkloadError, match="10080"):
        run({**BATCH, "auto_stop": {"idle_minutes": 10081}})


def test_outputs_of_other_resources_are_wired_unread():
    mocks, _, outputs = run(
        lambda: {
            **BIG,
            "create_group": True,
            "subnet_ids": pulumi.Output.from_input(["subnet-1", "subnet-2"]),
            "vpc_id": pulumi.Output.secret("vpc-CANARY"),
            "security_group_ids": pulumi.Output.from_input(["sg-1"]),
            "placement_group": pulumi.Output.from_input("ours"),
        }
    )
    assert only(mocks, GROUP)["vpcZoneIdentifiers"] == ["subnet-1"]
    assert only(mocks, TEMPLATE)["networkInterfaces"][0]["securityGroups"] == ["sg-1", "chat-id"]
    assert only(mocks, SECURITY_GROUP)["vpcId"]["value"] == "vpc-CANARY"
    assert outputs["placement_group_name"] == "ours"
    assert "CANARY" not in json.dumps(mocks.inputs("gpusize:index:GpuWorkload"))


def test_an_ultraserver_is_launched_into_its_block():
    server = {
        **BIG,
        "model": "deepseek-ai/DeepSeek-V3",
        "instance_type": "p6e-gb200.36xlarge",
        "nodes_per_replica": 2,
        "replicas": 4,
        "concurrency": 64,
        "capacity_reservation": "cr-1",
        "capacity_block": {"days": 7, "zone": "us-east-1-dfw-2a"},
    }
    mocks, _, outputs = run(server)
    template = only(mocks, TEMPLATE)
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["placement"] == {"availabilityZone": "us-east-1-dfw-2a"}
    assert (outputs["ultraserver"], outputs["nodes"]) == ("u-p6e-gb200x36", 2)
