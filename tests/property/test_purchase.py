"""What holds for every way of buying: gpusize chooses none that it would speak against."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.constraints import CONSTRAINTS, DECLARATION, MARKET
from gpusize.constraints.reason import Weight
from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.resolving.markets import declared_market
from gpusize.resolving.options import options_of
from gpusize.resolving.sweep import Sweep
from gpusize.workload import parse_workload
from gpusize_catalog.store import load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
FEW = settings(max_examples=30, deadline=None)

TRAINED = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["pre-training", "fine-tuning"]),
        "model": st.sampled_from(["Qwen/Qwen2.5-0.5B", "meta-llama/Llama-3.1-8B"]),
        "sequenceLength": st.just(2048),
        "recompute": st.just("full"),
        "tokens": st.sampled_from([10**8, 10**9, 10**10, 10**11, 10**12]),
        "region": st.sampled_from(["us-east-1", "eu-west-1", "ap-northeast-1"]),
    },
    optional={
        "checkpoints": st.just({"intervalMinutes": 30}),
        "deadlineHours": st.sampled_from([1, 24, 200, 2000]),
        "capacityBlock": st.sampled_from([1, 14, 15, 182]),
        "runsPerMonth": st.just(2),
    },
)
BATCHES = st.fixed_dictionaries(
    {
        "kind": st.just("batch-inference"),
        "model": st.just("meta-llama/Llama-3.1-8B-Instruct"),
        "contextLength": st.just(8192),
        "concurrency": st.just(16),
        "runHours": st.sampled_from([0.5, 24, 200]),
        "region": st.sampled_from(["us-east-1", "eu-west-1"]),
    },
    optional={
        "deadlineHours": st.sampled_from([200.1, 300]),
        "reserve": st.sampled_from([{}, {"until": "2026-12-20"}]),
    },
)


def decide(declared: dict[str, Any]) -> Resolution:
    fields = dict(declared)
    if fields["kind"] == "fine-tuning":
        fields["method"] = "lora"
    return resolve(parse_workload(fields), CATALOG, today=TODAY)


@FEW
@given(st.one_of(TRAINED, BATCHES))
def test_nothing_speaks_against_how_it_is_bought(declared: dict[str, Any]) -> None:
    resolution = decide(declared)
    if resolution.plan is None:
        return
    candidate = resolution.candidate
    assert candidate is not None
    fixed = MARKET if declared_market(resolution.workload) is not None else {}
    if fixed and not Sweep(candidate.study).decided():
        return  # the market that is declared leaves only poor placements: the least poor is planned
    for name, constraint in CONSTRAINTS.items():
        for reason in constraint(candidate):
            is_told = name in DECLARATION or name in fixed
            assert reason.weight is Weight.ADVICE or is_told, reason


@FEW
@given(st.one_of(TRAINED, BATCHES))
def test_every_way_to_buy_says_its_total_or_why_not(declared: dict[str, Any]) -> None:
    resolution = decide(declared)
    if resolution.candidate is None:
        return
    options = options_of(resolution.candidate)
    assert len({option.name for option in options}) == len(options)
    if resolution.plan is not None:
        assert [option.is_chosen for option in options].count(True) == 1
    for option in options:
        assert option.total is not None or option.unknown
        found = option.interrupted
        run = resolution.candidate.run_hours
        if found is not None and found.billed_hours is not None and run is not None:
            assert run <= found.billed_hours.low <= found.billed_hours.high
