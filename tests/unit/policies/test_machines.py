"""What a machine is taken to be once the stack is known: nodes, replicas, zones, reservations."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.workload import Market, parse_workload
from gpusize_policies.case import Decided
from gpusize_policies.declared import Declared
from gpusize_policies.machines import Seen, joined, pinned
from gpusize_policies.reading import DEFERRED, UNKNOWN, Selection, Value, select
from tests.rules.stacks import seen

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "region": "us-east-1",
}
TRAINED = {
    "kind": "pre-training",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 4096,
    "tokens": 1000000,
    "region": "us-east-1",
}
TEMPLATE = {"type": "aws:ec2:LaunchTemplate", "properties": {"instanceType": "p4d.24xlarge"}}


def group(**properties: Any) -> dict[str, Any]:
    given = {"minSize": 2, "maxSize": 6, "launchTemplate": {"id": "${template.id}"}, **properties}
    return {"type": "aws:autoscaling:Group", "properties": given}


def whole(name: str, **resources: Any) -> Selection:
    """What a resource of a stack is with all that the stack says."""
    stack: dict[str, Seen] = {one.urn: one for one in seen(resources)}
    mine = next(one for one in stack.values() if one.name == name)
    own = select(mine.type, mine.props)
    assert own is not None
    return joined(mine, own, stack)


def declared(fields: dict[str, Any], decided: Decided | None = None) -> Declared:
    return Declared(parse_workload(fields), decided)


def pins(selection: Selection, given: Declared) -> dict[str, Any]:
    return dict(pinned(selection, given, ["us-east-1"]))


def test_a_training_run_takes_the_whole_group() -> None:
    found = whole("nodes", template=TEMPLATE, nodes=group())
    assert pins(found, declared(TRAINED))["nodes_per_replica"] == 2
    more = whole("nodes", template=TEMPLATE, nodes=group(desiredCapacity=4))
    assert pins(more, declared(TRAINED))["nodes_per_replica"] == 4
    fixed = {**TRAINED, "nodesPerReplica": 3}
    assert "nodes_per_replica" not in pins(more, declared(fixed))


def test_a_service_has_a_replica_on_each_instance_of_a_group() -> None:
    found = pins(whole("nodes", template=TEMPLATE, nodes=group()), declared(CHAT))
    assert found["nodes_per_replica"] == 1
    assert (found["replicas"].min, found["replicas"].max) == (2, 6)
    assert found["market"] is Market.ON_DEMAND


def test_replicas_of_two_nodes_are_half_as_many() -> None:
    spread = declared({**CHAT, "nodesPerReplica": 2})
    found = pins(whole("nodes", template=TEMPLATE, nodes=group()), spread)
    assert (found["replicas"].min, found["replicas"].max) == (1, 3)


def test_what_stays_on_demand_is_pinned_with_spot() -> None:
    policy = {
        "instancesDistribution": {
            "onDemandBaseCapacity": 2,
            "onDemandPercentageAboveBaseCapacity": 25,
        },
        "launchTemplate": {"launchTemplateSpecification": {"launchTemplateId": "${template.id}"}},
    }
    found = whole("nodes", template=TEMPLATE, nodes=group(mixedInstancesPolicy=policy))
    replicas = pins(found, declared(CHAT))["replicas"]
    assert found.market.text == "spot"
    assert (replicas.on_demand_base, replicas.spot_share) == (2, 0.75)


def test_a_plan_says_how_many_nodes_its_type_takes() -> None:
    decided = Decided({"instance_type": "p4d.24xlarge", "nodes_per_replica": 2})
    found = whole("nodes", template=TEMPLATE, nodes=group())
    assert pins(found, declared(CHAT, decided))["nodes_per_replica"] == 2
    other = Decided({"instance_type": "p5.48xlarge", "nodes_per_replica": 2})
    assert pins(found, declared(CHAT, other))["nodes_per_replica"] == 1


def test_without_its_template_a_group_is_not_known() -> None:
    found = whole("nodes", nodes=group(launchTemplate={"id": "lt-1"}))
    assert found.instance_type == found.market == found.workload == DEFERRED


@pytest.mark.parametrize(
    ("kinds", "efa"), [(["efa"], Value(1)), (["interface"], Value(0)), (["interface", "efa"], 1)]
)
def test_interfaces_of_the_stack_are_counted(kinds: list[str], efa: Any) -> None:
    interfaces = {
        f"card{index}": {
            "type": "aws:ec2:NetworkInterface",
            "properties": {"subnetId": "subnet-1", "interfaceType": kind},
        }
        for index, kind in enumerate(kinds)
    }
    attached = [{"networkInterfaceId": f"${{{name}.id}}"} for name in interfaces]
    box = {
        "type": "aws:ec2:Instance",
        "properties": {"instanceType": "p4d.24xlarge", "networkInterfaces": attached},
    }
    expected = efa if isinstance(efa, Value) else Value(efa)
    assert whole("box", box=box, **interfaces).efa_interfaces == expected


def test_an_interface_of_another_stack_is_not_known() -> None:
    attached = [{"networkInterfaceId": "eni-1"}]
    box = {
        "type": "aws:ec2:Instance",
        "properties": {"instanceType": "p4d.24xlarge", "networkInterfaces": attached},
    }
    assert not whole("box", box=box).efa_interfaces.known


def test_zones_come_from_the_subnets_of_the_stack() -> None:
    first, second = (
        {"type": "aws:ec2:Subnet", "properties": {"vpcId": "vpc-1", "availabilityZone": zone}}
        for zone in ("us-east-1a", "us-east-1b")
    )
    both = group(vpcZoneIdentifiers=["${first.id}", "${second.id}"])
    found = whole("nodes", template=TEMPLATE, nodes=both, first=first, second=second)
    assert found.zones == Value(("us-east-1a", "us-east-1b"))
    one = group(vpcZoneIdentifiers=["${first.id}"])
    assert whole("nodes", template=TEMPLATE, nodes=one, first=first).zone == Value("us-east-1a")
    foreign = group(vpcZoneIdentifiers=["${first.id}", "subnet-2"])
    assert whole("nodes", template=TEMPLATE, nodes=foreign, first=first).zones == UNKNOWN


def test_a_reservation_of_the_stack_lends_its_placement_group() -> None:
    reserved = {
        "type": "aws:ec2:CapacityReservation",
        "properties": {
            "instanceType": "p4d.24xlarge",
            "instanceCount": 2,
            "availabilityZone": "us-east-1a",
            "placementGroupArn": "arn:aws:ec2:us-east-1:123456789012:placement-group/near",
        },
    }
    target = {"capacityReservationTarget": {"capacityReservationId": "${reserved.id}"}}
    box = {
        "type": "aws:ec2:Instance",
        "properties": {
            "instanceType": "p4d.24xlarge",
            "capacityReservationSpecification": target,
        },
    }
    found = whole("box", box=box, reserved=reserved)
    assert (found.reservation, found.placement_group) == (Value("odcr"), Value("named"))
    assert found.reservation_zone == Value("us-east-1a")


CONFIGURED = {
    "type": "aws:ec2:LaunchConfiguration",
    "properties": {"instanceType": "g6.xlarge", "spotPrice": "0.5", "imageId": "ami-1"},
}


def test_a_launch_configuration_says_what_a_group_does_not() -> None:
    nodes = {
        "type": "aws:autoscaling:Group",
        "properties": {"minSize": 1, "maxSize": 2, "launchConfiguration": "${config.name}"},
    }
    found = whole("nodes", config=CONFIGURED, nodes=nodes)
    assert (found.instance_type.text, found.market.text) == ("g6.xlarge", "spot")
    assert found.max_price.value == 0.5


def fleet(*configs: Any, **properties: Any) -> dict[str, Any]:
    target = {"defaultTargetCapacityType": "spot", "totalTargetCapacity": 4}
    given = {
        "targetCapacitySpecification": target,
        "launchTemplateConfigs": list(configs),
        **properties,
    }
    return {"type": "aws:ec2:Fleet", "properties": given}


def config(template: str, *overrides: Any) -> dict[str, Any]:
    reference = {"launchTemplateId": f"${{{template}.id}}"}
    return {"launchTemplateSpecification": reference, "overrides": list(overrides)}


OTHER = {"type": "aws:ec2:LaunchTemplate", "properties": {"instanceType": "p5.48xlarge"}}


def test_all_templates_of_a_fleet_are_read() -> None:
    found = whole(
        "nodes", template=TEMPLATE, other=OTHER, nodes=fleet(config("template"), config("other"))
    )
    assert set(found.types.value) == {"p4d.24xlarge", "p5.48xlarge"}
    assert found.instance_type.text in found.types.value


def test_an_override_replaces_the_type_of_its_template() -> None:
    named = config("template", {"instanceType": "g6.xlarge"}, {"instanceType": "g5.xlarge"})
    found = whole("nodes", template=TEMPLATE, nodes=fleet(named))
    assert found.types == Value(("g6.xlarge", "g5.xlarge"))
    open_ended = config("template", {"instanceType": "g6.xlarge"}, {"subnetId": "subnet-1"})
    found = whole("nodes", template=TEMPLATE, nodes=fleet(open_ended))
    assert found.types == Value(("g6.xlarge", "p4d.24xlarge"))
    assert found.more_types == Value()


def test_a_template_of_another_stack_leaves_types_open() -> None:
    foreign = {"launchTemplateSpecification": {"launchTemplateId": "lt-1"}}
    entries = [{"instanceType": "g6.xlarge"}, {"subnetId": "subnet-1"}]
    found = whole("nodes", nodes=fleet({**foreign, "overrides": entries}))
    assert found.types == Value(("g6.xlarge",))
    assert found.more_types == DEFERRED


def test_templates_that_differ_leave_what_they_differ_in_open() -> None:
    large = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 500}}
    other = {**OTHER["properties"], "blockDeviceMappings": [large]}  # type: ignore[dict-item]
    found = whole(
        "nodes",
        template=TEMPLATE,
        other={"type": "aws:ec2:LaunchTemplate", "properties": other},
        nodes=fleet(config("template"), config("other")),
    )
    assert found.root_volume_gib == UNKNOWN
    assert found.placement_group.known


def test_requirements_of_a_template_count_where_nothing_is_listed() -> None:
    asked = {"acceleratorNames": ["l4"]}
    template = {
        "type": "aws:ec2:LaunchTemplate",
        "properties": {"instanceRequirements": asked},
    }
    found = whole("nodes", template=template, nodes=fleet(config("template")))
    assert found.requirements.value[0].lists == (("acceleratorNames", ("l4",)),)
    listed = fleet(config("template", {"instanceType": "g6.xlarge"}))
    found = whole("nodes", template=template, nodes=listed)
    assert found.requirements == Value()
    assert found.instance_type.text == "g6.xlarge"


def test_subnets_of_a_fleet_come_from_the_stack() -> None:
    first, second = (
        {"type": "aws:ec2:Subnet", "properties": {"vpcId": "vpc-1", "availabilityZone": zone}}
        for zone in ("us-east-1a", "us-east-1b")
    )
    entries = [
        {"instanceType": name, "subnetId": f"${{{subnet}.id}}"}
        for name in ("g6.xlarge", "g5.xlarge")
        for subnet in ("first", "second")
    ]
    nodes = fleet(config("template", *entries))
    found = whole("nodes", template=TEMPLATE, nodes=nodes, first=first, second=second)
    assert found.subnets == Value(2)
    assert found.zones == Value(("us-east-1a", "us-east-1b"))
