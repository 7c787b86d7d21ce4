"""Component, pack and command take what decides from one file and the stack's configuration."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from gpusize.decision import decide
from gpusize.settings import DEFAULTS, parameters, with_parameters
from gpusize.surroundings import stack_values, surroundings, unknown_keys
from gpusize.workload import parse_workload
from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.settings import load
from gpusize_policies.setup import Stack, set_up

SETTINGS = """\
preset: strict
levels: {GPU104: off}
parameters: {minSpotDiscount: 0.99, maxNodes: 2}
today: 2026-11-30
catalog: [ours]
lock: kept.lock
"""
BACKLOG = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "region": "us-east-1",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "gpusize-policy.yaml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def test_what_decides_is_read_from_the_settings_file(folder: Path) -> None:
    around = surroundings(folder, {})
    assert around.today == datetime.date(2026, 11, 30)
    assert around.overlays == (folder / "ours",)
    assert around.lock == folder / "kept.lock"
    assert around.settings == DEFAULTS._replace(min_spot_discount=0.99, max_nodes=2)


def test_the_stack_s_configuration_wins(folder: Path) -> None:
    config = {"today": "2026-12-01", "catalog": "theirs", "lock": "stack.lock"}
    around = surroundings(folder, config)
    assert around.today == datetime.date(2026, 12, 1)
    assert around.overlays == (folder / "ours", folder / "theirs")
    assert around.lock == folder / "stack.lock"


def test_the_stack_may_name_another_file(folder: Path) -> None:
    (folder / "mild.yaml").write_text("parameters: {maxNodes: 1}", encoding="utf-8")
    around = surroundings(folder, {"settings": "mild.yaml", "today": "2026-12-01"})
    assert around.settings == DEFAULTS._replace(max_nodes=1)
    assert around.lock == folder / "gpusize.lock"


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    around = surroundings(tmp_path, {"today": "2026-12-01"})
    assert around.settings == DEFAULTS
    assert around.overlays == ()


def test_thresholds_under_names_of_rules_are_taken(folder: Path) -> None:
    text = "all: strict\non-demand-for-fault-tolerant-batch: {minSpotDiscount: 0.99}\n"
    (folder / "gpusize-policy.yaml").write_text(text, encoding="utf-8")
    around = surroundings(folder, {"today": "2026-12-01"})
    assert around.settings == DEFAULTS._replace(min_spot_discount=0.99)
    assert load(str(folder / "gpusize-policy.yaml")).resolving == around.settings


@pytest.mark.parametrize(
    "text",
    [
        "parameters: {maxNode: 2}",
        "parameters: {maxNodes: -1}",
        "today: tomorrow",
        "a: [",
        "lock: 5",
    ],
)
def test_bad_keys_are_told_with_their_place(folder: Path, text: str) -> None:
    (folder / "gpusize-policy.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(GpuSizeError) as caught:
        surroundings(folder, {})
    assert all(problem.file and problem.line for problem in caught.value.problems)


@pytest.mark.parametrize("text", ["levles: {}", "preset: loose", "levels: {GPU1: off}", "- a", ""])
def test_keys_that_only_judge_are_left_to_who_judges(folder: Path, text: str) -> None:
    (folder / "gpusize-policy.yaml").write_text(text, encoding="utf-8")
    assert surroundings(folder, {}).settings == DEFAULTS


@pytest.mark.parametrize("config", [{}, {"today": "2026-12-01", "catalog": "theirs"}])
def test_the_pack_decides_by_the_same(folder: Path, config: dict[str, str]) -> None:
    around = surroundings(folder, config)
    run = set_up(Stack("app", config), folder).run
    assert (run.today, run.overlays, run.lock) == (around.today, around.overlays, around.lock)
    assert run.settings.resolving == around.settings


def test_a_threshold_changes_the_decision(folder: Path) -> None:
    workload = parse_workload(BACKLOG)
    around = surroundings(folder, {})._replace(overlays=())
    usual = decide("backlog", workload, around._replace(settings=DEFAULTS))
    careful = decide("backlog", workload, around)
    assert usual.answers["market"] == "spot"
    assert careful.answers["market"] == "on-demand"


def test_every_threshold_has_a_name_in_files() -> None:
    assert with_parameters(parameters()) == DEFAULTS
    assert with_parameters({"maxNodes": 2.0}).max_nodes == 2


def test_every_value_of_the_stack_under_our_name_is_seen() -> None:
    whole = {"gpusize:catlog": "a", "aws:region": "us-east-1", "gpusize:today": "2026-11-30"}
    values = stack_values(lambda key: whole.get(f"gpusize:{key}"), whole)
    assert values == {"catlog": "a", "today": "2026-11-30"}
    (problem,) = unknown_keys(values, "app")
    assert (problem.path, problem.fix) == ("gpusize:catlog", "did you mean catalog?")
