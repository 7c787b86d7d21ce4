"""The memory model against published runs, where their file lies beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.measured.cases import read_all
from bench.measured.score import Score, percentile, score

CASES = Path(__file__).parents[4] / "shared" / "cases" / "serving.jsonl"


@pytest.fixture(scope="module")
def result(catalog) -> Score:
    if not CASES.is_file():
        pytest.skip("the measured cases are not beside the repository")
    cases, skipped = read_all(CASES, catalog)
    return score(cases, catalog, skipped)


def test_weights(result):
    errors = [abs(miss.error) for miss in result.weights]
    assert len(errors) > 80
    assert percentile(errors, 0.5) <= 0.006
    assert percentile(errors, 0.9) <= 0.025


def test_concurrency_and_tokens(result):
    errors = [abs(miss.error) for miss in result.capacity]
    assert len(errors) > 60
    assert percentile(errors, 0.5) <= 0.04
    assert percentile(errors, 0.9) <= 0.40


def test_verdicts_on_runs_that_ran(result):
    ran = [verdict for _, verdict, fits, _ in result.verdicts if fits]
    assert ran.count("does-not-fit") <= 0.05 * len(ran)
    assert ran.count("tight") <= 0.15 * len(ran)
