"""Training runs from declaration to plan: time, links, market, money."""

from __future__ import annotations

import datetime

import pytest

from gpusize.architecture import architecture_of
from gpusize.constraints import host
from gpusize.constraints import training as constraints
from gpusize.explain import to_text
from gpusize.explain_data import plan_data
from gpusize.interruptions import best_interval, hours_between, longest_interval, lost_share
from gpusize.resolve import resolve
from gpusize.settings import DEFAULTS
from gpusize.workload import parse_workload
from gpusize_catalog.store import load

TODAY = datetime.date(2026, 11, 30)
SPOT_DAY = datetime.date(2026, 3, 1)
LLAMA = "meta-llama/Llama-3.1-8B"


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def decided(catalog):
    def run(today=TODAY, **more):
        raw = {
            "kind": "fine-tuning",
            "method": "qlora",
            "model": LLAMA,
            "region": "us-east-1",
            "sequenceLength": 2048,
            "recompute": "full",
            **more,
        }
        if raw["kind"] == "pre-training":
            del raw["method"]
        return resolve(parse_workload(raw), catalog, today=today, name="tune")

    return run


def test_a_step_takes_operations_by_parameters_and_tokens(catalog, decided):
    """QLoRA with recomputation: forwards, again, and gradients of inputs: 6 N, and attention."""
    timing = decided(instanceType="g6.xlarge", tokens=10**8).plan.timing
    architecture = architecture_of(LLAMA, catalog)
    params = architecture.total_params - architecture.embedding_params
    attention = 2 * 32 * 4096 * 2048 / 2
    gpu = catalog.gpu("L4")
    products, scores = 6 * params * 2048, 6 * attention * 2048
    assert timing.step_bound == pytest.approx((products + scores) / gpu.bf16_flops)
    moved = 80 * 2 * 3 * 32 * 4096 * 2048 / gpu.memory_bandwidth
    launches = 3 * 32 * 400e-6
    seconds = products / (gpu.matmul_flops * 0.9) + scores / (gpu.matmul_flops * 0.4)
    seconds += moved + launches
    assert timing.step_seconds == pytest.approx(seconds)
    assert timing.hours_to_end == pytest.approx(1e8 / 2048 * seconds / 3600)
    low, high = timing.hours_range
    assert low < timing.hours_to_end < high


def test_samples_and_epochs_are_tokens(decided):
    samples = decided(instanceType="g6.xlarge", samples=1000, epochs=3).plan.timing
    tokens = decided(instanceType="g6.xlarge", tokens=3000 * 2048).plan.timing
    assert samples.hours_to_end == pytest.approx(tokens.hours_to_end)


def test_a_run_is_paid_for_its_hours(decided):
    plan = decided(instanceType="g6.xlarge", market="on-demand", tokens=10**8).plan
    assert plan.cost.per_run == pytest.approx(plan.cost.hourly * plan.timing.hours_to_end, rel=0.02)
    silent = decided(instanceType="g6.xlarge", market="on-demand").plan
    assert silent.cost.per_run is None
    assert "neither tokens nor runHours are declared: no cost per run" in silent.cost.unknowns


def test_checkpoints_let_a_run_take_spot(decided):
    kept = decided(SPOT_DAY, tokens=10**8, checkpoints={"intervalMinutes": 30})
    rare = decided(SPOT_DAY, tokens=10**8, checkpoints={"intervalMinutes": 900})
    none = decided(SPOT_DAY, tokens=10**8)
    again = decided(SPOT_DAY, tokens=10**8, interruptionTolerance="restartable")
    markets = [found.plan.market.value for found in (kept, rare, none, again)]
    assert markets == ["spot", "on-demand", "on-demand", "on-demand"]
    assert any("interruptions would cost" in reason for reason in rare.plan.reasons)


def test_young_interval():
    assert hours_between(DEFAULTS, "p5.48xlarge") == 24
    assert lost_share(60, 24) == pytest.approx(1 / 48)
    assert longest_interval(DEFAULTS, 24) == pytest.approx(288)
    assert best_interval(120, 24) == pytest.approx((2 * 1440 * 2) ** 0.5)


def test_shards_over_pcie_wait_and_adapters_do_not(decided):
    pinned = {"instanceType": "g6e.48xlarge", "tokens": 10**8}
    full = decided(method="full", sharding="fsdp", **pinned).candidate
    (reason,) = constraints.nvlink_required(full)
    assert reason.numbers["communicationPercent"] > 33
    adapter = decided(method="lora", **pinned).candidate
    assert adapter.fit.sharding == "ddp"
    assert list(constraints.nvlink_required(adapter)) == []
    many = decided(method="full", model="microsoft/phi-1_5", globalBatch=512, **pinned).candidate
    assert many.fit.sharding == "ddp"
    assert list(constraints.nvlink_required(many)) == []


def test_a_time_limit_takes_more_gpus(decided):
    run = {"method": "lora", "tokens": 10**9}
    slow = decided(**run).plan
    fast = decided(runHours=6, **run).plan
    assert slow.gpus == 1
    assert fast.gpus > 1
    assert fast.timing.hours_to_end <= 6


