from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from gpusize.pricing import block_hours, quote
from gpusize_catalog.facts import PriceType
from gpusize_catalog.store import Catalog, load

EAST = "us-east-1"
TODAY = datetime.date(2026, 11, 30)


def test_the_newest_price_wins(catalog: Catalog) -> None:
    found = quote(catalog, "p5.48xlarge", EAST, PriceType.ON_DEMAND, today=TODAY)
    assert (found.usd_per_hour, found.date) == (55.04, "2026-09-19")
    assert found.age_days(datetime.date(2026, 9, 29)) == 10


def test_a_missing_price_is_unknown_and_says_so(catalog: Catalog) -> None:
    found = quote(catalog, "p5e.48xlarge", EAST, PriceType.ON_DEMAND, today=TODAY)
    assert found.usd_per_hour is None
    assert "no on-demand price for p5e.48xlarge in us-east-1" in found.why_unknown
    assert found.age_days(datetime.date(2026, 9, 29)) is None


def test_other_currencies_are_not_compared(catalog: Catalog) -> None:
    found = quote(catalog, "g4dn.xlarge", "cn-north-1", PriceType.ON_DEMAND, today=TODAY)
    assert found.usd_per_hour is None
    assert "CNY" in found.why_unknown


def test_spot_is_the_median_of_its_zones_or_the_zone_itself(catalog: Catalog) -> None:
    prices = catalog.prices("g6.xlarge", EAST, PriceType.SPOT)
    amounts = sorted(price.amount for price in prices if price.date == prices[0].date)
    found = quote(catalog, "g6.xlarge", EAST, PriceType.SPOT, today=TODAY)
    assert found.zones == len(amounts) > 1
    assert amounts[0] <= found.usd_per_hour <= amounts[-1]
    one = prices[0]
    there = quote(catalog, "g6.xlarge", EAST, PriceType.SPOT, one.zone, today=TODAY)
    assert there.usd_per_hour == one.amount


def test_a_service_costs_its_hours_and_its_disk(placed: Any) -> None:
    cost = placed("g6.xlarge").cost
    assert cost.hourly == 0.8048
    assert cost.compute_monthly == pytest.approx(0.8048 * 730)
    assert cost.volume_gib == 57
    assert cost.storage_monthly == pytest.approx(57 * 0.08)
    assert cost.monthly == pytest.approx(cost.compute_monthly + cost.storage_monthly)
    assert cost.unknowns == ()


def test_replicas_and_the_horizon_multiply(placed: Any) -> None:
    one = placed("g6.xlarge").cost
    two = placed("g6.xlarge", replicas=2, horizonMonths=6).cost
    assert two.hourly == pytest.approx(2 * one.hourly)
    assert two.total == pytest.approx(12 * one.monthly)


def test_hours_without_traffic_are_not_paid_on_a_schedule(placed: Any) -> None:
    always = placed("g6.xlarge").cost
    traffic = {"shape": "scheduled", "hoursPerDay": 12}
    assert placed("g6.xlarge", traffic=traffic).cost.monthly == pytest.approx(always.monthly / 2)


def test_a_disk_without_a_price_is_listed_not_free(placed: Any) -> None:
    cost = placed("g6.xlarge", region="eu-central-1").cost
    assert cost.storage_monthly is None
    assert any("gp3" in missing for missing in cost.unknowns)


def test_fast_disks_and_egress_cost(placed: Any) -> None:
    plain = placed("g6.xlarge").cost
    storage = {"rootVolumeGib": 100, "rootVolumeThroughputMbps": 500, "egressGbPerMonth": 20_000}
    cost = placed("g6.xlarge", storage=storage).cost
    assert cost.storage_monthly == pytest.approx(100 * 0.08 + 375 * 0.04)
    assert cost.egress_monthly == pytest.approx(9_900 * 0.09 + 10_000 * 0.085)
    assert plain.egress_monthly == 0


def test_weights_elsewhere_need_no_disk(placed: Any) -> None:
    assert placed("g6.xlarge", storage={"weights": "s3"}).cost.volume_gib == 41


def test_a_run_costs_its_hours(placed: Any) -> None:
    cost = placed("g6.xlarge", kind="batch-inference", runHours=10, runsPerMonth=4).cost
    assert cost.per_run == pytest.approx(8.048, rel=0.02)
    assert cost.monthly == pytest.approx(4 * cost.per_run)
    assert cost.total == cost.monthly


def test_a_run_of_unknown_length_has_no_cost(placed: Any) -> None:
    cost = placed("g6.xlarge", kind="batch-inference").cost
    assert cost.per_run is cost.monthly is cost.total is None
    assert cost.hourly == 0.8048
    assert any("runHours" in missing for missing in cost.unknowns)


