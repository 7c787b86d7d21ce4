"""The search: every type, market and layout that a workload may get, judged and ranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.candidate import Candidate, Study, gpu_of
from gpusize.constraints import CONSTRAINTS, MARKET, MONEY, OFFER, SILICON, Constraint, of_offer
from gpusize.constraints.reason import Reason, Weight
from gpusize.constraints.speed import READING_PACE
from gpusize.memory.result import Term, Verdict
from gpusize.placement import Layout, Pins, Placement, layouts
from gpusize.workload import Market
from gpusize_catalog.facts import Interconnect

if TYPE_CHECKING:
    from gpusize.candidate import Silicon
    from gpusize_catalog.facts import Gpu, InstanceType

SMALL_SHARE = 0.15
"""Communication below this part of the time is no reason to prefer one placement to another: the
share of a slow GPU is small because everything else takes longer."""
SHARE_STEP = 0.10
"""Above, placements that differ by less than this count as equal."""
UNKNOWN_SHARE = 99
NEVER = 9
"""Rank of a latency that cannot be judged."""
_MONEY = tuple(rule for name, rule in MONEY.items() if name != "idle-gpus-on-node")
_OFFER = (*OFFER.values(), *MARKET.values())
_SILICON = tuple(SILICON.values())

VERDICTS = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT, Verdict.UNKNOWN)
"""From best to worst."""
WEIGHTS = (Weight.ERROR, Weight.WARN, Weight.ADVICE)
"""From worst to best."""

Service = tuple[int, int]
"""Whether sequences queue for the cache, and whether targets are met: see `service_of`."""
Moving = tuple[int, int]
"""Whether stages lie inside a node, and the class of the share of communication."""
Key = tuple[Service, int, Moving, float, int, int, str, float, Layout]


class Trial(NamedTuple):
    """One instance type: its best way to do the work, or the ways that were tried."""

    instance: InstanceType
    best: Candidate | None
    key: Key | None
    tried: tuple[Candidate, ...]


def blocks(reason: Reason) -> bool:
    """Whether gpusize refuses to choose a placement for this reason."""
    return reason.weight is not Weight.ADVICE or reason.name == "estimate-not-supported"


def first_block(candidate: Candidate, table: Iterable[Constraint]) -> Reason | None:
    """The first blocking reason that a table of constraints gives."""
    for constraint in table:
        for reason in constraint(candidate):
            if blocks(reason):
                return reason
    return None


def reasons_of(candidate: Candidate) -> tuple[Reason, ...]:
    """Everything that all constraints say about a candidate."""
    return tuple(reason for rule in CONSTRAINTS.values() for reason in rule(candidate))


class Search:
    """Walks the catalog for one study; what hosts of the same GPUs share is judged once."""

    def __init__(self, study: Study) -> None:
        """Read the pins of the workload."""
        self.study = study
        workload = study.workload
        self.offer = tuple(of_offer(workload).values())
        self.pins = Pins(workload.tp, workload.pp, workload.dp, workload.ep)
        self._silicon: dict[Silicon, Reason | None] = {}
        self._layouts: dict[tuple[int, int, bool], tuple[Layout, ...]] = {}
        self._weights: dict[Layout, int] = {}
        self._gpus: dict[str, Gpu] = {}
        self._trials: dict[tuple[str, int], Trial] = {}

    def types(self) -> list[InstanceType]:
        """The pinned type, else every offered type, by id."""
        catalog, workload = self.study.catalog, self.study.workload
        if workload.instance_type is not None:
            found = catalog.find_instance(workload.instance_type)
            return [found] if found else []
        offered = [catalog.find_instance(name) for name in catalog.offerings(workload.region)]
        return sorted((instance for instance in offered if instance), key=lambda item: item.id)

    def nodes(self, instance: InstanceType) -> int:
        """Instances of one replica: as pinned, else as many as the pinned layout takes."""
        pinned = self.study.workload.nodes_per_replica
        if pinned is not None:
            return pinned
        pins = self.pins
        needed = (pins.tp or 1) * (pins.pp or 1) * (pins.dp or 1)
        return max(1, -(-needed // max(1, instance.gpus or 1)))

    def candidates(self, instance: InstanceType, nodes: int) -> Iterator[Candidate]:
        """One candidate per layout, in the market that suits the work."""
        study = self.study
        workload = study.workload
        gpu = self._gpu(instance)
        market = choose_market(study, instance)
        for layout in self._layouts_of(instance, nodes):
            yield Candidate(
                study,
                Placement(
                    instance,
                    gpu,
                    nodes,
                    layout,
                    workload.region,
                    market,
                    workload.zone,
                    workload.capacity_reservation,
                ),
            )

    def _gpu(self, instance: InstanceType) -> Gpu:
        key = instance.gpu_id or instance.id
        found = self._gpus.get(key)
        if found is None:
            found = self._gpus[key] = gpu_of(instance, self.study.catalog)
        return found

    def _layouts_of(self, instance: InstanceType, nodes: int) -> tuple[Layout, ...]:
        slow = instance.interconnect in (Interconnect.PCIE, Interconnect.OTHER)
        key = (instance.gpus or 0, nodes, slow)
        found = self._layouts.get(key)
        if found is None:
            walk = layouts(max(1, key[0]), nodes, self.study.shape, self.pins, stages_within=slow)
            found = self._layouts[key] = tuple(walk)
        return found

    def trial(self, instance: InstanceType, nodes: int) -> Trial:
        """Judge one type, once; a type that is not to be had is not sized."""
        found = self._trials.get((instance.id, nodes))
        if found is None:
            found = self._trials[instance.id, nodes] = self._judge(instance, nodes)
        return found

    def _judge(self, instance: InstanceType, nodes: int) -> Trial:
        tried = tuple(self.candidates(instance, nodes))
        if not tried or first_block(tried[0], self.offer) or not self._is_affordable(tried[0]):
            return Trial(instance, None, None, tried)
        feasible = [candidate for candidate in tried if self.feasible(candidate)]
        best = min(feasible, key=_layout_rank, default=None)
        return Trial(instance, best, rank_of(best) if best else None, tried)

    def feasible(self, candidate: Candidate) -> bool:
        """Whether no error or warning concerns a candidate whose type is to be had."""
        layout, placement = candidate.placement.layout, candidate.placement
        if layout.gpus != placement.gpus or self._is_hopeless(placement):
            return False
        return self._silicon_block(candidate) is None and first_block(candidate, _MONEY) is None

    def _is_hopeless(self, placement: Placement) -> bool:
        """Whether the weights of a rank, seen on another GPU, are larger than this whole one."""
        weights = self._weights.get(placement.layout, 0)
        usable = placement.usable_bytes
        return usable is not None and weights > usable

    def holds(self, candidate: Candidate) -> bool:
        """Whether the memory holds the work, whatever else speaks against it."""
        if self._is_hopeless(candidate.placement):
            return False
        return candidate.fit.verdict in (Verdict.FITS, Verdict.TIGHT)

    def _is_affordable(self, candidate: Candidate) -> bool:
        """Whether the instances alone are within the hourly budget: no layout changes that."""
        limit = self.study.workload.budget.per_hour
        if limit is None:
            return True
        price = self.study.quote(candidate.placement).usd_per_hour
        machines = candidate.placement.nodes * self.study.demand.replicas
        return price is not None and price * machines <= limit

    def _silicon_block(self, candidate: Candidate) -> Reason | None:
        key = candidate.silicon
        if key not in self._silicon:
            self._silicon[key] = first_block(candidate, _SILICON)
            layout = candidate.placement.layout
            if layout not in self._weights and candidate.gpu.cuda:
                self._weights[layout] = candidate.fit.term(Term.WEIGHTS)
        return self._silicon[key]


def choose_market(study: Study, instance: InstanceType) -> Market:
    """How the work buys this type: as pinned; spot for what may be interrupted, if it is cheaper.

    A capacity block stands in where AWS sells the type no other way and a reservation is named.
    """
    workload = study.workload
    if workload.market is not None:
        return workload.market
    if study.demand.interruptible and worth_spot(study, instance):
        return Market.SPOT
    reserved = workload.capacity_reservation is not None
    if reserved and instance.on_demand_statement and "capacity-block" in instance.usage_classes:
        return Market.CAPACITY_BLOCK
    return Market.ON_DEMAND


def worth_spot(study: Study, instance: InstanceType) -> bool:
    """Whether the newest spot price is far enough below on-demand to be worth interruptions."""
    workload, settings = study.workload, study.settings
    probe = _probe(instance, workload.region, workload.zone)
    saving = study.spot_saving(probe, settings.spot_evidence_days)
    return saving is not None and saving.share >= settings.min_spot_discount


def _probe(instance: InstanceType, region: str, zone: str | None) -> Placement:
    no_gpu: Gpu = None  # type: ignore[assignment]  # prices do not look at it
    return Placement(instance, no_gpu, 1, Layout(), region, Market.SPOT, zone)


def rank_of(candidate: Candidate) -> Key:
    """What types are compared by: smaller is better.

    Latency met, fewest GPUs, least communication, price for the declared duration; then fewer
    nodes, the smaller host and the name, so that the order is total.
    """
    placement = candidate.placement
    cost = candidate.cost
    price = next((amount for amount in (cost.total, cost.hourly) if amount is not None), inf)
    service, moving, share, layout = _layout_rank(candidate)
    return (
        service,
        placement.gpus,
        moving,
        price,
        placement.nodes,
        placement.instance.vcpus or 0,
        placement.instance.id,
        share,
        layout,
    )


def _layout_rank(candidate: Candidate) -> tuple[Service, Moving, float, Layout]:
    """What layouts of one type are compared by: they cost the same.

    Stages inside a node count as worse than any communication that a constraint allows: each token
    waits for all of them.
    """
    placement = candidate.placement
    share = candidate.timing.communication_share
    moving = (int(placement.layout.pp > placement.nodes), _share_class(share))
    return service_of(candidate), moving, 1.0 if share is None else share, placement.layout


def _share_class(share: float | None) -> int:
    if share is None:
        return UNKNOWN_SHARE
    return 0 if share <= SMALL_SHARE else 1 + int((share - SMALL_SHARE) / SHARE_STEP)


def service_of(candidate: Candidate) -> Service:
    """How well users are served: no queue for the cache, and latency met, perhaps, or unknown."""
    demand, timing = candidate.demand, candidate.timing
    queues = 0
    if not demand.tokens_declared:
        held = candidate.fit.sequences_at(demand.prompt + demand.output)
        queues = int(held is None or held < demand.concurrency)
    pace = demand.token_time or (READING_PACE if demand.user_facing else None)
    late = max(
        _late(pace, timing.token_seconds),
        _late(demand.first_token_time, timing.prefill_seconds),
    )
    return queues, late


def _late(target: float | None, seconds: float | None) -> int:
    if target is None:
        return 0
    if seconds is None:
        return NEVER
    return int(seconds > target)


def smaller_node(candidate: Candidate) -> Candidate | None:
    """A smaller node of the same GPU that does the same work as well, the cheapest of the smallest.

    None where copies (`dp`) are declared: then the larger node is what was asked for.
    """
    study, placement = candidate.study, candidate.placement
    if study.workload.dp is not None or placement.nodes > 1:
        return None
    search = Search(study)
    served = service_of(candidate)
    found = []
    for instance in _siblings(placement, study):
        for layout in search._layouts_of(instance, 1):
            other = Candidate(study, placement._replace(instance=instance, layout=layout))
            if first_block(other, search.offer) is None and search.feasible(other):
                rank = rank_of(other)
                if rank[0] <= served:
                    found.append((rank[1:], other))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _siblings(placement: Placement, study: Study) -> list[InstanceType]:
    catalog, mine = study.catalog, placement.instance
    offered = (catalog.find_instance(name) for name in catalog.offerings(placement.region))
    return sorted(
        (
            other
            for other in offered
            if other
            and other.gpu_id == mine.gpu_id
            and other.partition == mine.partition
            and 0 < (other.gpus or 0) < (mine.gpus or 0)
        ),
        key=lambda other: other.id,
    )


def reasons_against(candidate: Candidate) -> tuple[Reason, ...]:
    """What speaks against a candidate; no search for a better node is made to say it."""
    found = [
        reason
        for table in (_OFFER, _SILICON, _MONEY)
        for constraint in table
        for reason in constraint(candidate)
        if blocks(reason)
    ]
    return tuple(sorted(found, key=lambda reason: WEIGHTS.index(reason.weight)))


def nearness(candidate: Candidate) -> tuple[bool, bool, int, float, Layout]:
    """How far a layout of a rejected type is from working, by its memory alone."""
    fit, placement = candidate.fit, candidate.placement
    margin = fit.margin
    return (
        not candidate.study.shape.splits(placement.layout.tp),
        placement.layout.gpus != placement.gpus,
        VERDICTS.index(fit.verdict),
        inf if margin is None else -margin,
        placement.layout,
    )


def badness(candidate: Candidate) -> tuple[int, int, float, Key]:
    """How far a candidate is from being a plan: errors, warnings, missing bytes, then its rank."""
    weights = [reason.weight for reason in reasons_of(candidate)]
    margin = candidate.fit.margin
    unknown = candidate.fit.verdict is Verdict.UNKNOWN
    return (
        weights.count(Weight.ERROR),
        weights.count(Weight.WARN) + int(unknown),
        inf if margin is None else max(0, -margin),
        rank_of(candidate),
    )
