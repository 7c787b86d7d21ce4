"""The digest of the shipped data.

After an edit `.venv/bin/python -m gpusize_catalog.digest` checks the tables and writes it anew.

A decision carries it, so that two environments can tell whether they used the same facts; storing
it beside the data spares every start the hashing of all files.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusize_catalog.rows import DATA, ENCODING

if TYPE_CHECKING:
    from gpusize_catalog.problems import Problem
    from gpusize_catalog.table import Table

DIGEST_FILE = DATA / "DIGEST"
REFUSED = 2
"""Exit code when the data are not as their schemas say."""
DIGEST_CHARACTERS = 12
"""Hex characters shown: 48 bits tell any two catalogs of one project apart."""


def digest_of(files: Iterable[Path]) -> str:
    """Return the short digest of files, by name and content, in order of their names."""
    total = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.name} {content}\n".encode())
    return total.hexdigest()[:DIGEST_CHARACTERS]


def newest_date(files: Iterable[Path]) -> str:
    """Return the newest `date` of any row."""
    dates = []
    for file in files:
        with file.open(encoding=ENCODING, newline="") as lines:
            dates += [row.get("date") or "" for row in csv.DictReader(lines)]
    return max(dates)


def stamp() -> str:
    """Return the content that `DIGEST` should have: digest and newest date."""
    files = list(DATA.glob("*.csv"))
    return f"{digest_of(files)} {newest_date(files)}\n"


def faults_in(table: Table[Any], file: Path) -> Iterator[Problem]:
    """Hold the rows of a table's file against its schema."""
    from gpusize_catalog.problems import Problem
    from gpusize_catalog.validation import RowCheck

    name = file.name
    check = RowCheck(table)
    with file.open(encoding=ENCODING, newline="") as lines:
        rows = csv.reader(lines)
        header = tuple(next(rows, ()))
        if header != table.columns:
            yield Problem("", "the columns are not those of the table", "", name, 1)
            return
        for cells in rows:
            if len(cells) != len(header):
                text = f"{len(cells)} cells, and the table has {len(header)} columns"
                fix = "quote a cell that holds a comma"
                yield Problem("", text, fix, name, rows.line_num)
                continue
            for fault in check.faults(dict(zip(header, cells, strict=True))):
                yield Problem(fault.column, fault.message, fault.fix, name, rows.line_num)


def main() -> int:
    """Write the digest of the shipped data; refuse when a table is not as its schema says."""
    from gpusize_catalog.tables import TABLES

    problems = [
        problem
        for table in TABLES.values()
        for problem in faults_in(table, DATA / f"{table.name}.csv")
    ]
    if problems:
        print(*problems, "nothing written", sep="\n", file=sys.stderr)
        return REFUSED
    DIGEST_FILE.write_text(stamp(), encoding="ascii")
    print(f"written to data/{DIGEST_FILE.name}: {stamp()}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
