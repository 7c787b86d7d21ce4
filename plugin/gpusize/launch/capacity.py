"""Capacity that is set aside: a reservation that gpusize makes, a block, and how to launch into it.

Source: Amazon EC2 User Guide, "Reserve compute capacity with EC2 On-Demand Capacity Reservations"
and "Capacity Blocks for ML".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize.decision import present
from gpusize.launch.common import PLATFORM, Properties, nodes, tags, zone

if TYPE_CHECKING:
    from gpusize.decision import Decision

RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"

MIDNIGHT = "T00:00:00Z"
"""A reservation ends as the day begins that is named, as it is paid for."""


def reserved_instances(decision: Decision) -> int:
    """Return the instances to reserve: as declared, or all that run while there is work."""
    reserve, plan = decision.workload.reserve, decision.plan
    if reserve is not None and reserve.instances is not None:
        return reserve.instances
    return nodes(decision) * (plan.replicas if plan else 1)


def reservation(decision: Decision, placement_group_arn: Any) -> Properties:
    """Describe the on-demand reservation; only instances that name it take from it."""
    until = decision.workload.reserve.until if decision.workload.reserve else None
    return present(
        {
            "region": decision.workload.region,
            "instanceType": decision.answers["instanceType"],
            "instancePlatform": PLATFORM,
            "instanceCount": reserved_instances(decision),
            "availabilityZone": zone(decision),
            "instanceMatchCriteria": "targeted",
            "endDateType": "unlimited" if until is None else "limited",
            "endDate": None if until is None else until + MIDNIGHT,
            "placementGroupArn": placement_group_arn,
            "tags": tags(decision),
        }
    )


def block(decision: Decision, offering: Any) -> Properties:
    """Describe the purchase of a capacity block by its offering."""
    return {
        "region": decision.workload.region,
        "capacityBlockOfferingId": offering,
        "instancePlatform": PLATFORM,
        "tags": tags(decision),
    }


def specification(reservation_id: Any) -> Properties | None:
    """Describe how to launch into a reservation or a block; None without one."""
    if reservation_id is None:
        return None
    return {"capacityReservationTarget": {"capacityReservationId": reservation_id}}
