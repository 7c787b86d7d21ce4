"""Can the nodes of one replica talk to each other as fast as the work needs.

All of these judge machines of a stack; a declaration alone says nothing of interfaces and zones.
Whether nodes need a fabric is computed from the time of a step: adapters over TCP pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_catalog.units import PERCENT
from gpusize_policies.finding import Severity
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.reading import UNKNOWN
from gpusize_policies.reading.selection import CAPACITY_BLOCK, CLUSTER, NAMED, Role, Selection
from gpusize_policies.remedies import with_efa
from gpusize_policies.rule import Needs, rule

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize_policies.case import Case


@rule(
    "GPU701",
    "multi-node-without-efa",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
    parameters=("maxCommunicationShare",),
    remedy=with_efa,
)
def multi_node_without_efa(case: Case) -> Iterator[Remark | Doubt]:
    """Nodes that exchange much in each step are launched without EFA on a type that has it.

    Why: without an EFA interface NCCL falls back to TCP over the network cards that have an
        interface, and the GPUs wait for the network.
    Fix: give the launch template `networkInterfaces` with `interfaceType: efa`, one on each network
        card.
    Limits: only where the time over TCP, at the full rate of its cards, is a larger share of a step
        than the setting allows; adapters pass. Of interfaces that the stack does not hold nobody
        knows the type (GPU900).
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html,
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    candidate, selection = _of(case)
    interfaces = selection.interfaces.value if selection.interfaces.known else None
    if not candidate.instance.efa or not _needs_fabric(candidate, interfaces or 1):
        return
    if not selection.efa_interfaces.known:
        yield Doubt(selection.doubts("efa_interfaces"))
        return
    if selection.efa_interfaces.value:
        return
    most = candidate.instance.efa_interfaces
    fix = "interfaceType: efa on each network card"
    yield Remark(
        f"{candidate} are launched without EFA: {_share(candidate, interfaces or 1)}",
        (f"{fix} ({most} on {candidate.instance.id})" if most else fix,),
        {**_numbers(candidate, interfaces or 1), **({"efaInterfaces": most} if most else {})},
    )


@rule(
    "GPU702",
    "efa-unsupported-type",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
    parameters=("maxCommunicationShare",),
)
def efa_unsupported_type(case: Case) -> Iterator[Remark | Doubt]:
    """Nodes need EFA, or ask for it, on an instance type that has none.

    Why: EC2 refuses to launch a type with an interface that it does not support; and over TCP the
        GPUs wait for the network.
    Fix: take a size with EFA (`gpusize catalog show TYPE`), a layout that fits one node, or an
        adapter.
    Limits: without an interface of EFA only where the time over TCP is a larger share of a step
        than the setting allows.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html
    """
    candidate, selection = _of(case)
    instance = candidate.instance
    if instance.efa:
        return
    if selection.efa_interfaces.value and selection.efa_interfaces.known:
        asked = selection.efa_interfaces.value
        yield Remark(
            f"{instance.id} has no EFA, and {asked} of its network interfaces"
            f" {'is' if asked == 1 else 'are'} to be EFA: the launch fails",
            ("leave out interfaceType: efa", *_with_efa(case)),
            {"instanceType": instance.id, "efaInterfaces": asked},
        )
    elif selection.efa_interfaces == UNKNOWN:
        yield Doubt(selection.doubts("efa_interfaces"))
    elif _needs_fabric(candidate, instance.network_cards or 1):
        cards = instance.network_cards or 1
        yield Remark(
            f"{instance.id} has no EFA: {_share(candidate, cards)}",
            (*_with_efa(case), "a layout that fits one node"),
            _numbers(candidate, cards),
        )


@rule(
    "GPU703",
    "multi-node-without-placement-group",
    Severity.WARN,
    since="0.1",
    needs=Needs.RESOURCE,
    parameters=("maxCommunicationShare",),
)
def multi_node_without_placement_group(case: Case) -> Iterator[Remark | Doubt]:
    """Nodes that exchange much in each step are launched outside a cluster placement group.

    Why: a cluster placement group puts them close together; outside one EC2 holds a flow of TCP to
        half of what it gets inside, and the way between nodes is longer.
    Fix: make an `aws:ec2:PlacementGroup` with `strategy: cluster`, and name it in the group or in
        the launch template.
    Limits: silent for capacity blocks, which lie close together by themselves, for launch templates
        whose launcher may name one, and for work that hardly uses the network.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
    """
    candidate, selection = _of(case)
    block = CAPACITY_BLOCK in (selection.market.text, selection.reservation.text)
    if selection.role is not Role.MACHINE or block or not _needs_fabric(candidate):
        return
    if not selection.placement_group.known:
        yield Doubt(selection.doubts("placement_group"))
        return
    strategy = selection.placement_group.text
    if strategy in (CLUSTER, NAMED):
        return
    where = f"in a {strategy} placement group" if strategy else "without a placement group"
    yield Remark(
        f"{candidate} are launched {where}: without EFA {_exchange(candidate)}",
        ("a PlacementGroup with strategy: cluster",),
        _numbers(candidate, 1),
    )