def test_several_nodes_share_what_they_keep(decided):
    found = decided(
        kind="pre-training",
        trainer="torchtitan",
        instanceType="p5.48xlarge",
        nodesPerReplica=4,
        globalBatch=512,
        tokens=10**10,
    )
    assert found.plan.layout.gpus == 32
    assert found.plan.fit.sharding == "fsdp"
    assert found.plan.timing.link == "EFA"


def test_tensor_ranks_only_where_the_trainer_has_them(decided):
    run = {"method": "full", "instanceType": "p4d.24xlarge", "tokens": 10**8}
    assert decided(**run).plan.layout.tp == 1
    pinned = decided(tp=2, trainer="megatron", **run)
    assert pinned.plan.layout.tp == 2
    refused = decided(tp=2, **run).candidate.fit
    assert "copies alone" in refused.reasons[0]


def test_what_is_offloaded_must_fit_the_host(decided):
    run = {"method": "full", "sharding": {"mode": "zero-3", "offload": "all"}}
    small = decided(instanceType="g6.xlarge", **run)
    assert small.plan is None
    (reason,) = host.offload_exceeds_host(small.candidate)
    assert "the host has 16.0 GiB" in reason.text
    assert list(host.host_memory_too_small(small.candidate)) == []
    large = decided(instanceType="g6.16xlarge", **run)
    assert list(host.offload_exceeds_host(large.candidate)) == []


def test_the_largest_micro_batch_is_named(decided):
    found = decided(method="full", instanceType="p4d.24xlarge", microBatch=64).candidate
    (reason,) = constraints.training_activations_exceed_vram(found)
    assert reason.fix == f"microBatch {int(found.fit.sequences)}"


def test_where_nothing_fits_changes_are_tried(decided):
    found = decided(method="full", instanceType="g6.12xlarge")
    assert found.plan is None
    assert any(text.startswith("method qlora: ") for text in found.would_fit)


def test_a_plan_is_told_in_data_and_in_words(decided):
    found = decided(instanceType="g6.xlarge", tokens=10**8)
    made = plan_data(found.plan)
    assert made["memory"]["sharding"] == "none"
    assert made["memory"]["largestMicroBatch"] >= 1
    assert made["timing"]["hoursToEnd"] > 0
    assert "h to the end" in to_text(found)


def test_mixtures_reach_less_of_the_peak(decided):
    run = {"kind": "pre-training", "instanceType": "p5.48xlarge", "trainer": "megatron"}
    dense = decided(model="Qwen/Qwen2.5-7B", **run).candidate.timing
    mixture = decided(model="Qwen/Qwen3-30B-A3B", **run).candidate.timing
    assert mixture.step_seconds / mixture.step_bound > dense.step_seconds / dense.step_bound


def test_a_gpu_of_unknown_speed_has_no_time(decided):
    from gpusize.training_time import training_time

    candidate = decided(instanceType="g6.xlarge").candidate
    slow = candidate.gpu._replace(bf16_flops=None, fp16_flops=None)
    placement = candidate.placement._replace(gpu=slow)
    study = candidate.study
    timing = training_time(
        placement, candidate.fit, study.architecture, study.workload, study.demand, None
    )
    assert timing.step_seconds is None
    assert "tensor throughput of L4 is not known" in timing.unknown


def test_the_root_volume_holds_published_weights_and_checkpoints(decided):
    """40 GiB of image, and 8.03e9 parameters of 2 bytes with a tenth of room: 56.5 GiB."""
    run = {"instanceType": "g6.xlarge", "market": "on-demand"}
    plain = decided(**run).plan.cost.volume_gib
    assert plain == 57
    root = {"checkpoints": {"intervalMinutes": 60, "location": "root-volume"}}
    kept = decided(method="full", instanceType="p4d.24xlarge", **root).plan.cost.volume_gib
    bare = decided(method="full", instanceType="p4d.24xlarge").plan.cost.volume_gib
    assert kept > bare + 2 * 8.03e9 * 8 / 2**30


def test_few_micro_batches_leave_stages_waiting(decided):
    run = {
        "kind": "pre-training",
        "trainer": "megatron",
        "instanceType": "p5.48xlarge",
        "pp": 8,
        "tp": 1,
    }
    few = decided(globalBatch=8, **run).candidate.timing
    many = decided(globalBatch=800, **run).candidate.timing
    assert many.tokens_per_second > 1.5 * few.tokens_per_second


def test_copies_share_the_global_batch_evenly(decided):
    run = {"kind": "pre-training", "instanceType": "p5.48xlarge", "tokens": 10**10}
    for whole, nodes in ((512, 3), (96, 2), (10, 2)):
        found = decided(globalBatch=whole, nodesPerReplica=nodes, **run)
        assert whole % found.candidate.placement.layout.dp == 0


def test_more_stages_than_layers_are_refused(decided):
    found = decided(kind="pre-training", trainer="megatron", pp=64)
    assert found.plan is None
    assert any(
        reason.name == "stages-exceed-layers"
        for rejection in found.rejections
        for reason in rejection.reasons
    )
