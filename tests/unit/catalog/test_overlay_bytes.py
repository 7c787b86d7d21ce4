"""Whatever bytes lie in an overlay, loading it gives a catalog or a told error."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load
from gpusize_catalog.tables import TABLES

WORDS = [
    "H100",
    "id",
    "a/b",
    "1",
    "-1",
    "1e9",
    "9.0",
    "true",
    "",
    "x",
    "us-east-1",
    '"',
    "\uff12",
    "\u2028",
]

tables = st.sampled_from(sorted(TABLES))


@st.composite
def sheets(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a table with known columns and cells that nearly fit."""
    table = TABLES[draw(tables)]
    header = [*table.key, *draw(st.lists(st.sampled_from(table.columns), max_size=6))]
    cells = st.sampled_from(WORDS) | st.text(max_size=12)
    width = st.just(len(header)) | st.integers(0, len(header) + 1)
    rows = draw(
        st.lists(width.flatmap(lambda n: st.lists(cells, min_size=n, max_size=n)), max_size=4)
    )
    text = "\n".join(",".join(row) for row in [header, *rows])
    return table.name, text.encode("utf-8", "surrogatepass")


def check(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / f"{name}.csv").write_bytes(content)
        try:
            catalog = load([Path(folder)])
        except GpuSizeError as error:
            assert all(problem.message and problem.file for problem in error.problems)
        else:
            assert catalog.gpus()


@settings(max_examples=60, deadline=None)
@given(tables, st.binary(max_size=300))
@example("gpus", b"\xef\xbb\xbf")
@example("gpus", b"id\r\r\n")
@example("gpus", b'"')
@example("models", b"id\n" + b"9" * 5000)
def test_any_bytes_are_a_catalog_or_a_told_error(table: str, content: bytes) -> None:
    check({table: content})


@settings(max_examples=120, deadline=None)
@given(sheets())
def test_tables_that_nearly_fit_are_a_catalog_or_a_told_error(sheet: tuple[str, bytes]) -> None:
    check(dict([sheet]))


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_table_takes_an_empty_overlay(table: str) -> None:
    check({table: (",".join(TABLES[table].columns) + "\n").encode()})
