from __future__ import annotations

import datetime
import json
from typing import Any

from gpusize.explain import to_text
from gpusize.explain_data import to_data
from gpusize.resolve import unpinned
from gpusize_catalog.store import Catalog

TODAY = datetime.date(2026, 11, 30)


def test_data_is_json_in_camel_case(decide: Any) -> None:
    data = to_data(decide())
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["workload"] == "chat"
    assert data["plan"]["instanceType"] == "g6.xlarge"
    assert data["plan"]["cost"]["priceDate"] == "2026-07-20"
    assert all(_camel(key) for key in _keys({**data, "termsGib": {}}))


def _keys(data: Any) -> list[str]:
    if isinstance(data, dict):
        inner = [_keys(value) for key, value in data.items() if key not in ("termsGib", "numbers")]
        return [*data, *(key for keys in inner for key in keys)]
    if isinstance(data, list):
        return [key for item in data for key in _keys(item)]
    return []


def _camel(key: str) -> bool:
    return key.isalnum() and key[0].islower()


def test_every_other_type_has_a_reason_with_numbers(catalog: Catalog, decide: Any) -> None:
    resolution = decide()
    names = {rejection.instance_type for rejection in resolution.rejections}
    offered = {
        name for name in catalog.offerings("us-east-1") if catalog.find_instance(name) is not None
    }
    assert resolution.plan is not None
    planned = {resolution.plan.instance_type, *(p.instance_type for p in resolution.runners_up)}
    assert names | planned == offered
    assert not names & planned
    for rejection in resolution.rejections:
        assert rejection.reasons
        assert rejection.reasons[0].numbers or "not known" in rejection.reasons[0].text


def test_runners_up_are_other_gpus_or_other_counts(decide: Any) -> None:
    resolution = decide()
    assert resolution.plan is not None
    plans = [resolution.plan, *resolution.runners_up]
    kinds = [(plan.gpu, plan.gpus, plan.nodes) for plan in plans]
    assert len(set(kinds)) == len(kinds) == 5


def test_the_page_says_what_why_and_what_not(decide: Any) -> None:
    text = to_text(decide())
    lines = text.splitlines()
    assert lines[0] == "chat: g6.xlarge (1 x L4, tp=1) on-demand, $0.80/h"
    for part in (
        "memory:",
        "weights 15.0 GiB",
        "cost:",
        "next best (",
        "storage $",
        "not taken:",
        "2026-11-30",
    ):
        assert part in text
    assert len(lines) < 45


def test_the_page_without_a_plan_says_what_would_fit(decide: Any) -> None:
    text = to_text(decide(budget={"perHour": 0.1}))
    assert text.startswith("chat: no plan\n  would fit: a larger budget")


def test_pins_are_dropped_for_the_cheapest_fix(catalog: Catalog, decide: Any, declare: Any) -> None:
    poor = decide(instanceType="g4dn.xlarge")
    free = unpinned(poor, catalog, today=TODAY)
    assert poor.plan is None
    assert free.plan is not None
    assert free.plan.instance_type == "g6.xlarge"
    assert unpinned(declare(), catalog, today=TODAY).plan is not None


def test_an_unknown_type_is_rejected_with_a_suggestion(decide: Any) -> None:
    resolution = decide(instanceType="g6.xlrge")
    assert resolution.plan is resolution.candidate is None
    (rejection,) = resolution.rejections
    assert rejection.reasons[0].name == "unknown-instance-type"
    assert "g6.xlarge" in rejection.reasons[0].fix


def test_every_answer_says_once_what_was_taken_for_granted(decide: Any) -> None:
    taken = [item.field for item in decide().assumptions]
    assert len(taken) == len(set(taken))
    assert {"engine.name", "engine.version", "engine.memoryFraction", "traffic.shape"} <= set(taken)
    assert "concurrency" not in taken


def test_the_model_taken_for_another_name_is_said(decide: Any) -> None:
    copy = decide(model="Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4")
    (found,) = [item for item in copy.assumptions if item.field == "model"]
    assert (found.value, "GPTQ" in found.why) == ("Qwen/Qwen2.5-72B", True)
    exact = decide(model="meta-llama/Llama-3.1-8B")
    assert all(item.field != "model" for item in exact.assumptions)


def test_a_layout_that_no_type_takes_is_told_once(decide: Any) -> None:
    page = to_text(decide(tp=3))
    told = [line for line in page.splitlines() if "tp=3 does not divide" in line]
    assert len(told) == 1 and " more): " in told[0]
    assert len(page.splitlines()) < 20


def test_an_unknown_pinned_type_is_told_with_what_was_meant(decide: Any) -> None:
    page = to_text(decide(instanceType="g6e.xlage"))
    assert "g6e.xlage is no instance type of the catalog (did you mean g6e.xlarge" in page


def test_a_refused_type_is_shown_with_its_memory(decide: Any) -> None:
    page = to_text(decide(instanceType="g4dn.xlarge"))
    assert "as pinned:\n    memory of one GPU: weights" in page
    assert "not taken:" not in page


def test_what_is_wrong_with_the_declaration_is_told_beside_a_plan(decide: Any) -> None:
    resolution = decide(contextLength=819_200)
    assert resolution.plan is not None
    assert "819200 is beyond the 131072 positions" in to_text(resolution)
    (remark,) = to_data(resolution)["remarks"]
    assert remark["name"] == "context-beyond-model-limit"
    assert remark["weight"] == "error"


def test_and_without_one(decide: Any) -> None:
    resolution = decide(contextLength=90_000_000)
    assert resolution.plan is resolution.candidate is None
    assert [reason.name for reason in resolution.remarks] == ["context-beyond-model-limit"]
