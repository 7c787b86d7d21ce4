"""Facts of every field that a declaration may have, from the classes that declare it.

A field that a kind of work has not is null there, as is one that is not declared and has no
default.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from gpusize.declaring.fields import FieldSpec, specs_of
from gpusize.workload import WORKLOAD_CLASSES, Group
from gpusize_policies.custom.facts import UNKNOWN, Fact, Kind

ROOT = "workload"
READ_APART = ("model", "tags")
"""Fields with facts of their own."""
SCALARS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOL),
    (int, Kind.INT),
    (float, Kind.DOUBLE),
    (str, Kind.STRING),
)


def declared_facts() -> tuple[Fact, ...]:
    """Facts of the fields of all kinds of work, groups in groups, lists left out."""
    found: dict[str, Fact] = {}
    for cls in WORKLOAD_CLASSES.values():
        for fact in _facts_of(cls, ()):
            other = found.get(fact.path)
            if other is None or (other.kind is Kind.INT and fact.kind is Kind.DOUBLE):
                found[fact.path] = fact
    return tuple(found.values())


def _facts_of(cls: type[Group], above: tuple[FieldSpec, ...]) -> Iterator[Fact]:
    for spec in specs_of(cls):
        trail = (*above, spec)
        if spec.many or spec.is_mapping or (not above and spec.name in READ_APART):
            continue
        for group in spec.groups:
            if not any(group in one.groups for one in above):
                yield from _facts_of(group, trail)
        kind = _kind(spec.scalar)
        if kind is not None and not spec.groups:
            path = ".".join((ROOT, *(one.key for one in trail)))
            yield Fact(path, kind, spec.description, _reader(trail, kind), may_be_null=True)


def _kind(scalar: type | None) -> Kind | None:
    return next((kind for one, kind in SCALARS if scalar and issubclass(scalar, one)), None)


def _reader(trail: tuple[FieldSpec, ...], kind: Kind) -> Any:
    names = [one.name for one in trail]

    def read(case: Any) -> Any:
        value = case.workload
        if value is None:
            return UNKNOWN
        for name in names:
            value = getattr(value, name, None)
            if value is None:
                return None
        return _as(kind, value)

    return read


def _as(kind: Kind, value: Any) -> Any:
    """The value in the type of its fact; what is of another type is as good as not declared."""
    if isinstance(value, Enum):
        value = value.value
    if kind is Kind.DOUBLE and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted = {Kind.BOOL: bool, Kind.INT: int, Kind.DOUBLE: float, Kind.STRING: str}[kind]
    return value if type(value) is wanted else None
