"""What a table is: one CSV file, its key, its columns in file order, the type of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from gpusize_catalog import columns as c

Row = TypeVar("Row")

_BY_ANNOTATION: dict[object, c.Convert] = {
    str: c.text,
    int: c.whole,
    float: c.number,
    bool: c.boolean,
    tuple[str, ...]: c.words,
    tuple[int, int]: c.pair,
    str | None: c.opt_text,
    int | None: c.opt_whole,
    float | None: c.opt_number,
    bool | None: c.opt_boolean,
    tuple[int, int] | None: c.opt_pair,
}


def columns_of(row_type: type[Any], **different: c.Convert) -> dict[str, c.Convert]:
    """Derive columns from a row type whose columns are called like its fields.

    `different` gives the converter of a field whose annotation does not say it.
    """
    return {
        name: different.get(name) or _BY_ANNOTATION[annotation]
        for name, annotation in row_type.__annotations__.items()
    }


class Table(Generic[Row]):
    """One CSV file of rows; the first column is what the rows are looked up by."""

    __slots__ = ("columns", "converters", "key", "make", "name", "references")

    def __init__(
        self,
        name: str,
        row_type: type[Row],
        key: tuple[str, ...],
        columns: Mapping[str, c.Convert],
        references: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Declare `name`.csv; `references` maps a column to the tables whose ids it names."""
        self.name = name
        self.make = row_type
        self.key = key
        self.columns = tuple(columns)
        self.converters = tuple(columns.values())
        self.references = dict(references or {})

    def row(self, cells: list[str]) -> Row:
        """Build a typed row from the cells of one line, in column order."""
        values = [convert(cell) for convert, cell in zip(self.converters, cells, strict=True)]
        return self.make(*values)
