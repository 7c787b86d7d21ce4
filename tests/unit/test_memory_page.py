"""Every worked example of the memory page says what the program says, and its sums are right."""

from __future__ import annotations

import ast
import datetime
import operator
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gpusize.memory.result import Fit, Term
from gpusize.resolve import resolve
from gpusize.workload import parse_workload
from gpusize_catalog.store import load
from gpusize_catalog.units import GIB

PAGE = (Path(__file__).parents[2] / "docs/memory.md").read_text(encoding="utf-8")
TODAY = datetime.date(2026, 11, 30)
SHOWN = 0.0006
"""GiB that rounding to three digits hides, and a little."""
ROW = re.compile(r"^\| ([a-z-]+) \| ([\d.]+) \| (.+) \|$", re.MULTILINE)
EXAMPLE = re.compile(r"^```yaml\n(.*?)^```\n(.*?)(?=^```|^#|\Z)", re.MULTILINE | re.DOTALL)
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


class Figure(NamedTuple):
    example: str
    term: str
    gib: float
    how: str


def figures() -> Iterator[Figure]:
    for declared, after in EXAMPLE.findall(PAGE):
        for term, number, how in ROW.findall(after):
            yield Figure(declared, term, float(number), how)


@cache
def fit_of(declared: str) -> Fit:
    resolution = resolve(parse_workload(yaml.safe_load(declared)), load(), today=TODAY)
    assert resolution.candidate is not None
    return resolution.candidate.fit


def computed(fit: Fit, term: str) -> int:
    known: dict[str, int | None] = {"need": fit.need, "budget": fit.budget, "host": fit.host}
    found = known[term] if term in known else fit.term(Term(term))
    assert found is not None
    return found


def value(node: Any) -> float:
    """Work out sums of plain numbers, nothing else."""
    if isinstance(node, ast.Expression):
        return value(node.body)
    if isinstance(node, ast.BinOp):
        return OPERATIONS[type(node.op)](value(node.left), value(node.right))
    assert isinstance(node, ast.Constant), ast.dump(node)
    return float(node.value)


FIGURES = tuple(figures())


def test_the_page_has_examples() -> None:
    assert len({figure.example for figure in FIGURES}) >= 4


@pytest.mark.parametrize("figure", FIGURES, ids=lambda item: f"{item.term} {item.gib}")
def test_a_figure_is_what_the_program_says(figure: Figure) -> None:
    assert computed(fit_of(figure.example), figure.term) / GIB == pytest.approx(
        figure.gib, abs=SHOWN
    )


@pytest.mark.parametrize(
    "figure",
    [figure for figure in FIGURES if figure.how.startswith("`")],
    ids=lambda item: f"{item.term} {item.gib}",
)
def test_the_sum_beside_a_figure_is_right(figure: Figure) -> None:
    worked = value(ast.parse(figure.how.strip("`"), mode="eval"))
    assert worked == pytest.approx(figure.gib, abs=SHOWN)


@pytest.mark.parametrize("term", list(Term), ids=lambda term: term.value)
def test_every_term_has_an_example(term: Term) -> None:
    assert term.value in {figure.term for figure in FIGURES}
