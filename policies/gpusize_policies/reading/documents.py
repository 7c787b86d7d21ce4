"""JSON in a text property: containers of a task, nodes of a job, steps of a pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value

LONGEST = 2**20
"""Characters of one such text; AWS takes 64 KiB of containers and 1 MiB of a pipeline."""


def parsed(value: Value) -> Value:
    """Read a JSON text, or what a program wrote as plain data; anything else is unknown."""
    found = value.value
    if not value.says or found == "":
        return value if not value.known else ABSENT
    if not isinstance(found, str):
        is_data = isinstance(found, (Mapping, Sequence)) and not isinstance(found, bytes)
        return value if is_data else UNKNOWN
    if len(found) > LONGEST:
        return UNKNOWN
    try:
        return Value(json.loads(found))
    except (ValueError, RecursionError):
        return UNKNOWN


def reader(value: Value) -> Props | None:
    """Wrap a JSON object; None where it is not known, or none."""
    found = parsed(value)
    return Props(found.value) if found.known else None


def listed(value: Value) -> tuple[tuple[Props, ...], bool]:
    """Read a JSON list of objects: these, and whether all of them are known."""
    found = parsed(value)
    if not found.known:
        return (), False
    items, complete = Props({"all": found.value}).items("all")
    return tuple(Props(item.value) for item in items if item.known), complete
