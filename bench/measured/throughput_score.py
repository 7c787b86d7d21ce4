"""Compares predicted with measured rates, and the bound with both."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.measured.cases import Skip
from bench.measured.score import Miss
from bench.measured.throughput_cases import Rate, read
from gpusize.resolving.candidate import Study
from gpusize.timing import Timing
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import Catalog

DAY = datetime.date(2026, 11, 30)


class Result(NamedTuple):
    """All comparisons."""

    misses: dict[str, list[Miss]]
    bounds: list[tuple[str, float]]
    """Rows and how often the measured rate goes into the bound."""
    skipped: Counter[str]


def score(path: Path, catalog: Catalog) -> Result:
    """Predict every row of a file."""
    result = Result({}, [], Counter())
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        try:
            rate = read(row, catalog)
            estimate, bound = predict(rate, catalog)
        except Skip as reason:
            result.skipped[str(reason)] += 1
        except GpuSizeError as error:
            result.skipped[str(error)] += 1
        else:
            result.misses.setdefault(rate.group, []).append(Miss(rate.id, estimate, rate.measured))
            result.bounds.append((rate.id, bound / rate.measured))
    return result


def predict(rate: Rate, catalog: Catalog) -> tuple[float, float]:
    """Tokens per second as the row counts them: estimate and bound."""
    study = Study(rate.workload, catalog, today=DAY, architecture=rate.architecture)
    candidate = study.candidate(rate.placement)
    if rate.group == "offline":
        held = candidate.fit.sequences_at(rate.prompt + rate.output)
        if held is None:
            raise Skip("; ".join(candidate.fit.reasons) or "unknown memory")
        many = rate.workload.model_copy(update={"concurrency": max(1, held)})
        study = Study(many, catalog, today=DAY, architecture=rate.architecture)
        candidate = study.candidate(rate.placement)
    timing = candidate.timing
    if rate.group == "training":
        if timing.tokens_per_second is None or not timing.step_bound or not timing.step_seconds:
            raise Skip("; ".join(timing.unknown))
        bound = timing.tokens_per_second * timing.step_seconds / timing.step_bound
        return timing.tokens_per_second, bound
    return _generated(rate, timing)


def _generated(rate: Rate, timing: Timing) -> tuple[float, float]:
    if timing.token_seconds is None or timing.prefill_seconds is None:
        raise Skip("; ".join(timing.unknown))
    assert timing.token_bound is not None
    assert timing.prefill_bound is not None
    if rate.counts == "decode":
        return 1 / timing.token_seconds, 1 / timing.token_bound
    if rate.counts == "both":
        tokens = rate.prompt + rate.output
        return (
            tokens / (timing.prefill_seconds + rate.output * timing.token_seconds),
            tokens / (timing.prefill_bound + rate.output * timing.token_bound),
        )
    assert timing.rate_bound is not None
    assert timing.tokens_per_second is not None
    return timing.tokens_per_second, timing.rate_bound
