"""A warm resolve over the whole catalog, by the processor time of one core.

What is held to the limit is the complete answer: the plan, its runners-up, and in numbers why every
other type was rejected. The decision alone stops early; it stands beside.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

from bench.report import Figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize.resolution import Resolution

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
TRAINED = {
    "kind": "fine-tuning",
    "region": "us-east-1",
    "sequenceLength": 4096,
    "microBatch": 1,
    "globalBatch": 128,
    "tokens": 1_000_000_000,
    "checkpoints": {"intervalMinutes": 30},
}
LARGE_RUN = {
    **TRAINED,
    "kind": "pre-training",
    "trainer": "megatron",
    "recompute": "full",
}
PICTURES = {
    "modality": "image",
    "model": "black-forest-labs/FLUX.1-dev",
    "region": "us-east-1",
    "width": 1024,
    "height": 1024,
}
OTHERS: dict[str, dict[str, Any]] = {
    "serving on nodes": {
        **BASE,
        "model": "moonshotai/Kimi-K2-Instruct",
        "weightsFormat": "bf16",
    },
    "8B, adapter": {**TRAINED, "model": "meta-llama/Llama-3.1-8B", "method": "lora"},
    "8B, trained in full": {**TRAINED, "model": "meta-llama/Llama-3.1-8B", "method": "full"},
    "405B on nodes": {**LARGE_RUN, "model": "meta-llama/Llama-3.1-405B"},
    "mixture on nodes": {**LARGE_RUN, "model": "deepseek-ai/DeepSeek-V3"},
    "image pipeline": {**PICTURES, "kind": "serving"},
    "image adapter": {**PICTURES, "kind": "fine-tuning", "method": "lora"},
}
"""Training, several nodes and pipelines: the same limit."""
LOST: dict[str, dict[str, Any]] = {
    "what would fit: context": {
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "region": "us-west-1",
        "contextLength": 131_072,
        "concurrency": 512,
        "promptTokens": 100_000,
        "outputTokens": 20_000,
    },
    "what would fit: latency": {
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "latency": {"timePerOutputTokenMs": 2},
    },
    "what would fit: training": {
        **TRAINED,
        "model": "meta-llama/Llama-3.1-405B",
        "method": "full",
        "region": "eu-west-1",
    },
}
"""Declarations that nothing satisfies: the answer tries up to a dozen changes of them, each one
more resolve. They have no limit of their own."""


def measure(runs: int, scratch: Path) -> list[Figure]:  # noqa: ARG001 (nothing is written)
    """Resolve each workload until everything that can be asked of the answer is there."""
    from gpusize.explain_data import to_data
    from gpusize.resolve import resolve
    from gpusize.workload import parse_workload
    from gpusize_catalog.store import load

    catalog = load()

    def figure(name: str, fields: dict[str, Any], limit: float | None = None) -> Figure:
        workload = parse_workload(fields if "kind" in fields else {**BASE, **fields})

        def decision() -> Resolution:
            return resolve(workload, catalog, today=TODAY)

        def answer() -> object:
            return to_data(decision())

        answer()
        note = f"{_milliseconds(decision, runs):.1f} ms for the decision alone"
        return Figure(name, _milliseconds(answer, runs), "ms", limit, note)

    found = [figure(name, fields, LIMIT_MS) for name, fields in {**WORKLOADS, **OTHERS}.items()]
    return found + [figure(name, fields) for name, fields in LOST.items()]


def _milliseconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time: what an idle core takes, however busy this machine is."""
    times = []
    for _ in range(runs):
        start = process_time()
        work()
        times.append(process_time() - start)
    return median(times) * 1e3
