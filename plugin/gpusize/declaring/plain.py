"""Values of any caller turned into plain data: what YAML, JSON, Python and Pulumi have in common.

Pulumi sends whole numbers as floats and absent values as nulls; Python programs pass enum members,
tuples and mappings of their own. Whatever is hostile or not data is a problem, never a traceback.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized
from datetime import date
from enum import Enum
from typing import Any

from gpusize_catalog.problems import Problem

MAX_DEPTH = 12
"""Nested mappings and lists; the vocabulary needs 4."""
MAX_NODES = 10_000
"""Values of one declaration; one with every field, 50 tags and 50 waivers has about 450."""
MAX_FILE_NODES = 1_000_000
"""Values of all declarations of a file, each counted where an alias repeats it."""
MAX_NUMBER = 2**53
"""Largest magnitude taken: JSON and Pulumi carry numbers as doubles, exact up to here."""
SHOWN = 40
"""Longest text repeated in a message, characters; anything longer may be a secret or a flood."""
FINITE = "write a number, or leave the field out"
PLAIN = "write text, numbers, lists and mappings of them"
BAD = object()
"""Stands for a value that was told as a problem."""


def join(path: str, key: str) -> str:
    """The path of a key below a path."""
    return f"{path}.{key}" if path else key


def show(value: object) -> str:
    """A value for a message: short plain values as they stand, anything else by its nature."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return show_text(value)
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        return "a number too large"
    if isinstance(value, (int, float)):
        return f"{value:g}"[:SHOWN] if isinstance(value, float) else str(value)
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence):
        return "a list"
    return f"a value of type {type(value).__name__[:SHOWN]}"


def show_text(text: str) -> str:
    """A quoted text, or its length where it is long or not printable."""
    if len(text) > SHOWN:
        return f"a text of {len(text)} characters"
    return f'"{text}"' if text.isprintable() else "a text that cannot be printed"


def show_key(key: str) -> str:
    """A key as a part of a path, shortened."""
    printable = "".join(char if char.isprintable() else "?" for char in key[:SHOWN])
    return printable + "…" if len(key) > SHOWN else printable


class Plain:
    """One pass over a declaration; collects problems and counts what it saw."""

    def __init__(self, most_problems: int) -> None:
        """Keep at most so many problems; the rest is counted."""
        self.problems: list[Problem] = []
        self.untold = 0
        self.bad: set[str] = set()
        self._most_problems = most_problems
        self._nodes = 0
        self._all_nodes = 0
        self._is_told = False

    @property
    def is_full(self) -> bool:
        """Whether more values were seen than one file may have."""
        return self._all_nodes > MAX_FILE_NODES

    def begin(self) -> None:
        """Begin another declaration."""
        self._all_nodes += self._nodes
        self._nodes = 0
        self.bad.clear()
        self._is_told = False

    def report(self, path: str, message: str, fix: str = "") -> object:
        """Tell a problem of the value at `path`."""
        if len(self.problems) < self._most_problems:
            self.problems.append(Problem(path, message, fix))
        else:
            self.untold += 1
        self.bad.add(path)
        return BAD

    @property
    def count(self) -> int:
        """Problems found, told or not."""
        return len(self.problems) + self.untold

    def value(self, value: Any, path: str, depth: int = 0) -> Any:
        """Plain data of `value`, or `BAD` once told; nulls stay for the caller to drop."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            return self._too_much(path)
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            return self._number(value, path)
        if isinstance(value, date):
            return value.isoformat()
        return self._container(value, path, depth)

    def keys(self, value: Mapping[Any, Any], path: str) -> list[tuple[str, Any]]:
        """Entries of a mapping whose keys are text and whose values are there."""
        entries: list[tuple[str, Any]] = []
        self._nodes += len(value)
        if not self.has_room((), path):
            return entries
        for key, item in value.items():
            if not isinstance(key, str):
                self.report(path, f"has a key that is not text: {show(key)}", "quote the key")
            elif item is not None:
                entries.append((key, item))
        return entries

    def _number(self, value: float, path: str) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return self.report(path, f"expected a finite number, got {value}", FINITE)
        if abs(value) > MAX_NUMBER:
            return self.report(path, "number is too large", f"give at most {MAX_NUMBER}")
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _container(self, value: Any, path: str, depth: int) -> Any:
        is_list = isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray))
        if not is_list and not isinstance(value, Mapping):
            kind = type(value).__name__[:SHOWN]
            return self.report(path, f"expected plain data, got a value of type {kind}", PLAIN)
        if depth >= MAX_DEPTH:
            return self.report(path, f"is nested deeper than {MAX_DEPTH} levels", PLAIN)
        if not self.has_room(value, path):
            return BAD
        if is_list:
            items = [self.value(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
            return BAD if any(item is BAD for item in items) else items
        entries = {
            key: self.value(item, join(path, show_key(key)), depth + 1)
            for key, item in self.keys(value, path)
        }
        return {key: item for key, item in entries.items() if item is not BAD}

    def has_room(self, value: Sized, path: str) -> bool:
        """Whether so many values may still come; told where not, before any is looked at."""
        if self._nodes + len(value) <= MAX_NODES:
            return True
        self._too_much(path)
        return False

    def _too_much(self, path: str) -> object:
        if not self._is_told:
            self._is_told = True
            self.report(path, f"declaration has more than {MAX_NODES} values", "split it up")
        return BAD
