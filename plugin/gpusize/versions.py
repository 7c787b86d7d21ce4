"""Versions of engines as released, compared by their numbers.

Engines number themselves differently (0.20, v0.19.1, 0.5.0.post3, b4567), so a version is the
numbers of its release and what kind of release it was; build metadata does not count.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

MOST_VERSIONS = 256
"""Texts whose versions are remembered: all bounds of the catalog's ranges, which each search asks
for again, and room for what users write."""
MAX_LENGTH = 64
"""Longest text taken for a version, characters."""
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "": 0, "post": 1}
"""Order of the releases of one number: before it, itself, after it."""


class Version(NamedTuple):
    """A release: compare two of them as they are, like tuples."""

    release: tuple[int, ...]
    """Numbers without trailing zeros: 0.20 and 0.20.0 are the same."""
    stage: int = 0
    serial: int = 0

    def __str__(self) -> str:
        """The version as it is usually written."""
        text = ".".join([str(number) for number in self.release])
        names = {order: name for name, order in _STAGES.items()}
        return text if self.stage == 0 else f"{text}.{names[self.stage]}{self.serial}"


@lru_cache(MOST_VERSIONS)
def parse_version(text: str) -> Version | None:
    """The version that a text names, `None` where it is none."""
    text = text.strip().lower()
    body = text.partition("+")[0]
    if not body or len(text) > MAX_LENGTH or not text.isascii():
        return None
    if body[0] in "vb" and body[1:2].isdigit():
        body = body[1:]
    numbers: list[int] = []
    parts = body.replace("-", ".").split(".")
    while parts and parts[0].isdigit():
        numbers.append(int(parts.pop(0)))
    stage = _stage(numbers, parts)
    if stage is None or not numbers:
        return None
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return Version(tuple(numbers), *stage)


def in_range(version: Version, first: str, before: str) -> bool:
    """Whether a version lies in [first, before); an empty or unreadable bound is open."""
    low, high = parse_version(first), parse_version(before)
    return (low is None or version >= low) and (high is None or version < high)


def _stage(numbers: list[int], rest: list[str]) -> tuple[int, int] | None:
    """Stage and serial of what follows the release numbers: nothing, post3, 1rc2."""
    if not rest:
        return 0, 0
    if len(rest) > 1:
        return None
    word = rest[0]
    head = word[: len(word) - len(word.lstrip("0123456789"))]
    word = word[len(head) :]
    if head:
        numbers.append(int(head))
    name = word.rstrip("0123456789")
    if name not in _STAGES or not name:
        return None
    return _STAGES[name], int(word[len(name) :] or 0)
