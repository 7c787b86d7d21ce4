"""Resources of managed services with everything that is read of them: for tests and for docs.

Each entry has the whole properties of one resource, what each part of it `says`, and which
properties are `unread`: they do not matter, or tell nothing new beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpusize.documents import read

FOLDER = Path(__file__).parent


class Sample(NamedTuple):
    """One resource, and what is read of it."""

    type: str
    properties: dict[str, Any]
    says: Mapping[str, Mapping[str, Any]]
    """By place: the fields that are known, beside the workload."""
    unread: tuple[str, ...] = ()
    defers: tuple[str, ...] = ()
    """Fields that only other resources know."""
    workload: str = "chat"
    """The workload that it names; `deferred` where only another resource can."""
    attributes: bool = False
    """Whether types are picked by attributes."""
    starts: bool = False
    """Whether it starts something known."""


def samples() -> list[Sample]:
    """Every sample, in the order of the files."""
    return [Sample(**raw) for file in sorted(FOLDER.glob("*.yml")) for raw in read(str(file)).data]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every property below a value, groups and leaves."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from paths(item, (*path, key))
