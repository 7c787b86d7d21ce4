"""What a file of declarations says of a stack: `resources` and `machines`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpusize.workload import parse_file, parse_workloads
from gpusize.workload_schema import FILE
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load
from gpusize_policies.inputs import declarations

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "promptTokens": 700,
    "outputTokens": 250,
    "region": "us-east-1",
    "userFacing": True,
}
BESIDE = {
    "resources": {"aws:ec2/instance:Instance::web-*": "chat", "urn:pulumi:prod::*": "late"},
    "machines": {
        "gpus": {
            "instanceTypes": ["g6e.12xlarge", "g6e.24xlarge"],
            "market": "spot",
            "region": "us-east-1",
            "zones": "us-east-1a",
            "count": 4.0,
            "labels": {"team": "research", "shared": True},
            "workloads": ["chat"],
        }
    },
}
VALID = jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8"))).is_valid


def test_both_blocks_are_read_beside_the_workloads() -> None:
    workloads, beside = parse_file({"workloads": {"chat": CHAT}, **BESIDE})
    assert list(workloads) == ["chat"]
    kind, urn = "aws:ec2/instance:Instance", "urn:pulumi:dev::app::x::y"
    assert beside.workload_of(kind, "web-1", urn) == "chat"
    assert beside.workload_of(kind, "api", urn) == ""
    assert beside.workload_of(kind, "api", "urn:pulumi:prod::app::x::api") == "late"
    machines = beside.machines["gpus"]
    assert machines.instance_types == ("g6e.12xlarge", "g6e.24xlarge")
    assert (machines.market, machines.region) == ("spot", "us-east-1")
    assert (machines.zones, machines.number) == (("us-east-1a",), 4)
    assert machines.labels == (("team", "research"), ("shared", "true"))
    assert machines.workloads == ("chat",)


def test_the_first_pattern_that_fits_counts_and_only_the_star_is_special() -> None:
    tied = {"a.b::x": "one", "*::x": "two", "*": "none"}
    with pytest.raises(GpuSizeError, match="is no pattern"):
        parse_file({"workloads": {"chat": CHAT}, "resources": tied})
    del tied["*"]
    _, beside = parse_file({"workloads": {"chat": CHAT}, "resources": tied})
    assert beside.workload_of("a.b", "x", "") == "one"
    assert beside.workload_of("acb", "x", "") == "two"


def test_a_file_may_hold_these_blocks_alone(tmp_path: Path) -> None:
    for block in BESIDE:
        assert parse_workloads({block: BESIDE[block]}) == {}
        file = tmp_path / f"{block}.json"
        file.write_text(json.dumps({block: BESIDE[block]}), encoding="utf-8")
        assert declarations(str(file), load()) == {}
    for empty in ({"machines": {}}, {"resources": None}, {}):
        with pytest.raises(GpuSizeError):
            parse_workloads(empty)


ONE: dict[str, Any] = {"instanceTypes": "g6.xlarge"}
OF_ONE: list[tuple[dict[str, Any], str, str]] = [
    ({}, "instanceTypes", "is missing"),
    ({"instanceTypes": []}, "instanceTypes", "is empty"),
    ({"instanceTypes": ["g6e"]}, "instanceTypes[0]", "is none"),
    ({"instanceType": "g6.xlarge"}, "instanceType", "instanceTypes?"),
    ({**ONE, "market": "sport"}, "market", "spot?"),
    ({**ONE, "region": "Mars"}, "region", "is none"),
    ({**ONE, "zones": [3]}, "zones[0]", "is none"),
    ({**ONE, "count": 1.5}, "count", "whole number"),
    ({**ONE, "count": 0}, "count", "whole number"),
    ({**ONE, "labels": {"x": 3}}, "labels.x", "no label"),
]
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"machine": {}}, "machine", "did you mean machines?"),
    ({"machines": []}, "machines", "expected a mapping"),
    ({"machines": {"a": 1}}, "machines.a", "expected a group"),
    ({"resources": {"web": "chat"}}, "resources.web", "no pattern"),
    ({"resources": {"a::b": 3}}, "resources.a::b", "workload's name"),
    ({"resources": [1]}, "resources", "expected a mapping"),
    *(({"machines": {"a": one}}, f"machines.a.{path}", told) for one, path, told in OF_ONE),
]


@pytest.mark.parametrize(("block", "path", "told"), WRONG, ids=lambda one: str(one)[:60])
def test_what_is_wrong_is_told_with_its_place(block: Any, path: str, told: str) -> None:
    content = {"workloads": {"chat": CHAT}, **block}
    with pytest.raises(GpuSizeError) as caught:
        parse_workloads(content)
    problems = {one.path: f"{one.message} ({one.fix})" for one in caught.value.problems}
    assert told in problems[path], problems
    assert not VALID(content)


def test_the_schema_takes_what_the_reader_takes() -> None:
    assert VALID({"workloads": {"chat": CHAT}, **BESIDE})
    assert VALID(BESIDE)
    assert not VALID({})


def test_long_and_secret_texts_are_not_repeated() -> None:
    secret = "S" * 60
    content = {
        "machines": {"a": {"instanceTypes": [secret], "market": secret, "labels": {"a": [secret]}}}
    }
    with pytest.raises(GpuSizeError) as caught:
        parse_workloads(content)
    assert secret not in str(caught.value.problems)
