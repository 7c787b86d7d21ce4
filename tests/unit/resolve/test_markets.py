"""Markets that gpusize chooses by the length of the work, its deadline and its size."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain import to_text
from gpusize.resolve import resolve, unpinned
from gpusize.settings import with_parameters
from gpusize.team_prices import InterruptionRate, TeamPrices
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog

TODAY = datetime.date(2026, 11, 30)
PRE: dict[str, Any] = {
    "kind": "pre-training",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 4096,
    "recompute": "full",
    "globalBatch": 512,
    "sharding": "fsdp",
    "region": "us-east-1",
}
BATCH: dict[str, Any] = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "concurrency": 8,
    "runHours": 48,
    "region": "us-east-1",
    "instanceType": "g6.xlarge",
}


def decided(catalog: Catalog, fields: dict[str, Any], prices: TeamPrices | None = None) -> Any:
    settings = with_parameters({}, prices or TeamPrices())
    return resolve(parse_workload(fields), catalog, today=TODAY, settings=settings)


def test_a_large_pre_training_gets_a_block(catalog: Catalog) -> None:
    plan = decided(catalog, {**PRE, "tokens": 10**11}).plan
    assert plan.market.value == "capacity-block"
    assert any("capacity of its own" in reason for reason in plan.reasons)
    small = decided(catalog, {**PRE, "tokens": 10**9}).plan
    assert small.market.value == "on-demand"


def test_a_large_pre_training_with_checkpoints_gets_a_block_too(catalog: Catalog) -> None:
    fields = {**PRE, "tokens": 10**11, "checkpoints": {"intervalMinutes": 30}}
    assert decided(catalog, fields).plan.market.value == "capacity-block"


def test_reserved_capacity_is_bought_on_demand(catalog: Catalog) -> None:
    fields = {**PRE, "tokens": 10**11, "reserve": {"until": "2027-01-31"}}
    plan = decided(catalog, fields).plan
    assert plan.market.value == "on-demand"


def test_a_deadline_without_room_for_interruptions_is_no_spot(catalog: Catalog) -> None:
    assert decided(catalog, BATCH).plan.market.value == "spot"
    tight = decided(catalog, {**BATCH, "deadlineHours": 48.2}).plan
    assert tight.market.value == "on-demand"
    assert any("would miss the deadline" in reason for reason in tight.reasons)
    seldom = TeamPrices(spot_interruptions=(InterruptionRate("g6.*", 0.01),))
    assert decided(catalog, {**BATCH, "deadlineHours": 48.2}, seldom).plan.market.value == "spot"


def test_the_deadline_chooses_the_faster_node(catalog: Catalog) -> None:
    tune = {**PRE, "kind": "fine-tuning", "method": "lora", "sharding": "ddp", "tokens": 10**9}
    slow = decided(catalog, tune).plan
    fast = decided(catalog, {**tune, "deadlineHours": 12}).plan
    assert slow.timing.hours_to_end > 12 >= fast.timing.hours_to_end
    assert slow.gpus < fast.gpus
    none = decided(catalog, {**tune, "deadlineHours": 0.001})
    assert none.plan is None
    assert any(text.startswith("deadlineHours ") for text in none.would_fit)


def test_a_deadline_before_the_declared_end_is_a_mistake() -> None:
    from gpusize_catalog.problems import GpuSizeError

    with pytest.raises(GpuSizeError, match="before the run ends"):
        parse_workload({**BATCH, "deadlineHours": 40})


def test_a_declared_block_is_a_pin(catalog: Catalog) -> None:
    fields = {**BATCH, "instanceType": "p5.48xlarge", "capacityBlock": 3}
    resolution = decided(catalog, fields)
    assert resolution.plan.market.value == "capacity-block"
    assert "capacity block: one is declared" in resolution.plan.reasons
    assert "3 days for" in to_text(resolution)
    free = unpinned(resolution, catalog, today=TODAY).plan
    assert free is not None
    assert free.market.value == "spot"


def test_some_replicas_on_demand_are_enough_for_users(decide: Any) -> None:
    pins = {"instanceType": "g6.xlarge", "market": "spot"}
    assert decide(**pins).plan is None
    replicas = {"min": 2, "max": 2, "onDemandBase": 1}
    assert decide(**pins, replicas=replicas).plan is not None
