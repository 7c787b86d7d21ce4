"""What a declaration is read as, and everything that is told of a bad one."""

from __future__ import annotations

import math
from collections import OrderedDict
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from gpusize.declaring.declaration import MAX_PROBLEMS
from gpusize.declaring.plain import MAX_DEPTH, MAX_NODES
from gpusize.workload import (
    BatchInference,
    Evaluation,
    InterruptionTolerance,
    Kind,
    Market,
    Modality,
    Serving,
    TrafficShape,
    VisionLanguageServing,
    WaiverEntry,
    parse_workload,
    parse_workloads,
)
from gpusize_catalog.problems import GpuSizeError, Problem

TABLE = yaml.safe_load((Path(__file__).parent / "bad_declarations.yml").read_text(encoding="utf-8"))
BASE: dict[str, Any] = TABLE["base"]


def told(raw: Any, path: str = "") -> tuple[Problem, ...]:
    with pytest.raises(GpuSizeError) as caught:
        parse_workload(raw, path)
    return caught.value.problems


def paths(raw: Any) -> list[str]:
    return [problem.path for problem in told(raw)]


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["case"])
def test_a_bad_declaration_is_told_in_full(case: dict[str, Any]) -> None:
    base = {} if case.get("bare") else BASE
    assert [str(problem) for problem in told({**base, **case["declared"]})] == case["problems"]


def test_the_example_of_the_design_is_read() -> None:
    workload = parse_workload(
        {
            **BASE,
            "weightsFormat": "fp8",
            "engine": "vllm@0.20",
            "promptTokens": {"mean": 1500, "p95": 6000},
            "outputTokens": {"mean": 300, "p95": 900},
            "concurrency": 16,
            "replicas": {"min": 1, "max": 4},
            "latency": {"timePerOutputTokenMs": 50, "timeToFirstTokenMs": 1000},
            "userFacing": True,
            "interruptionTolerance": "none",
            "traffic": {"shape": "steady", "hoursPerDay": 24},
            "horizonMonths": 12,
            "instanceType": "g5.xlarge",
            "market": "on-demand",
        }
    )
    assert isinstance(workload, Serving)
    assert (workload.engine.name, workload.engine.version) == ("vllm", "0.20")
    assert workload.prompt_tokens is not None
    assert (workload.prompt_tokens.mean, workload.prompt_tokens.high) == (1500, 6000)
    assert workload.latency.time_per_output_token_ms == 50.0
    assert workload.market is Market.ON_DEMAND
    assert workload.traffic.shape is TrafficShape.STEADY


def test_pulumi_sends_floats_and_nulls() -> None:
    workload = parse_workload(
        {**BASE, "contextLength": 8192.0, "zone": None, "tp": 2.0, "replicas": {"min": 1.0}}
    )
    assert isinstance(workload, Serving)
    assert workload.context_length == 8192
    assert isinstance(workload.context_length, int)
    assert workload.zone is None
    assert (workload.tp, workload.replicas.min) == (2, 1)


def test_python_sends_enums_tuples_mappings_and_models() -> None:
    waiver = WaiverEntry(rule="GPU104", reason="measured", owner="ml", expires="2027-01-31")
    workload = parse_workload(
        MappingProxyType(
            {
                "kind": Kind.BATCH_INFERENCE,
                "modality": Modality.TEXT,
                "model": "Qwen/Qwen3-8B",
                "region": "us-east-1",
                "context_length": 4096,
                "market": Market.SPOT,
                "waivers": (waiver, {**waiver.model_dump(), "expires": date(2027, 1, 31)}),
                "tags": OrderedDict(owner="ml"),
            }
        )
    )
    assert isinstance(workload, BatchInference)
    assert workload.market is Market.SPOT
    assert workload.waivers == (waiver, waiver)
    assert workload.tags == {"owner": "ml"}


def test_a_workload_is_taken_as_its_own_declaration() -> None:
    workload = parse_workload({**BASE, "engine": "sglang", "replicas": 2})
    assert parse_workload(workload) == workload


