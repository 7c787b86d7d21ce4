"""What would make a plan cheaper or faster is tried, not guessed."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain import to_text
from gpusize.explain_data import advice_data
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


def test_what_dropping_a_pin_saves_is_no_merit_of_another_change(catalog: Catalog) -> None:
    resolution = decided(catalog, BATCH, instanceType="p5.48xlarge")
    open_plan = decided(catalog, BATCH).plan
    assert open_plan is not None
    found = {item.change: item for item in resolution.advice if item.aim == "cheaper"}
    dropped = found.pop(f"instanceType: {open_plan.instance_type}")
    assert dropped.numbers["usd"] == pytest.approx(open_plan.cost.per_run, abs=0.01)
    for change, item in found.items():
        if not change.startswith("market"):
            assert float(item.numbers["usd"]) < float(dropped.numbers["usd"])


def test_activations_computed_again_may_need_one_gpu(catalog: Catalog) -> None:
    declared = {
        **TUNING,
        "method": "qlora",
        "model": "meta-llama/Llama-3.1-70B",
        "sequenceLength": 2048,
        "globalBatch": 16,
        "recompute": "none",
    }
    resolution = decided(catalog, declared)
    assert resolution.plan is not None
    assert resolution.plan.gpus > 1
    found = {item.aim: item for item in resolution.advice}
    assert found["fewer-gpus"].change == "recompute: full"


@pytest.mark.parametrize(
    ("declared", "unit"),
    [
        (
            {"modality": "embedding", "model": "BAAI/bge-m3", "contextLength": 512, "batch": 8},
            "1,000 texts",
        ),
        (
            {
                "modality": "image",
                "model": "black-forest-labs/FLUX.1-dev",
                "width": 1024,
                "height": 1024,
                "steps": 28,
            },
            "image",
        ),
    ],
)
def test_a_faster_type_is_told_in_the_unit_of_the_plan(
    catalog: Catalog, declared: dict[str, Any], unit: str
) -> None:
    resolution = decided(catalog, {"kind": "serving", "region": "us-east-1", **declared})
    (found,) = [item for item in resolution.advice if item.aim == "faster"]
    assert f" s per {unit} in place of " in found.text
    assert f" s per {unit} on each GPU" in to_text(resolution)


def test_without_a_plan_there_is_no_advice(catalog: Catalog) -> None:
    resolution = decided(catalog, CHAT, instanceType="g4dn.xlarge")
    assert resolution.plan is None
    assert resolution.advice == ()
    assert resolution.summary == ""
