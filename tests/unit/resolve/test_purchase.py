"""What is declared is what is paid: blocks, reservations, commitments, mixed replicas, storage.

Prices are those of the catalog for us-east-1: p5.48xlarge 55.04 on demand and 41.528 in a block,
g6.xlarge 0.8048, gp3 0.08, S3 0.023 per GiB-month, FSx 0.21 at 250 MB/s per TiB.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.pricing.blocks import block_hours, days_for, is_sold, valid_days
from gpusize.pricing.purchase import Purchase, Terms, paid_by_run, paid_by_service
from gpusize.resolving.demand import Demand
from gpusize.settings import with_parameters
from gpusize.team_prices import BlockRate, CommitmentRate, Discount, TeamPrices
from gpusize.workload import Kind

RUN: dict[str, Any] = {"kind": "batch-inference", "runHours": 30}
P5 = "p5.48xlarge"
SERVED = Demand(Kind.SERVING, "vllm", interruptible=False, concurrency=1)


def test_a_declared_block_is_paid_whole_and_its_rest_is_idle(placed: Any) -> None:
    cost = placed(P5, market="capacity-block", capacityBlock=3, **RUN).cost
    assert cost.per_run == pytest.approx(41.528 * 72, rel=0.001)
    assert cost.idle == pytest.approx(41.528 * 42)


def test_a_block_of_more_instances_than_used_is_paid_whole(placed: Any) -> None:
    block = {"days": 2, "instances": 4}
    cost = placed(P5, market="capacity-block", capacityBlock=block, **RUN).cost
    assert cost.hourly == pytest.approx(4 * 41.528)


def test_reserved_capacity_is_paid_while_idle(placed: Any) -> None:
    cost = placed(P5, reserve={"until": "2026-12-10"}, **RUN).cost
    assert cost.per_run == pytest.approx(55.04 * 240, rel=0.001)
    assert cost.idle == pytest.approx(55.04 * 210)
    open_end = placed(P5, reserve={}, **RUN).cost
    assert open_end.per_run == pytest.approx(55.04 * 30, rel=0.001)
    assert any("no end" in text for text in open_end.unknowns)
    traffic = {"shape": "scheduled", "hoursPerDay": 12}
    service = placed(P5, reserve={}, traffic=traffic).cost
    assert service.compute_monthly == pytest.approx(55.04 * 730)
    assert service.idle == pytest.approx(55.04 * 365)


def test_a_commitment_is_paid_for_its_term(placed: Any) -> None:
    plan = {"plan": "reserved-instance", "years": 3}
    cost = placed(P5, commitment=plan, horizonMonths=12).cost
    assert cost.hourly == 23.776
    assert cost.monthly == pytest.approx(23.776 * 730 + (cost.storage_monthly or 0))
    assert cost.total == pytest.approx(23.776 * 730 * 36 + 12 * (cost.storage_monthly or 0))


def test_an_unknown_discount_is_said_and_the_sum_is_on_demand(placed: Any) -> None:
    cost = placed(P5, commitment="savings-plan").cost
    assert cost.hourly == 55.04
    assert any("1-year savings-plan" in text for text in cost.unknowns)


def test_the_team_s_rate_counts(placed: Any) -> None:
    prices = TeamPrices(
        discounts=(Discount(10, "g6.*", "on-demand"),),
        commitments=(CommitmentRate("savings-plan", 1, "g6.*", percent=20),),
        capacity_blocks=(BlockRate("p5.*", 40.0),),
    )
    settings = with_parameters({}, prices)
    committed = placed("g6.xlarge", commitment="savings-plan", settings=settings).cost
    assert committed.hourly == pytest.approx(0.8048 * 0.9 * 0.8)
    block = placed(P5, market="capacity-block", settings=settings, **RUN).cost
    assert block.hourly == 40.0


def test_replicas_that_are_always_on_demand_are_paid_so(decide: Any) -> None:
    pins = {"instanceType": "g6.xlarge", "market": "spot", "userFacing": False}
    spot = decide(**pins).plan.cost.hourly
    replicas = {"min": 4, "max": 4, "onDemandBase": 1, "spotShare": 0.5}
    mixed = decide(**pins, replicas=replicas).plan.cost
    assert mixed.hourly == pytest.approx(3 * 0.8048 + spot)


def test_shared_storage_is_in_the_sum(placed: Any) -> None:
    plain = placed("g6.xlarge").cost
    storage = {"fsxGib": 1200, "fsxMbpsPerTib": 250, "datasetGib": 1000}
    cost = placed("g6.xlarge", storage=storage).cost
    added = 1200 * 0.21 + 1000 * 0.023
    assert cost.storage_monthly == pytest.approx(plain.storage_monthly + added)
    assert cost.monthly == pytest.approx(plain.monthly + added)
    unsaid = placed("g6.xlarge", storage={"weights": "fsx"}).cost
    assert any("size is not declared" in text for text in unsaid.unknowns)


def test_large_buckets_cost_by_tiers(placed: Any) -> None:
    cost = placed("g6.xlarge", storage={"datasetGib": 60 * 1024}).cost
    plain = placed("g6.xlarge").cost
    tiers = 50 * 1024 * 0.023 + 10 * 1024 * 0.022
    assert cost.storage_monthly - plain.storage_monthly == pytest.approx(tiers)


def test_idle_hours_of_a_bursty_service_have_a_price(placed: Any) -> None:
    traffic = {"shape": "bursty", "hoursPerDay": 6}
    kept = placed("g6.xlarge", traffic=traffic, replicas=1).cost
    assert kept.idle == pytest.approx(0.8048 * 730 * 0.75)
    assert placed("g6.xlarge", traffic=traffic, replicas={"min": 0}).cost.idle == 0


@pytest.mark.parametrize(
    ("days", "sold", "valid"),
    [(1, True, 1), (14, True, 14), (15, False, 21), (21, True, 21), (182, True, 182)],
)
def test_blocks_that_are_sold(days: int, sold: bool, valid: int) -> None:
    assert is_sold(days) is sold
    assert valid_days(days) == valid


def test_longer_blocks_are_not_sold() -> None:
    assert not is_sold(189)


hours = st.floats(0.01, 5000, allow_nan=False)
prices = st.floats(0.1, 200, allow_nan=False)
purchases = st.builds(
    Purchase,
    plan=st.sampled_from([None, "savings-plan"]),
    years=st.sampled_from([1, 3]),
    reserves=st.booleans(),
    reserved_instances=st.one_of(st.none(), st.integers(1, 8)),
    reserved_hours=st.one_of(st.none(), hours),
    block_days=st.one_of(st.none(), st.integers(1, 182)),
    block_instances=st.one_of(st.none(), st.integers(1, 64)),
    on_demand_base=st.integers(0, 3),
    spot_share=st.sampled_from([0.0, 0.5, 1.0]),
)


@given(hours, hours)
def test_a_longer_run_never_takes_a_shorter_block(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert days_for(low) <= days_for(high)
    assert block_hours(low) - 0.5 >= low


@given(purchases, prices, prices, hours, st.booleans(), st.floats(0.05, 1))
def test_cost_never_falls_when_a_price_rises(
    purchase: Purchase, one: float, other: float, run: float, is_block: bool, duty: float
) -> None:
    low, high = (
        Terms(unit, 4, 2, is_block, purchase=purchase, steady=100.0)
        for unit in sorted((one, other))
    )
    service = SERVED._replace(duty=duty, months=6)
    for runs in (None, 3.0):
        pair = zip(paid_by_run(low, run, runs), paid_by_run(high, run, runs), strict=True)
        assert all((less or 0) <= (more or 0) for less, more in pair)
    pair = zip(paid_by_service(low, service), paid_by_service(high, service), strict=True)
    assert all((less or 0) <= (more or 0) for less, more in pair)
