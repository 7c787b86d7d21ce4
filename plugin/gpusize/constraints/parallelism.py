"""Do the parallel sizes suit the model and the node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize_catalog.units import HOURS_PER_MONTH, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

SHOWN_SIZES = 8
"""Valid sizes that a message lists."""


def tp_not_dividing_heads(candidate: Candidate) -> Iterator[Reason]:
    """Each rank must take the same number of heads, of the vision tower too."""
    shape, tp = candidate.study.shape, candidate.placement.layout.tp
    if shape.splits(tp):
        return
    uneven = shape.heads if shape.heads % tp else shape.vision_heads
    what = "attention heads" if shape.heads % tp else "heads of the vision tower"
    pinned = candidate.workload.instance_type is not None
    most = min(shape.heads, candidate.placement.gpus) if pinned else shape.heads
    valid = [size for size in range(1, most + 1) if shape.splits(size)]
    listed = ", ".join(map(str, valid[:SHOWN_SIZES]))
    yield Reason(
        "tp-not-dividing-heads",
        Weight.ERROR,
        f"tp={tp} does not divide the {uneven} {what} of {candidate.architecture.name}",
        f"tp of {listed}",
        {"tp": tp, "heads": uneven or 0},
    )


def experts_not_divisible(candidate: Candidate) -> Iterator[Reason]:
    """Each rank must take the same number of experts."""
    experts, layout = candidate.study.shape.experts, candidate.placement.layout
    if layout.ep == 1 or (experts and experts % layout.ep == 0):
        return
    yield Reason(
        "experts-not-divisible",
        Weight.ERROR,
        f"ep={layout.ep} does not divide the {experts or 0} experts of"
        f" {candidate.architecture.name}",
        numbers={"ep": layout.ep, "experts": experts or 0},
    )


def tp_across_nodes(candidate: Candidate) -> Iterator[Reason]:
    """All-reduces of every layer over the network."""
    placement = candidate.placement
    tp, gpus = placement.layout.tp, placement.instance.gpus or 0
    if placement.nodes == 1 or tp <= gpus:
        return
    yield Reason(
        "tp-across-nodes",
        Weight.ERROR,
        f"tp={tp} spans nodes of {gpus} GPUs: every layer waits for the network",
        f"tp={gpus}, pp={placement.nodes}",
        {"tp": tp, "gpusPerNode": gpus},
    )


def layout_exceeds_node(candidate: Candidate) -> Iterator[Reason]:
    """The layout asks for more GPUs than there are."""
    placement = candidate.placement
    if placement.layout.gpus <= placement.gpus:
        return
    yield Reason(
        "layout-exceeds-node",
        Weight.ERROR,
        f"{placement.layout} takes {placement.layout.gpus} GPUs, {candidate} has {placement.gpus}",
        numbers={"gpusNeeded": placement.layout.gpus, "gpus": placement.gpus},
    )


def idle_gpus_on_node(candidate: Candidate) -> Iterator[Reason]:
    """GPUs that are paid for and not needed: unused by the layout, or a smaller node suffices.

    A node that gpusize fills with copies is not busy for that: the work may need one of them. A
    training run is: with more copies it ends sooner, for about the same money.
    """
    placement = candidate.placement
    layout = placement.layout
    copies = min(layout.dp, candidate.demand.concurrency)
    used = layout.tp * layout.pp * copies
    better = ""
    if used >= placement.gpus and candidate.demand.trains:
        return
    if used >= placement.gpus:
        smaller = candidate.study.smaller(candidate)
        if smaller is None:
            return
        used, better = smaller.used, smaller.candidate.instance.id
    idle = placement.gpus - used
    numbers: dict[str, Number] = {"gpus": placement.gpus, "gpusNeeded": used}
    hourly = candidate.cost.hourly
    wasted = ""
    if hourly is not None:
        monthly = hourly * HOURS_PER_MONTH * candidate.demand.hours_up * idle / placement.gpus
        numbers["wastedUsdPerMonth"] = round(monthly, 2)
        wasted = (
            f": {usd(monthly)} per month at {HOURS_PER_MONTH * candidate.demand.hours_up:.0f} h"
        )
    yield Reason(
        "idle-gpus-on-node",
        Weight.WARN,
        f"{used} of the {placement.gpus} GPUs of {candidate} can do the work, {idle} are idle"
        f"{wasted}",
        f"instanceType {better}" if better else _filled(candidate),
        numbers,
    )


def _filled(candidate: Candidate) -> str:
    """A number of copies that leaves no GPU idle, where there is one."""
    placement = candidate.placement
    ranks = placement.layout.tp * placement.layout.pp
    copies = placement.gpus // ranks
    if placement.gpus % ranks or copies > candidate.demand.concurrency:
        return "a smaller node, or a layout that fills this one"
    return f"dp={copies}"
