"""Overlay folders: rows that users add to the shipped catalog or correct in it.

A folder holds CSV files called and headed like the shipped ones. A row whose key is known corrects
it: only filled cells count, and columns may be left out. Any other row is new and needs every
required column. All problems of all files are told at once; nothing is half loaded.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpusize_catalog import sheets
from gpusize_catalog.digest import DIGEST_CHARACTERS
from gpusize_catalog.problems import GpuSizeError, Problem, shown
from gpusize_catalog.rows import Groups, cells, grouped, shipped_groups
from gpusize_catalog.sheets import Sheet, SheetRow, read_sheet
from gpusize_catalog.spelling import did_you_mean
from gpusize_catalog.table import Table
from gpusize_catalog.tables import TABLES
from gpusize_catalog.validation import Fault, RowCheck

ENDING = ".csv"
IGNORED_ENDINGS = (".md",)
"""Files that may lie beside tables: what the rows rest on, in prose."""

Key = tuple[str, ...]
Rows = dict[Key, list[str]]


class Change(NamedTuple):
    """One row of an overlay: its place, and the filled cells by column."""

    table: str
    sheet: Sheet
    row: SheetRow
    filled: dict[str, str]

    def problem(self, fault: Fault) -> Problem:
        """Tell a fault of this row with its place."""
        header = self.sheet.header
        column = header.index(fault.column) + 1 if fault.column in header else None
        path = fault.column or self.table
        return Problem(path, fault.message, fault.fix, self.sheet.file, self.row.line, column)


def lay_over(folders: Sequence[Path]) -> tuple[dict[str, Groups], str, frozenset[Key]]:
    """Return the changed tables, the digest of all overlay files, and the rows they hold.

    Of each row the name of its table and then its key.

    Raises `GpuSizeError` with every problem.
    """
    problems: list[Problem] = []
    merge = Merge(problems)
    total = hashlib.sha256()
    for folder in folders:
        for path in _tables_in(folder, problems):
            sheet = read_sheet(path, problems)
            if sheet is not None:
                merge.add(TABLES[path.stem], sheet)
                total.update(f"{path.name} {hashlib.sha256(sheet.content).hexdigest()}\n".encode())
    merge.check_references()
    if problems:
        raise GpuSizeError(_told(problems))
    return merge.groups(), total.hexdigest()[:DIGEST_CHARACTERS], frozenset(merge.own)


def _told(problems: list[Problem]) -> list[Problem]:
    """Say when rows were left unread because there were problems enough."""
    if len(problems) < sheets.ENOUGH_PROBLEMS:
        return problems
    return [*problems, Problem("", "rows after this were not looked at", "fix these first")]


def _tables_in(folder: Path, problems: list[Problem]) -> list[Path]:
    """Return the table files of a folder, in order of their names."""
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        problems.append(
            Problem(
                "",
                f"overlay folder cannot be read: {error.strerror}",
                "name a folder of CSV files",
                str(folder),
            )
        )
        return []
    paths = [path for path in found if not _is_ignored(path)]
    for path in paths:
        if not _is_table(path):
            files = [f"{name}{ENDING}" for name in TABLES]
            fix = did_you_mean(path.name, files) or f"tables are {', '.join(files)}"
            problems.append(Problem("", "not a table of the catalog", fix, str(path)))
    return [path for path in paths if _is_table(path)]


def _is_ignored(path: Path) -> bool:
    """Whether a file is no matter of the catalog: hidden, or prose."""
    return path.name.startswith(".") or path.name.lower().endswith(IGNORED_ENDINGS)


def _is_table(path: Path) -> bool:
    return path.suffix == ENDING and path.stem in TABLES


class Merge:
    """Shipped rows and the changes laid over them."""

    def __init__(self, problems: list[Problem]) -> None:
        """Begin without changes; what is wrong goes to `problems`."""
        self.problems = problems
        self.rows: dict[str, Rows] = {}
        self.changes: list[Change] = []
        self.checks: dict[str, RowCheck] = {}
        self.ids: dict[str, dict[str, None]] = {}
        self.own: set[Key] = set()

    def add(self, table: Table[Any], sheet: Sheet) -> None:
        """Lay one file over its table."""
        if not self._has_good_header(table, sheet):
            return
        seen: dict[Key, int] = {}
        rows = self._rows_of(table)
        for row in sheet.rows:
            if len(self.problems) >= sheets.ENOUGH_PROBLEMS:
                return
            given = dict(zip(sheet.header, row.cells, strict=True))
            filled = {column: cell for column, cell in given.items() if cell}
            change = Change(table.name, sheet, row, filled)
            key = tuple(given.get(column, "") for column in table.key)
            if key in seen:
                message = f"{shown(', '.join(key))} is on line {seen[key]} too"
                self.problems.append(change.problem(Fault(table.key[0], message, "keep one")))
                continue
            seen[key] = row.line
            self._lay(table, change, key, rows)

    def _lay(self, table: Table[Any], change: Change, key: Key, rows: Rows) -> None:
        """Lay one row over the one with its key, or add it."""
        old = rows.get(key) or [""] * len(table.columns)
        new = [
            change.filled.get(column, cell) for column, cell in zip(table.columns, old, strict=True)
        ]
        faults = self._check_of(table).faults(dict(zip(table.columns, new, strict=True)))
        self.problems += [change.problem(fault) for fault in faults]
        self.changes.append(change)
        self.own.add((table.name, *key))
        rows[key] = new

    def _has_good_header(self, table: Table[Any], sheet: Sheet) -> bool:
        """Whether a header names columns of the table, each once, and what tells rows apart."""
        header = sheet.header
        if len(header) > len(table.columns):
            message = f"{len(header)} columns, and the table has {len(table.columns)}"
            self.problems.append(Problem("", message, "name each column once", sheet.file, 1))
            return False
        faults: list[tuple[int | None, str, str]] = []
        for number, column in enumerate(header, 1):
            if column not in table.columns:
                fix = (
                    did_you_mean(column, table.columns) or f"columns are {', '.join(table.columns)}"
                )
                faults.append((number, f"unknown column {shown(column)}", fix))
            if column in header[: number - 1]:
                faults.append((number, f"column {shown(column)} stands twice", "keep one"))
        for column in table.key:
            if column not in header and column in self._check_of(table).required:
                fix = f"rows are told apart by {', '.join(table.key)}"
                faults.append((None, f"no column {column}", fix))
        self.problems += [
            Problem("", message, fix, sheet.file, 1, number) for number, message, fix in faults
        ]
        return not faults

    def _rows_of(self, table: Table[Any]) -> Rows:
        """Return a table's rows so far, by key."""
        if table.name not in self.rows:
            places = [table.columns.index(column) for column in table.key]
            lines = [line for group in shipped_groups(table.name).values() for line in group]
            self.rows[table.name] = {
                tuple(row[place] for place in places): row for row in cells(lines)
            }
        return self.rows[table.name]

    def _check_of(self, table: Table[Any]) -> RowCheck:
        """Return the check of a table's rows."""
        if table.name not in self.checks:
            self.checks[table.name] = RowCheck(table)
        return self.checks[table.name]

    def check_references(self) -> None:
        """Tell ids that no row has; patterns of regions name no row."""
        for change in self.changes:
            if len(self.problems) >= sheets.ENOUGH_PROBLEMS:
                return
            for column, targets in TABLES[change.table].references.items():
                word = change.filled.get(column, "")
                if word and "*" not in word and not any(word in self._ids(one) for one in targets):
                    known = [one for target in targets for one in self._ids(target)]
                    fix = did_you_mean(word, known) or f"add a row to {targets[0]}{ENDING}"
                    message = f"{shown(word)} is not in {' or '.join(targets)}"
                    self.problems.append(change.problem(Fault(column, message, fix)))

    def _ids(self, name: str) -> dict[str, None]:
        """Return the ids of a table with its changes."""
        if name not in self.ids:
            self.ids[name] = dict.fromkeys(key[0] for key in self._rows_of(TABLES[name]))
        return self.ids[name]

    def groups(self) -> dict[str, Groups]:
        """Return the changed tables as lines by first cell."""
        changed = {change.table for change in self.changes}
        return {name: grouped(map(_line, self.rows[name].values())) for name in sorted(changed)}


def _line(row: list[str]) -> str:
    """Write a row as one line of CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(row)
    return out.getvalue()
