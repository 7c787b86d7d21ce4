"""Times of image and video pipelines: rows of `other.jsonl` that state their seconds."""

from __future__ import annotations

from typing import Any, NamedTuple

from bench.measured.frame import Row
from gpusize.architecture import architecture_for
from gpusize.pipeline_timing import timing_of_pipeline
from gpusize.placement import Placement
from gpusize.workload import VideoGeneration, parse_workload
from gpusize_catalog.store import Catalog

PLAIN, QUANTIZED = "pictures.seconds", "pictures.seconds.quantized"
"""Groups by whether the denoiser is quantized."""


class Time(NamedTuple):
    """Seconds of a batch."""

    seconds: float
    low: float
    high: float


def is_timed(row: Row) -> bool:
    """Whether a row says enough to be timed: its steps, and nothing that waits in host memory."""
    return bool(row["steps"]) and row["offload"] in (None, "none")


def group_of(row: Row) -> str:
    """Where the time of a row counts."""
    return QUANTIZED if row["quantization"] else PLAIN


def time_of(
    row: Row, declared: dict[str, Any], placement: Placement, catalog: Catalog
) -> Time | None:
    """Seconds of what a row declares; None where they are not known."""
    timed = {**declared, "steps": row["steps"]}
    if declared["modality"] == "video":
        timed["fps"] = 1.0
    workload = parse_workload(timed)
    timing = timing_of_pipeline(workload, architecture_for(workload, catalog), placement, catalog)
    if timing.pace is None:
        return None
    samples = workload.length if isinstance(workload, VideoGeneration) else 1.0
    samples *= row["batch"]
    pace = timing.pace
    return Time(pace.seconds * samples, pace.low * samples, pace.high * samples)
