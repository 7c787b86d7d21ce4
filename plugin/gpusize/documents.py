"""Reads YAML and JSON text into plain data and remembers where each value stands.

Values follow YAML 1.2 (`off` is a word, a date is text), as Pulumi reads its programs. A file is
somebody else's: its size, its depth and its aliases are limited, and whatever is wrong with it is a
problem with a place, never a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpusize.declaring.plain import join, show_key
from gpusize_catalog.problems import GpuSizeError, Problem

STDIN = "-"
STDIN_NAME = "<stdin>"
MAX_BYTES = 4 * 2**20
"""Bytes of a file of declarations; 10,000 workloads take about 3 MB."""
MAX_DEPTH = 40
"""Nested mappings and lists of one file."""
MAX_VALUES = 200_000
"""Values of one file."""
MAX_COPIED = 1_000_000
"""Values that the merge keys of one file copy; a few lines could ask for any number."""
_CORE = "tag:yaml.org,2002:"
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class Place(NamedTuple):
    """Where a value stands in its file, from 1."""

    line: int
    column: int


class Document(NamedTuple):
    """Plain data of one file, with the places of its keys by path (`workloads.chat.model`)."""

    data: Any
    places: Mapping[str, Place]
    file: str

    def locate(self, problem: Problem) -> Problem:
        """The problem with this file and the place of its path, or of the nearest path above."""
        place = self.place(problem.path)
        line, column = (place.line, place.column) if place else (None, None)
        return Problem(problem.path, problem.message, problem.fix, self.file, line, column)

    def place(self, path: str) -> Place | None:
        """Where the value of a path stands, or the nearest one above it."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get("")


def read(path: str, max_bytes: int = MAX_BYTES) -> Document:
    """Read and parse a file, or standard input for `-`; raises GpuSizeError."""
    name = STDIN_NAME if path == STDIN else path
    return parse(_text(path, name, max_bytes), name)


def parse(text: str, file: str) -> Document:
    """Parse JSON (by the file's name; standard input by its first character) or YAML.

    Raises GpuSizeError.
    """
    if file.lower().endswith(".json") or (file == STDIN_NAME and text.lstrip()[:1] == "{"):
        return _parse_json(text, file)
    return _parse_yaml(text, file)


