"""The headers of safetensors files and of their index: names, types and places of tensors.

Layout: safetensors README (8 bytes of length, then JSON; at most 100 MB of it), and the index that
transformers writes (`weight_map`, `metadata.total_size`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from gpusize.weight_files.opening import opened, size_of, wrong
from gpusize.weight_files.parts import Tensor

if TYPE_CHECKING:
    from pathlib import Path

LENGTH_BYTES = 8
MOST_HEADER_BYTES = 100_000_000
"""The format's own limit."""
MOST_INDEX_BYTES = 2**26
MOST_TENSORS = 500_000
MOST_FILES = 5_000
MOST_DIMENSIONS = 16
MOST_SIZE = 2**50
METADATA = "__metadata__"


class Index(NamedTuple):
    """What an index tells."""

    files: tuple[str, ...]
    total: int | None
    """Bytes of all tensors; None: not told."""


def read_tensors(path: str, base_dir: Path | None = None) -> tuple[Tensor, ...]:
    """The tensors of one file; raises `GpuSizeError` with one problem."""
    with opened(path, base_dir) as stream:
        size = size_of(stream)
        length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        if size < LENGTH_BYTES or not 1 < length <= min(MOST_HEADER_BYTES, size - LENGTH_BYTES):
            raise wrong(path, "is not a safetensors file", "give a .safetensors file, whole")
        header = parsed(stream.read(length), path)
        room = size - LENGTH_BYTES - length
    if len(header) > MOST_TENSORS:
        raise wrong(path, f"lists more than {MOST_TENSORS} tensors")
    return tuple(
        [_tensor(name, entry, room, path) for name, entry in header.items() if name != METADATA]
    )


def read_index(path: str, base_dir: Path | None = None) -> Index:
    """The files and the total of an index; raises `GpuSizeError` with one problem."""
    with opened(path, base_dir) as stream:
        content = stream.read(MOST_INDEX_BYTES + 1)
    if len(content) > MOST_INDEX_BYTES:
        raise wrong(path, f"is larger than {MOST_INDEX_BYTES >> 20} MiB")
    data = parsed(content, path)
    listed = data.get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise wrong(path, "has no weight_map", "give the model.safetensors.index.json of a model")
    files = tuple(dict.fromkeys([name for name in listed.values() if _is_plain(name)]))
    if len(files) != len(set(map(str, listed.values()))) or len(files) > MOST_FILES:
        raise wrong(path, "names files that do not lie beside it")
    metadata = data.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return Index(files, total if _is_size(total) else None)


def parsed(content: bytes, path: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise wrong(path, "has a header that is not valid JSON") from None
    if not isinstance(data, dict):
        raise wrong(path, "has a header that is not a JSON object")
    return data


def _tensor(name: str, entry: Any, room: int, path: str) -> Tensor:
    """One entry; its bytes are where it begins and ends."""
    told: dict[str, Any] = entry if isinstance(entry, dict) else {}
    kind, shape, places = told.get("dtype"), told.get("shape"), told.get("data_offsets")
    if not isinstance(kind, str) or not _are_sizes(shape) or not _are_sizes(places, 2):
        raise wrong(path, f"has no type, shape or place for {name[:80]!r}")
    first, last = places
    if not first <= last <= room:
        raise wrong(path, f"is cut off: {name[:80]!r} lies beyond its end", "download it again")
    return Tensor(name, tuple(shape), last - first, kind)


def _are_sizes(numbers: Any, count: int | None = None) -> TypeGuard[list[int]]:
    """Whether it is a list of sizes, of `count` where that is told."""
    if not isinstance(numbers, list) or len(numbers) > MOST_DIMENSIONS:
        return False
    return (count is None or len(numbers) == count) and all(_is_size(one) for one in numbers)


def _is_size(number: Any) -> bool:
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    return is_whole and 0 <= number < MOST_SIZE


def _is_plain(name: Any) -> bool:
    """Whether it is the name of a file in the same folder."""
    return isinstance(name, str) and bool(name) and not any(sign in name for sign in "/\\\0")
