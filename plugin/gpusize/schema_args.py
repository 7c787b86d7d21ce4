"""Types of the component's arguments for Python programs, written from the package schema.

`args.py` beside this module is its output, checked in, for editors and type checkers; `python -m
gpusize.schema` writes both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpusize.names import to_snake

ARGS_FILE = Path(__file__).with_name("args.py")
HEAD = '''"""Arguments of a `GpuWorkload` in Python; written by `python -m gpusize.schema`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

INDENT = " " * 8
LINE_LENGTH = 100
"""Of the repository's formatter, whose output the file must be."""


def render_args(schema: dict[str, Any], inputs: dict[str, Any]) -> str:
    """Write a typed mapping for every group of fields, and one for the whole declaration."""
    types = {token.rpartition(":")[2]: one for token, one in schema["types"].items()}
    groups = {name: one for name, one in types.items() if _is_input_group(name, one)}
    parts = [HEAD]
    for name, group in groups.items():
        parts.append(_mapping(f"{name}Args", group["description"], group["properties"], types))
    text = "What runs and how it must run, as in a workload file."
    parts.append(_mapping("DeclarationArgs", text, inputs, types))
    return "\n\n".join(parts)


def _is_input_group(name: str, one: dict[str, Any]) -> bool:
    return one["type"] == "object" and not name.startswith("Decided")


def _mapping(name: str, description: str, fields: dict[str, Any], types: dict[str, Any]) -> str:
    lines = [f"class {name}(TypedDict, total=False):", f'    """{description}"""', ""]
    lines += (_line(to_snake(key), _annotation(field, types)) for key, field in fields.items())
    return "\n".join(lines) + "\n"


def _line(name: str, annotation: str) -> str:
    """One field, as formatted: words that are too many stand in a line, else in one each."""
    line = f"    {name}: {annotation}"
    if len(line) <= LINE_LENGTH:
        return line
    head, _, rest = line.partition("[")
    words = f"{INDENT}{rest[:-1]}"
    if len(words) > LINE_LENGTH:
        words = "\n".join([f"{INDENT}{word}," for word in rest[:-1].split(", ")])
    return f"{head}[\n{words}\n    ]"


def _annotation(field: dict[str, Any], types: dict[str, Any]) -> str:
    if "oneOf" in field:
        return " | ".join(_annotation(part, types) for part in field["oneOf"])
    if "$ref" in field:
        name = field["$ref"].rpartition(":")[2]
        if "enum" in types[name]:
            words = ", ".join(json.dumps(one["value"]) for one in types[name]["enum"])
            return f"Literal[{words}]"
        return f"{name}Args"
    if field["type"] == "array":
        return f"Sequence[{_annotation(field['items'], types)}]"
    if field["type"] == "object":
        return f"dict[str, {_annotation(field['additionalProperties'], types)}]"
    return PLAIN[field["type"]]
