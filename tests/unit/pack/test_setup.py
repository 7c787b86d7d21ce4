"""What the pack works with: folder, settings, configuration."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from gpusize_policies.registry import RULES
from gpusize_policies.setup import (
    PROGRAM,
    SETTINGS_POLICY,
    Stack,
    configure,
    find_folder,
    set_up,
    starts,
)

NAMES = (SETTINGS_POLICY, *(rule.name for rule in RULES))
DAY = datetime.date(2026, 11, 30)
STACK = Stack("app", {"today": DAY.isoformat()}, "us-east-1")


@pytest.fixture
def program(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    return tmp_path


def told(setup):
    return [str(problem) for problem in setup.problems]


def test_the_program_is_told_by_its_name(program, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    assert find_folder("app", [other, program]) == program
    assert find_folder("app", [other]) is None


def test_a_state_file_has_the_folder_with_files_of_ours(program, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    assert find_folder("", [other, program]) is None
    (program / "gpusize.yaml").write_text("workloads: {}\n")
    assert find_folder("", [other, program]) == program


def test_the_named_folder_comes_first():
    named, shell, *above = starts({PROGRAM: "/somewhere", "PWD": "/elsewhere"})
    assert (named, shell) == (Path("/somewhere"), Path("/elsewhere"))
    assert len(above) <= 4
    if Path("/proc/self/cwd").exists():
        assert above


def test_the_stack_s_configuration_is_read(program):
    setup = set_up(STACK, program)
    assert told(setup) == []
    assert (setup.run.today, setup.run.region) == (DAY, "us-east-1")
    assert setup.run.lock == program / "gpusize.lock"


def test_settings_give_the_day_unless_the_stack_does(program):
    (program / "gpusize-policy.yaml").write_text("today: 2026-01-02\n")
    assert set_up(Stack("app"), program).run.today == datetime.date(2026, 1, 2)
    assert set_up(STACK, program).run.today == DAY


def test_every_problem_is_told(program):
    (program / "gpusize-policy.yaml").write_text("preset: loose\nlevles: {}\n")
    stack = Stack("app", {"today": "tomorrow", "catalog": "nowhere"})
    text = "\n".join(told(set_up(stack, program)))
    for word in ("preset", "levles", "gpusize:today", "gpusize:catalog"):
        assert word in text


def test_thresholds_of_a_configuration_are_taken(program):
    setup = configure(set_up(STACK, program), NAMES, {"cannot-evaluate": {"unknowns": "error"}})
    assert told(setup) == []
    assert setup.run.settings.unknowns == "error"


def test_misspelt_configuration_is_told(program):
    given = {"weight-exceed-vram": {}, "cannot-evaluate": {"unknown": 1, "a\x1bb": 1}, "x\ny": {}}
    text = "\n".join(told(configure(set_up(STACK, program), NAMES, given)))
    assert "did you mean weights-exceed-vram" in text
    assert "cannot-evaluate.unknown" in text
    assert text.replace("\n", "").isprintable()
    assert "x\ny" not in text


def test_judging_turns_no_rule_off(program):
    (program / "gpusize-policy.yaml").write_text("levels: {GPU101: off, GPU501: warn}\n")
    setup = set_up(STACK, program)
    rules = {rule.code: rule for rule in RULES}
    assert setup.level_of(rules["GPU101"]) is None
    assert setup.judging.settings.level_of(rules["GPU101"]) is not None
    assert setup.judging.settings.levels["GPU501"] == "warn"
    assert all(setup.judging.settings.level_of(rule) for rule in RULES)


def test_all_is_a_key_of_pulumi_s_own(program):
    given = {"all": {}}
    assert told(configure(set_up(STACK, program), NAMES, given)) == []
    (problem,) = told(configure(set_up(STACK, program), NAMES, {"all": {"unknowns": "error"}}))
    assert "all.unknowns: no such property" in problem


def test_a_misspelt_key_of_the_stack_is_told(program):
    stack = Stack("app", {"catlog": "prices"})
    (problem,) = told(set_up(stack, program))
    assert problem == "gpusize:catlog: unknown key (did you mean catalog?)"
    assert told(set_up(stack._replace(project="gpusize"), program)) == []
