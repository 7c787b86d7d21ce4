"""What speaks against a pinned type: another that does the same for less."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.constraints import COMPARISONS, CONSTRAINTS
from gpusize.resolve import resolve
from gpusize.resolving.cheaper import amount, dominating, work_cost
from gpusize.resolving.ranking import rank_of
from gpusize_catalog.store import load
from tests.unit.resolve.conftest import TODAY, declared

CATALOG = load()
SMALL = {"weightsFormat": "fp8", "concurrency": 4}


def decided(**fields: Any) -> Any:
    return resolve(declared(**fields), CATALOG, today=TODAY).candidate


def said(name: str, candidate: Any) -> list[Any]:
    return list(CONSTRAINTS[name](candidate))


def test_a_larger_host_of_the_same_gpu_is_dominated() -> None:
    (reason,) = said("price-dominated-choice", decided(instanceType="g6.4xlarge", **SMALL))
    assert reason.numbers["otherInstanceType"] == "g6.xlarge"
    assert reason.fix == "instanceType: g6.xlarge"


def test_speed_that_no_target_names_is_not_dominated() -> None:
    assert said("price-dominated-choice", decided(instanceType="p5.4xlarge", **SMALL)) == []
    slow = {"timePerOutputTokenMs": 200, "timeToFirstTokenMs": 5000}
    fast = decided(instanceType="p5.4xlarge", latency=slow, **SMALL)
    assert said("price-dominated-choice", fast)


@settings(max_examples=12, deadline=None)
@given(
    model=st.sampled_from(
        ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-30B-A3B", "meta-llama/Llama-3.1-70B"]
    ),
    kind=st.sampled_from(["serving", "batch-inference"]),
    concurrency=st.sampled_from([1, 8, 64]),
    region=st.sampled_from(["us-east-1", "eu-central-1"]),
)
def test_what_gpusize_chooses_is_never_dominated(
    model: str, kind: str, concurrency: int, region: str
) -> None:
    chosen = decided(model=model, kind=kind, concurrency=concurrency, region=region)
    if chosen is None:
        return
    assert all(said(name, chosen) == [] for name in COMPARISONS - {"fractional-gpu-for-latency"})
    again = decided(
        model=model,
        kind=kind,
        concurrency=concurrency,
        region=region,
        instanceType=chosen.instance.id,
    )
    assert dominating(again) is None


@pytest.mark.parametrize("pinned", ["g6e.8xlarge", "g5.16xlarge", "p5.4xlarge"])
def test_what_dominates_is_no_worse_in_anything(pinned: str) -> None:
    mine = decided(instanceType=pinned, **SMALL)
    other = dominating(mine)
    if other is None:
        return
    assert all(
        theirs <= ours for theirs, ours in zip(rank_of(other)[:4], rank_of(mine)[:4], strict=True)
    )
    assert amount(other) < amount(mine)


def test_an_oversized_gpu_is_told_by_the_cost_of_a_token() -> None:
    fields = {"kind": "evaluation", "market": "on-demand", **SMALL}
    mine = decided(instanceType="p5.4xlarge", **fields)
    (reason,) = said("oversized-gpu-for-work", mine)
    assert reason.numbers["usableGib"] > 4 * reason.numbers["neededGib"]
    other = decided(instanceType=reason.numbers["otherInstanceType"], **fields)
    assert work_cost(other) < work_cost(mine)


def test_a_slice_names_a_whole_gpu() -> None:
    fields = {"model": "Qwen/Qwen2.5-0.5B-Instruct", "contextLength": 2048, "concurrency": 1}
    (reason,) = said("fractional-gpu-for-latency", decided(instanceType="g6f.4xlarge", **fields))
    assert CATALOG.instance(reason.numbers["otherInstanceType"]).partition == 1
    alone = decided(instanceType="g6f.4xlarge", userFacing=False, **fields)
    assert said("fractional-gpu-for-latency", alone) == []
