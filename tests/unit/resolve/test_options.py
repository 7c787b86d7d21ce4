"""Ways to buy a plan, side by side, with worked numbers of the catalog (us-east-1, 2026-11-30).

p5.48xlarge: 55.04 on demand, 41.528 in a block, 23.776 reserved for three years.
"""

from __future__ import annotations

from math import exp, expm1, inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.explain import to_text
from gpusize.explain_data import to_data
from gpusize.interruptions import best_interval, expected_hours
from gpusize.pricing.options import Option
from gpusize.resolving.options import options_of
from gpusize.resolving.reasoning import plan_of
from gpusize.settings import with_parameters
from gpusize.team_prices import CommitmentRate, Discount, InterruptionRate, TeamPrices
from gpusize.wording import plan_in_words

P5 = "p5.48xlarge"
RUN: dict[str, Any] = {"kind": "batch-inference", "runHours": 30}
TUNE: dict[str, Any] = {
    "kind": "fine-tuning",
    "method": "qlora",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 2048,
    "recompute": "full",
    "runHours": 48,
    "contextLength": None,
    "concurrency": None,
    "promptTokens": None,
    "outputTokens": None,
    "checkpoints": {"intervalMinutes": 60},
}


def by_name(candidate: Any) -> dict[str, Option]:
    return {option.name: option for option in options_of(candidate)}


def test_a_run_has_four_ways_to_be_bought(placed: Any) -> None:
    found = by_name(placed(P5, market="spot", **RUN))
    assert list(found) == ["on-demand", "spot", "capacity-block", "capacity-reservation"]
    assert [option.name for option in found.values() if option.is_chosen] == ["spot"]
    assert found["on-demand"].total == pytest.approx(30 * 55.04, rel=0.001)
    assert found["on-demand"].against == ("on-demand-for-fault-tolerant-batch",)
    assert (found["on-demand"].finish_hours, found["on-demand"].finish) == (30, "2026-12-01")


def test_a_block_has_its_days_its_price_and_its_rest(placed: Any) -> None:
    option = by_name(placed(P5, **RUN))["capacity-block"]
    assert option.block is not None
    assert (option.block.days, option.block.blocks) == (2, 1)
    assert option.block.upfront == pytest.approx(41.528 * 48)
    assert option.block.unused_hours == pytest.approx(48 - 0.5 - 0.25 - 30)
    assert option.settled_by == ("aws ec2 describe-capacity-block-offerings",)
    long = by_name(placed(P5, kind="batch-inference", runHours=4400))["capacity-block"]
    assert long.total is None
    assert any("longer than 182 days" in text for text in long.unknown)


def test_a_declared_start_gives_the_day_of_the_end(placed: Any) -> None:
    block = {"days": 2, "start": "2027-01-11"}
    option = by_name(placed(P5, market="capacity-block", capacityBlock=block, **RUN))[
        "capacity-block"
    ]
    assert option.is_chosen
    assert option.finish == "2027-01-12"
    assert option.unknown == ()


def test_spot_bills_what_is_computed_again(placed: Any) -> None:
    option = by_name(placed("g6.xlarge", market="spot", **TUNE))["spot"]
    found = option.interrupted
    assert found is not None
    assert found.is_assumed
    assert found.per_day == (0.25, 1, 4)
    assert found.billed_hours is not None
    restarts = 24 * exp(0.25 / 24) * expm1(1 / 24) * 48
    assert found.billed_hours.likely == pytest.approx(restarts, rel=0.01)
    assert found.billed_hours.low < found.billed_hours.likely < found.billed_hours.high
    assert option.total > 48 * option.hourly
    assert "prices.spotInterruptions of the settings file" in option.settled_by


def test_a_rate_that_was_seen_is_no_guess(placed: Any) -> None:
    prices = TeamPrices(spot_interruptions=(InterruptionRate("g6.*", 0.5),))
    settings = with_parameters({}, prices)
    option = by_name(placed("g6.xlarge", market="spot", settings=settings, **TUNE))["spot"]
    assert option.interrupted is not None
    assert not option.interrupted.is_assumed
    assert option.interrupted.per_day == (0.5, 0.5, 0.5)
    assert option.settled_by == ()


def test_a_deadline_is_held_against_each_way(placed: Any) -> None:
    found = by_name(placed("g6.xlarge", market="spot", **TUNE, deadlineHours=49))
    assert found["on-demand"].meets_deadline is True
    assert found["spot"].meets_deadline is False


def test_commitments_say_when_they_pay_and_what_they_save(placed: Any) -> None:
    prices = TeamPrices(commitments=(CommitmentRate("savings-plan", 1, "p5.*", percent=25),))
    candidate = placed(P5, horizonMonths=12, settings=with_parameters({}, prices))
    found = by_name(candidate)
    plan = found["savings-plan-1y"]
    assert plan.gain is not None
    assert plan.gain.break_even_months == pytest.approx(9)
    assert plan.gain.saving == pytest.approx(0.25 * 55.04 * 730 * 12)
    long = found["reserved-instance-3y"].gain
    assert long is not None
    assert long.saving == pytest.approx(55.04 * 8760 - 23.776 * 26280)
    unknown = found["savings-plan-3y"]
    assert unknown.total is None
    assert unknown.settled_by == ("prices.commitments of the settings file",)
    assert "not known" in unknown.unknown[0]


