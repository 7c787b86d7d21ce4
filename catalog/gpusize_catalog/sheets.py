"""CSV files of users: read with limits, told with file, line and column."""

from __future__ import annotations

import csv
import io
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpusize_catalog.problems import Problem, shown

LARGEST_FILE = 16 * 2**20
"""Bytes of one file: a hundred times the largest shipped table."""
MOST_ROWS = 50_000
"""Rows of one file."""
LONGEST_CELL = 4_000
"""Characters of one cell: no source or note is longer."""

ENOUGH_PROBLEMS = 1_000
"""After so many problems no more rows are looked at: a wrong column is told often enough."""


class SheetRow(NamedTuple):
    """One row, with the line on which it begins, counted from 1."""

    line: int
    cells: list[str]


class Sheet(NamedTuple):
    """A header and the rows that have as many cells."""

    file: str
    header: list[str]
    rows: list[SheetRow]
    content: bytes


def read_sheet(path: Path, problems: list[Problem]) -> Sheet | None:
    """Read a CSV file; what is wrong with it goes to `problems`."""
    content = _content(path, problems)
    if content is None:
        return None
    text = _text(str(path), content, problems)
    if text is None:
        return None
    rows = list(_rows(str(path), text, problems))
    if not rows:
        problems.append(Problem("", "no header", "name the columns in the first line", str(path)))
        return None
    header = rows[0].cells
    good: list[SheetRow] = []
    for row in rows[1:]:
        if len(problems) >= ENOUGH_PROBLEMS:
            break
        if _is_good(str(path), row, len(header), problems):
            good.append(row)
    return Sheet(str(path), header, good, content)


def _content(path: Path, problems: list[Problem]) -> bytes | None:
    """Read the bytes of a regular file that is not too large."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            problems.append(Problem("", f"{kind}, not a table", "", str(path)))
            return None
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        problems.append(Problem("", f"cannot be read: {error.strerror}", "", str(path)))
        return None
    if len(content) > LARGEST_FILE:
        limit = f"larger than {LARGEST_FILE // 2**20} MiB"
        problems.append(Problem("", limit, "split the table over several folders", str(path)))
        return None
    return content


def _text(file: str, content: bytes, problems: list[Problem]) -> str | None:
    """Decode the bytes as UTF-8, with or without a byte order mark."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problems.append(Problem("", "not UTF-8", "save the file as UTF-8", file, line))
        return None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        problems.append(Problem("", "a NUL character", "save the file as plain text", file, line))
        return None
    return text


def _rows(file: str, text: str, problems: list[Problem]) -> Iterator[SheetRow]:
    """Parse lines; stop at the first that is no CSV, because what follows has no sure place."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    count = 0
    try:
        for cells in reader:
            if cells:
                count += 1
                yield SheetRow(line, cells)
            if count > MOST_ROWS:
                problems.append(Problem("", f"more than {MOST_ROWS} rows", "", file, line))
                return
            line = reader.line_num + 1
    except csv.Error as error:
        problems.append(Problem("", f"not CSV: {error}", "check the quotes", file, line))


def _is_good(file: str, row: SheetRow, width: int, problems: list[Problem]) -> bool:
    """Whether a row has the header's width and plain cells."""
    if len(row.cells) != width:
        message = f"{len(row.cells)} cells, and the header has {width}"
        problems.append(Problem("", message, "quote cells that hold commas", file, row.line))
        return False
    bad = [column for column, cell in enumerate(row.cells, 1) if not _is_plain(cell)]
    for column in bad:
        message = f"{shown(row.cells[column - 1])} is too long or holds a line break"
        fix = f"at most {LONGEST_CELL} characters on one line"
        problems.append(Problem("", message, fix, file, row.line, column))
    return not bad


def _is_plain(cell: str) -> bool:
    """Whether a cell is one line of text of a sensible length."""
    return len(cell) <= LONGEST_CELL and (cell.isprintable() or not cell)