@pytest.mark.parametrize(
    ("kind", "modality", "cls"),
    [
        ("serving", None, Serving),
        ("batch-inference", "text", BatchInference),
        ("evaluation", "text", Evaluation),
        ("serving", "vision-language", VisionLanguageServing),
    ],
)
def test_kind_and_modality_choose_the_class(kind: str, modality: str | None, cls: type) -> None:
    assert type(parse_workload({**BASE, "kind": kind, "modality": modality})) is cls


@pytest.mark.parametrize(
    ("field", "short", "full"),
    [
        ("engine", "vllm", {"name": "vllm"}),
        ("engine", "sglang@0.5.1", {"name": "sglang", "version": "0.5.1"}),
        ("promptTokens", 500, {"mean": 500}),
        ("replicas", 3, {"min": 3, "max": 3}),
        ("replicas", {"min": 3}, {"min": 3, "max": 3}),
        ("traffic", {"hoursPerDay": 8}, {"hoursPerDay": 8, "shape": "scheduled"}),
        ("weightsFormat", "BF16", "bf16"),
        ("weightsFormat", "float16", "fp16"),
    ],
)
def test_short_forms_stand_for_full_ones(field: str, short: Any, full: Any) -> None:
    assert parse_workload({**BASE, field: short}) == parse_workload({**BASE, field: full})


def test_a_whole_day_stays_steady() -> None:
    workload = parse_workload({**BASE, "traffic": {"hoursPerDay": 24, "daysPerWeek": 7}})
    assert isinstance(workload, Serving)
    assert workload.traffic.shape is TrafficShape.STEADY


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [
        ("serving", InterruptionTolerance.NONE),
        ("batch-inference", InterruptionTolerance.RESTARTABLE),
        ("evaluation", InterruptionTolerance.RESTARTABLE),
    ],
)
def test_tolerance_follows_from_the_kind(kind: str, tolerance: InterruptionTolerance) -> None:
    assert parse_workload({**BASE, "kind": kind}).tolerance is tolerance
    declared = parse_workload({**BASE, "kind": kind, "interruptionTolerance": "checkpointed"})
    assert declared.tolerance is InterruptionTolerance.CHECKPOINTED


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none(number: float) -> None:
    (problem,) = told({**BASE, "concurrency": number})
    assert problem.path == "concurrency"
    assert "finite" in problem.message


def test_numbers_of_any_length() -> None:
    (problem,) = told({**BASE, "concurrency": 10**6000})
    assert problem.message == "number is too large"


@pytest.mark.parametrize("key", [1, None, ("a",), b"kind"])
def test_keys_that_are_no_text(key: Any) -> None:
    (problem,) = told({**BASE, key: 1})
    assert problem.path == ""
    assert "not text" in problem.message


@pytest.mark.parametrize("value", [b"x", object(), {1, 2}, Ellipsis])
def test_values_that_are_no_data_are_told_by_type(value: Any) -> None:
    (problem,) = told({**BASE, "zone": value})
    assert problem.path == "zone"
    assert type(value).__name__ in problem.message


@pytest.mark.parametrize("raw", [None, 5, "serving", [], True])
def test_a_declaration_is_a_group_of_fields(raw: Any) -> None:
    (problem,) = told(raw, "workloads.chat")
    assert problem.path == "workloads.chat"


def test_depth_is_limited() -> None:
    nested: Any = "x"
    for _ in range(MAX_DEPTH + 5):
        nested = {"a": nested}
    assert any("nested deeper" in problem.message for problem in told({**BASE, "tags": nested}))


def test_a_list_that_holds_itself_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "tags" in paths({**BASE, "tags": endless})[0]


def test_size_is_limited() -> None:
    problems = told({**BASE, "tags": {f"t{i}": "x" for i in range(MAX_NODES + 1)}})
    assert [problem.path for problem in problems] == ["tags"]
    assert str(MAX_NODES) in problems[0].message


