"""Rows of `throughput.jsonl`: rates, and the bound that hardware sets them."""

from __future__ import annotations

import datetime

from bench.measured.frame import Answer, Asked, Held, Row, Skip, Subject, number
from bench.measured.throughput_cases import UNITS, Rate, read
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.timing import Timing
from gpusize_catalog.store import Catalog

DAY = datetime.date(2026, 11, 30)
"""Of the prices that a study takes along; none of them is compared."""
RATE = "rate"
KINDS = {"output": "offline", "training": "training", "decode": "one", "both": "one"}
"""By what a rate counts: of many sequences at once, of a trainer, of one sequence."""


def asks(row: Row, catalog: Catalog) -> Asked:
    """What a row states that was measured; raises `Skip` where it cannot be scored."""
    unit = row["measured"]["unit"]
    counts = UNITS.get(unit) if isinstance(unit, str) else None
    if counts is None:
        raise Skip(f"a rate in {unit}")
    if not isinstance(row["model"], str) or catalog.find_model(row["model"]) is None:
        raise Skip(f"no facts for {row['model']}")
    lengths = ("seq_len", "batch") if counts == "training" else ("isl", "osl")
    for field in (*lengths, "gpu", "engine", "dtype"):
        if not row[field]:
            raise Skip(f"{field} is not stated")
    rate = number(row["measured"]["value"])
    groups = ("throughput", f"throughput.{KINDS[counts]}")
    return Asked(() if rate is None else (Held(RATE, rate, groups),))


def answers(row: Row, catalog: Catalog) -> Answer:
    """What gpusize says of a row."""
    rate = read(row, catalog)
    estimate, bound = predict(rate, catalog)
    shared = row["n_gpus"] or 1 if rate.counts == "training" else 1
    return Answer({RATE: estimate / shared}, bound=bound / shared)


def predict(rate: Rate, catalog: Catalog) -> tuple[float, float]:
    """Tokens per second of all GPUs as the row counts them: estimate and bound."""
    candidate = _candidate(rate, catalog)
    if rate.counts == "output":
        held = candidate.fit.sequences_at(rate.prompt + rate.output)
        if held is None:
            raise Skip("; ".join(candidate.fit.reasons) or "unknown memory")
        many = rate.workload.model_copy(update={"concurrency": max(1, held)})
        candidate = _candidate(rate._replace(workload=many), catalog)
    timing = candidate.timing
    if rate.counts != "training":
        return _generated(rate, timing)
    if timing.tokens_per_second is None or not timing.step_bound or not timing.step_seconds:
        raise Skip("; ".join(timing.unknown) or "unknown time")
    bound = timing.tokens_per_second * timing.step_seconds / timing.step_bound
    return timing.tokens_per_second, bound


def _candidate(rate: Rate, catalog: Catalog) -> Candidate:
    study = Study(rate.workload, catalog, today=DAY, architecture=rate.architecture)
    return study.candidate(rate.placement)


def _generated(rate: Rate, timing: Timing) -> tuple[float, float]:
    if timing.token_seconds is None or timing.prefill_seconds is None:
        raise Skip("; ".join(timing.unknown) or "unknown time")
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


SUBJECT = Subject("throughput.jsonl", "throughput", asks, answers)
