"""The choices that an expert would make, as data."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusize.constraints import DECLARATION
from gpusize.constraints.reason import Weight
from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.resolving.weighing import reasons_of
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog

DATA = yaml.safe_load(Path(__file__).with_name("choices.yml").read_text())


def resolved(case: dict[str, Any], catalog: Catalog) -> Resolution:
    fields = {**DATA["base"], **case["workload"]}
    workload = parse_workload({key: value for key, value in fields.items() if value is not None})
    day = case.get("today", DATA["today"])
    assert isinstance(day, datetime.date)
    return resolve(workload, catalog, today=day, name="case")


@pytest.mark.parametrize("name", DATA["cases"])
def test_choice(name: str, catalog: Catalog) -> None:
    case = DATA["cases"][name]
    resolution = resolved(case, catalog)
    assert _plan(resolution, case["plan"]) == case["plan"]
    for part in case.get("reasons", ()):
        assert resolution.plan is not None
        assert any(part in reason for reason in resolution.plan.reasons), part
    for part in case.get("wouldFit", ()):
        assert any(part in text for text in resolution.would_fit), resolution.would_fit
    rejected = {item.instance_type: item for item in resolution.rejections}
    for instance_type, parts in case.get("rejected", {}).items():
        texts = [reason.text for reason in rejected[instance_type].reasons]
        for part in parts:
            assert any(part in text for text in texts), texts


@pytest.mark.parametrize("name", DATA["cases"])
def test_what_is_said_against_it(name: str, catalog: Catalog) -> None:
    case = DATA["cases"][name]
    candidate = resolved(case, catalog).candidate
    said = reasons_of(candidate) if candidate else ()
    by_weight = {
        weight: {reason.name for reason in said if reason.weight is weight} for weight in Weight
    }
    assert set(case.get("errors", ())) <= by_weight[Weight.ERROR]
    assert set(case.get("advice", ())) <= by_weight[Weight.ADVICE]
    if case["plan"] is not None:
        assert by_weight[Weight.ERROR] - set(DECLARATION) == set()
        assert by_weight[Weight.WARN] == set(case.get("warnings", ()))


def _plan(resolution: Resolution, wanted: dict[str, Any] | None) -> dict[str, Any] | None:
    plan = resolution.plan
    if plan is None:
        return None
    given = {
        "instanceType": plan.instance_type,
        "layout": plan.layout.data(),
        "market": plan.market.value,
        "scaling": plan.scaling,
    }
    return {key: given[key] for key in wanted or given}
