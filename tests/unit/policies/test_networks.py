"""What security groups and routes of a stack allow, also where parts of them are not known yet."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from gpusize_policies.arriving import CONCERNED
from gpusize_policies.machines import Seen, joined
from gpusize_policies.networks import joining
from gpusize_policies.reading import ABSENT, UNKNOWN, Selection, Value, select
from gpusize_policies.reading.networks import NETWORKS
from tests.rules.stacks import UNKNOWN as SENTINEL
from tests.rules.stacks import seen

SERVER = {
    "type": "aws:ec2:Instance",
    "properties": {
        "instanceType": "p4d.24xlarge",
        "subnetId": "${inner.id}",
        "vpcSecurityGroupIds": ["${talk.id}"],
    },
}
SUBNET = {"type": "aws:ec2:Subnet", "properties": {"vpcId": "vpc-1"}}
ALL_OF_ITSELF = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}


def group(**properties: Any) -> dict[str, Any]:
    return {"type": "aws:ec2:SecurityGroup", "properties": properties}


def rule(kind: str, **properties: Any) -> dict[str, Any]:
    return {"type": f"aws:{kind}", "properties": {"securityGroupId": "${talk.id}", **properties}}


def server(**resources: Any) -> Selection:
    stack: dict[str, Seen] = {one.urn: one for one in seen({"server": SERVER, **resources})}
    mine = next(one for one in stack.values() if one.name == "server")
    own = select(mine.type, mine.props)
    assert own is not None
    found = joined(mine, own, stack)
    assert found == joined(mine, own, stack, joining(stack))
    return found


def ways(**resources: Any) -> Value:
    return server(inner=SUBNET, **resources).closed_ways


OPEN = {
    "inline": {"talk": group(ingress=[ALL_OF_ITSELF], egress=[ALL_OF_ITSELF])},
    "rules of both directions in one type": {
        "talk": group(),
        "listen": rule("ec2:SecurityGroupRule", type="ingress", protocol="-1", self=True),
        "speak": rule(
            "ec2:SecurityGroupRule",
            type="egress",
            protocol="all",
            sourceSecurityGroupId="${talk.id}",
        ),
    },
    "a type for each direction": {
        "talk": group(),
        "listen": rule(
            "vpc:SecurityGroupIngressRule",
            ipProtocol="-1",
            referencedSecurityGroupId="${talk.id}",
        ),
        "speak": rule(
            "vpc:SecurityGroupEgressRule", ipProtocol="-1", referencedSecurityGroupId="${talk.id}"
        ),
    },
}


@pytest.mark.parametrize("resources", OPEN.values(), ids=list(OPEN))
def test_a_group_that_names_itself_both_ways_is_open(resources: dict[str, Any]) -> None:
    for order in itertools.permutations(resources):
        assert ways(**{name: resources[name] for name in order}) == Value("")


@pytest.mark.parametrize(
    ("resources", "closed"),
    [
        ({"talk": group(ingress=[ALL_OF_ITSELF])}, "outbound"),
        ({"talk": group(egress=[ALL_OF_ITSELF])}, "inbound"),
        ({"talk": group()}, "inbound and outbound"),
        (
            {"talk": group(ingress=[{**ALL_OF_ITSELF, "protocol": "tcp"}], egress=[ALL_OF_ITSELF])},
            "inbound",
        ),
        (
            {
                "talk": group(egress=[ALL_OF_ITSELF]),
                "other": group(),
                "listen": rule(
                    "vpc:SecurityGroupIngressRule",
                    ipProtocol="-1",
                    referencedSecurityGroupId="${other.id}",
                ),
            },
            "inbound",
        ),
    ],
)
def test_what_is_missing_is_named(resources: dict[str, Any], closed: str) -> None:
    assert ways(**resources) == Value(closed)


@pytest.mark.parametrize(
    "resources",
    [
        {"talk": group(ingress=SENTINEL, egress=[ALL_OF_ITSELF])},
        {"talk": group(ingress=[SENTINEL], egress=[ALL_OF_ITSELF])},
        {"talk": group(ingress=[{**ALL_OF_ITSELF, "protocol": SENTINEL}], egress=[ALL_OF_ITSELF])},
        {"talk": group(ingress=[{**ALL_OF_ITSELF, "self": SENTINEL}], egress=[ALL_OF_ITSELF])},
        {
            "talk": group(egress=[ALL_OF_ITSELF]),
            "listen": rule("ec2:SecurityGroupRule", type=SENTINEL, protocol="-1", self=True),
        },
        {
            "talk": group(egress=[ALL_OF_ITSELF]),
            "listen": rule(
                "vpc:SecurityGroupIngressRule",
                ipProtocol="-1",
                referencedSecurityGroupId="sg-0123456789abcdef0",
            ),
        },
    ],
)
def test_what_is_not_known_closes_nothing(resources: dict[str, Any]) -> None:
    assert ways(**resources) == UNKNOWN


def test_a_group_outside_the_stack_says_nothing() -> None:
    assert server(inner=SUBNET, talk=SUBNET).closed_ways == ABSENT


TABLE = {"type": "aws:ec2:RouteTable", "properties": {"vpcId": "vpc-1"}}
LINK = {
    "type": "aws:ec2:RouteTableAssociation",
    "properties": {"subnetId": "${inner.id}", "routeTableId": "${table.id}"},
}
TO_NAT = {
    "type": "aws:ec2:Route",
    "properties": {"routeTableId": "${table.id}", "natGatewayId": "nat-1"},
}


def endpoint(**properties: Any) -> dict[str, Any]:
    given = {"serviceName": "com.amazonaws.us-east-1.s3", **properties}
    return {"type": "aws:ec2:VpcEndpoint", "properties": given}


def by_nat(**resources: Any) -> Value:
    return server(talk=group(), inner=SUBNET, table=TABLE, **resources).s3_by_nat


def test_what_comes_from_s3_follows_the_routes_of_the_subnet() -> None:
    assert by_nat() == ABSENT
    assert by_nat(link=LINK) == Value(False)
    assert by_nat(link=LINK, out=TO_NAT) == Value(True)
    listed = endpoint(routeTableIds=["${table.id}"])
    assert by_nat(link=LINK, out=TO_NAT, store=listed) == Value(False)
    other = endpoint(routeTableIds=["${table.id}"], serviceName="com.amazonaws.us-east-1.ec2")
    assert by_nat(link=LINK, out=TO_NAT, store=other) == Value(True)
    private = endpoint(routeTableIds=["${table.id}"], vpcEndpointType="Interface")
    assert by_nat(link=LINK, out=TO_NAT, store=private) == Value(True)


def test_an_endpoint_may_be_joined_to_the_table_by_a_resource_of_its_own() -> None:
    joined_later = {
        "type": "aws:ec2:VpcEndpointRouteTableAssociation",
        "properties": {"routeTableId": "${table.id}", "vpcEndpointId": "${store.id}"},
    }
    found = by_nat(link=LINK, out=TO_NAT, store=endpoint(), late=joined_later)
    assert found == Value(False)


def test_unknown_routes_and_endpoints_are_no_answer() -> None:
    unknown = {"type": "aws:ec2:RouteTable", "properties": {"routes": SENTINEL}}
    assert server(talk=group(), inner=SUBNET, table=unknown, link=LINK).s3_by_nat == UNKNOWN
    doubtful = endpoint(routeTableIds=["${table.id}"], serviceName=SENTINEL)
    assert by_nat(link=LINK, out=TO_NAT, store=doubtful) == UNKNOWN


def test_the_pack_looks_at_every_type_of_the_network() -> None:
    assert CONCERNED >= NETWORKS
