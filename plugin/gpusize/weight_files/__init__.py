"""Reads the headers of weight files: GGUF, safetensors and its index, for exact bytes by part.

The files are somebody else's: only headers of limited size are read, never weights, and what is
not understood is said. Parsers of our own: a header is a few dozen lines, and the packages that
read them bring numpy along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gpusize.architecture import Architecture

GGUF = ".gguf"
SAFETENSORS = ".safetensors"
INDEX = ".safetensors.index.json"
SUFFIXES = (GGUF, SAFETENSORS, INDEX)


def is_weight_file(path: str) -> bool:
    """Whether a path names a file whose header tells the bytes of a model."""
    return path.endswith(SUFFIXES)


def read_weight_file(path: str, base_dir: Path | None = None) -> Architecture:
    """Return the architecture and exact bytes of a weight file; raises `GpuSizeError`."""
    if path.endswith(GGUF):
        from gpusize.weight_files.gguf_model import read_gguf

        return read_gguf(path, base_dir)
    from gpusize.weight_files.safetensors_model import read_safetensors

    return read_safetensors(path, base_dir)
