"""Every property of every case of the rules not known in turn: no error, and no silence."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bench.report import Figure
from bench.trees.unknowns import changes, wrongs

RUNS = 10**6
SHOWN = 20


def measure(runs: int, _: Path) -> list[Figure]:
    """Try so many changes, at most all that there are, and print what is wrong."""
    start = time.perf_counter()
    tried = list(changes())[:runs]
    found = [(change, wrong) for change in tried for wrong in wrongs(change)]
    for change, wrong in found[:SHOWN]:
        print(f"unknowns: {change}: {wrong}", file=sys.stderr)
    rate = len(tried) / (time.perf_counter() - start)
    return [
        Figure("properties, known neither by wire nor by proxy", len(tried), "properties"),
        Figure("rate", rate, "properties/s"),
        Figure("failures", len(found), "failures", 0),
    ]
