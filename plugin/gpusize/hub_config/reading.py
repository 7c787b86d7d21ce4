"""Typed access to a config.json, by the several names of one thing."""

from __future__ import annotations

from typing import Any

from gpusize.hub_config import keys
from gpusize_catalog.problems import GpuSizeError, Problem

MAX_SIZE = 10**9
"""Largest width, count or table of a configuration."""
MAX_LAYERS = 2_000
"""Most layers of a configuration; the deepest known model has 126."""


class Config:
    """The part of a configuration that describes the language model; collects problems."""

    def __init__(self, raw: dict[str, Any], path: str) -> None:
        """Take a parsed file; `path` is what problems name."""
        self.path = path
        self.raw = raw
        self.problems: list[Problem] = []
        nested = next((raw[key] for key in keys.NESTED if isinstance(raw.get(key), dict)), None)
        if isinstance(nested, dict) and isinstance(nested.get("text_config"), dict):
            nested = nested["text_config"]
        self.text: dict[str, Any] = nested if isinstance(nested, dict) else raw
        model_type = self.text.get("model_type") or raw.get("model_type") or ""
        self.family = model_type if isinstance(model_type, str) else ""
        outer = raw.get("model_type")
        self.families = {self.family, outer if isinstance(outer, str) else ""}

    def value(self, *names: str) -> Any:
        """The first of the names that is there and not null, in the nested part or at the top."""
        for source in (self.text, self.raw):
            for name in names:
                if source.get(name) is not None:
                    return source[name]
        return None

    def whole(self, *names: str, most: int = MAX_SIZE, least: int = 1) -> int | None:
        """A whole number in range; a problem and `None` for anything else that is there."""
        value: object = self.value(*names)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        name = next(name for name in names if self.value(name) is not None)
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(name, "is not a whole number")
        elif not least <= value <= most:
            self.problem(name, f"is not between {least} and {most}")
        else:
            return value
        return None

    def count(self, *names: str) -> int:
        """A whole number from 0, and 0 where there is none."""
        return self.whole(*names, least=0) or 0

    def needed(self, *names: str, most: int = MAX_SIZE) -> int:
        """A whole number that must be there; 1 stands in for it after a problem."""
        value = self.whole(*names, most=most)
        if value is None and self.value(*names) is None:
            self.problem(names[0], "is missing")
        return value or 1

    def flag(self, *names: str, default: bool = False) -> bool:
        """A truth value."""
        value = self.value(*names)
        return value if isinstance(value, bool) else default

    def word(self, *names: str) -> str:
        """A text, empty where there is none."""
        value = self.value(*names)
        return value if isinstance(value, str) else ""

    def listed(self, name: str) -> list[Any] | None:
        """A list of at most `MAX_LAYERS` entries."""
        value = self.value(name)
        return value if isinstance(value, list) and 0 < len(value) <= MAX_LAYERS else None

    def group(self, name: str) -> dict[str, Any]:
        """A nested object, empty where there is none."""
        value = self.value(name)
        return value if isinstance(value, dict) else {}

    def is_family(self, families: frozenset[str]) -> bool:
        """Whether the model is of one of these families."""
        return self.family in families

    def problem(self, name: str, message: str) -> None:
        """Tell a problem of one key."""
        told = f"{name} of the configuration {message}"
        if all(problem.message != told for problem in self.problems):
            self.problems.append(Problem("model", told, "", self.path))

    def check(self) -> None:
        """Raise what was told so far."""
        if self.problems:
            raise GpuSizeError(self.problems)
