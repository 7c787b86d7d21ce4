"""Types that somebody else may pick from, judged together as each would be alone."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.constraints import SILICON
from gpusize.constraints.reason import Weight
from gpusize.resolve import resolve
from gpusize.resolving.listed import Survey, survey
from gpusize.resolving.study import Study
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
CHAT: dict[str, Any] = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "bf16",
    "contextLength": 8192,
    "concurrency": 4,
    "promptTokens": 700,
    "outputTokens": 250,
    "region": "us-east-1",
}
BIG = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct", "weightsFormat": "fp8"}
TRAINED: dict[str, Any] = {
    "kind": "fine-tuning",
    "method": "lora",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 2048,
    "tokens": 1000000,
    "region": "us-east-1",
}
WORKLOADS = [CHAT, BIG, {**BIG, "tp": 2, "pp": 1}, TRAINED]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def judged(fields: dict[str, Any], names: list[str], catalog: Catalog) -> Survey:
    return survey(Study(parse_workload(fields), catalog, today=TODAY), names)


def test_types_are_told_apart_by_what_the_hardware_does(catalog: Catalog) -> None:
    found = judged(CHAT, ["g5.xlarge", "g4dn.xlarge", "g6.xlarge", "inf2.xlarge"], catalog)
    assert found.passing == ("g6.xlarge", "g5.xlarge")
    assert {name: reason.name for name, reason in found.failing.items()} == {
        "g4dn.xlarge": "bf16-unsupported",
        "inf2.xlarge": "cuda-required",
    }


def test_many_small_gpus_are_no_few_large_ones(catalog: Catalog) -> None:
    fields = {**BIG, "tp": 2, "pp": 1}
    found = judged(fields, ["g6.12xlarge", "g6e.12xlarge"], catalog)
    assert found.passing == ("g6e.12xlarge",)
    assert found.failing["g6.12xlarge"].name == "weights-exceed-vram"


def test_what_is_not_in_the_catalog_is_said(catalog: Catalog) -> None:
    found = judged(CHAT, ["g6.xlarge", "g99.xlarge"], catalog)
    assert found.passing == ("g6.xlarge",)
    assert found.failing["g99.xlarge"].name == "unknown-instance-type"


def test_a_pinned_type_is_no_limit(catalog: Catalog) -> None:
    pinned = {**CHAT, "instanceType": "g4dn.xlarge"}
    assert judged(pinned, ["g6.xlarge"], catalog).passing == ("g6.xlarge",)


def test_best_leaves_out_what_something_warns_of() -> None:
    found = Survey(("a", "b", "c"), frozenset({"a"}), {})
    assert found.best(("a", "b")) == ("b",)
    assert found.best(("a",)) == ("a",)
    assert found.best(()) == ()


@pytest.mark.parametrize("fields", WORKLOADS, ids=lambda one: f"{one['model']}{one.get('tp', '')}")
def test_each_type_fares_as_it_would_alone(fields: dict[str, Any], catalog: Catalog) -> None:
    """One that works has a candidate without errors, and one that does not has none."""
    names = [one.id for one in catalog.instances()][::3]
    found = judged(fields, names, catalog)
    assert len(found.passing) + len(found.failing) > len(names) / 2
    for name in names:
        alone = resolve(
            parse_workload({**fields, "instanceType": name}), catalog, today=TODAY
        ).candidate
        assert alone is not None
        errors = {
            key
            for key, constraint in SILICON.items()
            for reason in constraint(alone)
            if reason.weight is Weight.ERROR
        }
        if name in found.passing and alone.placement.nodes == 1:
            assert not errors, name
        if name in found.failing and alone.placement.nodes == 1:
            assert errors, name
