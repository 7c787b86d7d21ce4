"""The fields of a group as its class declares them, in the form that reading needs.

pydantic's classes are the one definition: types, ranges, defaults and descriptions are taken from
there. Reading by this table instead of pydantic's validators saves building them, which takes
longer than everything else that a command does with a declaration; a test holds both to one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gpusize.declaring.vocabulary import Words
from gpusize.names import to_camel
from gpusize.workload import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length")


class FieldSpec(NamedTuple):
    """One field: its names, and what may stand in it."""

    name: str
    key: str
    scalar: type | None
    """int, float, bool, str or an enum; None where only groups or a mapping may stand in it."""
    group: type[Group] | None
    """The group that may stand in it."""
    others: tuple[type[Group], ...]
    """More groups, each told by the key that is its mark."""
    many: bool
    """Whether it takes a list of such groups."""
    is_mapping: bool
    """Whether it takes a mapping of names to text."""
    limits: dict[str, float]
    words: Words | None
    """The words it takes, where the catalog has the facts behind them."""
    required: bool
    default: Any
    description: str
    example: Any

    def group_of(self, value: Any) -> type[Group] | None:
        """The group that a value is meant as."""
        for other in self.others:
            if isinstance(value, Mapping) and other.mark in value:
                return other
        return self.group

    @property
    def groups(self) -> tuple[type[Group], ...]:
        """All groups that may stand in it."""
        return (self.group, *self.others) if self.group is not None else ()

    @property
    def is_union(self) -> bool:
        """Whether something else than its group may stand in it."""
        return self.group is not None and self.scalar is not None

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it takes, where they are few."""
        if self.scalar is None or not issubclass(self.scalar, Enum):
            return ()
        return tuple(member.value for member in self.scalar)


@cache
def fields_of(cls: type[Group]) -> dict[str, FieldSpec]:
    """Fields of a group by both spellings of their names."""
    fields: dict[str, FieldSpec] = {}
    for name, info in cls.model_fields.items():
        spec = _spec(name, info)
        fields[spec.name] = fields[spec.key] = spec
    return fields


@cache
def specs_of(cls: type[Group]) -> tuple[FieldSpec, ...]:
    """Fields of a group in the order of its class."""
    fields = fields_of(cls)
    return tuple([fields[name] for name in cls.model_fields])


def _spec(name: str, info: FieldInfo) -> FieldSpec:
    types: list[type] = []
    marks: list[Any] = list(info.metadata)
    many = False
    for part in _parts(info.annotation, marks):
        if part is tuple:
            many = True
        elif part not in types:
            types.append(part)
    groups = [part for part in types if issubclass(part, Group)]
    is_mapping = dict in types
    scalars = [part for part in types if part not in groups]
    return FieldSpec(
        name=name,
        key=to_camel(name),
        scalar=scalars[0] if scalars and not is_mapping else None,
        group=groups[0] if groups else None,
        others=tuple(groups[1:]),
        many=many,
        is_mapping=is_mapping,
        limits=_limits(marks),
        words=next((mark for mark in marks if isinstance(mark, Words)), None),
        required=info.default is PydanticUndefined,
        default=info.default,
        description=info.description or "",
        example=info.examples[0] if info.examples else None,
    )


def _parts(annotation: Any, marks: list[Any]) -> Iterator[type]:
    """The classes inside an annotation; what is annotated to them goes to `marks`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extra = get_args(annotation)
        for mark in extra:
            marks += mark.metadata if isinstance(mark, FieldInfo) else [mark]
        yield from _parts(inner, marks)
    elif origin is not None:
        if origin in (tuple, dict):
            yield origin
        for argument in get_args(annotation):
            yield from _parts(argument, marks)
    elif isinstance(annotation, type) and annotation is not type(None):
        yield annotation


def _limits(marks: list[Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for mark in marks:
        for limit in LIMITS:
            value = getattr(mark, limit, None)
            if value is not None:
                found[limit] = value
    return found
