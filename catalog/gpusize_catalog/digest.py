"""The digest of the shipped data: `python -m gpusize_catalog.digest` writes it after an edit.

A decision carries it, so that two environments can tell whether they used the same facts; storing
it beside the data spares every start the hashing of all files.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path

from gpusize_catalog.rows import DATA, ENCODING

DIGEST_FILE = DATA / "DIGEST"
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


def main() -> None:
    """Write the digest of the shipped data."""
    DIGEST_FILE.write_text(stamp(), encoding="ascii")


if __name__ == "__main__":
    main()
