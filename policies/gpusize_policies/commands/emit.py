"""Where answers and problems go: standard output, standard error, or a file written as a whole."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from typing import TextIO


ESCAPED = "gpusize-escaped"
"""Name of the way to encode that escapes what an encoding lacks."""
LONGEST_PART = 50
"""Characters of a file's name in that of the one beside it: names have at most 255 bytes."""


def emit(text: str, path: str | None = None, *, is_colored: bool = False) -> None:
    """Print, or write a file so that a reader sees the old content or the new, nothing between."""
    text = _legible_but_colors(text) if is_colored else legible(text)
    if path is None:
        _print(text, sys.stdout)
    else:
        write_whole(Path(path), text)


def tell(problems: Iterable[Problem]) -> None:
    """Print each problem on a line of standard error."""
    for problem in problems:
        _print("error: " + legible(" ".join(str(problem).splitlines())) + "\n", sys.stderr)


def note(text: str) -> None:
    """Print on standard error what was done."""
    _print(legible(f"gpusize: {text}") + "\n", sys.stderr)


def legible(text: str) -> str:
    """Escape what a terminal obeys or hides: names and values come from any file.

    The escapes are those of JSON, so an answer in JSON stays what it is.
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)


def _legible_but_colors(text: str) -> str:
    import re

    parts = re.split("(\x1b\\[[0-9]{1,2}m)", text)
    return "".join(part if index % 2 else legible(part) for index, part in enumerate(parts))


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _escape_lacking(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(map(_escape, lacking)), error.end


codecs.register_error(ESCAPED, _escape_lacking)


def write_whole(path: Path, text: str) -> None:
    """Write beside the file and move it into place; raises GpuSizeError when that fails."""
    if _is_no_file(path):
        _write(path, text)
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:LONGEST_PART]}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(text.encode("utf-8", ESCAPED))
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except OSError as error:
        raise GpuSizeError([_unwritable(path, error)]) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def _is_no_file(path: Path) -> bool:
    """Tell a device or a folder; a path that nothing can have is told where it is written."""
    try:
        return path.exists() and not path.is_file()
    except (OSError, ValueError):
        return False


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", ESCAPED))
    except OSError as error:
        raise GpuSizeError([_unwritable(path, error)]) from None


def _unwritable(path: Path, error: OSError) -> Problem:
    return Problem("", f"cannot be written: {error.strerror or 'failed'}", file=str(path))


def _print(text: str, stream: TextIO | None) -> None:
    """Print what the stream's encoding lacks as escapes."""
    if stream is None:  # the caller closed it
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, ESCAPED).decode(encoding))


def wants_color() -> bool:
    """Whether standard output is a terminal that may be coloured (https://no-color.org)."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
