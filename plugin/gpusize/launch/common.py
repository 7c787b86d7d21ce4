"""What descriptions of all resources share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.tokens import WORKLOAD_TAG

if TYPE_CHECKING:
    from gpusize.decision import Decision

Properties = dict[str, Any]

PLATFORM = "Linux/UNIX"
"""Platform of reservations. Source: EC2 API, CreateCapacityReservation, InstancePlatform."""


class Wires(NamedTuple):
    """How values are changed that may be outputs: only the shell knows how to look inside."""

    encode: Callable[[Any], Any]
    """User data as the base64 that a launch template wants."""
    first: Callable[[Any], Any]
    """The first of a list."""


def tags(decision: Decision) -> dict[str, str]:
    """Return the tags of everything made for the workload."""
    return {"Name": decision.name, **decision.workload.tags, WORKLOAD_TAG: decision.name}


def nodes(decision: Decision) -> int:
    """Return the instances of one replica; 0 without a plan."""
    return decision.plan.nodes if decision.plan else 0


def market(decision: Decision) -> str:
    """Return how the capacity is bought; '' without a plan."""
    return decision.plan.market.value if decision.plan else ""


def zone(decision: Decision) -> str | None:
    """Return the declared zone, that of the capacity block where one is bought."""
    workload = decision.workload
    block = workload.capacity_block
    if workload.zone is None and block is not None and market(decision) == "capacity-block":
        return block.zone
    return workload.zone


def is_reserved(decision: Decision) -> bool:
    """Tell whether the workload launches into a reservation or a block."""
    workload = decision.workload
    named = workload.capacity_reservation is not None or workload.reserve is not None
    return named or market(decision) == "capacity-block"
