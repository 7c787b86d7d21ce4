"""Each constraint: when it speaks, with which numbers, and when it is silent."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.constraints import (
    CONSTRAINTS,
    DECLARATION,
    DEVICE,
    LAYOUT,
    MARKET,
    MONEY,
    OFFER,
    REMARKS,
    SILICON,
)
from gpusize.constraints.reason import Reason, Weight
from gpusize.placement import Layout
from gpusize.resolving.candidate import Candidate
from gpusize.settings import ResolveSettings

BIG = "meta-llama/Llama-3.1-70B-Instruct"


def said(candidate: Candidate, name: str) -> list[Reason]:
    reasons = list(CONSTRAINTS[name](candidate))
    assert {reason.name for reason in reasons} <= {name}
    return reasons


def only(candidate: Candidate, name: str) -> Reason:
    (reason,) = said(candidate, name)
    return reason


def test_the_table_is_its_parts() -> None:
    assert list(CONSTRAINTS) == [*DECLARATION, *OFFER, *MARKET, *SILICON, *MONEY]
    assert list(SILICON) == [*DEVICE, *LAYOUT]
    assert CONSTRAINTS.keys() > REMARKS


def test_weights_come_before_the_cache(placed: Any) -> None:
    candidate = placed("g6.xlarge", model=BIG)
    reason = only(candidate, "weights-exceed-vram")
    assert reason.weight is Weight.ERROR
    assert reason.numbers["weightsGib"] == pytest.approx(131.4, abs=0.5)
    assert "20.3 GiB usable" in reason.text
    for silent in ("kv-cache-exceeds-vram", "concurrency-exceeds-kv", "no-memory-headroom"):
        assert said(candidate, silent) == []


def test_a_context_that_does_not_fit_names_the_one_that_does(placed: Any) -> None:
    reason = only(placed("g6.xlarge", contextLength=131_072), "kv-cache-exceeds-vram")
    longest = reason.numbers["longestContext"]
    assert 8192 < longest < 131_072
    roomy = reason.numbers["contextWithHeadroom"]
    assert 8192 < roomy < longest
    assert reason.fix == f"longest context that fits: {longest} tokens, {roomy} with headroom"
    assert placed("g6.xlarge", contextLength=roomy).fit.verdict.value == "fits"
    fits = placed("g6.xlarge", contextLength=longest // 2 // 16 * 16)
    assert said(fits, "kv-cache-exceeds-vram") == []


def test_concurrency_is_judged_on_long_sequences(placed: Any) -> None:
    tokens = {"mean": 500, "p95": 6000}
    reason = only(placed("g6.xlarge", promptTokens=tokens), "concurrency-exceeds-kv")
    assert reason.weight is Weight.WARN
    assert reason.numbers["tokens"] == 6200
    assert reason.numbers["sequences"] < 16
    assert said(placed("g6.xlarge", promptTokens=500), "concurrency-exceeds-kv") == []


def test_an_undeclared_load_is_an_upper_bound(placed: Any) -> None:
    candidate = placed("g6.xlarge", promptTokens=None, outputTokens=None)
    assert only(candidate, "context-bound-concurrency").weight is Weight.ADVICE
    assert said(candidate, "concurrency-exceeds-kv") == []


def test_little_room_is_a_warning(placed: Any) -> None:
    context = only(placed("g6.xlarge", contextLength=131_072), "kv-cache-exceeds-vram")
    tight = placed("g6.xlarge", contextLength=int(context.numbers["longestContext"]))
    assert only(tight, "no-memory-headroom").weight is Weight.WARN


def test_the_model_has_a_limit(placed: Any) -> None:
    reason = only(placed("p5.4xlarge", contextLength=200_000), "context-beyond-model-limit")
    assert reason.numbers["modelLimit"] == 131_072


@pytest.mark.parametrize("field", ["weightsFormat", "computePrecision"])
def test_bf16_must_be_written_down(placed: Any, field: str) -> None:
    model = "meta-llama/Llama-3.2-1B"
    reason = only(placed("g4dn.xlarge", model=model, **{field: "bf16"}), "bf16-unsupported")
    assert "compute capability 8.0" in reason.text
    assert "7.5" in reason.text
    assert said(placed("g4dn.xlarge", model=model), "bf16-unsupported") == []
    assert said(placed("g4dn.xlarge", model=model), "format-refused") == []
    assert said(placed("g5.xlarge", model=model, **{field: "bf16"}), "bf16-unsupported") == []


def test_an_engine_that_emulates_bf16_is_not_blamed(placed: Any) -> None:
    fields = {"model": "meta-llama/Llama-3.2-1B", "weightsFormat": "bf16", "engine": "sglang"}
    assert said(placed("g4dn.xlarge", **fields), "bf16-unsupported") == []


def test_fp8_needs_ada(placed: Any) -> None:
    reason = only(placed("g5.xlarge", weightsFormat="fp8"), "fp8-compute-unsupported")
    assert reason.weight is Weight.WARN
    assert said(placed("g6.xlarge", weightsFormat="fp8"), "fp8-compute-unsupported") == []


@pytest.mark.parametrize(
    ("engine", "form", "name"),
    [
        ("sglang", "awq", "int4-kernel-unsupported"),
        ("sglang", "nvfp4", "fp4-unsupported"),
        ("sglang", "fp8", "format-refused"),
    ],
)
def test_a_refused_format_is_an_error(placed: Any, engine: str, form: str, name: str) -> None:
    fields = {"model": "meta-llama/Llama-3.2-3B", "engine": engine, "weightsFormat": form}
    assert only(placed("g4dn.xlarge", **fields), name).weight is Weight.ERROR


def test_a_refused_cache_format_is_an_error(placed: Any) -> None:
    fields = {"model": "meta-llama/Llama-3.2-3B", "kvCacheFormat": "fp8"}
    assert only(placed("g4dn.xlarge", **fields), "fp8-kv-unsupported").weight is Weight.ERROR
    assert said(placed("g6.xlarge", **fields), "fp8-kv-unsupported") == []


def test_engines_need_cuda(placed: Any) -> None:
    assert "no CUDA" in only(placed("inf2.xlarge"), "cuda-required").text


def test_heads_are_split_evenly(placed: Any) -> None:
    reason = only(placed("g6.12xlarge", layout=Layout(3)), "tp-not-dividing-heads")
    assert "tp=3 does not divide the 32 attention heads" in reason.text
    assert "1, 2, 4, 8" in reason.fix
    assert said(placed("g6.12xlarge", layout=Layout(4)), "tp-not-dividing-heads") == []


def test_layers_of_llama_cpp_are_not_split_by_heads(placed: Any) -> None:
    fields = {"engine": "llama.cpp", "weightsFormat": "gguf-q4_k_m"}
    candidate = placed("g6.12xlarge", layout=Layout(3), **fields)
    assert said(candidate, "tp-not-dividing-heads") == []


def test_only_sizes_that_a_pinned_node_has_are_named(placed: Any) -> None:
    here = placed("g6.12xlarge", layout=Layout(3), instanceType="g6.12xlarge")
    assert only(here, "tp-not-dividing-heads").fix == "tp of 1, 2, 4"
    anywhere = placed("g6.12xlarge", layout=Layout(3))
    assert "8, 16" in only(anywhere, "tp-not-dividing-heads").fix


def test_experts_are_split_evenly(placed: Any) -> None:
    fields = {"model": "Qwen/Qwen3-30B-A3B", "layout": Layout(1, 1, 3, 3)}
    reason = only(placed("g6e.12xlarge", engine="sglang", **fields), "experts-not-divisible")
    assert reason.fix == "ep of 1, 2, 4"
    assert said(placed("g6e.12xlarge", engine="vllm", **fields), "experts-not-divisible") == []


def test_an_old_gpu_is_one_reason_whatever_the_format(placed: Any) -> None:
    for form in ("bf16", "fp8", "awq", "nvfp4"):
        candidate = placed(
            "p3dn.24xlarge", engine="sglang", weightsFormat=form, kvCacheFormat="fp8"
        )
        found = [rule(candidate) for rule in DEVICE.values()]
        names = {reason.name for reasons in found for reason in reasons}
        assert names == {"compute-capability-below-engine"}


def test_ultraservers_join_their_nodes(placed: Any) -> None:
    joined = placed("p6e-gb200.36xlarge", nodes=2, layout=Layout(8), model=BIG)
    assert said(joined, "tp-across-nodes") == []


def test_tensor_ranks_stay_on_a_node(placed: Any) -> None:
    wide = placed("p5.48xlarge", nodes=2, layout=Layout(16), model=BIG)
    assert only(wide, "tp-across-nodes").weight is Weight.ERROR
    staged = placed("p5.48xlarge", nodes=2, layout=Layout(8, 2), model=BIG)
    assert said(staged, "tp-across-nodes") == []


def test_a_layout_needs_its_gpus(placed: Any) -> None:
    assert said(placed("g6.xlarge", layout=Layout(2)), "layout-exceeds-node")


def test_pcie_is_judged_by_time_not_by_family(placed: Any) -> None:
    slow = placed("g6e.48xlarge", model=BIG, layout=Layout(8))
    reason = only(slow, "tp-over-pcie")
    assert reason.numbers["communicationPercent"] > 33
    assert reason.numbers["linkGBps"] == 8
    light = placed("g7e.12xlarge", model=BIG, layout=Layout(2))
    assert said(light, "tp-over-pcie") == []
    switched = placed("p5.48xlarge", model=BIG, layout=Layout(8))
    assert said(switched, "tp-over-pcie") == []


def test_experts_over_pcie_are_judged_by_time_too(placed: Any) -> None:
    model = {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct", "promptTokens": 7000}
    spread = Layout(1, 1, 4, 4)
    reason = only(placed("g6e.12xlarge", layout=spread, **model), "tp-over-pcie")
    assert "between experts over PCIe" in reason.text
    assert reason.numbers["ep"] == 4
    assert said(placed("g6e.12xlarge", layout=Layout(1, 1, 4), **model), "tp-over-pcie") == []


def test_memory_that_is_not_known_names_what_would_tell(placed: Any) -> None:
    foreign = only(placed("inf2.xlarge"), "estimate-not-supported")
    assert foreign.fix == "an instance type with NVIDIA GPUs"
    new = only(placed("g7.2xlarge"), "estimate-not-supported")
    assert "memory that CUDA reports for RTX-PRO-4500-SE" in new.fix
    assert said(placed("g6.xlarge"), "estimate-not-supported") == []


def test_unused_gpus_are_idle(placed: Any) -> None:
    reason = only(placed("g6.12xlarge", layout=Layout(1, 1, 2)), "idle-gpus-on-node")
    assert reason.numbers["gpusNeeded"] == 2
    assert reason.numbers["wastedUsdPerMonth"] == pytest.approx(4.6016 * 730 / 2, rel=0.01)
    assert reason.fix == "dp: 4"


def test_a_node_without_a_smaller_size_is_idle_where_one_gpu_would_do(placed: Any) -> None:
    full = Layout(1, 1, 8)
    reason = only(placed("p4d.24xlarge", layout=full), "idle-gpus-on-node")
    assert reason.numbers["gpusNeeded"] == 1
    assert reason.fix == "instanceType: g6.xlarge"
    pinned = placed("p4d.24xlarge", layout=full, instanceType="p4d.24xlarge")
    assert only(pinned, "idle-gpus-on-node").fix == "instanceType: g6.xlarge"
    busy = placed("p4d.24xlarge", layout=full, concurrency=256)
    assert said(busy, "idle-gpus-on-node") == []
    wide = placed("p4d.24xlarge", layout=Layout(4, 1, 2), model=BIG)
    assert said(wide, "idle-gpus-on-node") == []


def test_gpus_that_a_smaller_node_does_without_are_idle(placed: Any) -> None:
    reason = only(placed("g6.12xlarge", layout=Layout(1, 1, 4)), "idle-gpus-on-node")
    assert reason.fix == "instanceType: g6.xlarge"
    assert reason.numbers["wastedUsdPerMonth"] == pytest.approx(4.6016 * 730 * 3 / 4, rel=0.01)


def test_gpus_that_the_target_needs_are_not_idle(placed: Any) -> None:
    fields = {"latency": {"timePerOutputTokenMs": 40}, "layout": Layout(4)}
    assert said(placed("g6.12xlarge", **fields), "idle-gpus-on-node") == []


def test_declared_copies_are_not_idle(placed: Any) -> None:
    assert said(placed("g6.12xlarge", layout=Layout(1, 1, 4), dp=4), "idle-gpus-on-node") == []


def test_no_tuning_beats_the_bandwidth(placed: Any) -> None:
    fast = {"timePerOutputTokenMs": 50}
    reason = only(placed("g6.xlarge", latency=fast), "bandwidth-bound-decode")
    assert reason.numbers["boundMs"] == pytest.approx(58, abs=2)
    assert "300 GB/s" in reason.text
    assert said(placed("g5.xlarge", latency=fast), "bandwidth-bound-decode") == []
    speculating = {"name": "vllm", "speculative": "ngram"}
    unknown = placed("g6.xlarge", latency=fast, engine=speculating)
    assert said(unknown, "bandwidth-bound-decode") == []


def test_long_prompts_take_their_operations(placed: Any) -> None:
    latency = {"timeToFirstTokenMs": 100}
    assert only(placed("g6.xlarge", latency=latency), "prefill-compute-bound").numbers[
        "boundMs"
    ] == pytest.approx(135, abs=10)


def test_users_do_not_wait_on_spot(placed: Any) -> None:
    assert only(placed("g6.xlarge", market="spot"), "spot-for-user-facing").weight is Weight.ERROR
    internal = placed("g6.xlarge", market="spot", userFacing=False)
    assert said(internal, "spot-for-user-facing") == []


def test_a_fresh_discount_is_worth_taking(placed: Any) -> None:
    fields = {"kind": "batch-inference", "runHours": 10}
    reason = only(placed("p5.48xlarge", **fields), "on-demand-for-fault-tolerant-batch")
    assert reason.numbers["savingPercent"] == pytest.approx(62.2, abs=0.5)
    stale = placed("g6.xlarge", **fields)
    assert said(stale, "on-demand-for-fault-tolerant-batch") == []
    assert "days old" in only(stale, "price-unknown").text


def test_a_small_discount_is_not(placed: Any) -> None:
    candidate = placed("p5.48xlarge", kind="batch-inference", runHours=10)
    candidate.study.settings = ResolveSettings(min_spot_discount=0.7)
    assert said(candidate, "on-demand-for-fault-tolerant-batch") == []


def test_work_that_must_not_stop_stays_on_demand(placed: Any) -> None:
    fields = {"kind": "batch-inference", "runHours": 10, "interruptionTolerance": "none"}
    assert said(placed("p5.48xlarge", **fields), "on-demand-for-fault-tolerant-batch") == []


def test_replicas_that_idle_all_night_are_told(placed: Any) -> None:
    traffic = {"shape": "bursty", "hoursPerDay": 3}
    reason = only(placed("g6.xlarge", traffic=traffic, replicas=1), "always-on-for-bursty")
    assert reason.numbers["idleUsdPerMonth"] == pytest.approx(0.8048 * 730 * 21 / 24, rel=0.01)
    for fine in (
        {"traffic": traffic},
        {"traffic": {"shape": "bursty", "hoursPerDay": 12}, "replicas": 1},
        {"replicas": 1},
    ):
        assert said(placed("g6.xlarge", **fine), "always-on-for-bursty") == []


def test_what_aws_says_it_does_not_sell(placed: Any) -> None:
    reason = only(placed("p5e.48xlarge", region="us-east-2"), "on-demand-not-sold")
    assert reason.fix == "market capacity-block"
    batch = placed("p5e.48xlarge", region="us-east-2", kind="batch-inference")
    assert only(batch, "on-demand-not-sold").fix == "market capacity-block or spot"
    block = placed("p5e.48xlarge", region="us-east-2", market="capacity-block")
    assert said(block, "on-demand-not-sold") == []
    assert said(placed("g6.xlarge"), "on-demand-not-sold") == []


def test_a_market_that_the_api_does_not_list(placed: Any) -> None:
    assert said(placed("g6.xlarge", market="capacity-block"), "market-not-sold")


def test_regions_that_the_api_listed(placed: Any) -> None:
    reason = only(placed("g6.xlarge", region="eu-west-1"), "instance-not-offered-in-region")
    assert "2026-10-27" in reason.text
    assert said(placed("g5.xlarge", region="eu-west-1"), "instance-not-offered-in-region") == []


def test_a_missing_row_is_no_statement(placed: Any) -> None:
    candidate = placed("g6e.xlarge", region="us-gov-west-1")
    if candidate.catalog.offering("g6e.xlarge", "us-gov-west-1") is None:
        assert said(candidate, "availability-unknown")
    assert said(candidate, "instance-not-offered-in-region") == []


def test_zones_are_checked_by_id_only(placed: Any) -> None:
    absent = placed("p5.48xlarge", zone="use1-az99")
    assert "only in" in only(absent, "instance-not-offered-in-region").text
    named = placed("p5.48xlarge", zone="us-east-1f")
    assert said(named, "instance-not-offered-in-region") == []


def test_a_reservation_makes_availability_known(placed: Any) -> None:
    candidate = placed("g6.xlarge", region="eu-west-1", capacityReservation="cr-1")
    assert said(candidate, "instance-not-offered-in-region") == []
    assert said(candidate, "availability-unknown") == []


def test_retired_types_are_told(placed: Any) -> None:
    assert only(placed("p3.2xlarge"), "retired-instance").weight is Weight.ERROR
    assert said(placed("g6.xlarge"), "retired-instance") == []


def test_a_type_of_an_unnamed_gpu_can_be_judged(placed: Any) -> None:
    candidate = placed("g2.2xlarge")
    assert said(candidate, "retired-instance")
    assert said(candidate, "cuda-required")


def test_arm_hosts_are_not_chosen_but_may_be_pinned(placed: Any) -> None:
    assert said(placed("g5g.2xlarge"), "architecture-mismatch")
    pinned = placed("g5g.2xlarge", instanceType="g5g.2xlarge")
    assert said(pinned, "architecture-mismatch") == []


def test_images_are_held_to_the_processor(placed: Any) -> None:
    fields = {"instanceType": "g5g.2xlarge", "imageArchitecture": "x86_64"}
    assert only(placed("g5g.2xlarge", **fields), "architecture-mismatch").weight is Weight.ERROR
    assert said(placed("g5g.2xlarge", imageArchitecture="arm64"), "architecture-mismatch") == []
    reason = only(placed("g6.xlarge", imageArchitecture="arm64"), "architecture-mismatch")
    assert "images for arm64" in reason.text


def test_budgets_bind_and_unknown_is_not_within(placed: Any) -> None:
    assert said(placed("g6.xlarge", budget={"perHour": 0.5}), "hourly-budget-exceeded")
    assert said(placed("g6.xlarge", budget={"perHour": 1}), "hourly-budget-exceeded") == []
    assert said(placed("g6.xlarge", budget={"perMonth": 500}), "monthly-budget-exceeded")
    run = {"kind": "batch-inference", "budget": {"perRun": 100}}
    assert "unknown amount" in only(placed("g6.xlarge", **run), "run-budget-exceeded").text
    assert said(placed("g6.xlarge", runHours=10, **run), "run-budget-exceeded") == []


def test_a_price_that_is_not_known_is_told(placed: Any) -> None:
    candidate = placed("g4dn.xlarge", model="meta-llama/Llama-3.2-1B", region="cn-north-1")
    assert "CNY" in only(candidate, "price-unknown").text