def test_a_commitment_covers_no_spot_capacity(placed: Any) -> None:
    prices = TeamPrices(commitments=(CommitmentRate("savings-plan", 1, "g6.*", percent=30),))
    committed = {"commitment": {"plan": "savings-plan"}, "horizonMonths": 12}
    settings = with_parameters({}, prices)
    covered = by_name(placed("g6.xlarge", settings=settings, **committed))
    plain = by_name(placed("g6.xlarge", settings=settings, horizonMonths=12))
    assert covered["spot"].total == plain["spot"].total
    assert covered["savings-plan-1y"].is_chosen


def test_a_price_of_the_team_is_said_to_be_its_own(placed: Any) -> None:
    prices = TeamPrices(
        discounts=(Discount(10, "g6.*"),),
        commitments=(CommitmentRate("savings-plan", 1, "g6.*", percent=30),),
    )
    fields = {"commitment": {"plan": "savings-plan"}}
    plan = plan_of(placed("g6.xlarge", settings=with_parameters({}, prices), **fields), ())
    assert plan.cost.hourly == pytest.approx(0.8048 * 0.9 * 0.7, rel=0.001)
    assert plan.cost.covered_by == "1-year savings-plan"
    assert "on-demand prices are 10% below the list, by the settings file" in plan.reasons
    assert "a 1-year savings-plan covers the bill: $0.51/h, $0.72/h without" in plan.reasons
    assert "on-demand by a 1-year savings-plan at $0.51/h" in plan_in_words(plan)


def test_what_is_not_sold_is_no_option(placed: Any) -> None:
    assert "on-demand" not in by_name(placed("p5e.48xlarge", market="spot", **RUN))
    assert "capacity-block" not in by_name(placed("g6.xlarge", market="spot", **RUN))


def test_page_and_data_show_the_ways_to_buy(decide: Any) -> None:
    resolution = decide(instanceType=P5, horizonMonths=12)
    names = [option["name"] for option in to_data(resolution)["purchaseOptions"]]
    assert names[:3] == ["on-demand", "spot", "capacity-reservation"]
    page = to_text(resolution)
    assert "ways to buy it, 12 months:" in page
    assert "pays off after 15.6 of 36 months" in page
    assert "rates not known (prices.commitments of the settings file)" in page


hours = st.floats(0.1, 2000)
between = st.floats(0.5, 2000)
short = st.floats(0, 0.5)


@given(hours, between, short, short, st.floats(0.01, 2000))
def test_interruptions_never_shorten_a_run(
    run: float, gap: float, restart: float, write: float, interval: float
) -> None:
    for step in (interval, None, 0.0):
        took = expected_hours(run, gap, restart=restart, interval=step, write=write)
        assert took >= run * (1 - 1e-9)
    assert expected_hours(run, inf, restart=restart, interval=interval) == pytest.approx(run)


@given(between, st.floats(1, 600), short, st.floats(1, 20), st.floats(1, 20))
def test_past_the_optimum_a_longer_interval_never_loses_less(
    gap: float, write: float, restart: float, one: float, other: float
) -> None:
    best = best_interval(write, gap) / 60
    low, high = sorted((one, other))
    run = 1e6
    took = [
        expected_hours(run, gap, restart=restart, interval=best * times, write=write / 3600)
        for times in (low, high)
    ]
    assert took[0] <= took[1] * (1 + 1e-9)


@given(hours, between, between, short)
def test_rarer_interruptions_never_cost_more(
    run: float, one: float, other: float, restart: float
) -> None:
    low, high = sorted((one, other))
    often = expected_hours(run, low, restart=restart, interval=1.0, write=0.01)
    seldom = expected_hours(run, high, restart=restart, interval=1.0, write=0.01)
    assert seldom <= often * (1 + 1e-9)


def test_a_declared_reservation_is_no_part_of_the_other_ways(placed: Any) -> None:
    found = by_name(placed(P5, reserve={"instances": 2}, **RUN))
    assert found["capacity-reservation"].is_chosen
    steady, spot = found["on-demand"], found["spot"]
    assert steady.hourly == pytest.approx(55.04)
    assert spot.hourly is not None
    assert spot.hourly < steady.hourly


@pytest.mark.parametrize(("base", "share", "spot"), [(0, 1.0, 4), (1, 1.0, 3), (1, 0.5, 1)])
def test_only_replicas_on_spot_are_interrupted(
    decide: Any, base: int, share: float, spot: int
) -> None:
    replicas = {"min": 4, "max": 4, "onDemandBase": base, "spotShare": share}
    ways = {"market": "spot", "userFacing": False, "interruptionTolerance": "restartable"}
    found = by_name(decide(instanceType=P5, replicas=replicas, **ways).candidate)
    interrupted = found["spot"].interrupted
    assert interrupted is not None
    assert interrupted.expected is not None
    monthly = interrupted.per_day.likely * 730 / 24
    assert interrupted.expected.likely == pytest.approx(spot * monthly)
