"""Which environment a stack is: chosen by the stack's name or by its tags, the first that matches.

What an environment changes is the business of whoever keeps it: here only the choice is made.
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


NOWHERE = Where()


class Environment(NamedTuple):
    """One environment: the stacks that belong to it, and what it changes."""

    name: str
    stacks: tuple[str, ...] = ()
    """Globs of stack names; the environment's own name where it says neither stacks nor tags."""
    tags: Mapping[str, str] = {}
    """Globs of the values that tags of the stack must have, all of them."""
    changes: Mapping[str, Any] = {}
    """Fields of what is changed, by their names there."""

    def has(self, where: Where) -> bool:
        """Tell whether a stack belongs to it."""
        if any(fnmatchcase(where.stack, glob) for glob in self._stacks):
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
