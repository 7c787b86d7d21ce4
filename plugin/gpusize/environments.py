"""Which environment a stack is: chosen by the stack's name or by its tags, the first that matches.

What an environment may change is the business of whoever keeps it: here it is chosen and applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class Where(NamedTuple):
    """What is known of the stack that is judged; all empty where there is none."""

    stack: str = ""
    tags: Mapping[str, str] = {}
    """Tags of the stack itself, as `pulumi stack tag` sets them."""
    environment: str = ""
    """Name of the environment, where somebody says which one it is."""


NOWHERE = Where()


class Environment(NamedTuple):
    """One environment: the stacks that belong to it, and what it changes."""

    name: str
    stacks: tuple[str, ...] = ()
    """Globs of stack names; the environment's own name where it says neither stacks nor tags."""
    tags: Mapping[str, str] = {}
    """Globs of the values that tags of the stack must have, all of them."""
    changes: Mapping[str, Any] = {}
    """Fields of the settings that it changes, by their names there."""

    def has(self, where: Where) -> bool:
        """Tell whether a stack belongs to it."""
        if where.environment:
            return where.environment == self.name
        if where.stack and any(fnmatchcase(where.stack, glob) for glob in self._stacks):
            return True
        return bool(self.tags) and all(
            key in where.tags and fnmatchcase(where.tags[key], glob)
            for key, glob in self.tags.items()
        )

    @property
    def _stacks(self) -> tuple[str, ...]:
        return self.stacks or (() if self.tags else (self.name,))


def chosen(environments: Iterable[Environment], where: Where) -> Environment | None:
    """Return the first environment that a stack belongs to, None where it belongs to none."""
    return next((one for one in environments if one.has(where)), None)


def changed(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that change, with their new values.

    A mapping adds to the mapping, or to the fields of the tuple, that stands there; anything else
    stands in its place.
    """
    return {name: _joined(fields[name], value) for name, value in changes.items()}


def _joined(old: Any, new: Any) -> Any:
    if not isinstance(new, Mapping):
        return new
    replace = getattr(old, "_replace", None)
    return replace(**new) if replace else {**old, **new}