def test_a_flood_of_problems_is_cut() -> None:
    problems = told({**BASE, **{f"field{i}": i for i in range(1000)}})
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].message == "and 900 more problems"


def test_long_keys_and_values_are_not_repeated() -> None:
    secret = "s3cret-" * 20
    text = "\n".join(map(str, told({**BASE, secret: 1, "market": secret, "region": secret})))
    assert secret not in text


def test_paths_begin_where_the_caller_says() -> None:
    problems = told({**BASE, "tp": "x", "promptTokens": {"mean": 5, "p95": 1}}, "workloads.chat")
    assert [problem.path for problem in problems] == [
        "workloads.chat.tp",
        "workloads.chat.promptTokens.p95",
    ]


def test_every_problem_has_a_fix() -> None:
    for case in TABLE["cases"]:
        base = {} if case.get("bare") else BASE
        assert all(problem.fix for problem in told({**base, **case["declared"]}))


def told_of_file(raw: Any, **places: tuple[int, int]) -> tuple[Problem, ...]:
    lines = {path.replace("__", "."): place for path, place in places.items()}
    with pytest.raises(GpuSizeError) as caught:
        parse_workloads(raw, "gpusize.yaml", lines)
    return caught.value.problems


def test_a_file_has_workloads_by_name() -> None:
    found = parse_workloads({"workloads": {"chat": BASE, "night-batch_2": {**BASE, "tp": 2}}})
    assert list(found) == ["chat", "night-batch_2"]
    assert found["night-batch_2"].tp == 2


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (None, ""),
        ([], ""),
        ("workloads", ""),
        ({}, "workloads"),
        ({"workloads": None}, "workloads"),
        ({"workloads": []}, "workloads"),
        ({"workloads": {}}, "workloads"),
        ({"workloads": {"a b": BASE}}, "workloads.a b"),
        ({"workloads": {"a" * 64: BASE}}, f"workloads.{'a' * 40}…"),
        ({"workloads": {"-_": BASE}}, "workloads.-_"),
        ({"workloads": {"chat": None}}, "workloads.chat"),
        ({"workloads": {"chat": BASE}, "waiver": []}, "waiver"),
    ],
)
def test_a_file_of_another_shape(raw: Any, path: str) -> None:
    (problem,) = told_of_file(raw)
    assert (problem.path, problem.file) == (path, "gpusize.yaml")
    assert problem.fix


def test_a_misspelt_top_level_key() -> None:
    problems = told_of_file({"workload": {"chat": BASE}})
    assert [problem.path for problem in problems] == ["workload", "workloads"]
    assert "did you mean workloads?" in problems[0].fix


def test_problems_of_all_workloads_come_in_the_order_of_the_file() -> None:
    problems = told_of_file(
        {"workloads": {"b": {**BASE, "tp": 0}, "a": {**BASE, "context_length": 1}, "c": {}}},
        workloads__b=(2, 3),
        workloads__b__tp=(9, 5),
        workloads__a=(4, 3),
        workloads__a__context_length=(6, 5),
    )
    assert [(problem.path, problem.line, problem.column) for problem in problems] == [
        ("workloads.c.kind", None, None),
        ("workloads.c.model", None, None),
        ("workloads.c.region", None, None),
        ("workloads.a.contextLength", 6, 5),
        ("workloads.b.tp", 9, 5),
    ]


def test_a_missing_field_stands_where_its_workload_does() -> None:
    (problem,) = told_of_file(
        {"workloads": {"chat": {key: BASE[key] for key in BASE if key != "region"}}},
        workloads__chat=(2, 3),
    )
    assert (problem.path, problem.line, problem.column) == ("workloads.chat.region", 2, 3)


def test_repeated_aliases_end() -> None:
    flood = {f"field{i}": i for i in range(200)}
    problems = told_of_file({"workloads": {f"w{i}": flood for i in range(20)}})
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].message.endswith("more problems")
