"""Do the parallel sizes suit the model and the node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.memory.result import Verdict
from gpusize.workload import Training
from gpusize_catalog.units import HOURS_PER_MONTH, PERCENT, usd

if TYPE_CHECKING:
    from gpusize.placement import Placement
    from gpusize.resolving.candidate import Candidate

SHOWN_SIZES = 8
"""Valid sizes that a message lists."""
MICRO_BATCHES = 4
"""Micro batches for each stage from which a pipeline is busy: with fewer it waits for more than a
fifth of a step. Source: Huang et al. 2019, https://arxiv.org/abs/1811.06965, section 2.3."""
POWERS = (1, 2, 4, 8, 16, 32, 64)
"""Sizes that engines are built and tested for."""


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


def non_power_of_two_parallelism(candidate: Candidate) -> Iterator[Reason]:
    """A declared tensor-parallel size that engines are seldom run with."""
    shape, tp = candidate.study.shape, candidate.placement.layout.tp
    if candidate.workload.tp is None or _is_power_of_two(tp) or not shape.splits(tp):
        return
    gpus = candidate.placement.gpus
    over = f", and leaves {gpus % tp} of the {gpus} GPUs of {candidate} over" if gpus % tp else ""
    fitting = [size for size in POWERS if size <= max(gpus, tp) and shape.splits(size)]
    near = [size for size in (_below(fitting, tp), _above(fitting, tp)) if size]
    yield Reason(
        "non-power-of-two-parallelism",
        Weight.ADVICE,
        f"tp={tp} is no power of two: engines are built and tested for 2, 4 and 8 ranks{over}",
        f"tp of {' or '.join(map(str, near))}" if near else "",
        {"tp": tp, "gpus": gpus, "gpusLeftOver": gpus % tp},
    )


def _is_power_of_two(size: int) -> bool:
    return size & (size - 1) == 0


def _below(sizes: Sequence[int], limit: int) -> int | None:
    return max((size for size in sizes if size < limit), default=None)


def _above(sizes: Sequence[int], limit: int) -> int | None:
    return min((size for size in sizes if size > limit), default=None)


def stages_exceed_layers(candidate: Candidate) -> Iterator[Reason]:
    """A pipeline stage is at least one layer."""
    layers, pp = candidate.architecture.layers, candidate.placement.layout.pp
    if candidate.study.whole or pp <= max(1, layers):
        return
    yield Reason(
        "stages-exceed-layers",
        Weight.ERROR,
        f"pp={pp} is more stages than the {layers} layers of {candidate.architecture.name}",
        f"pp of at most {layers}",
        {"pp": pp, "layers": layers},
    )


def experts_not_divisible(candidate: Candidate) -> Iterator[Reason]:
    """Each rank must take the same number of experts, where the engine does not spread a rest."""
    study, layout = candidate.study, candidate.placement.layout
    experts = study.shape.experts
    if layout.ep == 1 or (experts and experts % layout.ep == 0):
        return
    if experts and study.setup is not None and study.setup.engine.uneven_experts:
        return
    model = candidate.architecture.name
    text = f"ep={layout.ep} does not divide the {experts} experts of {model}"
    fix = "leave ep out"
    if experts:
        valid = [size for size in range(1, candidate.placement.gpus + 1) if experts % size == 0]
        fix = f"ep of {', '.join(map(str, valid[:SHOWN_SIZES]))}"
    else:
        text = f"ep={layout.ep} spreads experts, {model} has none"
    yield Reason(
        "experts-not-divisible",
        Weight.ERROR,
        text,
        fix,
        {"ep": layout.ep, "experts": experts or 0},
    )


