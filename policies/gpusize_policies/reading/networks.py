"""Security groups, routes and endpoints: what machines reach, as far as one resource says it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value, present

EVERYTHING = frozenset({"-1", "all"})
"""How a rule names all protocols."""
S3 = ".s3"
"""What the service name of an endpoint for S3 ends in."""
GATEWAY = "Gateway"
"""Kind of endpoint where none is named (aws provider, VpcEndpoint)."""


class Allowed(NamedTuple):
    """One rule of a security group."""

    outgoing: Value
    everything: Value
    """Whether it allows all protocols."""
    itself: Value
    """Whether it names its own group; deferred where only what it rests on tells."""


def inline_rules(props: Props) -> tuple[tuple[Allowed, ...], bool]:
    """Read the rules that a security group holds itself, and whether all of them are known."""
    found, known = [], True
    for key, outgoing in (("ingress", False), ("egress", True)):
        rules, complete = props.items(key)
        known = known and complete
        for rule in rules:
            if rule.known:
                reader = Props(rule.value)
                found.append(
                    Allowed(Value(outgoing), _everything(reader, "protocol"), reader.get("self"))
                )
    return tuple(found), known


def rule(props: Props) -> Allowed:
    """Read a rule of either kind that is a resource of its own and says its direction."""
    way = props.get("type")
    outgoing = Value(way.text == "egress") if way.text else UNKNOWN
    itself = props.get("self")
    if not itself.value and present(props.get("sourceSecurityGroupId")) != ABSENT:
        itself = UNKNOWN
    return Allowed(outgoing, _everything(props, "protocol"), itself)


def one_way_rule(props: Props, *, outgoing: bool) -> Allowed:
    """Read a rule whose type says its direction."""
    named = present(props.get("referencedSecurityGroupId"))
    itself = ABSENT if named == ABSENT else UNKNOWN
    return Allowed(Value(outgoing), _everything(props, "ipProtocol"), itself)


def _everything(props: Props, key: str) -> Value:
    found = props.get(key)
    return Value(str(found.value) in EVERYTHING) if found.known else UNKNOWN


def has_nat(props: Props) -> Value:
    """Tell whether a route, or one of a table's routes, goes through a NAT gateway."""
    routes, complete = props.items("routes")
    readers = [Props(route.value) for route in routes if route.known]
    gateways = [present(reader.get("natGatewayId")) for reader in (*readers, props)]
    # The id of a gateway that is made in the same run is unknown, and that there is one is not.
    if any(gateway != ABSENT for gateway in gateways):
        return Value(True)
    return Value(False) if complete else UNKNOWN


def is_s3_gateway(props: Props) -> Value:
    """Tell whether an endpoint leads to S3 by the route tables that it is in."""
    service, kind = props.get("serviceName"), props.get("vpcEndpointType")
    if not service.known or not kind.known:
        return UNKNOWN
    return Value(service.text.endswith(S3) and (kind.text or GATEWAY) == GATEWAY)


def rules_of(kind: str, props: Props) -> Iterator[Allowed]:
    """Read a rule resource by its type; nothing for other types."""
    if kind == GROUP_RULE:
        yield rule(props)
    elif kind in (INGRESS_RULE, EGRESS_RULE):
        yield one_way_rule(props, outgoing=kind == EGRESS_RULE)


SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS_RULE = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
ENDPOINT_ASSOCIATION = "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation"

HOLDING = frozenset({SECURITY_GROUP, ROUTE_TABLE, ENDPOINT})
"""Types that machines, or what lies around them, rest on."""
JOINING = frozenset(
    {GROUP_RULE, INGRESS_RULE, EGRESS_RULE, ROUTE, ASSOCIATION, ENDPOINT, ENDPOINT_ASSOCIATION}
)
"""Types that rest on what they change: they are found from there, not from the machine."""
NETWORKS = HOLDING | JOINING
"""All types of this room."""
