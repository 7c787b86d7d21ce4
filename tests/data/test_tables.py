"""Every shipped table is what its declaration and its schema say."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpusize_catalog import digest
from gpusize_catalog.rows import DATA, shipped_path
from gpusize_catalog.table import Table
from gpusize_catalog.tables import TABLES
from gpusize_catalog.validation import SCHEMAS, RowCheck, read_schema, types_of

RawRows = list[dict[str, str]]
Shipped = Callable[[str], RawRows]

every_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))

FIRST_DAY = date(2023, 1, 1)
LAST_RELEASE = date(2026, 11, 30)
"""Stands in for the clock where that is behind."""
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def test_files_are_the_declared_tables_and_nothing_else() -> None:
    assert {path.name for path in DATA.iterdir()} == {f"{name}.csv" for name in TABLES} | {"DIGEST"}
    assert {path.name for path in SCHEMAS.iterdir()} == {f"{name}.schema.json" for name in TABLES}


@every_table
def test_header_schema_and_row_type_have_the_same_columns(table: Table[Any]) -> None:
    with shipped_path(table.name).open(encoding="utf-8", newline="") as file:
        header = tuple(next(csv.reader(file)))
    assert header == table.columns
    assert tuple(read_schema(table.name)["properties"]) == table.columns
    assert len(table.make._fields) == len(table.columns)
    assert set(table.key) <= set(table.columns)
    assert table.key[0] == table.columns[0]


@every_table
def test_schema_is_strict_and_says_what_each_column_holds(table: Table[Any]) -> None:
    schema = read_schema(table.name)
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert all(column["description"].endswith(".") for column in schema["properties"].values())


@every_table
def test_schema_lets_a_cell_be_empty_where_the_row_type_does(table: Table[Any]) -> None:
    schema = read_schema(table.name)
    for column, convert in zip(table.columns, table.converters, strict=True):
        types = types_of(schema["properties"][column])
        if "null" in types:
            assert convert("") is None, column
        elif "string" not in types:
            assert column in schema["required"], column
            with pytest.raises((ValueError, KeyError)):
                convert("")


@every_table
def test_every_row_is_valid(table: Table[Any], shipped: Shipped) -> None:
    check = RowCheck(table)
    faults = [
        (line, fault)
        for line, row in enumerate(shipped(table.name), 2)
        for fault in check.faults(row)
    ]
    assert faults == []


@every_table
def test_keys_are_unique(table: Table[Any], shipped: Shipped) -> None:
    keys = [tuple(row[column] for column in table.key) for row in shipped(table.name)]
    assert len(keys) == len(set(keys))


@every_table
def test_one_row_stands_on_one_line(table: Table[Any], shipped: Shipped) -> None:
    text = shipped_path(table.name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    assert text.count("\n") == len(shipped(table.name)) + 1


@every_table
def test_cells_have_no_stray_spaces_and_first_cells_need_no_quotes(
    table: Table[Any], shipped: Shipped
) -> None:
    for row in shipped(table.name):
        assert all(cell == cell.strip() for cell in row.values()), row
        assert not set(row[table.columns[0]]) & set(',"')


@every_table
def test_references_name_rows(table: Table[Any], shipped: Shipped) -> None:
    for column, targets in table.references.items():
        ids = {row[TABLES[name].columns[0]] for name in targets for row in shipped(name)}
        named = {row[column] for row in shipped(table.name) if row[column]}
        assert {word for word in named if "*" not in word} <= ids


@every_table
def test_every_row_names_its_source(table: Table[Any], shipped: Shipped) -> None:
    """Aliases and endings give their reason as a note."""
    column = "source" if "source" in table.columns else "note"
    assert all(row[column] for row in shipped(table.name))


@every_table
def test_dates_are_days_of_the_past(table: Table[Any], shipped: Shipped) -> None:
    columns = {"date", "first_seen", "last_seen"} & set(table.columns)
    for row in shipped(table.name):
        for cell in filter(None, (row[column] for column in columns)):
            assert ISO_DATE.fullmatch(cell)
            assert FIRST_DAY < date.fromisoformat(cell) <= max(LAST_RELEASE, date.today()), row


def test_digest_is_that_of_the_data() -> None:
    written = digest.DIGEST_FILE.read_text(encoding="ascii")
    assert written == digest.stamp(), "run `.venv/bin/python -m gpusize_catalog.digest`"
