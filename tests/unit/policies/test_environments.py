"""The key `environments`: chosen by stack, by tag or by name, and what it changes."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpusize.environments import Where
from gpusize.settings_file import read_deciding
from gpusize_policies.cli import main
from gpusize_policies.registry import find
from gpusize_policies.rule import Rule
from gpusize_policies.settings import Settings, load
from gpusize_policies.settings_file import CHANGING, parse, schema
from gpusize_policies.setup import SETTINGS_POLICY, Stack, configure, set_up

FILE = """\
preset: observe
levels: {GPU104: off, GPU501: warn}
parameters: {runnersUp: 2, maxNodes: 8}
quotas: {default: 96, L-417A185B: 192}
team: {maxHourly: 4, denyTypes: ["p5*"]}
environments:
  production:
    stacks: ["prod", "prod-*"]
    preset: strict
    levels: {GPU501: error}
    parameters: {runnersUp: 3}
    quotas: {L-417A185B: 768}
    unknowns: warn
    requireDeclaration: true
    team: {maxHourly: 200}
  research:
    tags: {purpose: "research*", cost: "*"}
    levels: {GPU501: off}
  sandbox: {preset: recommended}
"""
CHAT = """\
workloads:
  chat:
    kind: serving
    model: Qwen/Qwen2.5-7B-Instruct
    weightsFormat: fp8
    contextLength: 8192
    concurrency: 4
    userFacing: true
    region: us-east-1
    instanceType: g6.xlarge
    market: spot
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gpusize-policy.yaml").write_text(FILE)
    (tmp_path / "gpusize.yaml").write_text(CHAT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rule(word: str) -> Rule:
    found = find(word)
    assert found is not None
    return found


def read(data: Any) -> tuple[Settings, list[str]]:
    settings, problems = parse(data, Path())
    return settings, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("where", "environment"),
    [
        (Where("prod"), "production"),
        (Where("prod-eu"), "production"),
        (Where("production"), ""),
        (Where("sandbox"), "sandbox"),
        (Where("dev", {"purpose": "research-llm", "cost": ""}), "research"),
        (Where("dev", {"purpose": "research-llm"}), ""),
        (Where("prod", {"purpose": "research", "cost": "1"}), "production"),
        (Where("prod", environment="research"), "research"),
        (Where(), ""),
    ],
)
def test_the_first_that_matches_holds(folder: Path, where: Where, environment: str) -> None:
    assert load(str(folder / "gpusize-policy.yaml")).at(where).environment == environment


def test_no_stack_belongs_to_no_environment() -> None:
    settings, problems = read({"environments": {"all": {"stacks": ["*"], "preset": "observe"}}})
    assert problems == []
    assert settings.at(Where()).preset == "recommended"
    assert settings.at(Where("any")).preset == "observe"


def test_mappings_are_changed_key_by_key_and_the_rest_as_a_whole(folder: Path) -> None:
    everywhere = load(str(folder / "gpusize-policy.yaml"))
    there = everywhere.at(Where("prod"))
    assert everywhere.at(Where("dev")) == everywhere
    assert (there.preset, there.unknowns, there.require_declaration) == ("strict", "warn", True)
    assert there.levels == {"GPU104": "off", "GPU501": "error"}
    assert there.parameters == {"runnersUp": 3, "maxNodes": 8}
    assert there.quotas == {"default": 96, "L-417A185B": 768}
    assert (there.team.max_hourly, there.team.deny_types) == (200, ("p5*",))


def test_the_component_takes_what_decisions_depend_on(folder: Path) -> None:
    file = read_deciding(folder / "gpusize-policy.yaml")
    assert file.at(Where("dev")).resolving.team.max_hourly == 4
    there = file.at(Where("prod")).resolving
    assert (there.runners_up, there.max_nodes, there.team.max_hourly) == (3, 8, 200)


@pytest.mark.parametrize(
    ("environments", "path", "words"),
    [
        (3, "environments", "takes a mapping"),
        ({"a": 3}, "environments.a", "takes a mapping"),
        ({"a": {"stack": []}}, "environments.a.stack", "did you mean stacks?"),
        ({"a": {"stacks": "prod"}}, "environments.a.stacks", "takes a list"),
        ({"a": {"tags": {"b": 3}}}, "environments.a.tags", "texts"),
        ({"a": {"presets": "strict"}}, "environments.a.presets", "did you mean preset?"),
        ({"a": {"preset": "strickt"}}, "environments.a.preset", "did you mean strict?"),
        ({"a": {"levels": {"GPU999": "off"}}}, "environments.a.levels.GPU999", "no such rule"),
        ({"a": {"team": {"maxHour": 1}}}, "environments.a.team.maxHour", "mean maxHourly?"),
        ({"a": {"waivers": []}}, "environments.a.waivers", "unknown key"),
        ({"": {"preset": "observe"}}, "environments.", "has a name"),
    ],
)
def test_a_mistake_is_told_at_its_place(environments: Any, path: str, words: str) -> None:
    settings, (problem,) = read({"environments": environments})
    assert problem.startswith(f"{path}:")
    assert words in problem
    assert settings.at(Where("a")).levels == {}


def test_the_schema_takes_what_the_reader_takes() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    entry = {"stacks": ["b"], "tags": {"c": "d"}, "levels": {"GPU104": "off"}, "team": {}}
    assert read({"environments": {"a": entry}})[1] == []
    validator.validate({"environments": {"a": entry}})
    for bad in ({"stack": []}, {"levels": {"GPU999": "off"}}, {"preset": "strickt"}):
        assert not validator.is_valid({"environments": {"a": bad}})
        assert read({"environments": {"a": bad}})[1]
    names = {field.name for field in CHANGING}
    assert {"preset", "levels", "parameters", "unknowns", "team", "prices"} <= names


@pytest.mark.usefixtures("folder")
def test_the_command_is_told_the_stack_or_the_environment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    day = ["--today", "2026-11-30"]
    assert main(["check", "gpusize.yaml", *day]) == 0
    assert "environment" not in capsys.readouterr().out
    for choice in (["--stack", "prod-eu"], ["--environment", "production"]):
        assert main(["check", "gpusize.yaml", *day, *choice]) == 1
        out = capsys.readouterr().out
        assert "error  GPU501" in out
        assert "today 2026-11-30, environment production)" in out


@pytest.mark.usefixtures("folder")
def test_a_misspelt_environment_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "gpusize.yaml", "--environment", "prodution"]) == 2
    assert "--environment: no such environment (did you mean production?)" in (
        capsys.readouterr().err
    )


def test_what_the_pack_is_configured_with_wins_over_the_environment(folder: Path) -> None:
    setup = set_up(Stack("app", {"today": "2026-11-30"}, "", "prod"), folder).at(Where("prod"))
    names = (SETTINGS_POLICY, rule("GPU811").name, "price-stale")
    config = {"price-stale": {"maxPriceAgeDays": 7.0}}
    settings = configure(setup, names, config).run.settings
    assert settings.parameters == {"runnersUp": 3, "maxNodes": 8, "maxPriceAgeDays": 7.0}
    assert settings.resolving.max_price_age_days == 7
    assert setup.run.today == datetime.date(2026, 11, 30)
