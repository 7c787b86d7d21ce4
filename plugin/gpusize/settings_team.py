"""The key `team` of the settings file: what a team allows, read and described by one table.

`KEYS` is the whole vocabulary. An environment takes the same keys; what it says stands in place of
what the team says everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpusize.days import DAY_FIX, day_of
from gpusize.names import to_snake
from gpusize.settings_entries import Entry, amount, several, share, text, whole, word
from gpusize.settings_file import LONGEST_KEY, Told, guess
from gpusize.team import TEAM_TAG, Approval, Limits, TeamRules
from gpusize_catalog.problems import printable

MARKETS = ("on-demand", "spot", "capacity-block")
MOST = 1000
"""Entries of one list or mapping: more are a mistake, and each look-up walks them."""

Reader = Callable[[Any, Told], Any]


class Key(NamedTuple):
    """One key: how its value is read, and its JSON Schema."""

    read: Reader
    schema: Mapping[str, Any]


def _plain(entry: Entry, made: Callable[[Any], Any] = lambda value: value) -> Key:
    def read(value: Any, told: Told) -> Any:
        if entry.is_good(value):
            return made(value)
        told.report(told.path, f"takes {entry.wants}", "")
        return None

    return Key(read, entry.schema)


def globs(described: str) -> Key:
    """Take a list of globs."""
    return _plain(several(text(""), described, MOST), tuple)


LIMITS: Mapping[str, Key] = {
    "maxHourly": _plain(amount("USD per hour.")),
    "maxMonthly": _plain(amount("USD per month.")),
    "maxRun": _plain(amount("USD per run of bounded work, interruptions of spot included.")),
    "maxGpus": _plain(whole("GPUs that may run at once.")),
}
"""Ceilings, of a stack, a team or a workload."""


def _read_limits(value: Any, told: Told) -> Limits | None:
    found = _read_keys(value, LIMITS, told)
    return None if found is None else Limits(**found)


def _read_teams(value: Any, told: Told) -> dict[str, Limits] | None:
    entries = entries_of(value, told)
    read = {name: _read_limits(given, inner) for name, given, inner in entries}
    return {name: limits for name, limits in read.items() if limits is not None}


def _read_approvals(value: Any, told: Told) -> tuple[Approval, ...] | None:
    if not isinstance(value, list) or len(value) > MOST:
        told.report(told.path, f"takes a list of at most {MOST} approvals, perhaps empty", "")
        return None
    read = (
        _read_approval(given, told._replace(path=f"{told.path}[{index}]"))
        for index, given in enumerate(value)
    )
    return tuple(one for one in read if one is not None)


def _read_approval(value: Any, told: Told) -> Approval | None:
    found = _read_keys(value, APPROVAL, told)
    if found is None:
        return None
    missing = [key for key in APPROVAL if key not in found]
    if missing:
        absent = [key for key in missing if key not in value]
        if absent:
            told.report(told.path, f"needs {', '.join(absent)}", "")
        return None
    return Approval(**found)


def _read_day(value: Any, told: Told) -> Any:
    day = day_of(str(value))
    if day is None:
        told.report(told.path, "is no day", DAY_FIX)
    return day


APPROVAL: Mapping[str, Key] = {
    "workload": _plain(text("Name of the workload, a glob.")),
    "by": _plain(text("Who approved it.")),
    "until": Key(_read_day, {"description": "Last day of it.", "type": "string", "format": "date"}),
}
"""Keys of one approval; all are needed."""


def _object(keys: Mapping[str, Key], described: str, **more: Any) -> dict[str, Any]:
    return {
        "description": described,
        "type": "object",
        "additionalProperties": False,
        "properties": {name: dict(key.schema) for name, key in keys.items()},
        **more,
    }


def _by_name(described: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": described, "type": "object", "additionalProperties": dict(schema)}


KEYS: Mapping[str, Key] = {
    "allowTypes": globs("Instance types that may be used, globs like g6e.*; all by default."),
    "denyTypes": globs("Instance types that may not be used, globs; they win."),
    "requiredTags": globs("Tags that each machine with a GPU must have."),
    "defaultTags": Key(
        lambda value, told: read_texts(value, told),
        _by_name("Values of tags, added by GPU903 at level remediate.", {"type": "string"}),
    ),
    "allowRegions": globs("Regions that may be used, globs like eu-*."),
    "allowMarkets": _plain(
        several(word("", MARKETS), "Ways to buy that may be used.", len(MARKETS)), tuple
    ),
    "allowModels": globs("Models that may be used, globs like meta-llama/*."),
    "denyModels": globs("Models that may not be used, globs; they win."),
    "allowFormats": globs("Formats of weights that may be loaded, globs like fp8*."),
    **LIMITS,
    "perWorkload": Key(_read_limits, _object(LIMITS, "The same ceilings for each workload.")),
    "teamTag": _plain(text(f"Tag whose value names the team; {TEAM_TAG} by default.")),
    "teams": Key(
        _read_teams,
        _by_name("The same ceilings by team.", _object(LIMITS, "Ceilings of one team.")),
    ),
    "minHeadroomGib": _plain(amount("GiB of each GPU's budget that stay free.")),
    "minHeadroomShare": _plain(share("Part of each GPU's budget that stays free.", most=1)),
    "approveNvlink": Key(
        _read_approvals,
        {
            "description": "NVLink nodes need an approval from this list, which may be empty.",
            "type": "array",
            "items": _object(APPROVAL, "One approval.", required=list(APPROVAL)),
        },
    ),
}


def read_team(value: Any, told: Told) -> TeamRules | None:
    """Read the whole key; every problem is reported, and what is bad is left out."""
    found = read_changes(value, told)
    return None if found is None else TeamRules(**found)


def read_changes(value: Any, told: Told) -> dict[str, Any] | None:
    """Read what is said of it; None where it is no mapping."""
    return _read_keys(value, KEYS, told)


def read_texts(value: Any, told: Told) -> dict[str, str] | None:
    """Read a mapping of tags to texts."""
    if isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values()):
        return {str(key): text for key, text in value.items()}
    told.report(told.path, "takes a mapping of tags to texts", "`{owner: ml-platform}`")
    return None


def entries_of(value: Any, told: Told) -> list[tuple[str, Any, Told]]:
    """The entries of a mapping by name; none where it is no mapping, which is told."""
    if not isinstance(value, Mapping) or len(value) > MOST:
        told.report(told.path, f"takes a mapping of at most {MOST} names", "")
        return []
    return [
        (str(key), given, told._replace(path=f"{told.path}.{printable(str(key), LONGEST_KEY)}"))
        for key, given in value.items()
    ]


def _read_keys(value: Any, keys: Mapping[str, Key], told: Told) -> dict[str, Any] | None:
    """The fields that the keys of a mapping give; None where it is no mapping."""
    if not isinstance(value, Mapping):
        told.report(told.path, f"takes a mapping of {', '.join(keys)}", "")
        return None
    found: dict[str, Any] = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        known = keys.get(str(key))
        if known is None:
            told.report(path, "unknown key", guess(str(key), keys))
            continue
        read = known.read(given, told._replace(path=path))
        if read is not None:
            found[to_snake(str(key))] = read
    return found


def team_schema() -> dict[str, Any]:
    """Describe the key."""
    return _object(KEYS, "What the team allows, and how much.")
