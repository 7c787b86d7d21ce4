"""What a bench prints: a table of measured figures and the figure to reach for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Figure(NamedTuple):
    """One measured figure; `limit` is what it must not exceed, None where it only informs."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool | None:
        return None if self.limit is None else self.value <= self.limit


def render(title: str, figures: Iterable[Figure]) -> str:
    """Lay the figures out as a table for a terminal."""
    verdicts = {True: "holds", False: "MISSED", None: ""}
    rows = [
        (
            figure.name,
            f"{figure.value:.2f} {figure.unit}",
            "" if figure.limit is None else f"<= {figure.limit:g} {figure.unit}",
            verdicts[figure.holds],
            figure.note,
        )
        for figure in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([f"== {title}", *lines])
