"""UltraServers: NVLink joins their nodes, and they are bought whole, in a block, in one zone."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.constraints import CONSTRAINTS
from gpusize.explain_data import plan_data
from gpusize.placement import Layout
from gpusize.resolving.weighing import reasons_of
from gpusize.training_time import Fabric, Link
from gpusize.workload import Market

TYPE = "p6e-gb200.36xlarge"
MODEL = "deepseek-ai/DeepSeek-V3"
X36_USD = 380.952
"""USD of u-p6e-gb200x36 for an hour: 9 instances."""
RUN: dict[str, Any] = {
    "kind": "pre-training",
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "trainer": "megatron",
    "recompute": "full",
    "sequenceLength": 8192,
    "microBatch": 1,
    "globalBatch": 288,
    "tokens": 10_000_000_000,
    **dict.fromkeys(("contextLength", "concurrency", "promptTokens", "outputTokens")),
}


def names(candidate: Any) -> set[str]:
    return {reason.name for reason in reasons_of(candidate)}


def test_a_pinned_type_is_bought_whole_in_its_local_zone(decide: Any) -> None:
    plan = decide(model=MODEL, instanceType=TYPE, nodesPerReplica=8, concurrency=64).plan
    assert (plan.ultraserver, plan.market) == ("u-p6e-gb200x36", Market.CAPACITY_BLOCK)
    assert (plan.zones, plan.one_zone) == (("us-east-1-dfw-2a",), True)
    assert plan.cost.hourly == pytest.approx(X36_USD)
    assert plan.timing.link == "NVLink"
    said = " | ".join(plan.reasons)
    assert "u-p6e-gb200x36, sold whole: 8 of 9 instances do the work, 1 idle" in said
    assert "is a Local Zone" in said
    assert plan_data(plan)["ultraserver"] == "u-p6e-gb200x36"


def test_more_nodes_than_the_small_one_has_take_the_large_one(decide: Any) -> None:
    plan = decide(model=MODEL, instanceType=TYPE, nodesPerReplica=16, concurrency=256).plan
    assert plan.ultraserver == "u-p6e-gb200x72"
    assert plan.cost.hourly == pytest.approx(2 * X36_USD)


def test_replicas_share_an_ultraserver(placed: Any) -> None:
    for replicas, bought in ((1, 9), (4, 9), (5, 18)):
        candidate = placed(
            TYPE, nodes=2, layout=Layout(8), market="capacity-block", model=MODEL, replicas=replicas
        )
        assert candidate.placement.bought(replicas) == bought
        assert candidate.cost.hourly == pytest.approx(X36_USD * bought / 9)
        found = CONSTRAINTS["idle-gpus-on-node"](candidate)
        idle = [reason for reason in found if "sold whole" in reason.text]
        assert bool(idle) == (bought - 2 * replicas >= 2)


def test_tensors_may_span_its_nodes_and_no_others(placed: Any) -> None:
    at = {"market": "capacity-block", "model": MODEL}
    inside = placed(TYPE, nodes=16, layout=Layout(64), **at)
    assert inside.timing.link == "NVLink"
    assert "tp-across-nodes" not in names(inside)
    beyond = placed(TYPE, nodes=36, layout=Layout(128), **at)
    assert beyond.timing.link == "EFA"
    (reason,) = CONSTRAINTS["tp-across-nodes"](beyond)
    assert "tp=128 spans UltraServers of 72 GPUs" in reason.text


def test_a_training_run_takes_it_whole(decide: Any) -> None:
    plan = decide(**RUN, instanceType=TYPE).plan
    assert (plan.nodes, plan.layout.gpus, plan.timing.link) == (9, 36, "NVLink")
    assert "idle-gpus-on-node" not in names(decide(**RUN, instanceType=TYPE).candidate)


def test_a_run_that_is_late_spans_two_over_the_network(decide: Any) -> None:
    plan = decide(**{**RUN, "tokens": 100_000_000_000}, instanceType=TYPE, deadlineHours=130).plan
    assert (plan.nodes, plan.ultraserver, plan.timing.link) == (36, "u-p6e-gb200x72", "EFA")


def test_it_is_chosen_where_all_asks_for_it_and_none_of_it_is_wasted(decide: Any) -> None:
    asked = {
        "imageArchitecture": "arm64",
        "zone": "us-east-1-dfw-2a",
        "market": "capacity-block",
        "userFacing": False,
    }
    resolution = decide(model="meta-llama/Llama-3.1-405B", **asked)
    assert (resolution.plan.instance_type, resolution.plan.nodes) == (TYPE, 8)
    assert "idle-gpus-on-node" not in names(resolution.candidate)


def test_nobody_gets_it_unasked(decide: Any) -> None:
    rejected = {one.instance_type: one for one in decide(model=MODEL, concurrency=64).rejections}
    found = {reason.name for reason in rejected[TYPE].reasons}
    assert {"architecture-mismatch", "on-demand-not-sold"} <= found


def test_nodes_bring_their_networks_to_a_ring_of_ultraservers() -> None:
    inner, outer = Link("NVLink", 9e11, (0.0, 0.0)), Link("EFA", 4e11, (0.0, 0.0))
    fabric = Fabric(inner, outer, 72, 18)
    assert fabric.ring(2, 72).bandwidth == pytest.approx(4e11 / 4)
    assert fabric.ring(144, 1).bandwidth == pytest.approx(9e11)
    assert fabric.exchange(144).bandwidth == pytest.approx(4e11 / 4 * 143 / 72)
