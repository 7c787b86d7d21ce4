"""The search: every type, market and layout that a workload may get, judged and ranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints import (
    COMPARISONS,
    CONSTRAINTS,
    DEVICE,
    LAYOUT,
    MARKET,
    MONEY,
    OFFER,
    REMARKS,
    SILICON,
    of_buying,
)
from gpusize.constraints.parallelism import wastes_ultraserver
from gpusize.constraints.reason import Reason, Weight
from gpusize.constraints.speed import READING_PACE
from gpusize.memory.result import Verdict
from gpusize.placement import OPEN, Layout, Pins, Placement, layouts
from gpusize.resolving.candidate import Candidate, Study, gpu_of
from gpusize.resolving.markets import markets_of
from gpusize.training_layouts import NODES, PLAIN, WAYS, Way, training_layouts
from gpusize_catalog.facts import Interconnect

if TYPE_CHECKING:
    from gpusize.constraints import Constraint
    from gpusize.workload import Market
    from gpusize_catalog.facts import Gpu, InstanceType, UltraServer

SMALL_SHARE = 0.15
"""Communication below this part of the time is no reason to prefer one placement to another: the
share of a slow GPU is small because everything else takes longer."""
SHARE_STEP = 0.10
"""Above, placements that differ by less than this count as equal."""
UNKNOWN_SHARE = 99
NVLINK = "NVLink"
"""Name of the link that is made for the traffic of every layer."""
NEVER = 9
"""Rank of a latency that cannot be judged."""
_NOT_ASKED = REMARKS | COMPARISONS | {"idle-gpus-on-node"}
"""Constraints that a search does not ask: the one about idle GPUs is a search itself too."""

VERDICTS = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT, Verdict.UNKNOWN)
"""From best to worst."""
WEIGHTS = (Weight.ERROR, Weight.WARN, Weight.ADVICE)
"""From worst to best."""

Service = tuple[int, int]
"""Whether sequences queue for the cache, and whether targets are met: see `service_of`."""
Moving = tuple[int, int]
"""Whether stages lie inside a node, and the class of the share of communication."""
UNBEATEN = ((0, 0), (0, 0), 0.0)
"""Rank of copies of the whole model that serve as well as can be: of all layouts they move least
and, since no split of a model is smaller than the model, take the smallest volumes."""
SEVERAL = 10**6
"""GPUs that stand for those of any number of nodes: more than one node has."""


class Key(NamedTuple):
    """What types are compared by, field by field, the smaller the better: see `rank_of`."""

    service: Service
    gpus: int
    nodes: int
    moving: Moving
    price: float
    vcpus: int
    instance: str
    share: float
    layout: Layout


class Trial(NamedTuple):
    """One instance type and its best way to do the work; None where there is none."""

    instance: InstanceType
    nodes: int
    best: Candidate | None
    key: Key | None


def blocks(reason: Reason) -> bool:
    """Whether gpusize refuses to choose a placement for this reason."""
    return reason.weight is not Weight.ADVICE or reason.name == "estimate-not-supported"


def asked(*tables: Mapping[str, Constraint]) -> tuple[Constraint, ...]:
    """The constraints of some tables that may speak against a choice."""
    return tuple(
        [rule for table in tables for name, rule in table.items() if name not in _NOT_ASKED]
    )


_DEVICE, _LAYOUT = asked(DEVICE), asked(LAYOUT)
_ALL = asked(OFFER, MARKET, SILICON, MONEY)
_BESIDE_DEVICE = asked(OFFER, MARKET, LAYOUT, MONEY)


def first_block(candidate: Candidate, table: Iterable[Constraint]) -> Reason | None:
    """The first blocking reason that a table of constraints gives."""
    for constraint in table:
        for reason in constraint(candidate):
            if blocks(reason):
                return reason
    return None


def reasons_of(candidate: Candidate) -> tuple[Reason, ...]:
    """Everything that constraints say about a candidate by itself, compared with no other."""
    return tuple(
        reason
        for name, rule in CONSTRAINTS.items()
        if name not in COMPARISONS
        for reason in rule(candidate)
    )


class Search:
    """Walks the catalog for one study; what hosts of the same GPUs share is judged once."""

    def __init__(self, study: Study) -> None:
        """Read the pins of the workload."""
        self.study = study
        workload = study.workload
        self.offer = asked(OFFER)
        self.last = asked(*of_buying(workload))
        cp = getattr(workload, "cp", None)
        self.pins = Pins(workload.tp, workload.pp, workload.dp, workload.ep, cp)
        self._judged = study.judged
        self._sold: dict[str, tuple[Market, ...]] = {}
        self._gpus: dict[str, Gpu] = {}
        self._probes: dict[tuple[str, int], Candidate | None] = {}
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
        """Instances of one replica: as pinned, else as many as the pinned layout takes.

        Nodes without a fabric are joined only where their type is pinned. A training run takes an
        UltraServer whole: it is paid for.
        """
        pinned = self.study.workload.nodes_per_replica
        if pinned is not None:
            return pinned
        if self.study.workload.instance_type is None and not self.study.spans(instance):
            return 1
        pins = self.pins
        needed = (pins.tp or 1) * (pins.pp or 1) * (pins.dp or 1) * (pins.cp or 1)
        fewest = max(1, -(-needed // max(1, instance.gpus or 1)))
        servers = self.study.ultraservers(instance)
        if servers and self.study.demand.trains and pins == OPEN:
            return servers[0].instances
        return fewest

    def tried(self, trial: Trial) -> list[Candidate]:
        """One candidate per layout of a type, in the market that suits the work."""
        probe = self._probe(trial.instance, trial.nodes)
        if probe is None:
            return []
        return [probe.at(layout) for layout in self.layouts_of(trial.instance, trial.nodes)]

    def nearest(self, trial: Trial) -> Candidate | None:
        """The best layout that the hardware holds; where there is none, the nearest by memory."""
        probe = self._probe(trial.instance, trial.nodes)
        if probe is None:
            return None
        ways = self._judged.ways.get(probe.hardware)
        if ways:
            return probe.at(ways[0])
        layout = self._judged.nearest.get(probe.hardware)
        if layout is None:
            layout = self._nearest(self.tried(trial)).placement.layout
            self._judged.nearest[probe.hardware] = layout
        return probe.at(layout)

    def _nearest(self, tried: list[Candidate]) -> Candidate:
        """Size what is not hopeless; where everything is, the least of a rank is near enough."""
        sizing = self.study.sizing
        least = min(map(_misfit, tried))
        fair = [one for one in tried if _misfit(one) == least]
        hopeful = [one for one in fair if not sizing.is_hopeless(one.placement)]
        if hopeful:
            return min(hopeful, key=nearness)
        return min(fair, key=lambda one: sizing.floor(one.placement.layout))

    def _probe(self, instance: InstanceType, nodes: int) -> Candidate | None:
        """The plainest layout of a type; None where it has none."""
        key = (instance.id, nodes)
        if key not in self._probes:
            self._probes[key] = self._plainest(instance, nodes)
        return self._probes[key]

    def _plainest(self, instance: InstanceType, nodes: int) -> Candidate | None:
        study = self.study
        workload = study.workload
        layouts = self.layouts_of(instance, nodes)
        if not layouts:
            return None
        placement = Placement(
            instance,
            self._gpu(instance),
            nodes,
            layouts[0],
            workload.region,
            markets_of(study, instance)[0],
            workload.zone,
            workload.capacity_reservation,
            study.ultraserver(instance, nodes),
        )
        return Candidate(study, placement)

    def _gpu(self, instance: InstanceType) -> Gpu:
        key = instance.gpu_id or instance.id
        found = self._gpus.get(key)
        if found is None:
            found = self._gpus[key] = gpu_of(instance, self.study.catalog)
        return found

    def layouts_of(self, instance: InstanceType, nodes: int) -> tuple[Layout, ...]:
        """The layouts to try on so many nodes of a type, the plainest first."""
        slow = instance.interconnect in (Interconnect.PCIE, Interconnect.OTHER)
        gpus, nodes = self._joined(instance, nodes)
        key = (gpus, nodes, slow)
        found = self._judged.layouts.get(key)
        if found is None:
            shape, gpus = self.study.shape, max(1, gpus)
            if self.study.demand.trains:
                walk = self._training_layouts(gpus, nodes, PLAIN)
            else:
                walk = layouts(gpus, nodes, shape, self.pins, stages_within=slow)
            found = self._judged.layouts[key] = tuple(walk)
        return found

    def _joined(self, instance: InstanceType, nodes: int) -> tuple[int, int]:
        """GPUs that NVLink joins, and how many times: layouts know no other nodes."""
        server = self.study.ultraserver(instance, nodes)
        if server is None:
            return instance.gpus or 0, nodes
        domains = -(-nodes // server.instances)
        return -(-nodes // domains) * (instance.gpus or 0), domains

    def _training_layouts(self, gpus: int, nodes: int, way: Way) -> Iterator[Layout]:
        study, pins = self.study, self.pins
        if not study.splits_runs:
            pins = pins._replace(tp=pins.tp or 1, pp=pins.pp or 1, ep=pins.ep or 1)
        if not study.shares_sequences:
            pins = pins._replace(cp=pins.cp or 1)
        tokens = study.demand.context_length
        return training_layouts(gpus, nodes, study.shape, pins, way=way, tokens=tokens)

    def _further(self, instance: InstanceType, nodes: int) -> tuple[tuple[Layout, ...], ...]:
        """Layouts of a training run to try where no plainer one works, way by way."""
        key = self._joined(instance, nodes)
        found = self._judged.further.get(key)
        if found is None:
            ways, seen = [], set(self.layouts_of(instance, nodes))
            for way in WAYS if self.study.demand.trains else ():
                walk = self._training_layouts(max(1, key[0]), key[1], way)
                ways.append(tuple([layout for layout in walk if layout not in seen]))
                seen.update(ways[-1])
            found = self._judged.further[key] = tuple(ways)
        return found

    def trial(self, instance: InstanceType, nodes: int) -> Trial:
        """Judge one type, once; a type that is not to be had is not sized."""
        found = self._trials.get((instance.id, nodes))
        if found is None:
            found = self._trials[instance.id, nodes] = self._judge(instance, nodes)
        return found

    def _judge(self, instance: InstanceType, nodes: int) -> Trial:
        probe = self._probe(instance, nodes)
        if probe is None or self._judged.ways.get(probe.hardware) == ():
            return Trial(instance, nodes, None, None)
        buyable = [one for one in self._bought(probe) if self._is_affordable(one)]
        for layout in self._ways(probe) if buyable else ():
            for one in buyable:
                best = one.at(layout)
                if first_block(best, self.last) is None and not self._is_waste(best):
                    return Trial(instance, nodes, best, rank_of(best))
        return Trial(instance, nodes, None, None)

    def _is_waste(self, candidate: Candidate) -> bool:
        """Whether gpusize would buy an UltraServer for a part of it: a pinned type is the user's.

        The rest of the constraint about idle GPUs need not be asked: fewer GPUs come first.
        """
        is_pinned = self.study.workload.instance_type is not None
        return not is_pinned and wastes_ultraserver(candidate)

    def _bought(self, probe: Candidate) -> list[Candidate]:
        """The probe in each market that the type is to be had in: no number of nodes changes that.

        Whether the work suits a market is judged last, for it depends on how long it takes.
        """
        name = probe.instance.id
        found = self._sold.get(name)
        if found is None:
            found = self._sold[name] = tuple(
                market
                for market in markets_of(self.study, probe.instance)
                if first_block(probe.bought(market), self.offer) is None
            )
        return [probe.bought(market) for market in found]

    def _ways(self, probe: Candidate) -> tuple[Layout, ...]:
        """The layouts that nothing speaks against on such hardware, best first.

        The walk ends at a layout that no other one can beat.
        """
        found = self._judged.ways.get(probe.hardware)
        if found is None:
            instance, nodes = probe.instance, probe.placement.nodes
            hopes = self._may_hold(probe)
            found = self._working(probe, self.layouts_of(instance, nodes)) if hopes else ()
            if not found and hopes:
                for further in self._further(instance, nodes):
                    found = self._working(probe, further)
                    if found:
                        break
            self._judged.ways[probe.hardware] = found
        return found

    def _may_hold(self, probe: Candidate) -> bool:
        """Whether any layout can work: nothing is sized on a GPU whose memory is not known."""
        usable = probe.placement.usable_bytes
        if usable is None or not self._runs_on(probe):
            return False
        return self.study.sizing.least <= usable * probe.placement.gpus

    def _working(self, probe: Candidate, tried: Iterable[Layout]) -> tuple[Layout, ...]:
        ranks = []
        for layout in tried:
            candidate = probe.at(layout)
            if self._works(candidate):
                rank = _layout_rank(candidate)
                ranks.append(rank)
                if rank[:-1] == UNBEATEN:
                    break
        return tuple([rank[-1] for rank in sorted(ranks)])

    def _works(self, candidate: Candidate) -> bool:
        """Whether nothing of the hardware speaks against a candidate."""
        placement = candidate.placement
        layout = placement.layout
        if layout.gpus != placement.gpus or not self._runs_on(candidate):
            return False
        if self.study.sizing.is_hopeless(placement):
            return False
        # A run that is tight is never chosen: no constraint need be asked about it.
        if self.study.demand.trains:
            may_fit = self.study.sizing.may_fit(placement)
            if not may_fit or candidate.fit.verdict is not Verdict.FITS:
                return False
        return first_block(candidate, _LAYOUT) is None

    def _runs_on(self, candidate: Candidate) -> bool:
        """Whether nothing speaks against the GPU itself."""
        name = candidate.gpu.id
        found = self._judged.devices.get(name)
        if found is None:
            found = self._judged.devices[name] = first_block(candidate, _DEVICE) is None
        return found

    def feasible(self, candidate: Candidate) -> bool:
        """Whether no error or warning concerns a candidate."""
        return (
            first_block(candidate, self.offer) is None
            and self._works(candidate)
            and first_block(candidate, self.last) is None
        )

    def holds(self, trial: Trial) -> bool:
        """Whether the memory of some layout holds the work, whatever else speaks against it."""
        enough = (Verdict.FITS,) if self.study.demand.trains else (Verdict.FITS, Verdict.TIGHT)
        return any(
            candidate.fit.verdict in enough
            for candidate in self.tried(trial)
            if not self.study.sizing.is_hopeless(candidate.placement)
        )

    def numbers_of_nodes(self, instance: InstanceType) -> Iterator[int]:
        """Numbers of nodes to try beyond the fewest, those that memory rules out left aside."""
        fewest, most = self.nodes(instance), self.study.most_nodes
        servers = self.study.ultraservers(instance)
        if servers:
            yield from _parts_of(servers, fewest, max(most, servers[-1].instances))
            return
        if not self.study.demand.trains:
            yield from range(fewest + 1, most + 1)
            return
        probe = self._probe(instance, fewest)
        usable = (probe and probe.placement.usable_bytes) or inf
        gpus = self.study.sizing.least / usable
        for nodes in NODES:
            if fewest < nodes <= most and nodes * (instance.gpus or 0) >= gpus:
                yield nodes

    def may_span(self, instance: InstanceType) -> bool:
        """Whether more nodes can be any help: the type is to be had, and its GPU does the work."""
        probe = self._probe(instance, self.nodes(instance))
        if probe is None:
            return True
        is_known = probe.placement.usable_bytes is not None
        return is_known and bool(self._bought(probe)) and self._runs_on(probe)

    def _is_affordable(self, candidate: Candidate) -> bool:
        """Whether the instances alone are within the hourly budget: no layout changes that."""
        limit = self.study.workload.budget.per_hour
        if limit is None:
            return True
        price = self.study.quote(candidate.placement).usd_per_hour
        machines = candidate.placement.nodes * self.study.demand.replicas
        return price is not None and price * machines <= limit


def _parts_of(servers: Sequence[UltraServer], fewest: int, most: int) -> list[int]:
    """Numbers of instances of UltraServers to try: halves of halves, and whole ones."""
    largest = servers[-1].instances
    halves = [2**power for power in range(largest.bit_length())]
    wholes = [server.instances for server in servers]
    several = range(largest, most + 1, largest)
    return [size for size in sorted({*halves, *wholes, *several}) if fewest < size <= most]


def rank_of(candidate: Candidate) -> Key:
    """What types are compared by: smaller is better.

    Latency met comes first; then one GPU before several, several that one link joins (a node, an
    UltraServer) before several nodes, and of those fewest first: what is not split waits for
    nothing, and fewer GPUs that do the same work are larger and faster ones, at the same price or
    less. Then least communication where the link is slow, and price for the declared duration.

    Between plans of several nodes price comes at once: each is split already, and waits for a
    network that is made for it, so that fewer GPUs are no merit of their own. How fast they are is
    judged where it is asked for, by the targets and the pace of readers; where nobody waits for it,
    four nodes of an older GPU do the work of two of the newest at half the price.

    The smaller host and the name come last, so that the order is total. Where the region's price is
    not known, the type ranks by its dearest known price of another region.
    """
    placement, cost = candidate.placement, candidate.cost
    price = cost.hourly if cost.total is None else cost.total
    if price is None:
        price = candidate.cost_elsewhere
    service, moving, share, layout = _layout_rank(candidate)
    is_spread = placement.domains > 1
    return Key(
        service,
        SEVERAL if is_spread else placement.gpus,
        0 if is_spread else placement.nodes,
        (0, 0) if is_spread else moving,
        inf if price is None else price,
        placement.instance.vcpus or 0,
        placement.instance.id,
        share,
        layout,
    )


def _layout_rank(candidate: Candidate) -> tuple[Service, Moving, float, Layout]:
    """What layouts of one type are compared by: they cost the same.

    Stages inside a node count as worse than any communication that a constraint allows: each token
    waits for all of them. Over NVLink communication counts by the time it takes alone. Layouts of a
    training run are compared by the time of a step.
    """
    placement = candidate.placement
    timing = candidate.timing
    if candidate.demand.trains:
        seconds = timing.step_seconds
        slowness = inf if seconds is None else seconds
        return service_of(candidate), (0, 0), slowness, placement.layout
    share = timing.communication_share
    fast = timing.link == NVLINK and share is not None
    moving = (int(placement.layout.pp > placement.domains), 0 if fast else _share_class(share))
    return service_of(candidate), moving, 1.0 if share is None else share, placement.layout


def _share_class(share: float | None) -> int:
    if share is None:
        return UNKNOWN_SHARE
    return 0 if share <= SMALL_SHARE else 1 + int((share - SMALL_SHARE) / SHARE_STEP)


def service_of(candidate: Candidate) -> Service:
    """How well users are served: no queue for the cache, and latency met, perhaps, or unknown."""
    demand, timing = candidate.demand, candidate.timing
    if demand.trains:
        return 0, _late(demand.time_limit, timing.hours_to_end)
    queues = 0
    if not demand.tokens_declared:
        held = candidate.fit.sequences_at(demand.prompt + demand.output)
        queues = int(held is None or held < demand.concurrency)
    pace = demand.token_time or (READING_PACE if demand.user_facing and demand.reads else None)
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


def reasons_against(candidate: Candidate) -> tuple[Reason, ...]:
    """What speaks against a candidate; no search for a better node is made to say it."""
    device_is_fine = candidate.study.judged.devices.get(candidate.gpu.id)
    rules = _BESIDE_DEVICE if device_is_fine else _ALL
    found = [reason for rule in rules for reason in rule(candidate) if blocks(reason)]
    return tuple(sorted(found, key=lambda reason: WEIGHTS.index(reason.weight)))


def nearness(candidate: Candidate) -> tuple[int, float, Layout]:
    """How far a layout of a rejected type is from working, by its memory alone."""
    fit = candidate.fit
    margin = fit.margin
    return (
        VERDICTS.index(fit.verdict),
        inf if margin is None else -margin,
        candidate.placement.layout,
    )


def _misfit(candidate: Candidate) -> tuple[bool, bool]:
    """Whether a layout splits heads unevenly, and whether it leaves GPUs unused."""
    placement = candidate.placement
    return (
        not candidate.study.shape.splits(placement.layout.tp),
        placement.layout.gpus != placement.gpus,
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
