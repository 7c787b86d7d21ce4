"""The changes that can be made to a module, and which of them mean nothing."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import NamedTuple

Place = tuple[int, int]
"""Line, from 1, and column, from 0."""


class Mutant(NamedTuple):
    """One change of a module."""

    path: str
    line: int
    operator: str
    """Name of the operator of cosmic-ray."""
    occurrence: int
    """Which of the places in the module where the operator can be applied."""


class Change(NamedTuple):
    """What a mutant makes of the lines that it changes."""

    was: str
    becomes: str


MEANINGLESS = {
    "BitOr": "`|` joins types, which nothing evaluates",
    "ExceptionReplacer": "the memory model catches no exceptions",
    "RemoveDecorator": "decorators cache or name, they do not compute",
    "Is_Eq": "`is` and `==` agree on None and on members of an enumeration",
    "IsNot_NotEq": "`is not` and `!=` agree on None and on members of an enumeration",
    "_Eq_Is": "`==` and `is` agree on words and small numbers that are kept once",
    "_NotEq_IsNot": "`!=` and `is not` agree on words and small numbers that are kept once",
}
"""Why operators are left out, by a part of their names."""


class Span(NamedTuple):
    """A part of a module whose changes mean nothing."""

    start: Place
    end: Place
    reason: str


def _span(node: ast.AST, reason: str) -> Span:
    assert isinstance(node, (ast.expr, ast.stmt, ast.keyword))
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return Span((node.lineno, node.col_offset), end, reason)


def spans(source: str) -> tuple[Span, ...]:
    """Parts of a module that do not run or only say again what types say."""
    return tuple(
        _span(part, reason)
        for node in ast.walk(ast.parse(source))
        for part, reason in _meaningless_parts(node)
    )


def _meaningless_parts(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        for decorator in node.decorator_list:
            yield decorator, "decorators cache or name, they do not compute"
    if isinstance(node, ast.Assert):
        yield node, "an assertion says again what is known before"
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        yield node, "imports for types alone"
    elif isinstance(node, ast.keyword) and node.arg == "strict":
        yield node, "what is zipped is equally long by construction"
    else:
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                yield part, "annotations are not evaluated"


def operator_reason(operator: str) -> str:
    """Why an operator is left out; empty where it is not."""
    return next((why for part, why in MEANINGLESS.items() if part in operator), "")


def place_reason(place: Place, found: tuple[Span, ...]) -> str:
    """Why a place of a module is left out; empty where it is not."""
    return next((span.reason for span in found if span.start <= place < span.end), "")


def mutants_of(path: str, source: str) -> Iterator[tuple[Mutant, str]]:
    """Every change of a module, each with why it is left out; empty where it is not."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes = list(ast_nodes(get_ast(source)))
    left_out = spans(source)
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments():
            continue
        reason = operator_reason(name)
        places = [begin for node in nodes for begin, _ in operator().mutation_positions(node)]
        for occurrence, place in enumerate(places):
            why = reason or place_reason(place, left_out)
            yield Mutant(path, place[0], name, occurrence), why


def mutated(source: str, mutant: Mutant) -> str:
    """The module with the change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    assert changed is not None, mutant
    return str(changed)


def is_python(source: str) -> bool:
    """Whether a changed module can be read at all; what cannot is no mutant."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def change(source: str, changed: str) -> Change:
    """The lines that differ."""
    lines = difflib.ndiff(source.splitlines(), changed.splitlines())
    found: dict[str, list[str]] = {"-": [], "+": []}
    for line in lines:
        if line[0] in found:
            found[line[0]].append(line[2:].strip())
    return Change("\n".join(found["-"]), "\n".join(found["+"]))
