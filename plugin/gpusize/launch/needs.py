"""What cannot be made as it is asked for, and what is not made, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.launch import network
from gpusize.launch.common import market, nodes, zone
from gpusize.launch.stop import COARSE_LIMIT, auto_stop, watches
from gpusize_catalog.problems import Problem

if TYPE_CHECKING:
    from gpusize.decision import Decision
    from gpusize.inputs import Given


def problems(decision: Decision, given: Given) -> tuple[Problem, ...]:
    """Return what keeps the resources of a plan from being made; no plan has no resources."""
    if decision.plan is None:
        return ()
    return (*_of_capacity(decision, given), *_of_stop(decision))


def remarks(decision: Decision, given: Given) -> tuple[str, ...]:
    """Return what is left to the user, and why."""
    if decision.plan is None:
        return ()
    return (*_on_network(decision, given), *_on_stop(decision, given))


def _of_capacity(decision: Decision, given: Given) -> Iterator[Problem]:
    workload = decision.workload
    offering = given.wiring.get("capacityBlockOfferingId")
    if workload.reserve is not None and zone(decision) is None:
        yield Problem(
            "zone", "is missing: a reservation lies in one zone", "give the zone of the subnet"
        )
    if offering is not None and market(decision) != "capacity-block":
        yield Problem(
            "capacityBlockOfferingId",
            f"buys a capacity block, but the market is {market(decision)}",
            "give market: capacity-block, or leave it out",
        )
    if offering is not None and workload.capacity_reservation is not None:
        yield Problem(
            "capacityBlockOfferingId",
            "stands beside an existing capacityReservation",
            "leave one of them out",
        )


def _of_stop(decision: Decision) -> Iterator[Problem]:
    declared = auto_stop(decision)
    minutes = declared.idle_minutes if declared else None
    if minutes is not None and minutes > COARSE_LIMIT:
        yield Problem(
            "autoStop.idleMinutes",
            f"CloudWatch looks back {COARSE_LIMIT} minutes at most",
            f"give at most {COARSE_LIMIT}",
        )


def _on_network(decision: Decision, given: Given) -> Iterator[str]:
    if nodes(decision) <= 1 or decision.instance is None:
        return
    if network.efa_interfaces(decision) is None:
        yield f"the EFA interfaces of {decision.instance.id} are not known, so none are described"
    if not network.wants_security_group(decision, given.wiring):
        yield (
            "its security groups must let instances talk to each other, all traffic both ways:"
            " give vpcId, and one that does is made"
        )


def _on_stop(decision: Decision, given: Given) -> Iterator[str]:
    declared = auto_stop(decision)
    if declared is None:
        return
    if declared.idle_minutes is not None and given.create_group:
        yield "autoStop.idleMinutes: a group replaces what is stopped, so no alarms are made"
    elif declared.idle_minutes is not None and given.create_instance and not watches(decision):
        yield "autoStop.idleMinutes: a capacity block is paid for whole, so no alarms are made"
    if declared.max_hours is not None:
        yield (
            "autoStop.maxHours: EC2 has no such limit, so none is made; end the instance from"
            " within, as `shutdown -h` does"
        )
