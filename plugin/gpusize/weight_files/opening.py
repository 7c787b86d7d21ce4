"""Opens somebody else's file within limits, and tells what is wrong with it in one problem."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator


def wrong(path: str, message: str, fix: str = "") -> GpuSizeError:
    """The error of a weight file."""
    return GpuSizeError([Problem("model", message, fix, path)])


@contextmanager
def opened(path: str, base_dir: Path | None) -> Iterator[BinaryIO]:
    """A regular file, opened for reading; pipes and devices are refused before they block."""
    file = (base_dir or Path()) / path
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise wrong(path, "is not a file", "give the path of the weights themselves")
        stream = file.open("rb")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        fix = "give a path beside the declaration"
        raise wrong(path, f"cannot be read: {reason}", fix) from None
    with stream:
        yield stream


def size_of(stream: BinaryIO) -> int:
    """Bytes of an opened file."""
    return os.fstat(stream.fileno()).st_size
