"""The Auto Scaling group that keeps the replicas of a workload.

Source: Amazon EC2 Auto Scaling User Guide, "Auto Scaling groups with multiple instance types and
purchase options": a launch template of such a group must not ask for spot itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpusize.decision import present
from gpusize.launch.common import Properties, Wires, is_reserved, market, nodes, tags
from gpusize.launch.schedule import beats_of
from gpusize_catalog.units import PERCENT

if TYPE_CHECKING:
    from gpusize.decision import Decision
    from gpusize.workload import Replicas

GROUP = "aws:autoscaling/group:Group"


def is_mixed(decision: Decision) -> bool:
    """Tell whether the group names types and markets itself: what is reserved is of one type."""
    return market(decision) in ("on-demand", "spot") and not is_reserved(decision)


def types(decision: Decision, most: int) -> tuple[str, ...]:
    """Return the types of the group: the chosen one, then others that hold the same layout.

    What is on one replica's template (interfaces, placement) is made for one type, so a replica
    that spans instances has no others.
    """
    plan = decision.plan
    if plan is None:
        return ()
    if plan.nodes > 1 or not is_mixed(decision) or decision.resolution.plan is None:
        return (plan.instance_type,)
    others = decision.substitutes if most > 1 else ()
    return (plan.instance_type, *others)[:most]


def sizes(decision: Decision) -> tuple[int, int]:
    """Return the fewest and the most instances while there is work."""
    replicas: Replicas | None = getattr(decision.workload, "replicas", None)
    least = decision.plan.replicas if decision.plan else 1
    most = max(least, replicas.max if replicas else 1)
    return least * nodes(decision), most * nodes(decision)


def floor(decision: Decision) -> int:
    """Return the instances that the group starts with; others come by schedule or on request."""
    plan = decision.plan
    if plan is None or plan.scaling == "scale-to-zero" or beats_of(decision):
        return 0
    return sizes(decision)[0]


def group(
    decision: Decision,
    wiring: Mapping[str, Any],
    template: tuple[Any, Any],
    named: Sequence[str],
    wires: Wires,
) -> Properties:
    """Describe the group; `template` is id and version, `named` the instance types.

    A replica that spans instances stays in one subnet, and so in one zone.
    """
    subnets = wiring.get("subnetIds")
    if subnets is None:
        subnets = [wiring.get("subnetId")]
    elif nodes(decision) > 1:
        subnets = [wires.first(subnets)]
    mixed = is_mixed(decision)
    reference = {"id": template[0], "version": template[1]}
    return present(
        {
            "region": decision.workload.region,
            "minSize": floor(decision),
            "maxSize": sizes(decision)[1],
            "vpcZoneIdentifiers": subnets,
            "capacityRebalance": True if market(decision) == "spot" else None,
            "launchTemplate": None if mixed else reference,
            "mixedInstancesPolicy": _policy(decision, template, named) if mixed else None,
            "tags": [
                {"key": key, "value": value, "propagateAtLaunch": True}
                for key, value in tags(decision).items()
            ],
        }
    )


def _policy(decision: Decision, template: tuple[Any, Any], named: Sequence[str]) -> Properties:
    reference = {"launchTemplateId": template[0], "version": template[1]}
    return {
        "instancesDistribution": _distribution(decision),
        "launchTemplate": {
            "launchTemplateSpecification": reference,
            "overrides": [{"instanceType": name} for name in named],
        },
    }


def _distribution(decision: Decision) -> Properties:
    """On demand the first type that is to be had; on spot by price and by what is to be had."""
    if market(decision) != "spot":
        return {
            "onDemandAllocationStrategy": "prioritized",
            "onDemandPercentageAboveBaseCapacity": PERCENT,
        }
    replicas: Replicas | None = getattr(decision.workload, "replicas", None)
    base = (replicas.on_demand_base if replicas else None) or 0
    share = replicas.spot_share if replicas and replicas.spot_share is not None else 1.0
    return {
        "onDemandAllocationStrategy": "prioritized",
        "onDemandBaseCapacity": base * nodes(decision),
        "onDemandPercentageAboveBaseCapacity": round(PERCENT * (1 - share)),
        "spotAllocationStrategy": "price-capacity-optimized",
    }
