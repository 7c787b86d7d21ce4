"""Types that can stand in for the chosen one where it is not to be had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpusize.resolving.ranking import service_of

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.search import Search, Trial

DEAREST = 2.0
"""Times the price of the chosen type that a substitute costs at most: a stopgap, not a surprise."""


def substitutes(search: Search, trials: Sequence[Trial], chosen: Candidate) -> tuple[str, ...]:
    """Name the types that hold the chosen layout as well, in the same market, cheapest first.

    No error or warning concerns them, programs of the chosen type run on them as they are, and
    users wait no longer. Types without a known price are left out.
    """
    limit = _price(chosen)
    if limit is None:
        return ()
    found = []
    for trial in trials:
        for other in _alike(search, trial, chosen):
            price = _price(other)
            if price is not None and price <= limit * DEAREST:
                found.append((price, other.instance.id))
    return tuple(name for _, name in sorted(found))


def _alike(search: Search, trial: Trial, chosen: Candidate) -> Iterator[Candidate]:
    placement = chosen.placement
    if trial.instance.id == placement.instance.id or trial.instance.arch != placement.instance.arch:
        return
    for other in search.tried(trial):
        same = other.placement
        if (
            (same.nodes, same.layout, same.market)
            == (placement.nodes, placement.layout, placement.market)
            and search.feasible(other)
            and service_of(other) <= service_of(chosen)
        ):
            yield other


def _price(candidate: Candidate) -> float | None:
    return candidate.study.quote(candidate.placement).usd_per_hour
