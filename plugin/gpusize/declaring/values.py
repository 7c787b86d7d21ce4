"""Plain data of a group turned into its values, field by field; every problem is told."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from gpusize.declaring.fields import FieldSpec, specs_of
from gpusize.declaring.plain import BAD, Plain, join, show
from gpusize.declaring.suggest import Suggestions, listed

if TYPE_CHECKING:
    from gpusize.workload import Group

MISSING = "is missing"
"""The message of a field that has no default and was not declared."""
_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("gt", "above", lambda value, limit: value > limit),
    ("ge", "at least", lambda value, limit: value >= limit),
    ("lt", "below", lambda value, limit: value < limit),
    ("le", "at most", lambda value, limit: value <= limit),
)
SHORTEN = "shorten it"
_EXPECTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class Values:
    """Builds groups from plain data; tells problems into a `Plain`."""

    def __init__(self, plain: Plain, suggestions: Suggestions) -> None:
        """Tell into `plain`, suggest by `suggestions`."""
        self._plain = plain
        self._suggestions = suggestions

    def group(
        self, cls: type[Group], data: dict[str, Any], path: str, may_lack: bool = False
    ) -> Any:
        """A group of a class from its data by camelCase key; `BAD` when anything is wrong.

        With `may_lack` a missing field is not told: what was meant is not certain.
        """
        values: dict[str, Any] = {}
        declared: set[str] = set()
        is_good = True
        for spec in specs_of(cls):
            place = join(path, spec.key)
            if spec.key in data:
                value = self._field(spec, data[spec.key], place)
                declared.add(spec.name)
            elif spec.required:
                value = self._missing(spec, place, may_lack)
            else:
                value = dict(spec.default) if spec.is_mapping else spec.default
            is_good = is_good and value is not BAD
            values[spec.name] = value
        return cls.model_construct(declared, **values) if is_good else BAD

    def _missing(self, spec: FieldSpec, path: str, may_lack: bool) -> object:
        if path not in self._plain.bad and not may_lack:
            self._plain.report(path, MISSING, example_of(spec))
        return BAD

    def _field(self, spec: FieldSpec, value: Any, path: str) -> Any:
        if spec.many:
            return self._groups(spec, value, path)
        if spec.is_mapping:
            return self._mapping(spec, value, path)
        if spec.group is not None and (isinstance(value, dict) or spec.scalar is None):
            return self._nested(spec.group_of(value) or spec.group, value, path)
        return self._scalar(spec, value, path)

    def _groups(self, spec: FieldSpec, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self._plain.report(path, f"expected a list, got {show(value)}", example_of(spec))
        assert spec.group is not None
        items = [
            self._nested(spec.group, item, f"{path}[{index}]") for index, item in enumerate(value)
        ]
        return BAD if any(item is BAD for item in items) else tuple(items)

    def _mapping(self, spec: FieldSpec, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            told = f"expected a mapping of names to text, got {show(value)}"
            return self._plain.report(path, told, example_of(spec))
        is_good = True
        for key, item in value.items():
            if not isinstance(item, str):
                self._plain.report(join(path, key), *_unexpected(spec, str, item))
                is_good = False
        return value if is_good else BAD

    def _nested(self, cls: type[Group], value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return self.group(cls, value, path)
        keys = [spec.key for spec in specs_of(cls)]
        short = f"{cls.short_form} or " if cls.short_form else ""
        told = f"expected {short}a group of fields, got {show(value)}"
        return self._plain.report(path, told, f"fields are {listed(keys)}")

    def _scalar(self, spec: FieldSpec, value: Any, path: str) -> Any:
        scalar = spec.scalar
        assert scalar is not None
        if issubclass(scalar, Enum):
            return self._member(spec, scalar, value, path)
        if scalar is float and type(value) is int:
            value = float(value)
        if type(value) is not scalar:
            return self._plain.report(path, *_unexpected(spec, scalar, value))
        told = _beyond(spec, value)
        return self._plain.report(path, *told) if told else value

    def _member(self, spec: FieldSpec, scalar: type[Enum], value: Any, path: str) -> Any:
        try:
            return scalar(value)
        except ValueError:
            fix = self._suggestions.fix(value, spec.choices, f"one of {listed(spec.choices)}")
            return self._plain.report(path, f"{show(value)} is not a known {spec.key}", fix)


def example_of(spec: FieldSpec) -> str:
    """A fix that shows what the field takes."""
    if spec.example is not None:
        return f"such as {spec.key}: {spec.example}"
    subject = spec.description.partition(";")[0].rstrip(".")
    return f"give the {subject[:1].lower()}{subject[1:]}, or leave it out"


def _unexpected(spec: FieldSpec, scalar: type, value: object) -> tuple[str, str]:
    """Message and fix for a value of another type."""
    expected = _EXPECTED[scalar]
    if spec.is_union:
        return f"expected {expected} or a group of fields, got {show(value)}", example_of(spec)
    if scalar is str and isinstance(value, (bool, int, float)):
        return f"expected text, got {show(value)}", "quote it"
    fix = f"write {expected}" if scalar is bool else example_of(spec)
    return f"expected {expected}, got {show(value)}", fix


def _beyond(spec: FieldSpec, value: Any) -> tuple[str, str] | None:
    """Message and fix for a value outside the limits of its field."""
    if isinstance(value, str):
        if len(value) < spec.limits.get("min_length", 0):
            return "is empty", example_of(spec)
        longest = int(spec.limits.get("max_length", len(value)))
        return None if len(value) <= longest else (f"is longer than {longest} characters", SHORTEN)
    for name, word, holds in _BOUNDS:
        limit = spec.limits.get(name)
        if limit is not None and not holds(value, limit):
            return f"must be {word} {show(limit)}, got {show(value)}", example_of(spec)
    return None