@rule(
    "GPU704",
    "efa-across-az",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
    parameters=("maxCommunicationShare",),
)
def efa_across_az(case: Case) -> Iterator[Remark | Doubt]:
    """The nodes of one replica with EFA may be launched in several zones.

    Why: EFA does not reach from one availability zone into another, so nodes that land in two of
        them cannot form one group of ranks.
    Fix: give the group the subnets of one zone, of the placement group or the reservation.
    Limits: only where the work needs the fabric. The zones of subnets that are not part of the
        stack are not known (GPU900).
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html,
        https://docs.aws.amazon.com/parallelcluster/latest/ug/efa-v3.html
    """
    candidate, selection = _of(case)
    if selection.efa_interfaces.known and not selection.efa_interfaces.value:
        return
    if selection.role is not Role.MACHINE or not _needs_fabric(candidate):
        return
    unknown = selection.doubts("zones", "efa_interfaces")
    zones = selection.zones.value or ()
    if unknown or not selection.zones.known:
        # One zone is enough of an answer, whatever the interfaces are.
        if len(zones) != 1:
            yield Doubt(unknown)
        return
    if len(zones) < 2:
        return
    yield Remark(
        f"{candidate} with EFA may be launched in {len(zones)} zones ({', '.join(zones)}): EFA does"
        " not reach from one into another",
        ("the subnets of one zone",),
        {"zones": len(zones), "nodes": candidate.placement.nodes},
    )


@rule(
    "GPU705",
    "efa-security-group",
    Severity.WARN,
    since="0.1",
    needs=Needs.RESOURCE,
    parameters=("maxCommunicationShare",),
)
def efa_security_group(case: Case) -> Iterator[Remark | Doubt]:
    """No security group of nodes with EFA allows all traffic to and from itself.

    Why: EFA goes by no address, so that a rule on a range of addresses does not let it through. It
        is not refused: NCCL falls back to TCP, or waits until it gives up.
    Fix: give the security group two rules of all protocols (`-1`), one inbound and one outbound,
        that name the group itself.
    Limits: only where the work needs the fabric, the nodes have EFA and the group is part of the
        stack. What rules say that are not known yet is GPU900.
    Sources: https://docs.aws.amazon.com/batch/latest/userguide/efa.html,
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html
    """
    candidate, selection = _of(case)
    if not candidate.instance.efa or not _needs_fabric(candidate):
        return
    if not selection.efa_interfaces.known or not selection.efa_interfaces.value:
        return
    if not selection.closed_ways.known:
        yield Doubt(selection.doubts("closed_ways"))
    elif selection.closed_ways.text:
        ways = selection.closed_ways.text
        yield Remark(
            f"the security group of {candidate} has no rule that lets all {ways} traffic through"
            " from its own members: EFA fails without a word",
            (f"an {ways} rule of protocol -1 that names the group itself",),
            {"nodes": candidate.placement.nodes, "closed": ways},
        )


@rule(
    "GPU706",
    "fewer-efa-than-cards",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.RESOURCE,
    parameters=("maxCommunicationShare",),
)
def fewer_efa_than_cards(case: Case) -> Iterator[Remark | Doubt]:
    """Nodes that exchange much in each step have EFA on some of their network cards alone.

    Why: the bandwidth of a type is that of all its network cards together; one without an EFA
        interface gives the GPUs beside it nothing.
    Fix: give the launch template one interface with `interfaceType: efa` on each network card
        (`efa-only` on those beside the first needs no address).
    Limits: only where the work needs the fabric and the catalog knows how many EFA interfaces the
        type takes. Without any, GPU701 speaks.
    Sources: https://github.com/kubernetes-sigs/karpenter/issues/2440,
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    candidate, selection = _of(case)
    most, asked = candidate.instance.efa_interfaces, selection.efa_interfaces.value
    if not candidate.instance.efa or not most or most == 1 or not _needs_fabric(candidate):
        return
    if not selection.efa_interfaces.known:
        yield Doubt(selection.doubts("efa_interfaces"))
        return
    if not asked or asked >= most:
        return
    gbps = candidate.instance.network_gbps
    left = "" if gbps is None else f", {gbps * asked / most:.0f} of {gbps:.0f} Gbps"
    yield Remark(
        f"{candidate} have EFA on {asked} of {most} network cards{left}",
        (f"interfaceType: efa on each of the {most} network cards",),
        {"efaInterfaces": asked, "efaInterfacesMost": most, "nodes": candidate.placement.nodes},
    )


def _of(case: Case) -> tuple[Candidate, Selection]:
    candidate, selection = case.candidate, case.selection
    assert candidate is not None
    assert selection is not None
    return candidate, selection


def _needs_fabric(candidate: Candidate, interfaces: int = 1) -> bool:
    from gpusize.constraints.fabric import needs_fabric

    return needs_fabric(candidate, interfaces)


def _tcp_share(candidate: Candidate, interfaces: int = 1) -> float:
    from gpusize.constraints.fabric import tcp_share

    return tcp_share(candidate, interfaces) or 0.0


def _share(candidate: Candidate, interfaces: int) -> str:
    limit = candidate.settings.max_communication_share
    share = _tcp_share(candidate, interfaces)
    return f"over TCP at least {share:.0%} of a step goes into the network, limit {limit:.0%}"


def _exchange(candidate: Candidate) -> str:
    share = _tcp_share(candidate)
    return f"{share:.0%} of a step goes into the network"


def _numbers(candidate: Candidate, interfaces: int) -> dict[str, int | float | str]:
    share = _tcp_share(candidate, interfaces)
    return {
        "instanceType": candidate.instance.id,
        "nodes": candidate.placement.nodes,
        "tcpCommunicationPercent": round(share * PERCENT, 1),
    }


def _with_efa(case: Case) -> tuple[str, ...]:
    """The plan that gpusize would take, where its type has EFA or needs none."""
    from gpusize.wording import plan_in_words

    plan = case.cheapest
    if plan is None:
        return ()
    instance = case.catalog.find_instance(plan.instance_type)
    reaches = plan.nodes == 1 or (instance is not None and instance.efa)
    return (plan_in_words(plan),) if reaches else ()
