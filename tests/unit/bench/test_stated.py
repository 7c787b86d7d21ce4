"""What rows of engines state beside their fields, and which inputs they do not state."""

from __future__ import annotations

import pytest

from bench.measured.cases import read
from bench.measured.frame import Row
from bench.measured.stated import held_by_others, missing
from gpusize_catalog.store import load

LOGGED = "device total 15.99 GiB; free at start 13.58 GiB; util from cli"


def row(**fields) -> Row:
    return Row({"engine_version": "0.19.0", "n_gpus": 1, **fields, "measured": Row(fields["why"])})


@pytest.mark.parametrize(
    ("notes", "gpus", "held"),
    [
        (LOGGED, 1, 15.99 - 13.58 - 0.51),
        ("device total 79.19 GiB; free at start 78.68 GiB", 1, 0.0),
        ("device total 79.19 GiB; free at start 77.66 GiB", 2, None),
        ("free at start", 1, None),
        (None, 1, None),
    ],
)
def test_what_was_not_free_at_the_start_is_held_by_others(notes, gpus, held):
    found = held_by_others(row(notes=notes, n_gpus=gpus, why={}))
    assert found == (None if held is None else pytest.approx(held))


@pytest.mark.parametrize(
    ("fields", "engine", "reason"),
    [
        ({}, "vllm", ""),
        ({"engine_version": None}, "vllm", "the version of the engine is not stated"),
        ({"engine_version": "0.9.x"}, "tgi", "the engine changed within 0.9.x"),
        ({"engine_version": "0.5.x"}, "vllm", ""),
        ({"why": {"reason": "free memory below budget (other processes)"}}, "vllm", "how much"),
        (
            {"why": {"reason": "free memory below budget (other processes)"}, "notes": LOGGED},
            "vllm",
            "",
        ),
    ],
)
def test_an_input_that_is_not_stated_is_named(fields, engine, reason):
    found = missing(row(**{"why": {}, **fields}), engine, load())
    assert found.startswith(reason) and bool(found) is bool(reason)


def test_memory_of_others_is_declared_as_a_neighbor():
    told = Row(
        engine="vllm",
        engine_version="0.19.0",
        model="meta-llama/Llama-3.1-8B",
        weights_dtype_quantization="bf16",
        gpu="L4",
        notes=LOGGED,
    )
    (one,) = read(told, load()).workload.neighbors
    assert one.memory_gib == pytest.approx(1.9)
