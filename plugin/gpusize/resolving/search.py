"""The search: every type, market and layout that a workload may get, judged and ranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints import OFFER, of_buying
from gpusize.constraints.parallelism import wastes_ultraserver
from gpusize.memory.result import Verdict
from gpusize.placement import OPEN, Layout, Pins, Placement, layouts
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.gpus import gpu_of
from gpusize.resolving.markets import markets_of
from gpusize.resolving.ranking import Key, layout_rank, nearness, rank_of
from gpusize.resolving.study import Study
from gpusize.resolving.weighing import BY_DEVICE, BY_LAYOUT, asked, first_block
from gpusize.training_layouts import NODES, PLAIN, WAYS, Way, training_layouts
from gpusize_catalog.facts import Interconnect

if TYPE_CHECKING:
    from gpusize.workload import Market
    from gpusize_catalog.facts import Gpu, InstanceType, UltraServer

UNBEATEN = ((0, 0), (0, 0), 0.0)
"""Rank of copies of the whole model that serve as well as can be: of all layouts they move least
and, since no split of a model is smaller than the model, take the smallest volumes."""


class Trial(NamedTuple):
    """One instance type and its best way to do the work; None where there is none."""

    instance: InstanceType
    nodes: int
    best: Candidate | None
    key: Key | None


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

    def works(self, trial: Trial) -> bool:
        """Whether nothing speaks against some layout on the hardware of a type, bought anyhow."""
        probe = self._probe(trial.instance, trial.nodes)
        return probe is not None and bool(self._ways(probe))

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
                rank = layout_rank(candidate)
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
        return first_block(candidate, BY_LAYOUT) is None

    def _runs_on(self, candidate: Candidate) -> bool:
        """Whether nothing speaks against the GPU itself."""
        name = candidate.gpu.id
        found = self._judged.devices.get(name)
        if found is None:
            found = self._judged.devices[name] = first_block(candidate, BY_DEVICE) is None
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

    def is_filled(self, trial: Trial) -> bool:
        """Whether some layout takes all GPUs of so many nodes."""
        gpus = trial.nodes * (trial.instance.gpus or 0)
        return any(one.gpus == gpus for one in self.layouts_of(trial.instance, trial.nodes))

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


def _misfit(candidate: Candidate) -> tuple[bool, bool]:
    """Whether a layout splits heads unevenly, and whether it leaves GPUs unused."""
    placement = candidate.placement
    return (
        not candidate.study.shape.splits(placement.layout.tp),
        placement.layout.gpus != placement.gpus,
    )
