"""Where overlays contradict the figures of the shipped catalog."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.tables import PRICES, STORAGE_NETWORK_PRICES, TABLES

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

ALLOWED = 0.05
"""Part of a shipped figure by which another may differ: rounding, and nominal sizes of another
unit differ by more (GB from GiB by 7 %)."""
OWN_BY_NATURE = frozenset({PRICES.name, STORAGE_NETWORK_PRICES.name})
"""Tables in which a team's figures are meant to differ."""


class Conflict(NamedTuple):
    """One figure of an overlay and the shipped one."""

    table: str
    row: str
    column: str
    given: float
    shipped: float

    @property
    def share(self) -> float:
        """By how much they differ, as a part of the shipped figure."""
        return abs(self.given - self.shipped) / abs(self.shipped) if self.shipped else float("inf")


@lru_cache(maxsize=1)
def conflicts(catalog: Catalog) -> tuple[Conflict, ...]:
    """Return the figures of overlays that differ by more than is allowed, the largest first.

    Every workload of a run asks, so the answer for its catalog is kept.
    """
    keys = [key for key in catalog.overlaid if key[0] not in OWN_BY_NATURE]
    if not keys:
        return ()
    from gpusize_catalog.store import load

    shipped = load()
    found = [one for name, *key in keys for one in _of_row(catalog, shipped, name, tuple(key))]
    return tuple(sorted(found, key=lambda one: (-one.share, one.table, one.row, one.column)))


def _of_row(
    catalog: Catalog, shipped: Catalog, name: str, key: tuple[str, ...]
) -> Iterator[Conflict]:
    given, kept = catalog.cells(TABLES[name], key), shipped.cells(TABLES[name], key)
    if given is None or kept is None:
        return
    for column, cell in given.items():
        ours, theirs = _figure(cell), _figure(kept[column])
        if ours is None or theirs is None:
            continue
        one = Conflict(name, " ".join(key), column, ours, theirs)
        if one.share > ALLOWED:
            yield one


def _figure(cell: str) -> float | None:
    """Read a number; words, dates and pairs of numbers are none."""
    try:
        return float(cell)
    except ValueError:
        return None
