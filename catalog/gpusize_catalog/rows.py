"""Raw rows of one table: lines grouped by their first cell, parsed only when asked for.

Shipped files hold one row per line (tests see to it), so grouping needs no CSV parser: a command
that sizes one workload parses one region's prices and one model's line, not the whole catalog.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

DATA = Path(__file__).parent / "data"
ENCODING = "utf-8"

Groups = dict[str, list[str]]


def shipped_path(table: str) -> Path:
    """Return where a table's shipped rows lie."""
    return DATA / f"{table}.csv"


def shipped_groups(table: str) -> Groups:
    """Read a shipped table's lines by first cell, in file order; a missing file has no rows."""
    try:
        with shipped_path(table).open(encoding=ENCODING) as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return {}
    return grouped(lines[1:])


def grouped(lines: Iterable[str]) -> Groups:
    """Group lines by their first cell, which is never quoted."""
    groups: Groups = {}
    for line in lines:
        first, comma, _ = line.partition(",")
        if not comma:
            continue
        if first in groups:
            groups[first].append(line)
        else:
            groups[first] = [line]
    return groups


def cells(lines: Iterable[str]) -> Iterable[list[str]]:
    """Parse lines into cells."""
    return csv.reader(lines)