def kv_heads_replicated(candidate: Candidate) -> Iterator[Reason]:
    """More tensor ranks than the cache splits into, where it is short and other sizes hold more.

    Latent attention keeps one latent for all heads, so each rank keeps the whole cache.
    """
    study, layout, demand = candidate.study, candidate.placement.layout, candidate.demand
    if demand.trains or layout.tp == 1 or not study.splits_tensors:
        return
    split = 1 if _is_latent(candidate) else candidate.architecture.kv_heads
    if not split or layout.tp <= split:
        return
    held = candidate.fit.sequences_at(demand.tokens_high)
    if held is None or held >= demand.concurrency:
        return
    other = _split_by_heads(candidate, split)
    more = other.fit.sequences_at(demand.tokens_high) if other else None
    if other is None or more is None or more <= held:
        return
    heads = "latents" if split == 1 else f"{split} KV heads"
    yield Reason(
        "kv-heads-replicated",
        Weight.ADVICE,
        f"tp={layout.tp} keeps {layout.tp // split} copies of the {heads}: the cache of {candidate}"
        f" holds {held} sequences of {demand.tokens_high} tokens, at {other.placement.layout}"
        f" {more}",
        ", ".join(
            f"{name}: {size}" for name, size in other.placement.layout._asdict().items() if size > 1
        )
        or "tp: 1",
        {"tp": layout.tp, "kvHeads": split, "sequences": held, "otherSequences": more},
    )


def _is_latent(candidate: Candidate) -> bool:
    setup = candidate.study.setup
    latent = setup is not None and setup.engine.latent_cache
    return latent and candidate.architecture.kv_lora_rank is not None


def _split_by_heads(candidate: Candidate, split: int) -> Candidate | None:
    """The same GPUs with fewer tensor ranks and more copies, where the memory holds that."""
    layout, study = candidate.placement.layout, candidate.study
    tp = max(size for size in range(1, split + 1) if layout.tp % size == 0)
    dp = layout.tp // tp * layout.dp
    experts = study.shape.experts
    ep = tp * dp if experts and experts % (tp * dp) == 0 else layout.ep
    other = candidate.at(layout._replace(tp=tp, dp=dp, ep=ep))
    fine = study.shape.splits(tp) and dp <= candidate.demand.concurrency
    return other if fine and other.fit.verdict in (Verdict.FITS, Verdict.TIGHT) else None


