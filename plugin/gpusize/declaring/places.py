"""Where a path stands in a text file."""

from __future__ import annotations

from collections.abc import Mapping

from gpusize.names import path_to_camel


class Places:
    """Lines and columns by path; paths are in camelCase, the file may spell keys in snake_case."""

    def __init__(self, lines: Mapping[str, tuple[int, int]]) -> None:
        """Take the places as the file spells the paths."""
        self._places = {path_to_camel(path): place for path, place in lines.items()}

    def of(self, path: str) -> tuple[int, int] | tuple[None, None]:
        """Line and column of a path, or of the nearest path above it that stands in the file."""
        path = path_to_camel(path)
        while path and path not in self._places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self._places.get(path, (None, None))
