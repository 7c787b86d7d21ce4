"""Types that somebody else may pick from: which do the work, and what is wrong with the others.

Only what the hardware does is judged: memory, precision, kernels, layouts and links. Where a type
is sold, and at what price, is not asked: whoever picks takes what is to be had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints import DEVICE, LAYOUT, REMARKS
from gpusize.constraints.reason import Reason, Weight
from gpusize.resolving.search import Search, Trial

if TYPE_CHECKING:
    from gpusize.constraints import Constraint
    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.study import Study

NOT_KNOWN = "unknown-instance-type"


class Survey(NamedTuple):
    """What became of each type: one of the two, or neither where a fit cannot be computed."""

    passing: tuple[str, ...]
    """Types that do the work, the cheapest first; those without a known price come last."""
    poor: frozenset[str]
    """Those of them that something warns of."""
    failing: Mapping[str, Reason]
    """The first thing that rules each of the others out."""

    def best(self, names: Collection[str]) -> tuple[str, ...]:
        """Those of some types that nothing speaks against; where there are none, that work."""
        working = tuple(name for name in self.passing if name in names)
        return tuple(name for name in working if name not in self.poor) or working


def survey(study: Study, names: Iterable[str]) -> Survey:
    """Judge types by name, in whatever layout suits each best; pinned sizes hold for all."""
    search = Search(study.opened())
    passing: list[tuple[float, str]] = []
    poor: set[str] = set()
    failing: dict[str, Reason] = {}
    for name in dict.fromkeys(names):
        instance = study.catalog.find_instance(name)
        if instance is None:
            failing[name] = Reason(NOT_KNOWN, Weight.ERROR, "is not in the catalog")
            continue
        trial = Trial(instance, search.nodes(instance), None, None)
        works, nearest = search.works(trial), search.nearest(trial)
        reason = None if works or nearest is None else _objection(search, trial, nearest)
        if reason is not None:
            failing[name] = reason
        elif nearest is not None and _is_known(nearest):
            price = search.study.quote(nearest.placement).usd_per_hour
            passing.append((inf if price is None else price, name))
            if not works:
                poor.add(name)
    return Survey(tuple(name for _, name in sorted(passing)), frozenset(poor), failing)


def _is_known(candidate: Candidate) -> bool:
    return candidate.placement.usable_bytes is not None and candidate.fit.margin is not None


def _objection(search: Search, trial: Trial, nearest: Candidate) -> Reason | None:
    """What rules a type out; None where some layout has no error."""
    found = _first_error(nearest, DEVICE) or _first_error(nearest, LAYOUT)
    if found is None or found.name in DEVICE:
        return found
    hopeless = search.study.sizing.is_hopeless
    for other in search.tried(trial):
        if not hopeless(other.placement) and _first_error(other, LAYOUT) is None:
            return None
    return found


def _first_error(candidate: Candidate, table: Mapping[str, Constraint]) -> Reason | None:
    for name, constraint in table.items():
        if name in REMARKS:
            continue
        for reason in constraint(candidate):
            if reason.weight is Weight.ERROR:
                return reason
    return None
