"""The header of a GGUF file: metadata and tensors, never their data.

Layout: llama.cpp `docs/gguf.md` (versions 2 and 3, little-endian) and gguf-py 0.19 `constants.py`.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from gpusize.weight_files.opening import opened, size_of, wrong
from gpusize.weight_files.parts import Tensor

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_HEADER_BYTES = 2**26
"""Longest header read; vocabularies of 256 thousand words take about 10 MB."""
MOST_KEYS = 4_096
MOST_TENSORS = 200_000
MOST_NAME = 65_535
MOST_KEPT = 4_096
"""Longest list kept, numbers; longer ones (token scores) are skipped."""
MOST_WORDS = 2_000_000
"""Longest list of texts that is passed over; vocabularies have up to 300 thousand."""
MOST_DIMENSIONS = 4
ALIGNMENT = 32
NUMBERS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
"""Value types that are one number, as `struct` reads them."""
TEXT = 8
ARRAY = 9
TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}  # fmt: skip
"""Name, numbers of a block and its bytes (gguf-py 0.19 GGML_QUANT_SIZES). Types of forks are not
listed: how far apart their tensors lie tells their bytes."""

Value = int | float | bool | str | list[int | float | bool]


class Header(NamedTuple):
    """What a GGUF file says of itself."""

    values: dict[str, Value]
    tensors: tuple[Tensor, ...]


class _Entry(NamedTuple):
    """A tensor as it is listed."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


class _Reader:
    """Reads a stream within a budget; raises one problem for anything else."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self.stream = stream
        self.path = path
        self.size = size_of(stream)
        self.position = 0

    def take(self, count: int) -> bytes:
        """So many bytes."""
        self._move(count)
        data = self.stream.read(count)
        if len(data) != count:
            raise self.broken()
        return data

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        self._move(count)
        self.stream.seek(count, 1)

    def _move(self, count: int) -> None:
        self.position += count
        if self.position > self.size:
            raise self.broken()
        if self.position > MOST_HEADER_BYTES:
            raise wrong(self.path, f"has a header of more than {MOST_HEADER_BYTES >> 20} MiB")

    def broken(self) -> Exception:
        """The file ends where there should be more."""
        return wrong(self.path, "is cut off within its GGUF header", "download the file again")

    def number(self, kind: str) -> int:
        """A whole number."""
        found = struct.unpack(kind, self.take(struct.calcsize(kind)))[0]
        return int(found)

    def count(self, most: int, what: str) -> int:
        """A count within limits."""
        found = self.number("<Q")
        if found > most:
            raise wrong(self.path, f"is not a GGUF file that can be read: {found} {what}")
        return found

    def text(self) -> str:
        """A text of limited length."""
        return self.take(self.count(MOST_NAME, "bytes in a name")).decode("utf-8", "replace")

    def value(self, kind: int) -> Value | None:
        """A value of the metadata; None for what is passed over."""
        if kind in NUMBERS:
            form = NUMBERS[kind]
            found: Value = struct.unpack(form, self.take(struct.calcsize(form)))[0]
            return found
        if kind == TEXT:
            length = self.count(MOST_HEADER_BYTES, "bytes in a text")
            if length > MOST_NAME:
                self.skip(length)
                return None
            return self.take(length).decode("utf-8", "replace")
        if kind == ARRAY:
            return self.array()
        raise wrong(self.path, f"is not a GGUF file that can be read: value type {kind}")

    def array(self) -> Value | None:
        """A list of numbers that is short; others are passed over."""
        kind = self.number("<I")
        length = self.count(MOST_HEADER_BYTES, "values in a list")
        if kind in NUMBERS:
            form = NUMBERS[kind]
            size = struct.calcsize(form)
            if length > MOST_KEPT:
                self.skip(size * length)
                return None
            data = self.take(size * length)
            return list(struct.unpack(f"<{length}{form[1:]}", data))
        if kind != TEXT:
            raise wrong(self.path, f"is not a GGUF file that can be read: a list of type {kind}")
        if length > MOST_WORDS:
            raise wrong(self.path, f"is not a GGUF file that can be read: {length} words")
        for _ in range(length):
            self.skip(self.count(MOST_HEADER_BYTES, "bytes in a text"))
        return None


def read_header(path: str, base_dir: Path | None = None) -> Header:
    """Read one file's header; raises `GpuSizeError` with one problem."""
    with opened(path, base_dir) as stream:
        reader = _Reader(stream, path)
        if reader.size < len(MAGIC) or reader.take(len(MAGIC)) != MAGIC:
            raise wrong(path, "is not a GGUF file", "give a .gguf file")
        version = reader.number("<I")
        if version not in VERSIONS:
            told = f"is GGUF of version {version}; 2 and 3 are read"
            raise wrong(path, told, "convert it with a newer llama.cpp")
        tensors = reader.count(MOST_TENSORS, "tensors")
        values = _values(reader)
        entries = [_entry(reader) for _ in range(tensors)]
        return Header(values, _sized(entries, values, reader))


def _values(reader: _Reader) -> dict[str, Value]:
    """The metadata that is kept."""
    values = {}
    for _ in range(reader.count(MOST_KEYS, "keys")):
        key = reader.text()
        value = reader.value(reader.number("<I"))
        if value is not None:
            values[key] = value
    return values


def _entry(reader: _Reader) -> _Entry:
    """One line of the list of tensors."""
    name = reader.text()
    dimensions = reader.number("<I")
    if dimensions > MOST_DIMENSIONS:
        raise wrong(reader.path, f"is not a GGUF file that can be read: {dimensions} dimensions")
    shape = tuple([reader.number("<Q") for _ in range(dimensions)])
    return _Entry(name, shape, reader.number("<I"), reader.number("<Q"))


def _sized(entries: list[_Entry], values: dict[str, Value], reader: _Reader) -> tuple[Tensor, ...]:
    """Bytes of each tensor: by its type, or up to where the next one begins."""
    alignment = values.get("general.alignment")
    step = alignment if isinstance(alignment, int) and 0 < alignment <= MOST_NAME else ALIGNMENT
    start = -(-reader.position // step) * step
    starts = sorted({entry.offset for entry in entries} | {max(0, reader.size - start)})
    following = dict(pairwise(starts))
    tensors = []
    for entry in entries:
        elements = Tensor(entry.name, entry.shape, 0, "").elements
        known = TYPES.get(entry.kind)
        if known is None:
            size = following.get(entry.offset, entry.offset) - entry.offset
            kind = f"type {entry.kind}"
        else:
            kind, block, width = known
            size = elements // block * width
        if elements >= 2**48 or size >= 2**48:
            raise wrong(reader.path, f"has a tensor {entry.name[:80]} of impossible size")
        tensors.append(Tensor(entry.name, entry.shape, size, kind))
    return tuple(tensors)
