"""The one way in which bad input is told: every problem at once, each with its place and a fix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_SHOWN = 80
"""Characters of a user's word that a message repeats."""


def shown(word: str) -> str:
    """Return a user's word for a message: quoted, on one line, cut when long."""
    cut = word if len(word) <= LONGEST_SHOWN else word[:LONGEST_SHOWN] + "…"
    return repr(cut)


def printable(text: str, room: int) -> str:
    """Make a name safe to repeat: no control characters, no quotes, at most `room` characters."""
    clean = "".join(char if char.isprintable() and char != "'" else "?" for char in text)
    return clean if len(clean) <= room else clean[: room - 1] + "…"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with what a user gave.

    `path` is the property path in camelCase (`workloads.chat.contextLength`), empty for a whole
    file; `line` and `column` count from 1 where a text file was read.
    """

    path: str
    message: str
    fix: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """Return one line: place, path, message, fix."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        subject = ": ".join(part for part in (place, self.path) if part)
        text = f"{subject}: {self.message}" if subject else self.message
        return f"{text} ({self.fix})" if self.fix else text


class GpuSizeError(Exception):
    """Bad input; carries every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order found; there must be at least one."""
        self.problems = tuple(problems)
        if not self.problems:
            raise ValueError("an error without problems says nothing")
        super().__init__("\n".join(str(problem) for problem in self.problems))
