"""What would make a plan cheaper or faster is tried, not guessed."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain import advice_data, to_text
from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog

TODAY = datetime.date(2026, 11, 30)
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "contextLength": 32768,
    "concurrency": 8,
    "region": "us-east-1",
}
BATCH = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 4096,
    "runHours": 3,
    "interruptionTolerance": "none",
    "region": "us-east-1",
}
TUNING = {
    "kind": "fine-tuning",
    "method": "full",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "sequenceLength": 4096,
    "recompute": "full",
    "tokens": 100_000_000,
    "checkpoints": {"intervalMinutes": 30},
    "region": "us-east-1",
}


def decided(catalog: Catalog, declared: dict[str, Any], **more: Any) -> Resolution:
    return resolve(parse_workload({**declared, **more}), catalog, today=TODAY)


def told(resolution: Resolution) -> dict[str, str]:
    return {item.change: item.aim for item in resolution.advice}


def test_smaller_weights_may_need_one_gpu_in_place_of_several(catalog: Catalog) -> None:
    resolution = decided(catalog, CHAT)
    assert resolution.plan is not None
    assert resolution.plan.gpus > 1
    found = {item.aim: item for item in resolution.advice}
    assert found["cheaper"].change == found["fewer-gpus"].change == "weightsFormat: fp8"
    changed = decided(catalog, CHAT, weightsFormat="fp8")
    assert changed.plan is not None
    assert changed.plan.gpus == 1
    assert found["cheaper"].numbers["usd"] == pytest.approx(changed.plan.cost.monthly, abs=0.01)
    assert found["cheaper"].numbers["instanceType"] == changed.plan.instance_type


def test_work_that_ends_is_told_of_spot_and_of_larger_batches(catalog: Catalog) -> None:
    found = told(decided(catalog, BATCH))
    assert found["market: spot"] == "cheaper"
    assert "faster" in {aim for change, aim in found.items() if change.startswith("concurrency")}


def test_full_training_is_told_of_an_adapter(catalog: Catalog) -> None:
    resolution = decided(catalog, TUNING)
    found = {item.aim: item for item in resolution.advice}
    assert found["adapter"].change == "method: lora"
    assert float(found["adapter"].numbers["savedPercent"]) > 5


def test_a_service_is_not_told_of_spot_nor_of_longer_queues(catalog: Catalog) -> None:
    changes = told(decided(catalog, CHAT))
    assert not any(change.startswith(("market", "concurrency")) for change in changes)


def test_a_shorter_context_is_no_advice_where_sequences_are_as_long(catalog: Catalog) -> None:
    tokens = {"promptTokens": 30000, "outputTokens": 2000}
    assert not any(
        change.startswith("context") for change in told(decided(catalog, CHAT, **tokens))
    )


def test_the_answer_is_data_and_a_paragraph(catalog: Catalog) -> None:
    resolution = decided(catalog, CHAT)
    data = advice_data(resolution)
    changes = [item.change for item in resolution.advice]
    assert [item["change"] for item in data["advice"]] == changes
    assert data["summary"] == resolution.summary
    assert resolution.plan is not None
    assert resolution.summary.startswith(resolution.plan.instance_type)
    assert "GB/s" in resolution.summary
    assert resolution.summary in to_text(resolution)


def test_without_a_plan_there_is_no_advice(catalog: Catalog) -> None:
    resolution = decided(catalog, CHAT, instanceType="g4dn.xlarge")
    assert resolution.plan is None
    assert resolution.advice == ()
    assert resolution.summary == ""
