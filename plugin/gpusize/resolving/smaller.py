"""A smaller node that would do: what makes GPUs of a larger one idle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints import LAYOUT
from gpusize.placement import layouts
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.ranking import rank_of, service_of
from gpusize.resolving.search import Search
from gpusize.resolving.weighing import asked, first_block

if TYPE_CHECKING:
    from gpusize.placement import Placement
    from gpusize.resolving.ranking import Service
    from gpusize.resolving.study import Study
    from gpusize_catalog.facts import InstanceType


class Smaller(NamedTuple):
    """A node of fewer GPUs that does the same work as well."""

    candidate: Candidate
    used: int
    """GPUs of the larger node that the work needs."""


def smaller_node(candidate: Candidate) -> Smaller | None:
    """The smallest node of the same GPU that does the same work as well, the cheapest of several.

    Where there is none, but one GPU of this node would do, the best node of fewer other GPUs; more
    than one are faster together, and not idle for that. None where copies (`dp`) are declared: then
    the larger node is what was asked for.
    """
    study, placement = candidate.study, candidate.placement
    if study.workload.dp is not None or placement.gpus == 1 or placement.nodes > 1:
        return None
    served = service_of(candidate)
    found = _smaller_sibling(candidate, served)
    if found is not None:
        return Smaller(found, found.placement.gpus)
    if not _does_alone(candidate, served):
        return None
    other = _best_of_fewer(candidate, served)
    return Smaller(other, 1) if other else None


def _smaller_sibling(candidate: Candidate, served: Service) -> Candidate | None:
    study, placement = candidate.study, candidate.placement
    search = Search(study)
    found = []
    for instance in _siblings(placement, study):
        for layout in search.layouts_of(instance, 1):
            other = Candidate(study, placement._replace(instance=instance, layout=layout))
            if search.feasible(other):
                rank = rank_of(other)
                if rank.service <= served:
                    found.append((rank[1:], other))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _does_alone(candidate: Candidate, served: Service) -> bool:
    """Whether one GPU of the node does the work as well as all of them."""
    search = Search(candidate.study)
    for layout in layouts(1, 1, candidate.study.shape, search.pins):
        alone = candidate.at(layout)
        if layout.gpus == 1 and first_block(alone, asked(LAYOUT)) is None:
            return service_of(alone) <= served
    return False


def _best_of_fewer(candidate: Candidate, served: Service) -> Candidate | None:
    """The best type of fewer GPUs, whatever type is pinned."""
    search = Search(candidate.study.opened())
    types = [
        instance
        for instance in search.types()
        if 0 < (instance.gpus or 0) < candidate.placement.gpus
    ]
    trials = (search.trial(instance, 1) for instance in types)
    ranked = [(trial.key, trial.best) for trial in trials if trial.key and trial.best]
    as_good = [(key, best) for key, best in ranked if key.service <= served]
    return min(as_good, key=lambda pair: pair[0])[1] if as_good else None


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
