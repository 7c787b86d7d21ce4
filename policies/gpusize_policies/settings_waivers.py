"""The key `waivers` of the settings file: read as it is written, described by one table.

Only the shape is held to account here. What is missing or wrong in a waiver that has the shape is a
finding (GPU907), so that the rest of the run is judged all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpusize.settings_file import LONGEST_KEY, Told, guess
from gpusize_catalog.problems import printable
from gpusize_policies.finding import Subject
from gpusize_policies.waivers import ID, SHORTEST_REASON, Waiver

if TYPE_CHECKING:
    from gpusize.documents import Document

MOST_WAIVERS = 1000
"""Waivers of one file: more are a mistake, and every finding is held against each."""

KEYS: Mapping[str, Mapping[str, Any]] = {
    "id": {
        "description": "Name of the waiver, for the tag `gpusize:waiver` and for reports.",
        "pattern": f"^{ID.pattern}$",
    },
    "rule": {"description": "Code or name of the waived rule."},
    "workload": {"description": "Workload whose findings are accepted."},
    "resource": {
        "description": "Resource whose findings are accepted: a URN, `type::name` or a name; the"
        " last two may have `*` and `?`.",
    },
    "reason": {"description": "Why the finding is accepted.", "minLength": SHORTEST_REASON},
    "owner": {"description": "Who answers for it."},
    "expires": {"description": "Last day on which it holds, YYYY-MM-DD.", "format": "date"},
    "evidence": {
        "description": "A measured number or a link to a log, where the rule asks for one.",
    },
}
"""What each key of a waiver holds; all are texts."""
NEEDED = ("rule", "reason", "owner", "expires")
TARGETS = ("workload", "resource", "id")
"""Keys of which a waiver has one at least."""


def read_waivers(value: Any, told: Told) -> tuple[Waiver, ...] | None:
    """Read the list; what has not the shape of a waiver is told and waives nothing."""
    if not isinstance(value, list):
        told.report(told.path, "takes a list of waivers", "`- {rule: GPU307, workload: chat, …}`")
        return None
    if len(value) > MOST_WAIVERS:
        told.report(told.path, f"has more than {MOST_WAIVERS} entries", "set levels instead")
        return None
    read = (_read(raw, f"{told.path}[{index}]", told) for index, raw in enumerate(value))
    return tuple(waiver for waiver in read if waiver is not None)


def _read(raw: Any, path: str, told: Told) -> Waiver | None:
    if not isinstance(raw, Mapping):
        told.report(path, "a waiver is a mapping", f"it has {', '.join(NEEDED)}")
        return None
    fields: dict[str, str] = {}
    for key, given in raw.items():
        place = f"{path}.{printable(str(key), LONGEST_KEY)}"
        if key not in KEYS:
            told.report(place, "unknown key", guess(str(key), KEYS))
        elif given is not None and not isinstance(given, str):
            told.report(place, "takes a text", "put it in quotes")
        else:
            fields[key] = given or ""
    return Waiver(**fields, place=Subject(fields.get("workload", ""), path=path))


def placed(waivers: Sequence[Waiver], document: Document) -> tuple[Waiver, ...]:
    """Give waivers the file, line and column where they stand."""

    def found(waiver: Waiver) -> Waiver:
        place = document.place(waiver.place.path)
        line, column = (place.line, place.column) if place else (None, None)
        subject = waiver.place._replace(file=document.file, line=line, column=column)
        return waiver._replace(place=subject)

    return tuple(map(found, waivers))


def waivers_schema() -> dict[str, Any]:
    """Return the JSON Schema of the key."""
    properties = {key: {"type": "string", "minLength": 1, **more} for key, more in KEYS.items()}
    return {
        "description": "Findings that are accepted: why, by whom, until when; see waivers.md.",
        "type": "array",
        "maxItems": MOST_WAIVERS,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": list(NEEDED),
            "properties": properties,
            "anyOf": [{"required": [key]} for key in TARGETS],
            "not": {"required": ["workload", "resource"]},
        },
    }
