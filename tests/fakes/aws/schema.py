"""Turns `resources.json` into the schema a provider answers with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Newer than any SDK of this major version asks for: the engine warns of an older provider.
VERSION = "7.999.0"

RESOURCES = Path(__file__).with_name("resources.json")
STRING_MAP = {"type": "object", "additionalProperties": {"type": "string"}}
# What every resource of this major version answers besides its own properties.
COMMON_OUTPUTS = {"region": {"type": "string"}, "tagsAll": STRING_MAP}


def load() -> dict[str, Any]:
    """Read what the stand-in knows."""
    loaded: dict[str, Any] = json.loads(RESOURCES.read_text(encoding="utf-8"))
    return loaded


@dataclass(slots=True)
class Types:
    """Object types met on the way, by token."""

    shapes: dict[str, Any]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def expand(self, short: Any, owner: str) -> dict[str, Any]:
        """Write out one type; `owner` names the object type it may stand for."""
        if isinstance(short, list):
            return {"type": "array", "items": self.expand(short[0], owner)}
        if isinstance(short, dict):
            return self._object(short, owner)
        if short.startswith("#"):
            return self._object(self.shapes[short[1:]], short[1:])
        return STRING_MAP if short == "map" else {"type": short}

    def _object(self, short: dict[str, Any], name: str) -> dict[str, Any]:
        token = f"aws:index/{name}:{name}"
        if token not in self.found:
            self.found[token] = {}  # before its members, which may name it again
            self.found[token] = {"type": "object", **self.members(short, name)}
        return {"$ref": f"#/types/{token}"}

    def members(self, short: dict[str, Any], owner: str) -> dict[str, Any]:
        """Write out the properties of an object, and which of them are required."""
        return {
            "properties": {
                key.rstrip("!"): self.expand(kind, owner + key[0].upper() + key[1:].rstrip("!"))
                for key, kind in short.items()
            },
            "required": [key.rstrip("!") for key in short if key.endswith("!")],
        }


def type_of(value: Any) -> dict[str, Any]:
    """Return the type of a canned value."""
    if isinstance(value, list):
        return {"type": "array", "items": type_of(value[0])}
    return {"type": "integer" if isinstance(value, int) else "string"}


def build() -> dict[str, Any]:
    """Return the schema of the package."""
    known = load()
    types = Types(known["shapes"])
    resources = {}
    for token, resource in known["resources"].items():
        inputs = types.members(resource["inputs"], token.rpartition(":")[2])
        outputs = {name: type_of(value) for name, value in resource["outputs"].items()}
        resources[token] = {
            "inputProperties": inputs["properties"],
            "requiredInputs": inputs["required"],
            "properties": {**COMMON_OUTPUTS, **outputs, **inputs["properties"]},
            "required": [*outputs, *inputs["required"]],
        }
    functions = {}
    for token, function in known["functions"].items():
        arguments = types.members(function["inputs"], token.rpartition(":")[2])
        answers = {name: type_of(value) for name, value in function["answer"].items()}
        functions[token] = {
            "inputs": {"type": "object", **arguments},
            "outputs": {"type": "object", "properties": answers, "required": list(answers)},
        }
    config = {"region": {"type": "string"}, "profile": {"type": "string"}}
    return {
        "name": "aws",
        "version": VERSION,
        "meta": {"moduleFormat": "(.*)(?:/[^/]*)"},
        "config": {"variables": config},
        "provider": {"inputProperties": config},
        "types": types.found,
        "resources": resources,
        "functions": functions,
    }