def pipeline_bubbles(candidate: Candidate) -> Iterator[Reason]:
    """Fewer pieces of work at once than keep all stages of a pipeline busy."""
    layout, demand, workload = candidate.placement.layout, candidate.demand, candidate.workload
    if layout.pp == 1:
        return
    if not isinstance(workload, Training):
        each = -(-demand.concurrency // layout.dp)
        if candidate.study.splits_tensors and each < layout.pp:
            yield _bubbles(
                f"{each} sequences at once keep {each} of the {layout.pp} stages of {candidate}"
                " busy",
                f"concurrency of at least {layout.pp * layout.dp}, or tp in place of pp",
                {"sequences": each, "pp": layout.pp, "idlePercent": _idle(each, layout.pp)},
            )
        return
    whole = workload.global_batch or workload.micro_batch * layout.dp
    steps = max(1, whole // (workload.micro_batch * layout.dp))
    if steps >= MICRO_BATCHES * layout.pp:
        return
    idle = round(PERCENT * (layout.pp - 1) / (steps + layout.pp - 1))
    wanted = MICRO_BATCHES * layout.pp * workload.micro_batch * layout.dp
    yield _bubbles(
        f"{steps} micro batches fill {layout.pp} stages of {candidate}: each waits {idle}% of a"
        " step",
        f"globalBatch: {wanted}, or fewer stages",
        {"microBatches": steps, "pp": layout.pp, "idlePercent": idle},
    )


def _idle(busy: int, stages: int) -> int:
    return round(PERCENT * (stages - busy) / stages)


def _bubbles(text: str, fix: str, numbers: dict[str, Number]) -> Reason:
    return Reason("pipeline-bubbles", Weight.ADVICE, text, fix, numbers)


def tp_across_nodes(candidate: Candidate) -> Iterator[Reason]:
    """All-reduces of every layer over the network; what a training run loses is GPU306."""
    placement = candidate.placement
    tp, gpus = placement.layout.tp, placement.domain_gpus
    if placement.domains == 1 or tp <= gpus or candidate.demand.trains:
        return
    yield Reason(
        "tp-across-nodes",
        Weight.ERROR,
        f"tp={tp} spans {_domain(placement)} of {gpus} GPUs: every layer waits for the network",
        f"tp: {gpus}, pp: {placement.domains}",
        {"tp": tp, "gpusPerNode": gpus},
    )


def several_nodes_undeclared(candidate: Candidate) -> Iterator[Reason]:
    """More than one instance of a pinned type, each paid for."""
    placement = candidate.placement
    if placement.nodes == 1 or candidate.workload.instance_type is None:
        return
    hourly = candidate.cost.hourly
    money = "" if hourly is None else f", {usd(hourly)}/h together"
    yield Reason(
        "several-nodes-undeclared",
        Weight.ADVICE,
        f"one replica takes {candidate} at {placement.layout}{money}",
        f"nodesPerReplica: {placement.nodes} where that is meant",
        {"nodes": placement.nodes, **({} if hourly is None else {"usdPerHour": round(hourly, 4)})},
    )


def _domain(placement: Placement) -> str:
    return "UltraServers" if placement.ultraserver else "nodes"


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
    training run is: with more copies it ends sooner, for about the same money. Instances of an
    UltraServer are idle where they have room for one more replica.
    """
    placement = candidate.placement
    layout = placement.layout
    if wastes_ultraserver(candidate):
        yield _idle_on_ultraserver(candidate)
        return
    copies = min(layout.dp, candidate.demand.concurrency)
    used = layout.tp * layout.pp * layout.cp * copies
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
        f"instanceType: {better}" if better else _filled(candidate),
        numbers,
    )


def wastes_ultraserver(candidate: Candidate) -> bool:
    """Whether the UltraServers of all replicas have room for one more of them."""
    placement = candidate.placement
    return placement.ultraserver is not None and _idle_instances(candidate) >= placement.nodes


def _idle_instances(candidate: Candidate) -> int:
    """Instances that are bought with others and take no part in the work."""
    placement, replicas = candidate.placement, candidate.demand.replicas
    return placement.bought(replicas) - placement.nodes * replicas


def _idle_on_ultraserver(candidate: Candidate) -> Reason:
    placement, demand = candidate.placement, candidate.demand
    server, idle = placement.ultraserver, _idle_instances(candidate)
    bought = placement.bought(demand.replicas)
    numbers: dict[str, Number] = {
        "gpus": bought * (placement.instance.gpus or 0),
        "gpusNeeded": placement.gpus * demand.replicas,
    }
    hourly, wasted = candidate.cost.hourly, ""
    if hourly is not None:
        monthly = hourly * HOURS_PER_MONTH * demand.hours_up * idle / bought
        numbers["wastedUsdPerMonth"] = round(monthly, 2)
        wasted = f": {usd(monthly)} per month at {HOURS_PER_MONTH * demand.hours_up:.0f} h"
    fits = bought // placement.nodes
    return Reason(
        "idle-gpus-on-node",
        Weight.WARN,
        f"{bought - idle} of the {bought} instances of {server.id if server else ''} do the work,"
        f" {idle} idle{wasted}; UltraServers are sold whole",
        f"nodesPerReplica: {bought}" if demand.trains else f"replicas: {fits}, or another type",
        numbers,
    )


def _filled(candidate: Candidate) -> str:
    """Sizes that leave no GPU idle: as many copies as there is room for, else other ranks."""
    placement = candidate.placement
    layout, gpus = placement.layout, placement.gpus
    others = layout.pp * layout.cp
    splits = candidate.study.shape.splits
    fitting = [size for size in range(gpus, 0, -1) if gpus % (size * others) == 0 and splits(size)]
    if not fitting:
        return f"pp of {', '.join(str(size) for size in range(1, gpus + 1) if gpus % size == 0)}"
    tp = layout.tp if layout.tp in fitting else fitting[0]
    copies = gpus // (tp * others)
    sizes = f"dp: {copies}" if tp == layout.tp else f"tp: {tp}, dp: {copies}"
    short = copies > candidate.demand.concurrency
    return f"{sizes}, with concurrency: {copies} or more" if short else sizes