def _text(path: str, name: str, max_bytes: int) -> str:
    try:
        if path == STDIN:
            content = _stdin(max_bytes + 1)
        else:
            with Path(path).open("rb") as stream:
                content = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise GpuSizeError([_unreadable(name, error)]) from None
    if len(content) > max_bytes:
        limit = f"at most {max_bytes // 2**20} MiB are read"
        raise GpuSizeError([Problem("", "the file is too large", limit, file=name)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise GpuSizeError([Problem("", "is no text in UTF-8", "save it as UTF-8", file=name)])
    return text


def _stdin(max_bytes: int) -> bytes:
    if sys.stdin is None:
        raise ValueError("standard input is closed")
    return sys.stdin.buffer.read(max_bytes)


def _unreadable(name: str, error: OSError | ValueError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem("", "no such file", file=name)
    if isinstance(error, IsADirectoryError):
        return Problem("", "is a directory", "name a file in it", file=name)
    if isinstance(error, PermissionError):
        return Problem("", "may not be read", "check its permissions", file=name)
    why = error.strerror if isinstance(error, OSError) and error.strerror else "not readable"
    return Problem("", f"cannot be read: {why}", file=name)


def _parse_json(text: str, file: str) -> Document:
    import json

    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                repeated.append(key)
            found[key] = value
        return found

    try:
        data = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        problem = Problem("", f"no valid JSON: {error.msg}", "", file, error.lineno, error.colno)
        raise GpuSizeError([problem]) from None
    except (RecursionError, ValueError):
        raise GpuSizeError([Problem("", "is nested too deep or too large", file=file)]) from None
    document = Document(data, _json_places(text, file), file)
    if repeated:
        raise GpuSizeError(
            Problem("", f"key {key[:40]!r} stands twice in one object", "keep one", file)
            for key in repeated
        )
    return document


def _json_places(text: str, file: str) -> Mapping[str, Place]:
    """JSON is nearly YAML: where it is, its places come from the same reader."""
    try:
        return _parse_yaml(text, file).places
    except GpuSizeError:
        return {}


def _parse_yaml(text: str, file: str) -> Document:
    import yaml

    loader_class: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(file)
    try:
        loader = loader_class(text)
        while loader.check_event():
            builder.take(loader.get_event())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        what = f"no valid YAML: {error.problem or error.context}"
        builder.problems.append(Problem("", what, "", file, line, column))
    except yaml.YAMLError:
        builder.problems.append(
            Problem("", "no valid YAML: it holds characters that are not text", "", file)
        )
    except (RecursionError, ValueError, IndexError):
        builder.problems.append(Problem("", "no valid YAML", "", file))
    if builder.problems:
        raise GpuSizeError(builder.problems)
    return Document(builder.data, builder.places, file)


class _Open:
    """A mapping or list that has begun and not ended."""

    def __init__(self, value: Any, path: str, anchor: str | None) -> None:
        self.value = value
        self.path = path
        self.anchor = anchor
        self.values_before = 0
        """Values of the file before it."""
        self.key = ""
        self.has_key = False
        self.merged: list[Any] = []


class _Builder:
    """Builds plain data from YAML events, without recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.data: Any = None
        self.places: dict[str, Place] = {}
        self.problems: list[Problem] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}
        """Values that stand behind an anchor: a few lines of aliases could stand for any number."""
        self._documents = 0
        self._values = 0
        self._copied = 0

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, event)

    def start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop("holds more than one document", "keep one", event)

    def scalar(self, event: Any) -> None:
        tag = (event.tag or "").removeprefix(_CORE)
        if self._awaits_key():
            self._key(event.value, event)
            return
        value = _plain_value(event.value) if event.implicit[0] and not tag else event.value
        if tag not in ("", "!", "str"):
            self._stop(f"tag {tag[:20]!r} is not supported", "write the plain value", event)
        if event.anchor:
            self._anchors[event.anchor] = value
            self._sizes.pop(event.anchor, None)
        self._put(value, event)

    def alias(self, event: Any) -> None:
        if event.anchor not in self._anchors or self._awaits_key():
            self._stop(f"alias {event.anchor[:20]!r} has no anchor before it", "", event)
        self._count(self._sizes.get(event.anchor, 0))
        self._put(self._anchors[event.anchor], event)

    def _count(self, size: int) -> None:
        """Count what an alias stands for; what a merge key copies has a limit of its own."""
        is_listed = isinstance(self._stack[-1].value, list) and len(self._stack) > 1
        if self._stack[-2 if is_listed else -1].key == "<<":
            for one in self._stack:
                one.values_before -= size
        else:
            self._values += size

    def start_mapping(self, event: Any) -> None:
        self._start({}, event)

    def start_sequence(self, event: Any) -> None:
        self._start([], event)

    def end(self, event: Any) -> None:
        ended = self._stack.pop()
        for other in ended.merged:
            self._copied += len(other)
            if self._copied > MAX_COPIED:
                self._stop(f"merges more than {MAX_COPIED} values", "split it up", event)
            for key, value in other.items():
                ended.value.setdefault(key, value)
        if ended.anchor:
            self._anchors[ended.anchor] = ended.value
            self._sizes[ended.anchor] = self._values - ended.values_before
        if not self._stack:
            self.data = ended.value
        else:
            self._attach(self._stack[-1], ended.value, event)

    def _start(self, value: Any, event: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self._stop(f"is nested deeper than {MAX_DEPTH} levels", "", event)
        path = self._place_next(event)
        self._stack.append(_Open(value, path, event.anchor))
        self._stack[-1].values_before = self._values

    def _put(self, value: Any, event: Any) -> None:
        self._place_next(event)
        if self._stack:
            self._attach(self._stack[-1], value, event)
        else:
            self.data = value

    def _awaits_key(self) -> bool:
        top = self._stack[-1] if self._stack else None
        return top is not None and isinstance(top.value, dict) and not top.has_key

    def _key(self, key: str, event: Any) -> None:
        parent = self._stack[-1]
        parent.key = key
        parent.has_key = True
        path = join(parent.path, show_key(key))
        if key in parent.value:
            self._tell(path, "stands twice in one mapping", "keep one", event)
        self.places[path] = _place(event)

    def _place_next(self, event: Any) -> str:
        """Count the coming value and note its place; keys have noted theirs already."""
        self._values += 1
        if self._values > MAX_VALUES:
            self._stop(f"holds more than {MAX_VALUES} values", "split it up", event)
        if not self._stack:
            self.places[""] = _place(event)
            return ""
        parent = self._stack[-1]
        if isinstance(parent.value, dict):
            if not parent.has_key:
                self._stop("a key must be a word", "", event)
            return join(parent.path, show_key(parent.key))
        path = f"{parent.path}[{len(parent.value)}]"
        self.places[path] = _place(event)
        return path

    def _attach(self, parent: _Open, value: Any, event: Any) -> None:
        if isinstance(parent.value, list):
            parent.value.append(value)
            return
        parent.has_key = False
        if parent.key == "<<":
            others = value if isinstance(value, list) else [value]
            if all(isinstance(other, dict) for other in others):
                parent.merged.extend(others)
            else:
                self._stop("`<<` takes a mapping", "", event)
        else:
            parent.value[parent.key] = value

    def _tell(self, path: str, message: str, fix: str, event: Any) -> None:
        place = _place(event)
        self.problems.append(Problem(path, message, fix, self.file, place.line, place.column))

    def _stop(self, message: str, fix: str, event: Any) -> None:
        self._tell("", message, fix, event)
        raise GpuSizeError(self.problems)


_HANDLERS: dict[str, Any] = {
    "DocumentStartEvent": _Builder.start_document,
    "ScalarEvent": _Builder.scalar,
    "AliasEvent": _Builder.alias,
    "MappingStartEvent": _Builder.start_mapping,
    "SequenceStartEvent": _Builder.start_sequence,
    "MappingEndEvent": _Builder.end,
    "SequenceEndEvent": _Builder.end,
}


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _plain_value(text: str) -> Any:
    """Read an unquoted scalar as YAML 1.2 does: null, truth values and numbers, else text."""
    if text.lower() in _WORDS and text in (text.lower(), text.capitalize(), text.upper()):
        return _WORDS[text.lower()]
    if text[0] not in "+-.0123456789":
        return text
    if text.lstrip("+-").isascii() and not text.strip("+-0123456789"):
        return _number(int, text)
    if text.strip("+-.eE0123456789"):
        return text
    return _number(float, text)


def _number(kind: type[int] | type[float], text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text
