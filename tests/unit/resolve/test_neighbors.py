"""Several processes on the same GPUs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.constraints import CONSTRAINTS
from gpusize.memory.neighbors import fraction_left, held
from gpusize.memory.result import Verdict
from gpusize_catalog.units import GIB, MIB
from tests.unit.resolve.conftest import declared

NAME = "multi-model-oversubscribed"
BESIDE = [{"name": "embedder", "memoryGib": 4}]
SMALL = {"weightsFormat": "fp8", "concurrency": 2}


def said(candidate: Any) -> list[Any]:
    return list(CONSTRAINTS[NAME](candidate))


def assumed(candidate: Any, field: str) -> Any:
    return next(one for one in candidate.fit.assumptions if one.field == field)


def test_an_open_fraction_is_what_the_neighbors_leave(placed: Any) -> None:
    alone, beside = placed("g6.xlarge", **SMALL), placed("g6.xlarge", neighbors=BESIDE, **SMALL)
    assert assumed(alone, "engine.memoryFraction").value == "0.92"
    taken = assumed(beside, "engine.memoryFraction")
    assert taken.value == "0.79"
    assert taken.why == "not declared: what the neighbors leave"
    assert beside.fit.budget < alone.fit.budget
    assert said(beside) == []


def test_a_large_gpu_keeps_the_default(placed: Any) -> None:
    taken = assumed(placed("g7e.2xlarge", neighbors=BESIDE, **SMALL), "engine.memoryFraction")
    assert taken.value == "0.92"
    assert taken.why.endswith("vllm 0.33.0")


def test_a_declared_fraction_is_held_against_them(placed: Any) -> None:
    engine = {"name": "vllm", "memoryFraction": 0.92}
    (reason,) = said(placed("g6.xlarge", neighbors=BESIDE, engine=engine, **SMALL))
    assert "memoryFraction: 0.79" in reason.fix
    fine = {"name": "vllm", "memoryFraction": 0.79}
    assert said(placed("g6.xlarge", neighbors=BESIDE, engine=fine, **SMALL)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"engine": "sglang", "weightsFormat": "fp8"},
        {"engine": "llama.cpp", "weightsFormat": "gguf-q4_k_m"},
        {"engine": "lmdeploy", "weightsFormat": "fp8"},
    ],
)
def test_other_engines_take_what_is_free(placed: Any, fields: dict[str, Any]) -> None:
    alone = placed("g6.xlarge", concurrency=2, **fields)
    beside = placed("g6.xlarge", concurrency=2, neighbors=BESIDE, **fields)
    assert beside.fit.budget < alone.fit.budget
    assert said(beside) == []
    crowded = [{"name": "embedder", "memoryGib": 18}]
    found = placed("g6.xlarge", concurrency=2, neighbors=crowded, **fields)
    assert found.fit.verdict is Verdict.DOES_NOT_FIT
    assert said(found)


def test_training_and_pipelines_have_the_rest(placed: Any) -> None:
    run = {"kind": "fine-tuning", "method": "qlora", "sequenceLength": 1024}
    nothing = dict.fromkeys(("contextLength", "concurrency", "promptTokens", "outputTokens"))
    alone = placed("g6.xlarge", **run, **nothing)
    beside = placed("g6.xlarge", neighbors=BESIDE, **run, **nothing)
    assert alone.fit.budget - beside.fit.budget == 4 * GIB


@given(
    st.lists(st.tuples(st.floats(0.01, 40), st.booleans()), min_size=1, max_size=4),
    st.integers(8, 200),
)
def test_the_fraction_left_never_oversubscribes(
    sizes: list[tuple[float, bool]], gibibytes: int
) -> None:
    neighbors = [
        {"name": "one", "memoryFraction": min(1.0, size / 40)}
        if by_share
        else {"name": "one", "memoryGib": size}
        for size, by_share in sizes
    ]
    usable, outside = gibibytes * GIB, 520 * MIB
    theirs = held(declared(neighbors=neighbors).neighbors, usable)
    fraction = fraction_left(usable, theirs, outside)
    assert 0 <= fraction <= 1
    assert fraction == 0 or fraction * usable + theirs + outside <= usable
