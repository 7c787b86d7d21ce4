"""What a shell script, a systemd unit inside one, or a list of commands starts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from gpusize_policies.launched.launch import USER_DATA, Launch, may_launch, needles_in
from gpusize_policies.launched.words import UNREAD, commands
from gpusize_policies.launched.wrappers import launches_of

MOST_LAUNCHES = 32
"""Commands of one text that are read: what starts more than that is no start-up script."""
LONGEST_LINE = 16_384
"""Characters of one command with its continued lines: all user data of EC2."""

_JOINED = re.compile(r"\\\r?\n[ \t]*")
_ASSIGNS = re.compile(r"(?:^|[\s;&|(])(?:[A-Za-z_]\w*)\+?=")
_UNIT = re.compile(r"^\s*(ExecStart(?:Pre)?|Environment)\s*=\s*[-@:+!|]*(.*)$")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_LOOP = re.compile(r"\b(?:for|read(?:\s+-\w+)*)\s+([A-Za-z_]\w*)")
_EXPORTERS = (["export"], ["declare"], ["readonly"], ["local"], ["typeset"])
_BRANCHES = frozenset({"if", "then", "elif", "else", "do", "while", "{", "!"})
"""Reserved words of a shell that an assignment may follow."""


def read_script(
    text: str,
    env: Mapping[str, str] = {},
    image: str = "",
    depth: int = 0,
    origin: str = USER_DATA,
) -> Iterator[Launch]:
    """Yield what a script starts; `env` is known before its first line."""
    if not may_launch(text) and not may_launch(image):
        return
    lines = [line for line in _JOINED.sub(" ", text).splitlines() if len(line) <= LONGEST_LINE]
    values, exported = _assigned(lines, env)
    constants = {name: value for name, value in {**env, **values}.items() if value is not None}
    whole = {**env, **{name: constants[name] for name in exported if name in constants}}

    def inner(text: str, env: Mapping[str, str], image: str, depth: int) -> Iterator[Launch]:
        return read_script(text, {**constants, **env}, image, depth, origin)

    count = 0
    for words in _commands(lines, constants, bool(image)):
        for launch in launches_of(words, whole, image, inner, depth, origin):
            if count >= MOST_LAUNCHES:
                return
            count += 1
            yield launch


def _commands(lines: list[str], constants: Mapping[str, str], whole: bool) -> Iterator[list[str]]:
    """Yield the commands that may start something known, of an image every one."""
    names = tuple(name for name, value in constants.items() if may_launch(value))
    needles = needles_in("\n".join(lines))
    for line in lines:
        unit = _UNIT.match(line) if "=" in line else None
        if unit is not None and unit.group(1) == "Environment":
            continue
        told = unit.group(2) if unit is not None else line
        if whole or may_launch(told, needles) or any(name in told for name in names):
            for words in commands(told, constants):
                if whole or may_launch(" ".join(words)):
                    yield words


def _assigned(
    lines: Iterable[str], env: Mapping[str, str]
) -> tuple[dict[str, str | None], set[str]]:
    """Return the variables that are assigned, None where not to one constant, and the exported."""
    values: dict[str, str | None] = {}
    exported: set[str] = set(env)
    known = dict(env)
    for line in lines:
        if "for" in line or "read" in line:
            for name in _LOOP.findall(line):
                _keep(name, None, values, known)
        if "=" not in line:
            continue
        unit = _UNIT.match(line)
        in_unit = unit is not None and unit.group(1) == "Environment"
        if not in_unit and not _ASSIGNS.search(line):
            continue
        for words in commands(unit.group(2) if in_unit and unit else line, known):
            words = list(itertools.dropwhile(_BRANCHES.__contains__, words))
            is_export = in_unit or words[:1] in _EXPORTERS
            for name, value in _assignments(words, is_export):
                _keep(name, value if values.get(name, value) == value else None, values, known)
                if is_export:
                    exported.add(name)
    return values, exported


def _keep(
    name: str, value: str | None, values: dict[str, str | None], known: dict[str, str]
) -> None:
    values[name] = value
    if value is None:
        known.pop(name, None)
    else:
        known[name] = value


def _assignments(words: list[str], is_export: bool) -> Iterator[tuple[str, str | None]]:
    """Yield what a command assigns: those before a command are only its own."""
    found = [_ASSIGNMENT.fullmatch(word) for word in words]
    if not is_export and not all(found):
        return
    for match in found:
        if match is not None:
            value = match.group(3)
            yield match.group(1), None if match.group(2) or UNREAD in value else value
