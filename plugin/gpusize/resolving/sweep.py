"""All types of one study, tried from few GPUs to many, until the best of all is certain."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from gpusize.resolving.candidate import Candidate
from gpusize.resolving.ranking import Key
from gpusize.resolving.search import Search, Trial
from gpusize.resolving.study import Study

if TYPE_CHECKING:
    from gpusize_catalog.facts import InstanceType

RIVALS = 2
"""Plans on several nodes have at most so many times the GPUs of the one that has fewest: a GPU
generation halves what memory and time ask for, and a search ends somewhere."""
BEST_SERVICE = (0, 0)
"""Nobody queues and every target is met: see `service_of`."""


class Sweep:
    """All types of one study, those of few GPUs first: a decision seldom needs to see them all."""

    def __init__(self, study: Study) -> None:
        """Order the types; nothing is tried yet."""
        self.study = study
        self.search = Search(study)
        self.types = sorted(self.search.types(), key=lambda item: (item.gpus or 0, item.id))

    def decided(self) -> list[Trial]:
        """The types that work, best first, as far as the best of all is certain.

        Types of more GPUs cannot come first once one of fewer serves as well as can be.
        """
        found: list[Trial] = []
        best: Key | None = None
        for instance in self.types:
            if (
                best is not None
                and best.service == BEST_SERVICE
                and (instance.gpus or 0) > best.gpus
            ):
                break
            trial = self.search.trial(instance, self.search.nodes(instance))
            if trial.key is not None:
                found.append(trial)
                best = trial.key if best is None else min(best, trial.key)
        if found and not self._is_late(best):
            return _sorted(found)
        return _sorted(found + [trial for trial in self._wider() if trial.best])

    @cached_property
    def trials(self) -> list[Trial]:
        """Every type, tried alone; on several nodes where none works alone."""
        trials = [
            self.search.trial(instance, self.search.nodes(instance)) for instance in self.types
        ]
        best = min((trial.key for trial in trials if trial.key), default=None)
        if best is None or self._is_late(best):
            wider = {trial.instance.id: trial for trial in self._wider()}
            trials = [_better(trial, wider.get(trial.instance.id, trial)) for trial in trials]
        return sorted(trials, key=lambda trial: trial.instance.id)

    @cached_property
    def ranked(self) -> list[Trial]:
        """Every type that works, best first."""
        return _sorted([trial for trial in self.trials if trial.best])

    def tried(self) -> list[Candidate]:
        """Every layout of every type."""
        return [candidate for trial in self.trials for candidate in self.search.tried(trial)]

    def _is_late(self, key: Key | None) -> bool:
        """Whether a training run ends after its limit: more nodes may end it sooner."""
        return key is not None and self.study.demand.trains and key.service != BEST_SERVICE

    def _wider(self) -> list[Trial]:
        """Types whose node is too small, on as few nodes as do, where the fabric is made for it.

        Fewest GPUs come first, up to twice those of the first that works. Where none does,
        each type stands with the most nodes that a layout fills, but for a pinned one.
        """
        if self.study.workload.nodes_per_replica is not None:
            return []
        found: dict[str, Trial] = {}
        tried: dict[str, Trial] = {}
        limit = inf
        for gpus, nodes, instance in self._spread:
            if gpus > limit:
                break
            if instance.id in found:
                continue
            trial = self.search.trial(instance, nodes)
            if self.search.is_filled(trial):
                tried[instance.id] = trial
            if trial.best and not self._is_late(trial.key):
                found[instance.id] = trial
                limit = min(limit, RIVALS * gpus)
        if self.study.workload.instance_type is not None:
            return list(found.values())
        return list((found or tried).values())

    def _nodes_in_time(self, alone: Trial) -> float:
        """Nodes below which a run cannot end in time, were nothing lost between them."""
        hours = alone.best.timing.hours_to_end if alone.best else None
        limit = self.study.demand.time_limit
        return alone.nodes * hours / limit if hours and limit else 0.0

    @cached_property
    def _spread(self) -> list[tuple[int, int, InstanceType]]:
        """GPUs, nodes and type of what may be tried on several nodes, fewest first."""
        search, demand = self.search, self.study.demand
        hurries = demand.trains and demand.deadline_hours is not None
        found = []
        for instance in self.types:
            if not self.study.spans(instance):
                continue
            fewest = search.nodes(instance)
            alone = search.trial(instance, fewest)
            late = self._is_late(alone.key) or (hurries and alone.best is None)
            # More of an UltraServer costs no more, so that memory is not all that asks for it.
            one_holds = not self.study.ultraservers(instance) and search.holds(alone)
            if not search.may_span(instance) or (not late and one_holds):
                continue
            least = self._nodes_in_time(alone) if late else 0.0
            for nodes in search.numbers_of_nodes(instance):
                if nodes < least:
                    continue
                found.append((nodes * (instance.gpus or 0), nodes, instance))
        return sorted(found, key=lambda item: (item[0], item[1], item[2].id))


def _better(alone: Trial, wide: Trial) -> Trial:
    """The one that works; the better one where both do."""
    if alone.key is None or wide.key is None:
        return wide if alone.key is None else alone
    return min(alone, wide, key=lambda trial: trial.key or ())


def _sorted(trials: list[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial.key or ())
