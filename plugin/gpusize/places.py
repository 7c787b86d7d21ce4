"""Where a path stands in a text file."""

from __future__ import annotations

from collections.abc import Mapping

from gpusize.workload import to_camel


def place_of(path: str, lines: Mapping[str, tuple[int, int]]) -> tuple[int | None, int | None]:
    """Line and column of a path, or of the nearest path above it that stands in the file.

    Paths are in camelCase; the file may spell keys in snake_case.
    """
    if not lines:
        return None, None
    by_camel = {_camel(key): place for key, place in lines.items()}
    while path:
        for known in (lines.get(path), by_camel.get(_camel(path))):
            if known is not None:
                return known
        path = _above(path)
    return lines.get("", (None, None))


def _camel(path: str) -> str:
    return ".".join(to_camel(part) for part in path.split("."))


def _above(path: str) -> str:
    return path[: max(path.rfind("."), path.rfind("["), 0)]
