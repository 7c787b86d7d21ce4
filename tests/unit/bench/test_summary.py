"""Figures of groups and verdicts against arithmetic done by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.measured import __main__ as command
from bench.measured import run
from bench.measured.page import END, PAGE, START, tables, written
from bench.measured.report import report
from bench.measured.summary import GROUPS, Judged, Miss, Told, data, empty, percentile

JUDGED = (
    ("a", "fits", True),
    ("b", "tight", True),
    ("c", "does-not-fit", True),
    ("d", "unknown", True),
    ("e", "fits", False),
    ("f", "tight", False),
    ("g", "does-not-fit", False),
)


@pytest.fixture
def summary():
    found = empty()
    group = found.group("diffusion")
    group.misses.extend([Miss("a", 11, 10), Miss("b", 5, 10), Miss("c", 10, 10), Miss("d", 12, 10)])
    group.uncovered.append(Told("e", "no facts"))
    for name, verdict, ran in JUDGED:
        found.judge("other", Judged(name, verdict, ran, "a reason"))
    found.bounds.extend([Miss("a", 20, 10), Miss("b", 9, 10)])
    return found


def test_figures_of_a_group(summary):
    found = data(summary)["groups"]["diffusion"]
    assert (found["n"], found["covered"]) == (5, 4)
    assert found["median"] == pytest.approx(0.15)
    assert found["p90"] == pytest.approx(0.2 + 0.7 * 0.3)
    assert found["within20"] == 0.75
    assert found["bias"] == pytest.approx(0.05)


def test_verdicts_against_what_happened(summary):
    assert data(summary)["fit"]["other"] == {
        "oomRows": 3,
        "caught": 2,
        "calledFits": 1,
        "calledFitsUnstated": 0,
        "ranRows": 4,
        "tight": 1,
        "falseAlarms": 1,
        "unknown": 1,
    }


def test_failures_of_rows_that_do_not_state_all_stand_apart(summary):
    summary.judge("other", Judged("x", "fits", False, "", "the version is not stated"))
    found = data(summary)["fit"]["other"]
    assert (found["oomRows"], found["calledFits"], found["calledFitsUnstated"]) == (4, 1, 1)
    assert "    x failed, called fits: the version is not stated" in report(summary, 1)


def test_bounds(summary):
    assert data(summary)["bound"] == {"n": 2, "holds": 1, "medianRatio": pytest.approx(1.45)}


def test_wrong_rows_are_named(summary):
    text = report(summary, 1)
    assert "    c ran, called does-not-fit: a reason" in text
    assert "    e failed, called fits: a reason" in text
    assert "    g failed" not in text
    assert "    b -50.0 % predicted 5.00 measured 10.00" in text
    assert "not predicted 1: no facts" in text


def test_a_folder_without_files_is_said(tmp_path):
    found = run(tmp_path)
    assert len(found.missing) == 4
    assert all(data(found)["groups"][name]["n"] == 0 for name in GROUPS)
    assert "skipped: no serving.jsonl in the folder given" in report(found, 3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_percentiles_lie_within(values, share):
    found = percentile(values, share)
    assert found is not None
    assert min(values) - 1e-6 <= found <= max(values) + 1e-6


def test_a_percentile_of_nothing_is_not_known():
    assert percentile([], 0.5) is None


def test_figures_stand_between_their_marks(summary):
    page = f"before\n{START}\nyesterday\n{END}\nafter\n"
    found = written(page, tables(summary))
    assert found.startswith(f"before\n{START}\n\n| what | rows |")
    assert found.endswith(f"{END}\nafter\n")
    assert "yesterday" not in found
    assert "| 5 | 4 | 15.0 % | 41.0 % | 75 % | +5.0 % |" in found
    assert "| pipelines and other | 3 | 2 | 1 | 0 | 4 | 1 | 1 | 1 |" in found
    assert "on 1 of 2 rates; the median ratio of the two is 1.45" in found
    assert written(found, tables(summary)) == found


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="no line"):
        written("nothing", "figures")


def test_the_page_of_the_documentation_has_its_marks():
    assert written(PAGE.read_text(encoding="utf-8"), "x")


def test_the_command_prints_figures_for_machines(tmp_path, capsys):
    assert command.main([str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"groups", "fit", "bound"}
    assert tuple(found["groups"]) == GROUPS
    assert found["groups"]["diffusion"]["median"] is None
