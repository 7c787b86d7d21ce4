"""The markets that a workload may buy a type in, the one that suits it best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.interruptions import survives_spot
from gpusize.placement import Layout, Placement
from gpusize.workload import Kind, Market

if TYPE_CHECKING:
    from gpusize.resolving.study import Study
    from gpusize.workload import Workload
    from gpusize_catalog.facts import Gpu, InstanceType


BLOCKS_ALONE = frozenset({"capacity-block"})
"""Usage classes of what the API sells in no other way: UltraServers."""


def declared_market(workload: Workload) -> Market | None:
    """The market that a declaration fixes, by name or by what it buys; None where it is open."""
    if workload.market is not None:
        return workload.market
    if workload.capacity_block is not None:
        return Market.CAPACITY_BLOCK
    commitment = workload.commitment
    is_committed = commitment is not None and commitment.plan.value != "none"
    return Market.ON_DEMAND if is_committed or workload.reserve is not None else None


def markets_of(study: Study, instance: InstanceType) -> tuple[Market, ...]:
    """How the work may buy this type: as declared; else spot where interruptions cost little and
    the discount is worth them, then on demand.

    A capacity block stands in where AWS sells the type no other way and a reservation is named, or
    the type is pinned and sold in blocks alone. It comes last for pre-training, which may be too
    large to go without capacity of its own.
    """
    declared = declared_market(study.workload)
    if declared is not None:
        return (declared,)
    if study.workload.instance_type is not None and instance.usage_classes == BLOCKS_ALONE:
        return (Market.CAPACITY_BLOCK,)
    demand, settings = study.demand, study.settings
    found = []
    nodes = study.workload.nodes_per_replica or 1
    if demand.interruptible and survives_spot(demand, settings, instance.id, nodes):
        found += [Market.SPOT] if worth_spot(study, instance) else []
    in_blocks = "capacity-block" in instance.usage_classes
    reserved = study.workload.capacity_reservation is not None
    if reserved and instance.on_demand_statement and in_blocks:
        return (*found, Market.CAPACITY_BLOCK)
    found.append(Market.ON_DEMAND)
    if in_blocks and demand.kind is Kind.PRE_TRAINING and not reserved:
        found.append(Market.CAPACITY_BLOCK)
    return tuple(found)


def worth_spot(study: Study, instance: InstanceType) -> bool:
    """Whether the newest spot price is far enough below on-demand to be worth interruptions."""
    workload, settings = study.workload, study.settings
    no_gpu: Gpu = None  # type: ignore[assignment]  # prices do not look at it
    probe = Placement(instance, no_gpu, 1, Layout(), workload.region, Market.SPOT, workload.zone)
    saving = study.spot_saving(probe, settings.spot_evidence_days)
    return saving is not None and saving.share >= settings.min_spot_discount
