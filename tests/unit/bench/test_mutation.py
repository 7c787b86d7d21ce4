"""The changes that `python -m bench.mutation` makes, and what it says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.mutation.groups import FOLDER, GROUPS
from bench.mutation.mutants import (
    Change,
    Mutant,
    change,
    is_python,
    mutants_of,
    mutated,
    operator_reason,
    place_reason,
    spans,
)
from bench.mutation.summary import Found, Outcome, to_data, to_text

ROOT = Path(__file__).parents[3]
SOURCE = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from somewhere import Thing


@cache(size=64)
def half(size: int | None, pairs: list[tuple[int, int]]) -> int | None:
    assert size > 0
    for one, other in zip(pairs, pairs, strict=True):
        size += one * other
    return size // 2
"""


def line_of(words: str) -> int:
    return SOURCE[: SOURCE.index(words)].count("\n") + 1


def test_every_module_of_the_memory_model_is_in_one_group() -> None:
    named = [module for group in GROUPS.values() for module in group.near]
    folder = ROOT / FOLDER
    files = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")]
    assert sorted(named) == sorted(str(path) for path in files if path.name != "__init__")


@pytest.mark.parametrize("name", GROUPS)
def test_the_tests_of_a_module_are_there(name: str) -> None:
    group = GROUPS[name]
    for module, near in group.near.items():
        tests = group.tests(module)
        files = [file for part in tests for file in part]
        assert files[0] == f"tests/{near.split()[0]}.py"
        assert len(set(files)) == len(files)
        assert all((ROOT / file).is_file() for file in files), module


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("if TYPE_CHECKING", "imports"),
        ("    from somewhere", "imports"),
        ("cache(size", "decorators"),
        ("    assert size", "assertion"),
    ],
)
def test_what_does_not_run_is_left_out(words: str, reason: str) -> None:
    place = (line_of(words), len(words) - len(words.lstrip()) + (words == "cache(size"))
    assert reason in place_reason(place, spans(SOURCE))


def test_annotations_and_guards_are_left_out_where_they_stand() -> None:
    lines = SOURCE.splitlines()
    for words, part, reason in (
        ("def half", "| None", "annotations"),
        ("def half", "list[", "annotations"),
        ("zip(", "True", "equally long"),
    ):
        line = line_of(words)
        assert reason in place_reason((line, lines[line - 1].index(part)), spans(SOURCE))
    line = line_of("one * other")
    assert place_reason((line, lines[line - 1].index("*")), spans(SOURCE)) == ""


@pytest.mark.parametrize(
    ("operator", "left_out"),
    [
        ("core/ReplaceBinaryOperator_BitOr_Add", True),
        ("core/RemoveDecorator", True),
        ("core/ReplaceComparisonOperator_Is_Eq", True),
        ("core/ReplaceComparisonOperator_Eq_Is", True),
        ("core/ReplaceComparisonOperator_Is_IsNot", False),
        ("core/ReplaceComparisonOperator_Eq_NotEq", False),
        ("core/ReplaceComparisonOperator_GtE_Gt", False),
        ("core/NumberReplacer", False),
    ],
)
def test_operators_that_mean_nothing_are_left_out(operator: str, left_out: bool) -> None:
    assert bool(operator_reason(operator)) is left_out


def test_a_change_is_shown_by_its_lines() -> None:
    assert change("a = 1\nb = 2\n", "a = 1\nb =  3\n") == Change("b = 2", "b =  3")


def test_what_is_no_python_is_no_mutant() -> None:
    assert is_python(SOURCE)
    assert not is_python(SOURCE.replace("size // 2", "size // not 2"))


def test_a_module_is_changed_in_one_place() -> None:
    pytest.importorskip("cosmic_ray")
    found = dict(mutants_of("half.py", SOURCE))
    halves = [
        mutant
        for mutant, why in found.items()
        if mutant.line == line_of("size // 2") and mutant.operator == "core/NumberReplacer"
    ]
    assert [change(SOURCE, mutated(SOURCE, one)).becomes for one in halves] == [
        "return size // 3",
        "return size // 1",
    ]
    assert not any(found[one] for one in halves)
    assert found[Mutant("half.py", line_of("cache(size"), "core/RemoveDecorator", 0)]


def outcomes() -> Found:
    by_path = {"a.py": (True, True, False), "b.py": (True,)}
    return Found(
        tuple(
            Outcome(Mutant(path, line, "core/AddNot", line), killed, Change("x", "not x"))
            for path, each in by_path.items()
            for line, killed in enumerate(each, 1)
        ),
        9,
        {"imports for types alone": 2},
    )


def test_a_summary_counts_and_names_what_survived() -> None:
    told = to_text("serving", outcomes())
    assert told.startswith("## serving: 3 of 4 killed (75%), of 9 mutants")
    assert "a.py: 2 of 3" in told
    assert "left out 2: imports for types alone" in told
    assert "a.py:3 survived core/AddNot\n    - x\n    + not x" in told
    data = to_data(outcomes())
    assert (data["killed"], data["survived"], data["share"]) == (3, 1, 0.75)
    assert data["modules"]["b.py"] == {"killed": 1, "survived": 0}
    assert [(one["path"], one["line"]) for one in data["survivors"]] == [("a.py", 3)]


def test_no_change_at_all_is_no_failure() -> None:
    assert Found((), 0, {}).share == 1.0
