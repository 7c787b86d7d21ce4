"""JSON Schema (draft 2020-12) of declarations, for editors and for programs that write them.

Made from the same classes that read declarations; `python -m gpusize.workload_schema` writes the
file that is checked in beside this module.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusize.declaring import sidecar
from gpusize.declaring.declaration import NAME_LENGTH
from gpusize.declaring.fields import FieldSpec, fields_of, specs_of
from gpusize.declaring.vocabulary import words_of
from gpusize.workload import WORKLOAD_CLASSES, Group, Kind, Modality, Workload

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

FILE = Path(__file__).with_name("workload.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
SAMPLES: tuple[tuple[object, dict[str, Any]], ...] = ((1, NUMBER), ("a@1", TEXT))
"""Short forms that a group may have, and the type of each."""

Json = dict[str, Any]


def schema(catalog: Catalog | None = None) -> Json:
    """The schema of a file; one workload is `$defs/workload`."""
    from gpusize_catalog.store import load

    known = catalog or load()
    definitions: Json = {}
    choices = []
    for (kind, modality), cls in WORKLOAD_CLASSES.items():
        definitions[cls.__name__] = _workload(cls, kind, modality, known, definitions)
        choices.append({"$ref": f"#/$defs/{cls.__name__}"})
    for unused in (Kind.__name__, Modality.__name__):
        del definitions[unused]
    definitions["workload"] = {"description": "One workload.", "oneOf": choices}
    return {
        "$schema": DIALECT,
        "title": "gpusize declarations",
        "description": "Workloads by name, as gpusize.yaml has them.",
        "type": "object",
        "properties": {"workloads": _names(), **sidecar.schema()},
        "anyOf": [{"required": [key]} for key in ("workloads", *sidecar.KEYS)],
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def render(made: Json) -> str:
    """The text of the checked-in file."""
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the checked-in file anew."""
    FILE.write_text(render(schema()), encoding="utf-8")


def _names() -> Json:
    return {
        "description": "Declarations by name.",
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[A-Za-z0-9_-]*[A-Za-z0-9][A-Za-z0-9_-]*$"}
        | {"maxLength": NAME_LENGTH},
        "additionalProperties": {"$ref": "#/$defs/workload"},
    }


def _workload(
    cls: type[Workload], kind: Kind, modality: Modality, catalog: Catalog, definitions: Json
) -> Json:
    """The schema of one kind and modality; groups go into `definitions`."""
    made = cls.model_json_schema(by_alias=True)
    for name, group in made.pop("$defs", {}).items():
        definitions.setdefault(name, group)
        owner = _group_named(cls, name)
        if owner is not None and "properties" in group:
            _finish(owner, group, catalog)
    _finish(cls, made, catalog)
    _share_words(cls, made, definitions)
    made["properties"]["kind"] = {"description": "What runs.", "const": kind.value}
    made["properties"]["modality"]["const"] = modality.value
    made["properties"]["modality"].pop("$ref", None)
    if modality is not Modality.TEXT:
        made["properties"]["modality"].pop("default", None)
        made["required"].append("modality")
    return made


def _finish(cls: type[Group], made: Json, catalog: Catalog) -> None:
    """Put words and short forms into the fields of a group, and take nulls out."""
    for key, field in made["properties"].items():
        spec = fields_of(cls)[key]
        _without_null(field)
        if field.get("default", key) is None:
            del field["default"]
        field.pop("title", None)
        field.setdefault("description", spec.description)
        if spec.words is not None:
            field["enum"] = sorted(words_of(spec.words, catalog))
        if spec.group is not None and not spec.many:
            _with_short_forms(spec, field, catalog)


def _share_words(cls: type[Group], made: Json, definitions: Json) -> None:
    """Keep long lists of words once for all kinds."""
    for key, field in made["properties"].items():
        words = fields_of(cls)[key].words
        if words is not None:
            name = words.subject.title().replace(" ", "")
            listed = {"type": field.pop("type"), "enum": field.pop("enum")}
            definitions[name] = {"description": f"A {words.subject}.", **listed}
            field["$ref"] = f"#/$defs/{name}"


def _without_null(field: Json) -> None:
    """Leave the key out instead of giving a null: nulls count as absent."""
    choices = [part for part in field.get("anyOf", ()) if part.get("type") != "null"]
    if len(choices) == 1:
        del field["anyOf"]
        field.update(choices[0])
    elif choices:
        field["anyOf"] = choices


def _with_short_forms(spec: FieldSpec, field: Json, catalog: Catalog) -> None:
    if spec.group is None or spec.is_union:
        return
    forms = [dict(form) for sample, form in SAMPLES if spec.group.expand(sample) != sample]
    for form in forms:
        if form == TEXT:
            form["pattern"] = _named(spec.group, catalog)
    if forms:
        field["anyOf"] = [*forms, {"$ref": field.pop("$ref")}]


def _named(group: type[Group], catalog: Catalog) -> str:
    """The pattern of `name@version` with the names that the group takes, or of its first choice."""
    first = specs_of(group)[0]
    if first.choices:
        return f"^({'|'.join(first.choices)})$"
    words = fields_of(group)["name"].words
    names = sorted(words_of(words, catalog)) if words is not None else [".+"]
    return f"^({'|'.join(name.replace('.', '[.]') for name in names)})(@.+)?$"


def _group_named(cls: type[Group], name: str) -> type[Group] | None:
    for spec in specs_of(cls):
        for group in spec.groups:
            found = group if group.__name__ == name else _group_named(group, name)
            if found is not None:
                return found
    return None


if __name__ == "__main__":
    main()
