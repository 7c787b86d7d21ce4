"""What a row of an engine states beside its fields, and what it does not state.

Logs of engines tell how much memory was free before anything was loaded; collectors keep it among
the notes. A row whose inputs are not all stated cannot be held to "out of memory is never called
`fits`": what is missing is named, and such rows are counted apart.
"""

from __future__ import annotations

import re

from bench.measured.frame import Row
from gpusize.memory import runtime
from gpusize_catalog.store import Catalog

AT_START = re.compile(r"device total ([\d.]+) GiB; free at start ([\d.]+) GiB")
CONTEXT_GIB = 0.51
"""Of what is not free before loading, the engine's own: 79.19 - 78.68 GiB (vLLM logs on H100)."""
NOISE_GIB = 0.1
"""Less than this is no other process."""
OTHERS = re.compile(r"other process", re.IGNORECASE)
OPEN_VERSION = re.compile(r"^(\d+(?:\.\d+)*)\.x$")
LATEST = 99
"""Stands for the last number of an open version."""


def held_by_others(row: Row) -> float | None:
    """GiB that other processes held before the engine started; None where that is not stated.

    Ranks that share a model have set up their communication by then, so one GPU alone tells it.
    """
    found = AT_START.search(str(row["notes"] or ""))
    if found is None or (row["n_gpus"] or 1) > 1:
        return None
    held = float(found[1]) - float(found[2]) - CONTEXT_GIB
    return held if held > NOISE_GIB else 0.0


def missing(row: Row, engine: str, catalog: Catalog) -> str:
    """The input of a run that a row does not state; empty where none is known to be missing."""
    if OTHERS.search(str(row["measured"]["reason"] or "")) and held_by_others(row) is None:
        return "how much memory other processes held is not stated"
    version = row["engine_version"]
    if not version:
        return "the version of the engine is not stated"
    found = OPEN_VERSION.match(version)
    if found is None:
        return ""
    ends = (f"{found[1]}.0", f"{found[1]}.{LATEST}")
    rows = {runtime.engine_row(catalog, engine, end) for end in ends}
    return f"the engine changed within {version}" if len(rows) > 1 else ""
