"""SOURCES.md lists every source that a row names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import gpusize_catalog
from gpusize_catalog.tables import TABLES

PAGE = Path(gpusize_catalog.__file__).parent / "SOURCES.md"

OWN_SOURCES = ("engines", "kernels", "formats", "speeds", "trainers", "diffusion_trainers")
"""Tables whose rows describe their sources; aliases and endings give a reason."""

LISTED = [
    name for name, table in TABLES.items() if "source" in table.columns and name not in OWN_SOURCES
]

# What a row says when nobody re-read a source; the page explains both.
WITHOUT_A_NAME = ("secondary source", "NOT re-verified")


def names() -> list[str]:
    """Return what stands in backquotes in the first cells of the page's tables."""
    cells = re.findall(r"^\| (`[^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("table", LISTED)
def test_sources_are_listed(table: str, shipped: Callable[[str], list[dict[str, str]]]) -> None:
    known = [*names(), *WITHOUT_A_NAME]
    sources = {row["source"] for row in shipped(table)}
    strange = [source for source in sources if not any(name in source for name in known)]
    assert not strange, "add a line with the source's name in backquotes to section 1 of SOURCES.md"


def test_the_page_lists_a_source_once() -> None:
    assert len(names()) > 30
    assert len(names()) == len(set(names()))
