"""What the rules promise on any declaration."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.constraints import DECLARATION
from gpusize.team import TeamRules
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog, load
from gpusize_policies.case import Case
from gpusize_policies.finding import Finding, Severity
from gpusize_policies.judge import evaluate
from gpusize_policies.message import LONGEST
from gpusize_policies.settings import DEFAULTS, Settings

TODAY = datetime.date(2026, 11, 30)
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-20b",
)
TYPES = ("g4dn.xlarge", "g5.12xlarge", "g6.xlarge", "g6e.48xlarge", "p4d.24xlarge", "p5en.48xlarge")


@cache
def _catalog() -> Catalog:
    return load()


MEASURED = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from(["L4", "L40S", "H100"]),
        "engine": st.sampled_from(["vllm@0.20.1", "vllm@99"]),
        "weightsGib": st.sampled_from([5, 15, 35]),
        "overheadGib": st.sampled_from([0.5, 2, 12]),
        "date": st.sampled_from(["2026-11-01", "2024-11-01"]),
        "source": st.just("log"),
    }
)
DECLARED = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["serving", "batch-inference", "evaluation"]),
        "model": st.sampled_from(MODELS),
        "contextLength": st.sampled_from([2048, 8192, 32768, 131072]),
        "concurrency": st.sampled_from([1, 8, 64]),
        "region": st.sampled_from(["us-east-1", "eu-west-1", "ap-southeast-1"]),
    },
    optional={
        "weightsFormat": st.sampled_from(["bf16", "fp8", "awq"]),
        "promptTokens": st.just({"mean": 500, "p95": 1200}),
        "measured": st.lists(MEASURED, min_size=1, max_size=2),
    },
)
PINS = st.fixed_dictionaries(
    {},
    optional={
        "instanceType": st.sampled_from(TYPES),
        "market": st.sampled_from(["on-demand", "spot", "capacity-block"]),
        "tp": st.sampled_from([1, 2, 3, 4, 8]),
        "nodesPerReplica": st.sampled_from([1, 2]),
    },
)


TEAMS = st.builds(
    TeamRules,
    deny_types=st.sampled_from([(), ("g6.*",), ("g*",), ("*.48xlarge", "g6e.*")]),
    allow_markets=st.sampled_from([(), ("on-demand",), ("spot",)]),
    max_hourly=st.sampled_from([None, 1.0, 10.0]),
    max_gpus=st.sampled_from([None, 1, 4]),
    min_headroom_share=st.sampled_from([None, 0.2]),
    approve_nvlink=st.sampled_from([None, ()]),
)


def _judge(
    declared: dict[str, Any], settings: Settings = DEFAULTS
) -> tuple[Case, tuple[Finding, ...]]:
    case = Case(
        "chat",
        parse_workload(declared),
        catalog=_catalog(),
        today=TODAY,
        settings=settings,
    )
    return case, evaluate(case, settings)


@given(DECLARED)
def test_nothing_bad_is_found_in_what_gpusize_chose(declared: dict[str, Any]) -> None:
    case, findings = _judge(declared)
    bad = [finding for finding in findings if finding.severity is not Severity.ADVICE]
    if case.resolution is not None and case.resolution.plan is not None:
        assert [finding for finding in bad if finding.name not in DECLARATION] == []
    else:
        assert "GPU100" in [finding.code for finding in bad]


@settings(max_examples=25, deadline=None)
@given(DECLARED, TEAMS)
def test_what_gpusize_chose_is_what_the_team_allows(
    declared: dict[str, Any], rules: TeamRules
) -> None:
    case, findings = _judge(declared, Settings(team=rules))
    assert case.resolution is not None
    bad = [one for one in findings if one.severity is not Severity.ADVICE]
    if case.resolution.plan is not None:
        assert [one for one in bad if one.name not in DECLARATION] == []
        assert rules.allows_type(case.resolution.plan.instance_type)
    else:
        assert "GPU100" in [one.code for one in bad]


@given(DECLARED, PINS)
def test_a_pinned_plan_that_cannot_work_is_an_error(
    declared: dict[str, Any], pins: dict[str, Any]
) -> None:
    case, findings = _judge({**declared, **pins})
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    assert case.resolution is not None
    if case.resolution.plan is None:
        assert errors
    assert "GPU900" not in [finding.code for finding in findings]


@given(DECLARED, PINS)
def test_messages_keep_their_shape_and_order(
    declared: dict[str, Any], pins: dict[str, Any]
) -> None:
    _, findings = _judge({**declared, **pins})
    codes = [finding.code for finding in findings]
    assert codes == sorted(codes)
    for finding in findings:
        assert len(finding.message) <= LONGEST
        assert finding.message.endswith(finding.docs)
        assert all(isinstance(value, (int, float, str)) for value in finding.numbers.values())
