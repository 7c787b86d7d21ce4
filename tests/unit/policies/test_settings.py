"""The settings file: presets, levels, parameters, and every problem at once with its place."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.documents import parse as parse_document
from gpusize.settings import parameters
from gpusize_catalog.problems import GpuSizeError
from gpusize_policies import settings_file as subject
from gpusize_policies.finding import Severity
from gpusize_policies.registry import RULES, find
from gpusize_policies.rule import Rule
from gpusize_policies.settings import DEFAULTS, PRESETS, Settings
from gpusize_policies.settings_file import load, of_pack_config, parse, schema

WHOLE = """\
preset: strict
levels:
  GPU104: off
  spot-for-user-facing: warn
parameters:
  minSpotDiscount: 0.4
  maxNodes: 2
unknowns: warn
today: 2026-11-30
catalog: [overlay, /srv/prices]
workloads: ../workloads.yaml
lock: decisions.lock
"""


def _rule(word: str) -> Rule:
    found = find(word)
    assert found is not None
    return found


def _read(text: str, tmp_path: Path) -> Settings:
    path = tmp_path / "gpusize-policy.yaml"
    path.write_text(text, encoding="utf-8")
    return load(str(path))


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = _read(WHOLE, tmp_path)
    assert settings.preset == "strict"
    assert settings.levels == {"GPU104": "off", "GPU501": "warn"}
    assert settings.today == datetime.date(2026, 11, 30)
    assert settings.catalog == (tmp_path / "overlay", Path("/srv/prices"))
    assert settings.workloads == tmp_path / "../workloads.yaml"
    assert settings.lock == tmp_path / "decisions.lock"
    assert settings.resolving.min_spot_discount == 0.4
    assert settings.resolving.max_nodes == 2


@pytest.mark.parametrize("text", ["", "# nothing set\n", "{}"])
def test_an_empty_file_is_the_default(text: str, tmp_path: Path) -> None:
    assert _read(text, tmp_path) == DEFAULTS


@pytest.mark.parametrize(
    ("preset", "error", "warn", "advice"),
    [
        ("recommended", "error", "warn", "advice"),
        ("strict", "error", "error", "advice"),
        ("observe", "warn", "warn", "advice"),
    ],
)
def test_presets_move_default_levels(preset: str, error: str, warn: str, advice: str) -> None:
    settings = Settings(preset=preset)
    found = [settings.level_of(_rule(code)) for code in ("GPU101", "GPU104", "GPU806")]
    assert found == [Severity(error), Severity(warn), Severity(advice)]


def test_a_level_wins_over_the_preset_and_off_is_none() -> None:
    settings = Settings(preset="strict", levels={"GPU104": "advice", "GPU501": "off"})
    assert settings.level_of(_rule("GPU104")) is Severity.ADVICE
    assert settings.level_of(_rule("GPU501")) is None


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        (DEFAULTS, Severity.ADVICE),
        (Settings(unknowns="error"), Severity.ERROR),
        (Settings(preset="strict"), Severity.ERROR),
        (Settings(preset="strict", levels={"GPU900": "warn"}), Severity.WARN),
    ],
)
def test_what_cannot_be_evaluated_has_a_level_of_its_own(
    settings: Settings, level: Severity
) -> None:
    assert settings.level_of(_rule("cannot-evaluate")) is level


WRONG = """\
presett: strict
preset: strictest
levels:
  GPU999: error
  wieghts-exceed-vram: error
  GPU101: eror
  GPU104: off
  no-memory-headroom: warn
parameters:
  minSpotDiscont: 0.4
  lowDuty: -1
  maxNodes: 2.5
  runnersUp: true