@pytest.mark.parametrize(
    ("hours", "paid"), [(1, 24), (23.5, 24), (24, 48), (14 * 24 - 1, 336), (14 * 24, 504)]
)
def test_blocks_come_in_days_then_in_weeks(hours: float, paid: int) -> None:
    assert block_hours(hours) == paid


def test_a_block_is_paid_whole(placed: Any) -> None:
    fields = {"kind": "batch-inference", "runHours": 30, "capacityReservation": "cr-1"}
    cost = placed("p5.48xlarge", market="capacity-block", **fields).cost
    assert cost.per_run == pytest.approx(41.528 * 48, rel=0.01)


def test_a_reserved_price_says_when_it_pays(placed: Any) -> None:
    cost = placed("p5.48xlarge").cost
    (three_years,) = cost.commitments
    assert (three_years.name, three_years.months) == ("reserved-instance-3y", 36)
    assert three_years.break_even_months == pytest.approx(36 * 23.776 / 55.04)
    assert placed("p5.48xlarge", market="spot").cost.commitments == ()


HEADER = "region,instance_type,price_type,zone,date,amount,currency,unit,source\n"


def laid(folder: Path, *rows: tuple[str, str, str, str]) -> Catalog:
    """Lay prices of g6.xlarge over the catalog: price type, zone, date, amount."""
    lines = (
        f"{EAST},g6.xlarge,{kind},{zone},{date},{amount},USD,instance-hour,ours\n"
        for kind, zone, date, amount in rows
    )
    (folder / "prices.csv").write_text(HEADER + "".join(lines))
    return load([folder])


def paid(
    catalog: Catalog, kind: PriceType, zone: str | None = None, day: str = "2026-11-30"
) -> Any:
    found = quote(catalog, "g6.xlarge", EAST, kind, zone, today=datetime.date.fromisoformat(day))
    return found.usd_per_hour, found.date


def test_a_price_of_ones_own_wins_whatever_its_date(tmp_path: Path) -> None:
    ours = laid(
        tmp_path,
        ("on-demand", "", "2020-01-01", "0.7"),
        ("on-demand", "", "2021-01-01", "0.5"),
        ("on-demand", "", "2026-12-01", "0.4"),
    )
    assert paid(ours, PriceType.ON_DEMAND) == (0.5, "2021-01-01")
    assert paid(ours, PriceType.ON_DEMAND, day="2026-12-01") == (0.4, "2026-12-01")


def test_a_price_of_ones_own_for_later_waits_for_its_day(tmp_path: Path) -> None:
    ours = laid(tmp_path, ("on-demand", "", "2026-12-01", "0.4"))
    assert paid(ours, PriceType.ON_DEMAND) == (0.8048, "2026-07-20")


def test_a_price_of_ones_own_holds_in_its_zone(catalog: Catalog, tmp_path: Path) -> None:
    ours = laid(tmp_path, ("spot", "use1-az1", "2020-01-01", "0.01"))
    assert paid(ours, PriceType.SPOT, "use1-az1") == (0.01, "2020-01-01")
    assert paid(ours, PriceType.SPOT, "use1-az2") == paid(catalog, PriceType.SPOT, "use1-az2")
    joined, shipped = paid(ours, PriceType.SPOT), paid(catalog, PriceType.SPOT)
    assert joined[0] < shipped[0]
    assert joined[1] == shipped[1]


def test_one_without_a_zone_holds_in_all(tmp_path: Path) -> None:
    ours = laid(tmp_path, ("spot", "", "2020-01-01", "0.01"))
    for zone in ("use1-az1", None):
        assert paid(ours, PriceType.SPOT, zone) == (0.01, "2020-01-01")


def test_a_price_of_a_later_day_is_not_used(catalog: Catalog) -> None:
    assert paid(catalog, PriceType.ON_DEMAND, day="2026-07-19") == (0.8048, "2025-06-13")
    block = quote(
        catalog, "p5.48xlarge", EAST, PriceType.ON_DEMAND, today=datetime.date(2026, 9, 18)
    )
    assert block.date < "2026-09-19"


def test_where_all_are_later_the_earliest_is_taken_with_its_date(catalog: Catalog) -> None:
    dates = [price.date for price in catalog.prices("g6.xlarge", EAST, PriceType.ON_DEMAND)]
    assert paid(catalog, PriceType.ON_DEMAND, day="2000-01-01") == (0.8048, min(dates))


def test_storage_of_ones_own_counts_likewise(tmp_path: Path) -> None:
    item = "ebs-gp3-storage"
    shipped = load().storage_price(item, EAST, "2026-11-30")
    assert shipped is not None
    row = f"{item},{EAST},2020-01-01,0.05,{shipped.unit},true,ours\n"
    (tmp_path / "storage_network_prices.csv").write_text(
        "item,region,date,usd,unit,verified,source\n" + row
    )
    ours = load([tmp_path]).storage_price(item, EAST, "2026-11-30")
    assert ours is not None
    assert (ours.usd, ours.date) == (0.05, "2020-01-01")
