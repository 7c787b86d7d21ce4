"""The key `prices` of the settings file: every entry read, every mistake told, honoured by all."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gpusize.resolve import resolve
from gpusize.settings import DEFAULTS, with_parameters
from gpusize.settings_prices import SECTIONS, prices_schema
from gpusize.surroundings import surroundings
from gpusize.team_prices import CommitmentRate, Discount, TeamPrices
from gpusize.workload import parse_workload
from gpusize_catalog.store import load
from gpusize_policies.settings_file import parse
from gpusize_policies.setup import Stack, set_up

WHOLE = """\
prices:
  discounts:
    - {types: "p5*", market: on-demand, region: "us-*", percent: 10}
    - {percent: 2}
  commitments:
    - {plan: savings-plan, years: 1, types: "g6.*", usdPerHour: 0.6}
    - {plan: reserved-instance, years: 3, percent: 40}
  capacityBlocks:
    - {types: p5.48xlarge, usdPerHour: 40}
  spotInterruptions:
    - {types: "g6*", perDay: 0.5}
"""
TODAY = datetime.date(2026, 11, 30)


def problems_of(prices: Any) -> list[tuple[str, str, str]]:
    _, problems = parse({"prices": prices}, Path())
    return [(problem.path, problem.message, problem.fix) for problem in problems]


def test_every_entry_is_read_by_component_pack_and_command(tmp_path: Path) -> None:
    (tmp_path / "gpusize-policy.yaml").write_text(WHOLE, encoding="utf-8")
    around = surroundings(tmp_path, {})
    prices = around.settings.prices
    assert prices.discounts == (
        Discount(10, "p5*", "on-demand", "us-*"),
        Discount(2),
    )
    assert prices.commitments[0] == CommitmentRate("savings-plan", 1, "g6.*", usd_per_hour=0.6)
    assert prices.block_usd("p5.48xlarge", "eu-west-1") == 40
    assert prices.interruptions_per_day("g6e.xlarge") == 0.5
    assert prices.interruptions_per_day("p5.48xlarge") is None
    setup = set_up(Stack("shop"), tmp_path)
    assert setup.problems == ()
    assert setup.run.settings.resolving == around.settings


def test_the_first_entry_that_matches_holds() -> None:
    prices = TeamPrices(discounts=(Discount(10, "p5*", "on-demand", "us-*"), Discount(2)))
    assert prices.discount("p5.48xlarge", "on-demand", "us-east-1") == 10
    assert prices.discount("p5.48xlarge", "spot", "us-east-1") == 2
    assert prices.discount("p5.48xlarge", "on-demand", "eu-north-1") == 2


@pytest.mark.parametrize(
    ("prices", "path", "message", "fix"),
    [
        ([], "prices", "takes a mapping", ""),
        ({"discount": []}, "prices.discount", "unknown key", "discounts"),
        ({"discounts": {}}, "prices.discounts", "takes a list", ""),
        ({"discounts": [3]}, "prices.discounts[0]", "takes a mapping", ""),
        ({"discounts": [{}]}, "prices.discounts[0]", "needs percent", ""),
        ({"discounts": [{"percent": 101}]}, "prices.discounts[0].percent", "from 0 to 100", ""),
        ({"discounts": [{"percent": True}]}, "prices.discounts[0].percent", "from 0 to 100", ""),
        (
            {"discounts": [{"percent": 3, "type": "p5*"}]},
            "prices.discounts[0].type",
            "unknown key",
            "types",
        ),
        (
            {"discounts": [{"percent": 3, "market": "reserved"}]},
            "prices.discounts[0].market",
            "takes on-demand or spot",
            "",
        ),
        (
            {"commitments": [{"plan": "savings-plan", "years": 2, "percent": 3}]},
            "prices.commitments[0].years",
            "takes 1 or 3",
            "",
        ),
        (
            {"commitments": [{"plan": "savings-plan", "years": 1}]},
            "prices.commitments[0]",
            "needs one of usdPerHour, percent",
            "",
        ),
        (
            {"spotInterruptions": [{"types": "g6*", "perDay": -1}]},
            "prices.spotInterruptions[0].perDay",
            "not negative",
            "",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(prices: Any, path: str, message: str, fix: str) -> None:
    ((told_at, told, helps),) = problems_of(prices)
    assert told_at == path
    assert message in told
    assert fix in helps
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(prices, prices_schema())


def test_the_schema_takes_what_the_reader_takes() -> None:
    jsonschema.validate(yaml.safe_load(WHOLE)["prices"], prices_schema())
    assert set(SECTIONS) == set(prices_schema()["properties"])


SERVICE = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "region": "us-east-1",
    "contextLength": 8192,
    "concurrency": 16,
    "promptTokens": 1000,
    "outputTokens": 200,
    "instanceType": "g6.xlarge",
    "market": "on-demand",
}


def test_a_private_discount_lowers_what_is_paid() -> None:
    settings = with_parameters({}, TeamPrices(discounts=(Discount(25, "g6.*"),)))
    listed, own = (
        resolve(parse_workload(SERVICE), load(), today=TODAY, settings=each).plan
        for each in (DEFAULTS, settings)
    )
    assert listed is not None
    assert own is not None
    assert own.cost.hourly == pytest.approx(0.75 * 0.8048)
    assert own.cost.price_date == listed.cost.price_date
    assert "less 25% by the settings file" in own.cost.price_source
