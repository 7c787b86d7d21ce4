"""Layouts that a training run may get: stages, shared sequences, several nodes."""

from __future__ import annotations

import datetime

import pytest

from gpusize.constraints.reason import Weight
from gpusize.links import NETWORK_LATENCY, NVLINK_LATENCY, Link
from gpusize.placement import Layout, Pins, Shape
from gpusize.resolve import resolve
from gpusize.resolving.weighing import reasons_of
from gpusize.training_layouts import PLAIN, Way, training_layouts
from gpusize.training_time import Fabric
from gpusize.workload import parse_workload
from gpusize_catalog.store import load

TODAY = datetime.date(2026, 11, 30)
DENSE = Shape(32, None, 32, None, 2**20)
MIXTURE = Shape(32, None, 48, 128, 2**20)
FABRIC = Fabric(Link("NVLink", 450e9, NVLINK_LATENCY), Link("EFA", 400e9, NETWORK_LATENCY), 8)


@pytest.fixture(scope="module")
def catalog():
    return load()


def run(catalog, **more):
    raw = {"kind": "pre-training", "region": "us-east-1", "sequenceLength": 4096, **more}
    return resolve(parse_workload(raw), catalog, today=TODAY)


def test_plain_layouts_have_neither_stages_nor_shared_sequences():
    found = list(training_layouts(8, 2, DENSE, way=PLAIN, tokens=131072))
    assert found == [Layout(1, 1, 16), Layout(2, 1, 8), Layout(4, 1, 4), Layout(8, 1, 2)]


def test_stages_and_shared_sequences_fill_all_gpus():
    for way in (Way(stages=True), Way(sequences=True), Way(stages=True, sequences=True)):
        found = list(training_layouts(8, 4, MIXTURE, way=way, tokens=32768))
        assert found
        assert {layout.gpus for layout in found} == {32}
        assert all((layout.pp > 1) == way.stages for layout in found)
        assert all((layout.cp > 1) == way.sequences for layout in found)


def test_ranks_share_a_sequence_in_parts_of_4096_tokens():
    found = training_layouts(8, 1, DENSE, way=Way(sequences=True), tokens=16384)
    assert {layout.cp for layout in found} == {2, 4}
    assert not list(training_layouts(8, 1, DENSE, way=Way(sequences=True), tokens=4096))


def test_pinned_sizes_are_taken_as_they_are():
    found = list(training_layouts(8, 1, DENSE, Pins(tp=2, pp=2, dp=1, ep=1, cp=2)))
    assert found == [Layout(2, 2, 1, 1, 2)]
    assert str(found[0]) == "tp=2 pp=2 cp=2"
    assert found[0].gpus == 8


def test_rings_side_by_side_share_the_network_of_a_node():
    """Eight tensor ranks of each node have a ring of copies each; one ring has all of it."""
    assert FABRIC.ring(8, 1).name == "NVLink"
    assert FABRIC.ring(16, 1).bandwidth == 400e9
    assert FABRIC.ring(2, 8).bandwidth == 400e9 / 8
    assert FABRIC.ring(4, 4).bandwidth == 400e9 / 4


def test_an_exchange_across_nodes_takes_a_share_of_the_network_for_each_gpu():
    """Of 15 other ranks 8 are on the other node."""
    assert FABRIC.exchange(8).name == "NVLink"
    assert FABRIC.exchange(16).bandwidth == pytest.approx(400e9 / 8 * 15 / 8)


@pytest.mark.parametrize(
    "declared",
    [
        {"model": "meta-llama/Llama-3.1-405B", "trainer": "megatron", "globalBatch": 512},
        {"model": "meta-llama/Llama-3.1-405B", "recompute": "full", "globalBatch": 512},
        {"model": "Qwen/Qwen3-235B-A22B", "trainer": "megatron", "globalBatch": 1024},
        {
            "model": "meta-llama/Llama-3.1-70B",
            "trainer": "torchtitan",
            "instanceType": "p5.48xlarge",
        },
        {
            "model": "meta-llama/Llama-3.1-70B",
            "trainer": "torchtitan",
            "recompute": "full",
            "sequenceLength": 524288,
        },
    ],
)
def test_large_runs_find_nodes_that_hold_them(catalog, declared):
    found = run(catalog, **declared)
    assert found.plan is not None
    assert found.plan.layout.gpus == found.plan.gpus
    pinned = "instanceType" in declared
    loud = [
        reason
        for reason in reasons_of(found.candidate)
        if reason.weight is not Weight.ADVICE and reason.name != "context-beyond-model-limit"
    ]
    assert pinned or loud == []


def test_sequences_are_shared_where_nothing_else_holds_them(catalog):
    run_of = {"model": "meta-llama/Llama-3.1-8B", "trainer": "torchtitan", "recompute": "full"}
    short = run(catalog, instanceType="p5.48xlarge", sequenceLength=8192, **run_of).plan
    assert short.layout.cp == 1
    pinned = run(catalog, instanceType="p5.48xlarge", sequenceLength=131072, tp=1, **run_of).plan
    assert pinned.layout.cp > 1


def test_a_trainer_that_shares_no_sequences_is_unknown_with_them(catalog):
    found = run(catalog, model="microsoft/phi-1_5", trainer="litgpt", cp=2)
    assert "shares no sequences" in found.candidate.fit.reasons[0]


def test_more_nodes_are_bounded_by_the_setting(catalog):
    from gpusize.settings import DEFAULTS

    raw = {
        "kind": "pre-training",
        "region": "us-east-1",
        "sequenceLength": 4096,
        "model": "meta-llama/Llama-3.1-405B",
        "trainer": "megatron",
        "recompute": "full",
    }
    few = DEFAULTS._replace(max_training_nodes=2)
    found = resolve(parse_workload(raw), catalog, today=TODAY, settings=few)
    assert found.plan is None
    assert any("nodes: " in text for text in found.would_fit)


def test_a_trainer_that_spreads_layers_is_proposed(catalog):
    found = run(catalog, model="Qwen/Qwen3-235B-A22B")
    assert found.plan is None
    assert any(text.startswith("trainer megatron and recompute") for text in found.would_fit)


def test_a_time_limit_takes_more_nodes(catalog):
    """70 billion parameters and 2e10 tokens take one node longer than ten days."""
    run_of = {
        "model": "meta-llama/Llama-3.1-70B",
        "trainer": "torchtitan",
        "recompute": "full",
        "sequenceLength": 8192,
        "globalBatch": 512,
        "tokens": 20_000_000_000,
    }
    alone = run(catalog, **run_of).plan
    assert alone.nodes == 1
    limit = alone.timing.hours_to_end / 3
    hurried = run(catalog, runHours=limit, **run_of).plan
    assert hurried.nodes > 1
    assert hurried.timing.hours_to_end <= limit


def test_stages_wait_for_what_the_others_move(catalog):
    """Three micro batches through two stages take twice as long as one: (3 + 1) / (1 + 1)."""
    fields = {
        "model": "meta-llama/Llama-2-7b-hf",
        "trainer": "megatron",
        "recompute": "full",
        "instanceType": "p4d.24xlarge",
        "tp": 4,
        "pp": 2,
        "dp": 1,
        "tokens": 10**8,
    }
    one, three = (run(catalog, **fields, globalBatch=batch).candidate for batch in (1, 3))
    assert one.timing.communication_share > 0
    assert three.timing.step_seconds == pytest.approx(2 * one.timing.step_seconds, rel=0.001)
