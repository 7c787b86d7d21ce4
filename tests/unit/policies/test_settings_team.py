"""The key `team`: every mistake is told at its place, and what is right is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpusize.settings_team import KEYS, team_schema
from gpusize.team import Approval, Limits
from gpusize_policies.settings import Settings
from gpusize_policies.settings_file import parse


def told(team: Any) -> list[str]:
    return [str(problem) for problem in parse({"team": team}, Path())[1]]


def read(team: Any) -> Settings:
    settings, problems = parse({"team": team}, Path())
    assert not problems
    return settings


@pytest.mark.parametrize(
    ("team", "path", "words"),
    [
        ([], "team", "takes a mapping"),
        ({"allowTypse": []}, "team.allowTypse", "did you mean allowTypes?"),
        ({"environments": {}}, "team.environments", "unknown key"),
        ({"allowTypes": "g6.*"}, "team.allowTypes", "takes a list, each a text"),
        ({"allowMarkets": ["spott"]}, "team.allowMarkets", "on-demand or spot"),
        ({"maxHourly": -1}, "team.maxHourly", "not negative"),
        ({"maxGpus": 1.5}, "team.maxGpus", "a whole number"),
        ({"maxGpus": True}, "team.maxGpus", "a whole number"),
        ({"minHeadroomShare": 2}, "team.minHeadroomShare", "from 0 to 1"),
        ({"perWorkload": 3}, "team.perWorkload", "takes a mapping of maxHourly"),
        ({"teams": []}, "team.teams", "takes a mapping"),
        ({"teams": {"a": {"maxHour": 1}}}, "team.teams.a.maxHour", "did you mean maxHourly?"),
        ({"approveNvlink": {}}, "team.approveNvlink", "takes a list"),
        ({"approveNvlink": [{"by": "x"}]}, "team.approveNvlink[0]", "needs workload, until"),
        (
            {"approveNvlink": [{"workload": "a", "by": "x", "until": "soon"}]},
            "team.approveNvlink[0].until",
            "is no day",
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(team: Any, path: str, words: str) -> None:
    (problem,) = told(team)
    assert problem.startswith(f"{path}:")
    assert words in problem


def test_what_is_right_is_taken() -> None:
    rules = read(
        {
            "allowTypes": ["g6.*"],
            "maxHourly": 4,
            "perWorkload": {"maxGpus": 2},
            "teams": {"ads": {"maxRun": 3}},
            "approveNvlink": [{"workload": "a", "by": "x", "until": "2026-12-31"}],
        }
    ).team
    assert rules.allows_type("g6.xlarge")
    assert not rules.allows_type("g6e.xlarge")
    assert rules.stack == Limits(max_hourly=4)
    assert rules.per_workload == Limits(max_gpus=2)
    assert rules.teams == {"ads": Limits(max_run=3)}
    assert isinstance((rules.approve_nvlink or ())[0], Approval)


def test_a_bad_entry_leaves_the_good_ones() -> None:
    settings, problems = parse({"team": {"maxHourly": 4, "maxGpus": "x"}}, Path())
    assert len(problems) == 1
    assert settings.team.max_hourly == 4


def test_a_denied_type_is_denied_whatever_allows_it() -> None:
    rules = read({"allowTypes": ["g6.*"], "denyTypes": ["*.48xlarge"]}).team
    assert not rules.allows_type("g6.48xlarge")
    assert rules.denied_by("g6.48xlarge") == "*.48xlarge"


def test_the_schema_takes_what_the_reader_takes() -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **team_schema()}
    jsonschema.Draft202012Validator.check_schema(schema)
    team = {
        "approveNvlink": [{"workload": "a", "by": "x", "until": "2026-12-31"}],
        "maxGpus": 3,
    }
    jsonschema.Draft202012Validator(schema).validate(team)
    read(team)
    assert set(KEYS) == set(schema["properties"])