unknowns: ignore
today: tomorrow
catalog: 5
workloads: ""
"""


def test_every_problem_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(GpuSizeError) as caught:
        _read(WRONG, tmp_path)
    found = {(one.line, one.path): (one.message, one.fix) for one in caught.value.problems}
    assert {key[0] for key in found} == {1, 2, 4, 5, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17}
    assert found[1, "presett"] == ("unknown key", "did you mean preset?")
    assert found[2, "preset"][1] == "did you mean strict?"
    assert found[5, "levels.wieghts-exceed-vram"][1] == "did you mean weights-exceed-vram?"
    assert found[6, "levels.GPU101"][1] == "did you mean error?"
    assert found[8, "levels.no-memory-headroom"][0] == "sets GPU104 a second time"
    assert found[10, "parameters.minSpotDiscont"][1] == "did you mean minSpotDiscount?"
    assert found[12, "parameters.maxNodes"][0] == "takes a whole number"


@pytest.mark.parametrize("text", ["- a", "5", "levels: [a]", "parameters: x"])
def test_other_shapes_are_problems(text: str, tmp_path: Path) -> None:
    with pytest.raises(GpuSizeError):
        _read(text, tmp_path)


def test_pack_config_gives_levels_in_the_words_of_pulumi() -> None:
    settings, problems = of_pack_config(
        {
            "all": "recommended",
            "spot-for-user-facing": "advisory",
            "no-memory-headroom": {"enforcementLevel": "mandatory"},
            "idle-gpus-on-node": "disabled",
            "always-on-for-bursty": {"lowDuty": 0.1},
        },
        Path(),
    )
    assert problems == ()
    assert settings.parameters == {"lowDuty": 0.1}
    assert settings.levels == {"GPU501": "warn", "GPU104": "error", "GPU307": "off"}


@pytest.mark.parametrize(
    ("level", "preset"), [("mandatory", "strict"), ("advisory", "observe"), ("strict", "strict")]
)
def test_a_level_for_all_in_pack_config_is_a_preset(level: str, preset: str) -> None:
    assert of_pack_config({"all": level}, Path())[0].preset == preset


def test_one_file_serves_the_pack_and_the_command(tmp_path: Path) -> None:
    settings = _read('{"all": "strict", "GPU104": "disabled"}', tmp_path)
    assert (settings.preset, settings.levels) == ("strict", {"GPU104": "off"})


def test_problems_of_pack_config_stand_where_they_are_written(tmp_path: Path) -> None:
    text = "all: disabled\nspot-for-user-facin: mandatory\nGPU507: {lowDuti: 0.1}\n"
    with pytest.raises(GpuSizeError) as caught:
        _read(text, tmp_path)
    found = {(one.line, one.path): one.fix for one in caught.value.problems}
    assert found[2, "spot-for-user-facin"] == "did you mean spot-for-user-facing?"
    assert (1, "all") in found
    assert len(found) == 3


def test_parameters_keep_the_kind_of_their_default() -> None:
    assert Settings(parameters={"maxNodes": 2.0}).resolving.max_nodes == 2
    assert str(Settings(parameters={"maxSpotAgeDays": 30.0}).resolving.max_spot_age_days) == "30"


def test_every_parameter_of_a_rule_is_one_of_the_settings() -> None:
    known = {*parameters(), "unknowns"}
    assert {name for rule in RULES for name in rule.parameters} <= known


def test_the_schema_takes_what_the_parser_takes() -> None:
    published = schema()
    jsonschema.Draft202012Validator.check_schema(published)
    validator = jsonschema.Draft202012Validator(published)
    assert list(validator.iter_errors(parse_document(WHOLE, "f.yaml").data)) == []
    refused = list(validator.iter_errors(parse_document(WRONG, "f.yaml").data))
    assert len(refused) >= 8


def test_the_published_schema_is_current() -> None:
    path = Path(subject.__file__).with_name("settings.schema.json")
    assert json.loads(path.read_text(encoding="utf-8")) == schema()


def test_levels_of_every_rule_are_in_the_schema() -> None:
    known = schema()["properties"]["levels"]["properties"]
    assert {rule.code for rule in RULES} | {rule.name for rule in RULES} == set(known)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
KEYS = st.sampled_from([field.name for field in subject.FIELDS]) | st.text(max_size=8)


@given(st.dictionaries(KEYS, JSON, max_size=4))
def test_any_data_gives_settings_and_problems_and_raises_nothing(raw: dict[str, Any]) -> None:
    settings, _ = parse(raw, Path())
    assert settings.preset in PRESETS
    assert all(level in subject.LEVELS for level in settings.levels.values())
