"""Where a path stands in a text file."""

from __future__ import annotations

from collections.abc import Mapping

from gpusize.workload import to_camel


class Places:
    """Lines and columns by path; paths are in camelCase, the file may spell keys in snake_case."""

    def __init__(self, lines: Mapping[str, tuple[int, int]]) -> None:
        """Take the places as the file spells the paths."""
        self._places = {_camel(path): place for path, place in lines.items()}

    def of(self, path: str) -> tuple[int, int] | tuple[None, None]:
        """Line and column of a path, or of the nearest path above it that stands in the file."""
        path = _camel(path)
        while path and path not in self._places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self._places.get(path, (None, None))


def _camel(path: str) -> str:
    return ".".join([to_camel(part) for part in path.split(".")])
