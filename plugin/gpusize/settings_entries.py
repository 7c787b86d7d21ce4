"""What the entries of the settings file take: a schema, a check and its words for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpusize_catalog.units import PERCENT

LARGEST = 10**15
"""USD, GiB, vCPUs or GPUs above which a number is a mistake, and no sum of it is exact."""
AMOUNT = f"a number that is not negative, of at most {LARGEST:.0e}"
"""What an amount is, in words."""


class Entry(NamedTuple):
    """What one key of an entry takes."""

    schema: Mapping[str, Any]
    is_good: Callable[[Any], bool]
    wants: str
    """What it takes, in words."""


def is_number(value: Any) -> bool:
    """Tell a number from a text and from a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_amount(value: Any) -> bool:
    """Tell a number from 0 on: JSON and YAML may hold endless ones, and what is no number."""
    return is_number(value) and 0 <= value <= LARGEST


def text(described: str) -> Entry:
    """Take a text that is not empty."""
    schema = {"description": described, "type": "string", "minLength": 1}
    return Entry(schema, lambda value: isinstance(value, str) and bool(value), "a text")


def amount(described: str) -> Entry:
    """Take a number from 0 on."""
    schema = {"description": described, "type": "number", "minimum": 0, "maximum": LARGEST}
    return Entry(schema, is_amount, AMOUNT)


def whole(described: str) -> Entry:
    """Take a whole number from 0 on."""
    schema = {"description": described, "type": "integer", "minimum": 0, "maximum": LARGEST}
    return Entry(
        schema,
        lambda value: isinstance(value, int) and is_amount(value),
        f"a whole number that is not negative, of at most {LARGEST:.0e}",
    )


def share(described: str, most: int = PERCENT) -> Entry:
    """Take a number from 0 to `most`."""
    schema = {"description": described, "type": "number", "minimum": 0, "maximum": most}
    return Entry(
        schema,
        lambda value: is_number(value) and 0 <= value <= most,
        f"a number from 0 to {most}",
    )


def word(described: str, words: tuple[str | int, ...]) -> Entry:
    """Take one of some words or numbers."""
    schema = {"description": described, "enum": list(words)}
    wants = " or ".join(map(str, words))
    return Entry(schema, lambda value: value in words and not isinstance(value, bool), wants)


def several(one: Entry, described: str, most: int) -> Entry:
    """Take a list of what another entry takes."""
    item = {key: value for key, value in one.schema.items() if key != "description"}
    schema = {"description": described, "type": "array", "items": item}
    return Entry(
        schema,
        lambda value: (
            isinstance(value, list) and len(value) <= most and all(map(one.is_good, value))
        ),
        f"a list, each {one.wants}",
    )
