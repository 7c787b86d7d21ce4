"""Seconds of embedding: published rates lie in the band, unknown is said."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain import to_text
from gpusize.explain_data import plan_data
from gpusize.placement import Layout, Placement
from gpusize.resolve import resolve
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
BGE: dict[str, Any] = {
    "kind": "batch-inference",
    "modality": "embedding",
    "model": "BAAI/bge-large-en-v1.5",
    "weightsFormat": "fp16",
    "contextLength": 449,
    "batch": 256,
    "region": "us-east-1",
}


def timed(instance: str, layout: Layout, **fields: Any) -> Any:
    found = CATALOG.instance(instance)
    gpu = CATALOG.gpu(found.gpu_id or "")
    place = Placement(found, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    study = Study(parse_workload({**BGE, **fields}), CATALOG, today=TODAY)
    return Candidate(study, place).timing


@pytest.mark.parametrize("tokens_per_second", [1_150_000 / 18.491, 1_150_000 / 59.107])
def test_published_rates_lie_in_the_band(tokens_per_second: float) -> None:
    """Source: michaelfeil/infinity, benchmarks on an L4: text-embeddings-inference, and
    sentence-transformers."""
    pace = timed("g6.xlarge", Layout()).pace
    measured = 1000 * 449 / tokens_per_second
    assert pace.bound < pace.low <= measured <= pace.high


def test_copies_embed_side_by_side() -> None:
    one, four = timed("g6.12xlarge", Layout()), timed("g6.12xlarge", Layout(dp=4))
    assert four.tokens_per_second == pytest.approx(4 * one.tokens_per_second)
    assert four.pace == one.pace


def test_longer_texts_take_more_than_in_proportion() -> None:
    short = timed("g6.xlarge", Layout(), contextLength=128).pace.seconds
    long = timed("g6.xlarge", Layout(), contextLength=512).pace.seconds
    assert long > 4 * short


def test_full_precision_is_slower() -> None:
    half = timed("g6.xlarge", Layout()).pace.seconds
    full = timed("g6.xlarge", Layout(), weightsFormat="fp32").pace.seconds
    assert full > 3 * half


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"weightsFormat": "int8"}, "int8"),
        ({"model": "BAAI/bge-large-en-v1.5", "weightsFormat": "awq"}, "awq"),
    ],
)
def test_what_is_not_known_is_said(fields: dict[str, Any], told: str) -> None:
    timing = timed("g6.xlarge", Layout(), **fields)
    assert timing.pace is None
    assert told in timing.unknown[0]


def test_a_page_tells_the_time() -> None:
    found = resolve(parse_workload({**BGE, "instanceType": "g6.xlarge"}), CATALOG, today=TODAY)
    assert "s per 1,000 texts on each GPU" in to_text(found)
    assert plan_data(found.plan)["timing"]["tokensPerSecond"] > 0
