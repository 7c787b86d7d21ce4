"""What is chosen for pipelines, and what is proposed where the pins hold none."""

from __future__ import annotations

import datetime
from typing import Any

from gpusize.explain import to_text
from gpusize.explain_data import to_data
from gpusize.lock import entry_of
from gpusize.resolve import resolve
from gpusize.workload import parse_workload
from gpusize_catalog.store import load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
VIDEO = {
    "kind": "batch-inference",
    "modality": "video",
    "model": "THUDM/CogVideoX-5b",
    "width": 720,
    "height": 480,
    "frames": 49,
    "runHours": 6,
}
IMAGE = {
    "kind": "serving",
    "modality": "image",
    "model": "black-forest-labs/FLUX.1-dev",
    "width": 1024,
    "height": 1024,
}


def decided(fields: dict[str, Any], **others: Any) -> Any:
    return resolve(
        parse_workload({"region": "us-east-1", **fields, **others}), CATALOG, today=TODAY
    )


def test_one_gpu_is_taken_and_interruptible_work_is_spot() -> None:
    plan = decided(VIDEO).plan
    assert (plan.instance_type, plan.gpus, plan.market.value) == ("g6e.xlarge", 1, "spot")
    assert decided(IMAGE).plan.market.value == "on-demand"


def test_copies_fill_a_pinned_node() -> None:
    plan = decided(IMAGE, instanceType="g6e.12xlarge", concurrency=4).plan
    assert (plan.layout.tp, plan.layout.dp) == (1, 4)
    assert "4 independent copies" in " ".join(plan.reasons)


def test_gpus_that_share_a_sample_are_taken_together() -> None:
    fields = {**VIDEO, "model": "Wan-AI/Wan2.2-T2V-A14B", "width": 1280, "height": 720}
    held = {"shardedWeights": True}
    decision = decided(fields, frames=81, steps=40, cp=4, weightsFormat="fp32", pipeline=held)
    plan = decision.plan
    assert (plan.layout.cp, plan.layout.dp, plan.gpus) == (4, 1, 4)
    assert "4 GPUs share each sample" in " ".join(plan.reasons)
    assert "samples that GPUs share is not modelled" in " ".join(plan.reasons)


def test_a_node_that_one_copy_leaves_idle_is_told() -> None:
    from gpusize.constraints.parallelism import idle_gpus_on_node

    candidate = decided(IMAGE, instanceType="g6e.12xlarge").candidate
    assert [reason.name for reason in idle_gpus_on_node(candidate)] == ["idle-gpus-on-node"]


def test_what_would_fit_is_tried() -> None:
    told = decided(VIDEO, instanceType="g5.4xlarge").would_fit
    assert any(text.startswith("pipeline offload model: g5.4xlarge") for text in told)
    told = decided(IMAGE, instanceType="g6.xlarge").would_fit
    assert any(text.startswith("weightsFormat and textEncoderFormat nf4") for text in told)
    assert not any(text.startswith("contextLength") for text in told)


def test_weights_that_wait_must_fit_into_host_memory() -> None:
    """CogVideoX-5b holds 19.6 GiB, g5.xlarge 16 GiB of host memory."""
    refused = decided(VIDEO, instanceType="g5.xlarge", pipeline={"offload": "model"})
    assert refused.plan is None
    told = [reason for one in refused.rejections for reason in one.reasons]
    host = next(reason for reason in told if reason.name == "offload-exceeds-host")
    assert host.text.endswith("offload 19.6 GiB together, the host has 16.0 GiB")
    assert decided(VIDEO, instanceType="g5.4xlarge", pipeline={"offload": "model"}).plan


def test_the_page_says_what_waits_in_host_memory() -> None:
    resolution = decided(VIDEO, pipeline={"offload": "model"})
    assert to_data(resolution)["plan"]["memory"]["hostGib"] == 19.648
    assert "19.6 GiB of weights wait in host memory" in to_text(resolution)


def test_a_smaller_batch_is_proposed() -> None:
    told = decided(IMAGE, batch=512).would_fit
    batches = [text for text in told if text.startswith("batch ")]
    assert len(batches) == 1
    batch = int(batches[0].split()[1].rstrip(":"))
    assert decided(IMAGE, batch=batch).plan is not None


def test_the_answer_as_data_and_as_a_page() -> None:
    resolution = decided(IMAGE, steps=28)
    memory = to_data(resolution)["plan"]["memory"]
    assert memory["stage"] == "decode"
    assert memory["contextLength"] is None
    assert f"at most batch {memory['largestBatch']}, or " in to_text(resolution)


def test_a_plan_can_be_kept() -> None:
    entry = entry_of(decided(IMAGE))
    assert entry is not None
    assert entry.holds_for(parse_workload({"region": "us-east-1", **IMAGE}))
    assert not entry.holds_for(parse_workload({"region": "us-east-1", **IMAGE, "batch": 2}))
