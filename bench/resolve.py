"""Time a warm resolve over the whole catalog: `python bench/resolve.py [repeats]`."""

from __future__ import annotations

import datetime
import sys
from time import process_time

from gpusize.explain import to_data
from gpusize.resolve import resolve
from gpusize.workload import Workload, parse_workload
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
BASE = {
    "kind": "serving",
    "region": "us-east-1",
    "contextLength": 8192,
    "concurrency": 16,
    "promptTokens": 1000,
    "outputTokens": 200,
}
WORKLOADS = {
    "8B, one GPU": {"model": "meta-llama/Llama-3.1-8B-Instruct"},
    "70B, 50 ms": {
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "latency": {"timePerOutputTokenMs": 50},
    },
    "mixture of experts": {"model": "deepseek-ai/DeepSeek-V3", "concurrency": 64},
    "pinned": {"model": "meta-llama/Llama-3.1-8B-Instruct", "instanceType": "p5.48xlarge"},
    "no plan": {"model": "meta-llama/Llama-3.1-405B", "region": "eu-west-1"},
}


def main(repeats: int = 30) -> None:
    catalog = load()
    for name, fields in WORKLOADS.items():
        workload = parse_workload({**BASE, **fields})
        resolve(workload, catalog, today=TODAY)
        decided = best_of(repeats, workload, catalog, whole=False)
        explained = best_of(max(1, repeats // 10), workload, catalog, whole=True)
        print(f"{name:24} decide {decided:7.2f} ms   explain {explained:8.2f} ms")


def best_of(repeats: int, workload: Workload, catalog: Catalog, *, whole: bool) -> float:
    """Processor milliseconds of the fastest of some resolves: what an idle core would take."""
    times = []
    for _ in range(repeats):
        start = process_time()
        resolution = resolve(workload, catalog, today=TODAY)
        if whole:
            to_data(resolution)
        times.append(process_time() - start)
    return min(times) * 1e3


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
