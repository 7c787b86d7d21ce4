"""Holds the time of image and video pipelines to measured seconds: rows of `other.jsonl`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from bench.measured.cases import Skip
from bench.measured.pictures import TASKS, declare, place
from bench.measured.score import percentile
from gpusize.architecture import architecture_for
from gpusize.pipeline_timing import timing_of_pipeline
from gpusize.workload import VideoGeneration, parse_workload
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import Catalog

PLAIN = "16 bits"
QUANTIZED = "quantized"


class Timed(NamedTuple):
    """One row: predicted against measured."""

    name: str
    ratio: float
    """Predicted over measured seconds."""
    is_within: bool
    """Whether the measured time lies in the band."""


class Times(NamedTuple):
    """Rows by whether the denoiser is quantized, and why others were left out."""

    rows: dict[str, list[Timed]]
    skipped: Counter[str]


def score_times(path: Path, catalog: Catalog) -> Times:
    """Predict every row of a file that names its GPU, its steps and its seconds."""
    result = Times({PLAIN: [], QUANTIZED: []}, Counter())
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        try:
            found = _timed(row, catalog)
        except (Skip, GpuSizeError) as reason:
            result.skipped[str(reason)] += 1
            continue
        result.rows[QUANTIZED if row["quantization"] else PLAIN].append(found)
    return result


def _timed(row: dict[str, Any], catalog: Catalog) -> Timed:
    modality = TASKS.get(row["task"])
    seconds = (row["measured"] or {}).get("seconds")
    if modality is None or not seconds:
        raise Skip("no picture, or no seconds")
    if not row.get("steps"):
        raise Skip("steps are not stated")
    if row["offload"] not in (None, "none"):
        raise Skip("components wait in host memory")
    declared = {**declare(row, modality, catalog), "steps": row["steps"]}
    if modality == "video":
        declared["fps"] = 1.0
    workload = parse_workload(declared)
    placement = place(row, catalog, is_named=True)
    timing = timing_of_pipeline(workload, architecture_for(workload, catalog), placement, catalog)
    if timing.pace is None:
        raise Skip("; ".join(timing.unknown))
    samples = workload.length if isinstance(workload, VideoGeneration) else 1.0
    samples *= row["batch"] or 1
    low, high = timing.pace.low * samples, timing.pace.high * samples
    return Timed(row["id"], timing.pace.seconds * samples / seconds, low <= seconds <= high)


def report_times(result: Times) -> str:
    """One line for each group of rows, and what was left out."""
    lines = []
    for name, rows in result.rows.items():
        if not rows:
            continue
        ratios = [row.ratio for row in rows]
        errors = [abs(ratio - 1) for ratio in ratios]
        within = sum(row.is_within for row in rows) / len(rows)
        lines.append(
            f"picture seconds, {name}: n {len(rows)}, median {percentile(errors, 0.5):.1%}, p90"
            f" {percentile(errors, 0.9):.1%}, in the band {within:.0%}, predicted over measured"
            f" {percentile(ratios, 0.5):.2f}"
        )
    lines += [f"left out {count}: {reason}" for reason, count in result.skipped.most_common()]
    return "\n".join(lines)
