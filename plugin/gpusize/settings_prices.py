"""The key `prices` of the settings file: entries of a team's money, read and described by a table.

An entry is a mapping; its keys, what each takes and which are needed stand in `SECTIONS`, and from
there come the reading, the messages and the JSON Schema alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpusize.names import to_snake
from gpusize.settings_entries import Entry, amount, share, text, word
from gpusize.settings_file import LONGEST_KEY, Told, guess
from gpusize.team_prices import (
    BlockRate,
    CommitmentRate,
    Discount,
    InterruptionRate,
    TeamPrices,
)
from gpusize_catalog.problems import printable

PLANS = ("savings-plan", "reserved-instance")
YEARS = (1, 3)
"""Terms that AWS sells. Source: catalog, billing terms."""
MARKETS = ("on-demand", "spot", "capacity-block", "*")
MOST_ENTRIES = 1000
"""Entries of one section: more are a mistake, and each look-up walks them."""


class Section(NamedTuple):
    """One list of `prices`."""

    text: str
    make: Callable[..., Any]
    keys: Mapping[str, Entry]
    needed: tuple[str, ...]
    one_of: tuple[str, ...] = ()
    """Keys of which exactly one is given."""


TYPES = text("Instance types, a glob like p5*.")
REGION = text("Regions, a glob like us-*; all where it is left out.")
USD = amount("USD per instance-hour.")

SECTIONS: Mapping[str, Section] = {
    "discounts": Section(
        "Private discounts on list prices.",
        Discount,
        {
            "types": TYPES,
            "market": word("Market; * is all, as where it is left out.", MARKETS),
            "region": REGION,
            "percent": share("Percent below the list price."),
        },
        ("percent",),
    ),
    "commitments": Section(
        "Rates of savings plans and reserved instances.",
        CommitmentRate,
        {
            "plan": word("What covers the bill.", PLANS),
            "years": word("Term, years.", YEARS),
            "types": TYPES,
            "region": REGION,
            "usdPerHour": USD,
            "percent": share("Percent below the on-demand price."),
        },
        ("plan", "years"),
        ("usdPerHour", "percent"),
    ),
    "capacityBlocks": Section(
        "Prices of capacity blocks, as quoted.",
        BlockRate,
        {"types": TYPES, "region": REGION, "usdPerHour": USD},
        ("types", "usdPerHour"),
    ),
    "spotInterruptions": Section(
        "Interruptions of spot instances, as seen.",
        InterruptionRate,
        {"types": TYPES, "perDay": amount("Interruptions of one instance in a day.")},
        ("types", "perDay"),
    ),
}


def read_prices(value: Any, told: Told) -> TeamPrices | None:
    """Read the whole key; every problem is reported, and bad entries are left out."""
    if not isinstance(value, Mapping):
        told.report(told.path, f"takes a mapping of {', '.join(SECTIONS)}", "")
        return None
    found: dict[str, Any] = {}
    for key, entries in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        section = SECTIONS.get(str(key))
        if section is None:
            told.report(path, "unknown key", guess(str(key), SECTIONS))
        elif not isinstance(entries, list) or len(entries) > MOST_ENTRIES:
            told.report(path, f"takes a list of at most {MOST_ENTRIES} entries", "")
        else:
            read = (
                _entry(entry, section, told._replace(path=f"{path}[{index}]"))
                for index, entry in enumerate(entries)
            )
            found[to_snake(str(key))] = tuple(entry for entry in read if entry is not None)
    return TeamPrices(**found)


def _entry(value: Any, section: Section, told: Told) -> Any:
    """One entry; None where something is wrong with it."""
    if not isinstance(value, Mapping):
        told.report(told.path, f"takes a mapping of {', '.join(section.keys)}", "")
        return None
    is_good = True
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        entry = section.keys.get(str(key))
        if entry is None:
            told.report(path, "unknown key", guess(str(key), section.keys))
            is_good = False
        elif not entry.is_good(given):
            told.report(path, f"takes {entry.wants}", "")
            is_good = False
    for key in section.needed:
        if key not in value:
            told.report(told.path, f"needs {key}", "")
            is_good = False
    if section.one_of and sum(key in value for key in section.one_of) != 1:
        told.report(told.path, f"needs one of {', '.join(section.one_of)}", "")
        is_good = False
    return (
        section.make(**{to_snake(key): given for key, given in value.items()}) if is_good else None
    )


def prices_schema() -> dict[str, Any]:
    """Describe the key."""
    return {
        "description": "What the team pays in place of list prices; of entries that match the "
        "first one holds.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _section_schema(section) for name, section in SECTIONS.items()},
    }


def _section_schema(section: Section) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": list(section.needed),
        "properties": {name: dict(one.schema) for name, one in section.keys.items()},
    }
    if section.one_of:
        entry["oneOf"] = [{"required": [key]} for key in section.one_of]
    return {"description": section.text, "type": "array", "items": entry}
