"""Well-formed values of a declaration, as relations read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpusize_catalog.problems import Problem


class Given:
    """Well-formed values of a declaration by camelCase path."""

    def __init__(self, data: dict[str, Any], bad: set[str]) -> None:
        """Keep the data and the paths (below its root) that are told already."""
        self._data = data
        self._bad = bad

    def value(self, path: str) -> Any:
        """Whatever stands at a path, `None` where nothing or nothing good does."""
        value: Any = self._data
        seen = ""
        for part in path.split("."):
            seen = f"{seen}.{part}" if seen else part
            if seen in self._bad or not isinstance(value, dict):
                return None
            value = value.get(part)
        return value

    def is_bad(self, path: str) -> bool:
        """Whether something wrong stands at a path, and is told."""
        return path in self._bad

    def number(self, path: str) -> float | None:
        """A number at a path."""
        value = self.value(path)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if is_number else None

    def text(self, path: str) -> str | None:
        """A text at a path."""
        value = self.value(path)
        return value if isinstance(value, str) else None

    def has(self, path: str) -> bool:
        """Whether anything is declared at a path."""
        return self.value(path) is not None


Relation = Callable[[Given], Iterator[Problem]]


def unreleased(given: Given, path: str, like: str) -> Iterator[Problem]:
    """A version is a number, written as some are in `like`."""
    from gpusize.versions import parse_version

    version = given.text(path)
    if version is not None and parse_version(version) is None:
        fix = f"write it like {like}; left out, gpusize takes the newest known"
        yield Problem(path, "is not a released version", fix)


def is_region(text: str) -> bool:
    """Tell a text that is written like us-east-1."""
    *words, number = text.split("-")
    return (
        len(words) >= 2
        and number.isdigit()
        and all(word.isalpha() for word in words)
        and (text == text.lower())
    )
