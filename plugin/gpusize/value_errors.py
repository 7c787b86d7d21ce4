"""What pydantic finds wrong with values, in the words of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gpusize.fields import FieldSpec, fields_of
from gpusize.plain import join, show
from gpusize.suggest import Suggestions, listed
from gpusize.workload import Group, Workload
from gpusize_catalog.problems import Problem

_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "dict_type": "a mapping of names to text",
    "tuple_type": "a list",
    "list_type": "a list",
}


def value_problems(
    cls: type[Workload], error: ValidationError, data: dict[str, Any], suggestions: Suggestions
) -> Iterator[Problem]:
    """One problem for each error, at its camelCase path."""
    for entry in error.errors(include_url=False):
        place = _Place.of(cls, entry["loc"], data)
        if place is not None:
            message, fix = _describe(entry, place.field, suggestions)
            yield Problem(place.path, message, fix)


class _Place:
    """Where in the vocabulary an error lies."""

    def __init__(self, path: str, field: FieldSpec | None) -> None:
        self.path = path
        self.field = field

    @classmethod
    def of(
        cls, group: type[Group] | None, location: tuple[str | int, ...], data: Any
    ) -> _Place | None:
        """Follow pydantic's location; `None` for the branch of a union that was not meant."""
        path, field = "", None
        for part in location:
            known = fields_of(group).get(str(part)) if group is not None else None
            if isinstance(part, int):
                path, group = f"{path}[{part}]", field.group if field else None
                data = data[part] if isinstance(data, list) and part < len(data) else None
            elif known is not None:
                path, field = join(path, known.key), known
                group = None if known.many or known.is_union else known.group
                data = data.get(known.key) if isinstance(data, Mapping) else None
            elif field is not None and field.is_union and field.group is not None:
                if (part == field.group.__name__) != isinstance(data, Mapping):
                    return None
                group = field.group
            elif part != "[key]":
                path = join(path, str(part))
        return cls(path, field)


def _describe(entry: Any, field: FieldSpec | None, suggestions: Suggestions) -> tuple[str, str]:
    """Message and fix of one error."""
    kind, context, value = entry["type"], entry.get("ctx", {}), entry.get("input")
    if kind == "missing":
        return "is missing", _example(field)
    if kind in _BOUNDS:
        key, word = _BOUNDS[kind]
        return f"must be {word} {show(context[key])}, got {show(value)}", _example(field)
    if kind in _EXPECTED:
        return _unexpected(_EXPECTED[kind], value, field)
    if kind == "enum" and field is not None:
        return _unknown_word(value, field, suggestions)
    if kind == "model_type":
        return _not_a_group(value, field)
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters", "shorten it"
    return "is empty" if kind == "string_too_short" else "is not usable", _example(field)


def _unexpected(expected: str, value: object, field: FieldSpec | None) -> tuple[str, str]:
    if field is not None and field.is_union:
        expected += " or a group of fields"
    elif expected == "text" and isinstance(value, (bool, int, float)):
        return f"expected text, got {show(value)}", "quote it"
    fix = f"write {expected}" if expected == _EXPECTED["bool_type"] else _example(field)
    return f"expected {expected}, got {show(value)}", fix


def _unknown_word(value: Any, field: FieldSpec, suggestions: Suggestions) -> tuple[str, str]:
    fix = suggestions.fix(value, field.choices, f"one of {listed(field.choices)}")
    return f"{show(value)} is not a known {field.key}", fix


def _not_a_group(value: Any, field: FieldSpec | None) -> tuple[str, str]:
    if field is None or field.group is None:
        return f"expected a group of fields, got {show(value)}", "write its fields by name"
    keys = list(dict.fromkeys(spec.key for spec in fields_of(field.group).values()))
    short = f"{field.group.short_form} or " if field.group.short_form else ""
    return f"expected {short}a group of fields, got {show(value)}", f"fields are {listed(keys)}"


def _example(field: FieldSpec | None) -> str:
    if field is None:
        return "see the description of the fields"
    if field.example is not None:
        return f"such as {field.key}: {field.example}"
    subject = field.description.partition(";")[0].rstrip(".")
    return f"give the {subject[:1].lower()}{subject[1:]}, or leave it out"
