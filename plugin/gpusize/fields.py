"""The fields of a group of the vocabulary, as keys see them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args

from gpusize.vocabulary import Words
from gpusize.workload import Group, to_camel

T = TypeVar("T")


class FieldSpec(NamedTuple):
    """One field: its names, and what may stand in it."""

    name: str
    key: str
    group: type[Group] | None
    """The group that may stand in it."""
    many: bool
    """Whether it takes a list of such groups."""
    is_union: bool
    """Whether something else than that group may stand in it."""
    words: Words | None
    """The words it takes, where the catalog has the facts behind them."""
    choices: tuple[str, ...]
    """The values it takes, where they are few."""
    description: str
    example: Any


@cache
def fields_of(cls: type[Group]) -> dict[str, FieldSpec]:
    """Fields of a group by both spellings of their names."""
    fields: dict[str, FieldSpec] = {}
    for name, info in cls.model_fields.items():
        groups = list(_parts(info.annotation, Group))
        words = next((item for item in info.metadata if isinstance(item, Words)), None)
        enum = next(_parts(info.annotation, Enum), None)
        many = bool(groups) and getattr(info.annotation, "__origin__", None) is tuple
        spec = FieldSpec(
            name,
            to_camel(name),
            groups[0] if groups else None,
            many,
            bool(groups) and str in _parts(info.annotation, str),
            words,
            tuple(member.value for member in enum) if enum else (),
            info.description or "",
            info.examples[0] if info.examples else None,
        )
        fields[spec.name] = fields[spec.key] = spec
    return fields


def _parts(annotation: Any, base: type[T]) -> Iterator[type[T]]:
    """The classes inside an annotation that derive from a base: of `Tokens | None` it is Tokens."""
    arguments = get_args(annotation)
    if arguments:
        for argument in arguments:
            yield from _parts(argument, base)
    elif isinstance(annotation, type) and issubclass(annotation, base):
        yield annotation
