"""A warm resolve over the whole catalog, by the processor time of one core."""

from __future__ import annotations

import datetime
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

from bench.report import Figure

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 30
LIMIT_MS = 20.0
TODAY = datetime.date(2026, 11, 30)
BASE = {
    "kind": "serving",
    "region": "us-east-1",
    "contextLength": 8192,
    "concurrency": 16,
    "promptTokens": 1000,
    "outputTokens": 200,
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "8B, one GPU": {"model": "meta-llama/Llama-3.1-8B-Instruct"},
    "70B, 50 ms": {
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "latency": {"timePerOutputTokenMs": 50},
    },
    "mixture of experts": {"model": "deepseek-ai/DeepSeek-V3", "concurrency": 64},
    "pinned": {"model": "meta-llama/Llama-3.1-8B-Instruct", "instanceType": "p5.48xlarge"},
    "no plan": {"model": "meta-llama/Llama-3.1-405B", "region": "eu-west-1"},
}


def measure(runs: int, scratch: Path) -> list[Figure]:  # noqa: ARG001 (nothing is written)
    """Resolve each workload; the whole explanation, with every rejection, only informs."""
    from gpusize.explain import to_data
    from gpusize.resolve import resolve
    from gpusize.workload import parse_workload
    from gpusize_catalog.store import load

    catalog = load()
    figures = []
    for name, fields in WORKLOADS.items():
        workload = parse_workload({**BASE, **fields})
        to_data(resolve(workload, catalog, today=TODAY))
        decided = _milliseconds(lambda w=workload: resolve(w, catalog, today=TODAY), runs)
        whole = _milliseconds(lambda w=workload: to_data(resolve(w, catalog, today=TODAY)), runs)
        note = f"{whole:.1f} ms with every rejection explained"
        figures.append(Figure(name, decided, "ms", LIMIT_MS, note))
    return figures


def _milliseconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time: what an idle core takes, however busy this machine is."""
    times = []
    for _ in range(runs):
        start = process_time()
        work()
        times.append(process_time() - start)
    return median(times) * 1e3
