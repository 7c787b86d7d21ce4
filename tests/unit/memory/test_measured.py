"""The figures against published runs, where their files lie beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.measured import run
from bench.measured.report import report
from bench.measured.summary import data

CASES = Path(__file__).parents[4] / "shared" / "cases"


@pytest.fixture(scope="module")
def summary():
    if not CASES.is_dir():
        pytest.skip("the measured cases are not beside the repository")
    return run(CASES)


@pytest.fixture(scope="module")
def figures(summary):
    return data(summary)


@pytest.mark.parametrize(
    ("group", "rows", "covered", "median", "within20"),
    [
        ("serving.weights", 100, 0.95, 0.006, 0.98),
        ("serving.kv", 80, 0.94, 0.04, 0.75),
        ("training.dense", 145, 0.95, 0.10, 0.80),
        ("training.other", 60, 0.95, 0.20, 0.55),
        ("diffusion", 240, 0.95, 0.05, 0.85),
        ("throughput", 600, 0.95, 0.15, 0.70),
    ],
)
def test_errors_of_groups(figures, group, rows, covered, median, within20):
    found = figures["groups"][group]
    assert found["n"] >= rows
    assert found["covered"] >= covered * found["n"]
    assert found["median"] <= median
    assert found["within20"] >= within20


@pytest.mark.parametrize(("fit", "caught"), [("serving", 0.8), ("training", 0.8), ("other", 0.5)])
def test_verdicts(figures, fit, caught):
    found = figures["fit"][fit]
    assert found["caught"] >= caught * found["oomRows"] > 0
    assert found["falseAlarms"] <= 0.05 * found["ranRows"]


def test_few_runs_that_engines_made_are_called_tight(figures):
    found = figures["fit"]["serving"]
    assert found["tight"] <= 0.15 * found["ranRows"]


def test_what_hardware_allows_is_a_bound(figures):
    found = figures["bound"]
    assert found["holds"] >= 0.95 * found["n"] > 400


def test_wrong_verdicts_are_named(summary):
    text = report(summary, 0)
    wrong = [one.id for judged in summary.verdicts.values() for one in judged if one.is_wrong]
    assert wrong
    assert all(f"    {name} " in text for name in wrong)
