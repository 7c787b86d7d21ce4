"""The key `environments` of the settings file: what holds in place of the rest on some stacks.

The component reads the keys that decisions depend on and leaves the others to who judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusize.environments import Environment
from gpusize.names import to_snake
from gpusize.settings_file import LONGEST_KEY, Field, Told, guess
from gpusize.settings_team import MOST, entries_of, globs, read_texts
from gpusize_catalog.problems import printable

_STACKS = globs("Names of its stacks, globs; its own name by default.")

CHOOSING: tuple[Field, ...] = (
    Field("stacks", _STACKS.read, lambda: dict(_STACKS.schema)),
    Field(
        "tags",
        read_texts,
        lambda: {
            "description": "Tags of its stacks, with globs of their values; all must match.",
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
    ),
)
"""Keys that say which stacks belong to an environment."""


def read_environments(
    value: Any, told: Told, fields: Sequence[Field], *, is_whole: bool = False
) -> tuple[Environment, ...]:
    """Read the key; where `fields` are the whole of what may stand there other keys are told."""
    known = {field.name: field for field in (*CHOOSING, *fields)}
    return tuple(
        _environment(name, given, inner, known, is_whole=is_whole)
        for name, given, inner in entries_of(value, told)
    )


def _environment(
    name: str, value: Any, told: Told, known: Mapping[str, Field], *, is_whole: bool
) -> Environment:
    found: dict[str, Any] = {}
    if not name.strip():
        told.report(told.path, "an environment has a name", "name it like its stacks, `prod`")
    if not isinstance(value, Mapping):
        told.report(told.path, "takes a mapping", f"known are {', '.join(known)}")
        value = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        field = known.get(str(key))
        if field is not None:
            read = field.read(given, told._replace(path=path))
            if read is not None:
                found[to_snake(field.name)] = read
        elif is_whole:
            told.report(path, "unknown key", guess(str(key), known))
    stacks, tags = found.pop("stacks", ()), found.pop("tags", {})
    return Environment(name, stacks, tags, found)


def environments_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Describe the key; what an environment changes has the shape that it has at the top."""
    return {
        "description": "What holds in place of the rest on some stacks, by name of an environment;"
        " the first that matches.",
        "type": "object",
        "maxProperties": MOST,
        "additionalProperties": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                **{field.name: field.schema() for field in CHOOSING},
                **{field.name: {"$ref": f"#/properties/{field.name}"} for field in fields},
            },
        },
    }
