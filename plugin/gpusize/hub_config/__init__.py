"""Reads a model's `config.json`, as model hubs keep it, into an architecture.

The file is somebody else's: it is plain JSON of limited size, numbers have sane ranges, and what is
not understood is said. Parameters are counted by arithmetic, which tests hold against published
totals.
"""

from __future__ import annotations

from pathlib import Path

from gpusize.architecture import Architecture
from gpusize.hub_config.counting import build
from gpusize.hub_config.file import load_config
from gpusize.hub_config.reading import Config


def read_config(path: str, base_dir: Path | None = None) -> Architecture:
    """Return the architecture that a file describes; raises `GpuSizeError` with every problem."""
    return build(Config(load_config(path, base_dir), path))
