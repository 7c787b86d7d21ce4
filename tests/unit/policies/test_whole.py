"""Sums over a run: what is not known is said, and never counted as nothing."""

from __future__ import annotations

import datetime
from typing import Any

from gpusize.team import Limits, TeamRules
from gpusize_catalog.store import load
from gpusize_policies.case import Case
from gpusize_policies.finding import Finding
from gpusize_policies.judge import evaluate
from gpusize_policies.reading.tags import default_tags, tags_of
from gpusize_policies.reading.values import UNKNOWN, Value
from gpusize_policies.settings import Settings
from gpusize_policies.whole import Share, whole_of
from tests.rules.stacks import UNKNOWN as SENTINEL

TODAY = datetime.date(2026, 11, 30)


def judged(rules: TeamRules, *shares: Share) -> list[Finding]:
    settings = Settings(team=rules)
    whole = whole_of(shares)
    case = Case("", None, catalog=load(), today=TODAY, settings=settings, whole=whole)
    return list(evaluate(case, settings))


def share(name: str, hourly: float | None, **more: Any) -> Share:
    monthly = None if hourly is None else hourly * 730
    return Share(name, hourly, monthly, None, more.pop("gpus", 1), **more)


def test_a_known_part_above_the_ceiling_is_an_error_that_says_at_least() -> None:
    (finding,) = judged(TeamRules(max_hourly=3), share("a", 2.0), share("b", 2.0), share("c", None))
    assert finding.code == "GPU908"
    assert "cost at least $4.00 per hour" in finding.message
    assert "1 of them has no known cost" in finding.message
    assert finding.numbers["withoutPrice"] == 1


def test_a_known_part_below_it_is_said_to_be_a_part() -> None:
    (finding,) = judged(TeamRules(max_hourly=3), share("a", 2.0), share("b", None))
    assert finding.code == "GPU900"
    assert "at least $2.00 per hour of $3.00: 1 of them has no known cost" in finding.message


def test_a_single_workload_is_told_where_it_stands() -> None:
    assert judged(TeamRules(max_hourly=3), share("a", 4.0)) == []


def test_a_team_pays_for_its_own_alone() -> None:
    rules = TeamRules(teams={"ads": Limits(max_gpus=2)})
    mine = share("a", 1.0, gpus=4, team="ads")
    (finding,) = judged(rules, mine, share("b", 1.0, gpus=8))
    assert (finding.code, finding.numbers["gpus"]) == ("GPU911", 4)


def test_the_order_of_shares_does_not_matter() -> None:
    shares = (share("a", 2.0), share("b", 2.0), share("c", None))
    rules = TeamRules(max_hourly=3, max_monthly=100)
    assert judged(rules, *shares) == judged(rules, *reversed(shares))


def test_tags_are_read_however_they_are_written() -> None:
    spelt = {"tags": [{"key": "owner", "value": "ml"}, {"key": "no", "propagateAtLaunch": False}]}
    assert tags_of(spelt).pairs == (("owner", "ml"),)
    launched = {"resourceType": "instance", "tags": {"team": SENTINEL}}
    volume = {"resourceType": "volume", "tags": {"disk": "x"}}
    found = tags_of({"tagSpecifications": [launched, volume]})
    assert found.pairs == (("team", None),)
    assert found.value("team") == UNKNOWN
    assert found.missing(["team", "owner"]) == ("owner",)


def test_tags_that_are_not_known_may_be_any() -> None:
    found = tags_of({"tags": SENTINEL})
    assert not found.is_whole
    assert found.value("owner") == UNKNOWN


def test_a_provider_adds_tags_as_a_mapping_or_as_text() -> None:
    for value in ({"tags": {"owner": "ml"}}, '{"tags": {"owner": "ml"}}'):
        assert default_tags(Value(value)).pairs == (("owner", "ml"),)
    for value in (None, "no json", "[]", 3):
        assert default_tags(Value(value)).pairs == ()
    assert not default_tags(UNKNOWN).is_whole
