"""The network of a replica that spans instances: EFA interfaces, security group, placement group.

Sources: Amazon EC2 User Guide, "Maximize network bandwidth on Amazon EC2 instances with multiple
network cards" (efa-acc-inst-types) and "Get started with EFA" (efa-start, security group);
aws/aws-parallelcluster#7143 for types whose first network card has no EFA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.decision import present
from gpusize.launch.common import Properties, is_reserved, nodes, tags

if TYPE_CHECKING:
    from gpusize.decision import Decision
    from gpusize_catalog.facts import InstanceType

PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"

ENA = "interface"
"""An ordinary interface, with an address."""
EFA = "efa"
"""An EFA and an ordinary interface in one."""
EFA_ONLY = "efa-only"
"""An EFA without an address, which cannot be the first interface of an instance."""
ALL_TRAFFIC = "-1"
ANYWHERE = {"cidrIpv4": "0.0.0.0/0"}


class Interface(NamedTuple):
    """Where one network interface is attached, and what it is."""

    card: int
    device: int
    kind: str


class Rule(NamedTuple):
    """One rule of a security group, to be registered under a name of its own."""

    suffix: str
    token: str
    properties: Properties


def layout(instance: InstanceType) -> tuple[Interface, ...]:
    """Return the interfaces of a type with all its EFAs; none where their number is not known.

    One card takes one interface that is both. On several cards the first interface is an ordinary
    one, and each card that can has an interface that is EFA alone: addresses are scarce, and a
    second address of an instance confuses routing. Where there are fewer EFAs than cards, the first
    card has none.
    """
    cards, most = instance.network_cards, instance.efa_interfaces
    if not instance.efa or not cards or not most:
        return ()
    if cards == 1:
        return (Interface(0, 0, EFA),)
    shared = (Interface(0, 1, EFA_ONLY),) if most >= cards else ()
    others = tuple(Interface(card, 0, EFA_ONLY) for card in range(1, cards))
    return (Interface(0, 0, ENA), *(shared + others)[:most])


def efa_interfaces(decision: Decision) -> int | None:
    """Return the EFAs of each instance of a replica that spans several; None where not known."""
    instance = decision.instance
    if instance is None or nodes(decision) <= 1:
        return None
    return sum(one.kind != ENA for one in layout(instance)) or None


def interfaces(decision: Decision, groups: Any, subnet: Any) -> list[Properties] | None:
    """Describe the interfaces of each instance; None where the first one is left to EC2.

    Security groups and subnet stand on the interfaces: beside them a template takes neither.
    """
    instance = decision.instance
    if instance is None or nodes(decision) <= 1:
        return None
    found = [
        present(
            {
                "networkCardIndex": one.card,
                "deviceIndex": one.device,
                "interfaceType": one.kind,
                "subnetId": subnet,
                "securityGroups": groups,
                "deleteOnTermination": "true",
            }
        )
        for one in layout(instance)
    ]
    return found or None


def wants_placement_group(decision: Decision, wiring: Mapping[str, Any]) -> bool:
    """Tell whether the instances of a replica are put close together by a group of their own.

    A capacity block is close together as it is, and an existing reservation counts only in the
    placement group that it was made in.
    """
    elsewhere = is_reserved(decision) and decision.workload.reserve is None
    return nodes(decision) > 1 and not elsewhere and wiring.get("placementGroup") is None


def placement_group(decision: Decision) -> Properties:
    """Describe the placement group."""
    return {
        "region": decision.workload.region,
        "strategy": "cluster",
        "tags": tags(decision),
    }


def wants_security_group(decision: Decision, wiring: Mapping[str, Any]) -> bool:
    """Tell whether instances are let talk to each other: EFA traffic is dropped otherwise."""
    return nodes(decision) > 1 and wiring.get("vpcId") is not None


def security_group(decision: Decision, wiring: Mapping[str, Any]) -> Properties:
    """Describe the security group that the instances of a replica share."""
    return {
        "region": decision.workload.region,
        "description": f"gpusize workload {decision.name}: between its instances",
        "vpcId": wiring["vpcId"],
        "tags": tags(decision),
    }


def rules(decision: Decision, wiring: Mapping[str, Any], group: Any) -> tuple[Rule, ...]:
    """Describe the rules of that group: all traffic within, both ways, as EFA needs it.

    Where it is the only group, instances may also reach out: weights have to come from somewhere.
    """
    own = {
        "region": decision.workload.region,
        "securityGroupId": group,
        "ipProtocol": ALL_TRAFFIC,
        "tags": tags(decision),
    }
    within = {**own, "referencedSecurityGroupId": group}
    found = (Rule("in", INGRESS, within), Rule("within", EGRESS, within))
    if wiring.get("securityGroupIds") is not None:
        return found
    return (*found, Rule("out", EGRESS, {**own, **ANYWHERE}))
