"""JSON Schemas: of the key `customRules`, and of the facts that expressions see."""

from __future__ import annotations

from typing import Any

from gpusize_policies.custom.facts import FACTS_VERSION, Kind, facts
from gpusize_policies.custom.forms import CODE, NAME
from gpusize_policies.custom.language import LONGEST
from gpusize_policies.custom.reading import (
    ADDRESS,
    EXPRESSIONS,
    LONGEST_MESSAGE,
    MESSAGES,
    MOST_RULES,
    NEEDED,
    TEXTS,
    WORDS,
)

JSON_TYPES: dict[Kind, dict[str, Any]] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.INT: {"type": "integer"},
    Kind.DOUBLE: {"type": "number"},
    Kind.STRING: {"type": "string"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.TAGS: {"type": "object", "additionalProperties": {"type": "string"}},
    Kind.AMOUNTS: {"type": "object", "additionalProperties": {"type": "number"}},
}


def custom_rules_schema() -> dict[str, Any]:
    """Return the JSON Schema of the key."""
    limits: dict[str, dict[str, Any]] = {
        "id": {"pattern": f"^{CODE.pattern}$"},
        "name": {"pattern": f"^{NAME.pattern}$"},
        "docs": {"pattern": f"^{ADDRESS.pattern}$"},
        **{key: {"maxLength": LONGEST} for key in EXPRESSIONS},
        **{key: {"maxLength": LONGEST_MESSAGE} for key in MESSAGES},
        **{key: {"enum": list(words)} for key, words in WORDS.items()},
    }
    properties = {
        key: {"description": text, "type": "string", "minLength": 1, **limits.get(key, {})}
        for key, text in TEXTS.items()
    }
    properties["waivable"] = {
        "description": TEXTS["waivable"],
        "enum": [*WORDS["waivable"], True, False],
    }
    return {
        "description": "Rules that the team writes itself; see custom-rules.md.",
        "type": "array",
        "maxItems": MOST_RULES,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": list(NEEDED),
            "properties": properties,
            "oneOf": [{"required": ["require"]}, {"required": ["forbid"]}],
        },
    }


def facts_schema() -> dict[str, Any]:
    """Return the JSON Schema of what expressions see; a fact has its path as its key."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Facts of custom rules",
        "description": "What expressions of `customRules` see. Unknown facts are not there; facts"
        " that an expression does not name are not read.",
        "version": FACTS_VERSION,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            path: {"description": fact.text, **_type(fact.kind, fact.may_be_null)}
            for path, fact in facts().items()
        },
    }


def _type(kind: Kind, may_be_null: bool) -> dict[str, Any]:
    described = JSON_TYPES[kind]
    return {**described, "type": [described["type"], "null"]} if may_be_null else described
