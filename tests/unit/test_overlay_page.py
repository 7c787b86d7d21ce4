"""The examples of docs/overlays.md do what the page says."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from gpusize.resolve import resolve
from gpusize.workload import parse_workload
from gpusize_catalog.facts import PriceType
from gpusize_catalog.store import Catalog, load
from gpusize_catalog.tables import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "overlays.md"
FILE = re.compile(r"^`(\w+\.csv)`\n\n```csv\n(.*?)^```", re.MULTILINE | re.DOTALL)
TODAY = datetime.date(2026, 11, 30)
REGION = "us-east-1"

EXAMPLES = {
    title: dict(found)
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    for title, text in [section.split("\n", 1)]
    if (found := FILE.findall(text))
}


def laid(title: str, tmp_path: Path) -> Catalog:
    """Load the catalog under one example of the page."""
    for name, text in EXAMPLES[title].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return load([tmp_path])


def hourly(catalog: Catalog, **pins: object) -> float | None:
    """Resolve a pinned workload; its USD per hour."""
    declared = {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-8B",
        "weightsFormat": "fp8",
        "contextLength": 8192,
        "userFacing": False,
        "region": REGION,
        **pins,
    }
    plan = resolve(parse_workload(declared), catalog, today=TODAY).plan
    assert plan is not None
    return plan.cost.hourly


def test_no_example_is_missed() -> None:
    blocks = PAGE.read_text(encoding="utf-8").count("```csv")
    assert sum(map(len, EXAMPLES.values())) == blocks
    assert len(EXAMPLES) == 3


def test_a_negotiated_price_wins_though_it_is_older(tmp_path: Path) -> None:
    catalog = laid("A negotiated price", tmp_path)
    assert catalog.prices("g6.xlarge", REGION, PriceType.ON_DEMAND)[0].usd != 0.61
    assert hourly(catalog, instanceType="g6.xlarge", market="on-demand") == 0.61


def test_the_spot_price_of_today_wins(tmp_path: Path) -> None:
    catalog = laid("The spot price of today", tmp_path)
    spot = {"market": "spot", "interruptionTolerance": "restartable"}
    assert hourly(catalog, instanceType="g6.xlarge", **spot) == 0.38
    assert hourly(catalog, instanceType="g6e.xlarge", zone="use1-az4", **spot) == 0.71


def test_a_new_type_is_sized_and_priced(tmp_path: Path) -> None:
    catalog = laid("A GPU and an instance type that are not in yet", tmp_path)
    assert hourly(catalog, instanceType="px.48xlarge", market="on-demand") == 140.0


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_table_is_listed_with_its_key(table: object) -> None:
    row = next(one for one in TABLES.values() if one is table)
    key = ", ".join(f"`{column}`" for column in row.key)
    line = (
        rf"^\| `{row.name}\.csv` \| [^|]+ \| {re.escape(key)} \| .*{row.name}\.schema\.json\) \|$"
    )
    assert re.search(line, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
