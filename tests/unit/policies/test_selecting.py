"""Machines of which several types may be launched: regions, orders, and what is not known."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusize_catalog.store import Catalog
from gpusize_policies.case import Case
from gpusize_policies.finding import Finding
from gpusize_policies.machines import Seen
from gpusize_policies.reading import FLEET, GROUP, INSTANCE, Value
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import DEFAULTS
from tests.rules.examples import examples
from tests.rules.stacks import UNKNOWN, findings_of

CHAT: dict[str, Any] = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "bf16",
    "contextLength": 8192,
    "promptTokens": 700,
    "outputTokens": 250,
    "concurrency": 4,
    "runHours": 8,
    "interruptionTolerance": "none",
    "region": "us-east-1",
}
TAG = {"gpusize:workload": "chat"}
BOX: dict[str, Any] = {"instanceType": "g6.xlarge", "tags": TAG}


def told(catalog: Catalog, today: datetime.date, **resources: Any) -> list[Finding]:
    return findings_of({"chat": CHAT}, resources, catalog, today)


def codes(findings: list[Finding]) -> set[str]:
    return {one.code for one in findings}


def requirements(**asked: Any) -> dict[str, Any]:
    entry = {"instanceRequirements": {"vcpuCount": {"min": 4}, "memoryMib": {"min": 8}, **asked}}
    policy = {"launchTemplate": {"overrides": [entry]}}
    properties = {"minSize": 1, "maxSize": 1, "mixedInstancesPolicy": policy}
    tags = [{"key": "gpusize:workload", "value": "chat", "propagateAtLaunch": True}]
    return {"type": "aws:autoscaling:Group", "properties": {**properties, "tags": tags}}


def test_attributes_that_no_type_has_are_told_alone(catalog: Catalog, today: datetime.date) -> None:
    found = told(catalog, today, boxes=requirements(acceleratorNames=["x100"]))
    assert codes(found) == {"GPU312"}
    assert "admit no accelerated type" in found[0].message


def test_attributes_that_all_work_say_nothing(catalog: Catalog, today: datetime.date) -> None:
    asked = {"allowedInstanceTypes": ["g6.*", "g6e.*"], "acceleratorCount": {"min": 1}}
    assert told(catalog, today, boxes=requirements(**asked)) == []


def test_types_without_accelerators_are_told(catalog: Catalog, today: datetime.date) -> None:
    found = told(catalog, today, boxes=requirements(allowedInstanceTypes=["g6.*", "m7*"]))
    assert codes(found) == {"GPU312"}
    assert "without an accelerator" in found[0].message


def test_what_the_catalog_cannot_tell_is_named(catalog: Catalog, today: datetime.date) -> None:
    asked = {"acceleratorNames": ["t4", "l4"], "networkInterfaceCount": {"min": 20}}
    found = told(catalog, today, boxes=requirements(**asked))
    (loose,) = [one for one in found if one.code == "GPU312"]
    assert "may admit" in loose.message
    assert "networkInterfaceCount" in loose.message


def test_the_judged_type_is_the_cheapest_that_works(catalog: Catalog, today: datetime.date) -> None:
    """Otherwise every rule would speak on a type that happens to come first."""
    found = told(catalog, today, boxes=requirements(acceleratorCount={"min": 1, "max": 1}))
    assert codes(found) == {"GPU312"}


def test_unknown_attributes_are_one_doubt(catalog: Catalog, today: datetime.date) -> None:
    found = told(catalog, today, boxes=requirements(acceleratorNames=[UNKNOWN]))
    assert [one.code for one in found] == ["GPU900"]
    assert "instanceRequirements" in found[0].message


@pytest.mark.parametrize("code", ["GPU311", "GPU312", "GPU516"])
def test_the_order_of_resources_changes_nothing(
    code: str, catalog: Catalog, today: datetime.date
) -> None:
    for example in examples(code):
        given, workloads = example.resources or {}, {"chat": example.workload}
        every = [
            {(one.code, one.message) for one in findings_of(workloads, dict(order), catalog, today)}
            for order in itertools.permutations(given.items())
        ]
        assert all(one == every[0] for one in every), example.title


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Every case that a session makes."""
    made: list[Case] = []

    def remember(case: Case, *_: object) -> tuple[Finding, ...]:
        made.append(case)
        return ()

    monkeypatch.setattr("gpusize_policies.asking.evaluate", remember)
    return made


def session(tmp_path: Path, region: str = "") -> Session:
    import json

    (tmp_path / "gpusize.yaml").write_text(json.dumps({"workloads": {"chat": CHAT}}))
    return Session(Run(DEFAULTS, datetime.date(2026, 11, 30), tmp_path, region=region))


def places() -> Iterator[tuple[dict[str, Any], Value, str, str]]:
    yield {"region": "eu-west-1"}, Value("us-west-2"), "eu-north-1", "eu-west-1"
    yield {}, Value("us-west-2"), "eu-north-1", "us-west-2"
    yield {}, Value(), "eu-north-1", "eu-north-1"
    yield {}, Value(), "", ""


@pytest.mark.parametrize(("own", "provider", "stack", "region"), places())
def test_the_region_is_that_of_the_nearest_that_says_one(
    own: dict[str, Any],
    provider: Value,
    stack: str,
    region: str,
    tmp_path: Path,
    asked: list[Case],
) -> None:
    seen = Seen(INSTANCE, "box", "urn", {**BOX, **own}, provider_region=provider)
    session(tmp_path, stack).judge(seen)
    (case,) = asked
    assert case.deployed_region == region
    assert case.workload is not None
    assert case.workload.region == "us-east-1"
    assert case.judged is not None
    assert case.judged.region == (region or "us-east-1")


@pytest.mark.parametrize(
    ("own", "provider"), [({"region": UNKNOWN}, Value("us-west-2")), ({}, Value(known=False))]
)
def test_a_region_that_is_not_known_is_told_and_nothing_stands_in_for_it(
    own: dict[str, Any], provider: Value, tmp_path: Path
) -> None:
    seen = Seen(INSTANCE, "box", "urn", {**BOX, **own}, provider_region=provider)
    made = session(tmp_path, "eu-north-1")
    assert "GPU900" not in {one.code for one in made.judge(seen)}
    (told,) = [one for _, one in made.finish([seen]) if one.code == "GPU900"]
    assert "region" in told.message


def test_equal_lists_are_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Case]
) -> None:
    group = requirements(acceleratorCount={"min": 1})["properties"]
    stack = [Seen(GROUP, f"box{index}", f"urn{index}", group) for index in range(5)]
    made = session(tmp_path)
    surveys: list[object] = []
    real = made._survey

    def counted(*arguments: Any) -> object:
        surveys.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(made, "_survey", counted)
    list(made.finish(stack))
    assert len(surveys) == len(stack)
    assert len(made._surveys) == len(asked) == 1


def test_a_fleet_says_what_its_own_properties_are_called(
    catalog: Catalog, today: datetime.date
) -> None:
    target = {"defaultTargetCapacityType": UNKNOWN, "totalTargetCapacity": 1}
    entries = [{"overrides": [{"instanceType": "g6.xlarge"}]}]
    properties = {
        "tags": TAG,
        "targetCapacitySpecification": target,
        "launchTemplateConfigs": entries,
    }
    found = told(catalog, today, boxes={"type": FLEET, "properties": properties})
    assert [one.code for one in found] == ["GPU900"]
    assert "targetCapacitySpecification.defaultTargetCapacityType" in found[0].message
