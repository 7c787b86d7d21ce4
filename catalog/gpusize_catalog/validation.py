"""Rows checked against their table's JSON Schema: shipped ones by tests, users' ones at load."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator, FormatChecker

from gpusize_catalog.consistency import CHECKS
from gpusize_catalog.problems import shown
from gpusize_catalog.rows import ENCODING
from gpusize_catalog.table import Table

SCHEMAS = Path(__file__).parent / "schemas"

# Eighteen digits are more than any count in a catalog, and small enough to be read at once.
INTEGER = re.compile(r"-?[0-9]{1,18}")
NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
TRUTH = {"true": True, "false": False}
FORMATS = FormatChecker(formats=["date"])


class Fault(NamedTuple):
    """What is wrong with one cell; an empty column stands for the whole row."""

    column: str
    message: str
    fix: str


def schema_path(table: str) -> Path:
    """Return where a table's JSON Schema lies."""
    return SCHEMAS / f"{table}.schema.json"


def read_schema(table: str) -> dict[str, Any]:
    """Read a table's JSON Schema."""
    schema: dict[str, Any] = json.loads(schema_path(table).read_text(encoding=ENCODING))
    return schema


class RowCheck:
    """The check of one table's rows: JSON Schema, conversion, agreement between columns.

    A row's schema is that of its cells and the list of required ones, so each cell is held against
    its column's schema, and a cell text that comes again is not held against it again.
    """

    def __init__(self, table: Table[Any]) -> None:
        """Read the table's schema."""
        self.table = table
        schema = read_schema(table.name)
        self.properties: dict[str, dict[str, Any]] = schema["properties"]
        self.required: frozenset[str] = frozenset(schema["required"])
        self._validators = {
            column: Draft202012Validator(rules, format_checker=FORMATS)
            for column, rules in self.properties.items()
        }
        self._known: dict[tuple[str, str], Fault | None] = {}

    def faults(self, cells: Mapping[str, str]) -> list[Fault]:
        """Return what is wrong with a whole row, given as cell texts by column."""
        found = [self._cell_fault(column, cell) for column, cell in cells.items()]
        return [fault for fault in found if fault] or list(self._disagreements(cells))

    def _cell_fault(self, column: str, cell: str) -> Fault | None:
        """Return what is wrong with one cell, if anything is."""
        key = (column, cell)
        if key not in self._known:
            self._known[key] = self._look_at(column, cell)
        return self._known[key]

    def _look_at(self, column: str, cell: str) -> Fault | None:
        """Hold a cell against its column's schema."""
        if not cell and column in self.required:
            return Fault(column, "empty, and a new row needs it", self._hint(column))
        value = self._value(column, cell)
        error = next(iter(self._validators[column].iter_errors(value)), None)
        if error is None:
            return None
        kind = str(error.validator)
        say = MESSAGES.get(kind)
        said = say(self.properties[column]) if say else f"breaks {kind} of the schema"
        return Fault(column, f"{shown(cell)} {said}", self._fix(kind, column, cell))

    def _value(self, column: str, cell: str) -> object:
        """Turn a cell into the JSON value that the schema describes; a bad cell stays text."""
        types = types_of(self.properties[column])
        if not cell and "null" in types:
            return None
        read = next((READERS[name] for name in types if name in READERS), str)
        return read(cell)

    def _fix(self, kind: str, column: str, cell: str) -> str:
        """Propose a word for a misspelt one, else say what the column holds."""
        if kind != "enum":
            return self._hint(column)
        from gpusize_catalog.spelling import did_you_mean

        words = [word for word in self.properties[column]["enum"] if word]
        return did_you_mean(cell, words) or f"one of: {', '.join(words)}"

    def _hint(self, column: str) -> str:
        """Return the first sentence of a column's description, with an example."""
        schema = self.properties.get(column, {})
        sentence = str(schema.get("description", "")).split(". ")[0].rstrip(".")
        examples = schema.get("examples")
        return f"{sentence}, such as {examples[0]}" if examples else sentence

    def _disagreements(self, cells: Mapping[str, str]) -> Iterator[Fault]:
        """Convert the row, and hold its columns against each other."""
        try:
            row = self.table.row([cells[column] for column in self.table.columns])
        except (ValueError, KeyError, OverflowError) as error:
            yield Fault("", f"cannot be read: {error}", "")
            return
        for column, message in CHECKS.get(self.table.name, _agrees)(row):
            yield Fault(column, message, self._hint(column))


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the JSON types of a property."""
    types = schema["type"]
    return (types,) if isinstance(types, str) else tuple(types)


def _integer(cell: str) -> object:
    return int(cell) if INTEGER.fullmatch(cell) else cell


def _number(cell: str) -> object:
    value = float(cell) if NUMBER.fullmatch(cell) else math.nan
    return value if math.isfinite(value) else cell


def _boolean(cell: str) -> object:
    return TRUTH.get(cell, cell)


def _agrees(_row: object) -> Iterator[tuple[str, str]]:
    """Find nothing: the check of a table without one."""
    return iter(())


READERS: dict[str, Callable[[str], object]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}

NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "a text",
    "null": "empty",
}

MESSAGES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "type": lambda schema: "is not " + " or ".join(NAMES[name] for name in types_of(schema)),
    "enum": lambda _: "is not a known word",
    "pattern": lambda _: "is not written as this column needs it",
    "format": lambda _: "is no day of the calendar",
    "minLength": lambda _: "is empty",
    "minimum": lambda schema: f"is less than {schema['minimum']}",
    "exclusiveMinimum": lambda schema: f"is not more than {schema['exclusiveMinimum']}",
    "maximum": lambda schema: f"is more than {schema['maximum']}",
}
