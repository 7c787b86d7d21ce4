"""Where answers and problems go: standard output, standard error, or a file written as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from typing import TextIO


def emit(text: str, path: str | None = None) -> None:
    """Print, or write a file so that a reader sees the old content or the new, nothing between."""
    if path is None:
        _print(text, sys.stdout)
    else:
        write_whole(Path(path), text)


def tell(problems: Iterable[Problem]) -> None:
    """Print each problem on a line of standard error."""
    for problem in problems:
        _print("error: " + " ".join(str(problem).splitlines()) + "\n", sys.stderr)


def write_whole(path: Path, text: str) -> None:
    """Write beside the file and move it into place; raises GpuSizeError when that fails."""
    if path.exists() and not path.is_file():
        _write(path, text)
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        _write(beside, text)
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except OSError as error:
        raise GpuSizeError([_unwritable(path, error)]) from None
    finally:
        beside.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise GpuSizeError([_unwritable(path, error)]) from None


def _unwritable(path: Path, error: OSError) -> Problem:
    return Problem("", f"cannot be written: {error.strerror or 'failed'}", file=str(path))


def _print(text: str, stream: TextIO | None) -> None:
    """Print what the stream's encoding lacks as escapes: names come from any file."""
    if stream is None:  # the caller closed it
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def wants_color() -> bool:
    """Whether standard output is a terminal that may be coloured (https://no-color.org)."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
