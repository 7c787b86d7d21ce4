"""The shipped catalog, and the raw facts it was made from where they lie beside the repository."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusize_catalog.rows import shipped_path
from gpusize_catalog.store import Catalog, load

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts"

RawRows = list[dict[str, str]]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load()


@pytest.fixture(scope="session")
def shipped() -> Callable[[str], RawRows]:
    """Read a shipped table as texts by column."""

    def read(table: str) -> RawRows:
        with shipped_path(table).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture(scope="session")
def facts() -> Callable[[str], RawRows]:
    """Read a file of raw facts; skip where there are none."""

    def read(name: str) -> RawRows:
        path = FACTS / f"{name}.csv"
        if not path.exists():
            pytest.skip("the raw facts are not beside this repository")
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read
