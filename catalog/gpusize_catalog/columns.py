"""Converters from a CSV cell to a value: one per kind of column, units included.

Each raises `ValueError` on a cell it cannot read. Shipped cells are known to be good (tests check
them against the schemas), so converters are as plain as they can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gpusize_catalog.facts import Coverage, Interconnect, PriceType, Status
from gpusize_catalog.units import GIGA, MIB, TERA

Convert = Callable[[str], Any]
T = TypeVar("T")

TRUTH = {"true": True, "false": False}


def text(cell: str) -> str:
    """Keep the text; empty stays empty."""
    return cell


def whole(cell: str) -> int:
    """Read a whole number."""
    return int(cell)


def number(cell: str) -> float:
    """Read a number."""
    return float(cell)


def boolean(cell: str) -> bool:
    """Read true or false."""
    if cell not in TRUTH:
        raise ValueError(f"not true or false: {cell}")
    return TRUTH[cell]


def words(cell: str) -> tuple[str, ...]:
    """Read words separated by spaces."""
    return tuple(cell.split())


def word_set(cell: str) -> frozenset[str]:
    """Read words separated by spaces, in no order."""
    return frozenset(cell.split())


def pair(cell: str) -> tuple[int, int]:
    """Read a compute capability: `8.9` is (8, 9)."""
    major, _, minor = cell.partition(".")
    return int(major), int(minor)


def mib(cell: str) -> int:
    """Read MiB as bytes."""
    return int(cell) * MIB


def giga(cell: str) -> float:
    """Read GB/s as bytes per second."""
    return float(cell) * GIGA


def tera(cell: str) -> float:
    """Read TFLOPS or TOPS as operations per second."""
    return float(cell) * TERA


def optional(convert: Callable[[str], T]) -> Callable[[str], T | None]:
    """Let an empty cell be None: not found."""

    def read(cell: str) -> T | None:
        return convert(cell) if cell else None

    return read


opt_text = optional(text)
opt_whole = optional(whole)
opt_number = optional(number)
opt_boolean = optional(boolean)
opt_pair = optional(pair)
opt_mib = optional(mib)
opt_giga = optional(giga)
opt_tera = optional(tera)

# A dict hit is faster than calling the enum, and a missing word is a KeyError told as a bad cell.
status = {member.value: member for member in Status}.__getitem__
interconnect = {member.value: member for member in Interconnect}.__getitem__
price_type = {member.value: member for member in PriceType}.__getitem__
coverage = {member.value: member for member in Coverage}.__getitem__
