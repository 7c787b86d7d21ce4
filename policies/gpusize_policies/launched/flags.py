"""One option of an engine as a row of a table, and what a command says by such a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from gpusize_policies.launched.launch import FURTHER
from gpusize_policies.launched.values import SILENT, Read

FIRST = "its argument"
"""What to call the source of a word that belongs to no option."""


class Flag(NamedTuple):
    """An option: the field that it sets, its names, how its value is read."""

    field: str
    """Path in a declaration; what begins with `_` is for the table's own `finish`."""
    names: tuple[str, ...]
    """With dashes; underscores in a command stand for the same."""
    read: Read
    env: tuple[str, ...] = ()
    """Variables of the environment that say it too; a flag wins over them."""
    switch: object = None
    """What it says without a value, where it takes none or may do without."""
    note: str = ""
    """What it is for, where that is no field of a declaration."""


class Assumed(NamedTuple):
    """A part of a declaration that no text says."""

    field: str
    value: object
    """None where it follows from the model."""
    reason: str

    def __str__(self) -> str:
        """Return the field and its value."""
        return f"{self.field} {self.value}" if self.value is not None else self.field


class Term(NamedTuple):
    """A part of a declaration that a text says, and by what."""

    field: str
    value: object
    source: str
    """The option, the variable or `image`; never the text itself."""


class Said(NamedTuple):
    """What one command says."""

    terms: dict[str, Term]
    unread: dict[str, str]
    """Options by field whose value is not understood."""

    def value(self, field: str) -> object:
        """Return what is said of a field, None where nothing is."""
        term = self.terms.get(field)
        return term.value if term else None

    def drop(self, field: str) -> Term | None:
        """Take a term out."""
        return self.terms.pop(field, None)


class Table(NamedTuple):
    """What is known of an engine's or a trainer's options."""

    name: str
    """As users call it."""
    base: Mapping[str, object]
    """Fields that starting it says by itself."""
    flags: tuple[Flag, ...]
    assumed: tuple[Assumed, ...]
    """What holds where nothing is said: defaults of the engine, and of the declaration."""
    sources: str
    finish: Callable[[Said], None]
    """Puts together what several options say."""
    context: int | None = None
    """Tokens that it takes for one sequence where nothing says them; None: the model's own."""
    positional: str = ""
    """Field that the first word without a dash says."""
    means: Mapping[str, str] = {}
    """Fields of a declaration behind those that `finish` puts together."""


def said(table: Table, words: Iterable[str], env: Mapping[str, str]) -> Said:
    """Read a command's words and environment by a table."""
    found = Said({}, {})
    named = {name: flag for flag in table.flags for name in flag.names}
    _environment(table, env, found)
    options = list(words)
    for at, word in enumerate(options):
        name, equals, value = _split(word)
        option = named.get(name)
        if option is None:
            continue
        following = options[at + 1] if at + 1 < len(options) else None
        if equals:
            _take(found, option, name, value)
        elif option.switch is not None and not _is_value(following, option):
            found.terms[option.field] = Term(option.field, option.switch, name)
        elif following is not None:
            _take(found, option, name, following)
    _positional(table, options, named, found)
    for field in [field for field in found.unread if field in table.means]:
        found.unread[table.means[field]] = found.unread.pop(field)
    return found


def _environment(table: Table, env: Mapping[str, str], found: Said) -> None:
    """Read the variables that a table has; those of a file may say anything."""
    for flag in table.flags:
        told = next((name for name in flag.env if name in env), None)
        if told is not None:
            _take(found, flag, told, env[told])
    if FURTHER in env and any(flag.env for flag in table.flags):
        found.unread["environment"] = "variables of a file"


def _split(word: str) -> tuple[str, str, str]:
    """Split `--flag=value`; a long name may be spelled with underscores."""
    name, equals, value = word.partition("=")
    return (name.replace("_", "-"), equals, value) if name.startswith("--") else (word, "", "")


def _is_value(word: str | None, flag: Flag) -> bool:
    """Tell whether the word after an option that may do without is its value."""
    return word is not None and not word.startswith("-") and flag.read(word) is not None


def _take(found: Said, flag: Flag, source: str, text: str) -> None:
    value = flag.read(text)
    found.terms.pop(flag.field, None)
    found.unread.pop(flag.field, None)
    if value is None:
        found.unread[flag.field] = source
    elif value is not SILENT:
        found.terms[flag.field] = Term(flag.field, value, source)


def _positional(table: Table, options: list[str], named: Mapping[str, Flag], found: Said) -> None:
    """Read the word that belongs to no option: the first one, else the last one."""
    field = table.positional
    flag = next((one for one in table.flags if one.field == field), None)
    if flag is None or field in found.terms or field in found.unread or not options:
        return
    if not options[0].startswith("-"):
        _take(found, flag, FIRST, options[0])
    elif not options[-1].startswith("-") and _stands_alone(options[-2], named):
        _take(found, flag, FIRST, options[-1])


def _stands_alone(before: str, named: Mapping[str, Flag]) -> bool:
    """Tell whether the word after this one is no value of it."""
    name, equals, _ = _split(before)
    option = named.get(name)
    return not before.startswith("-") or bool(equals) or (option and option.switch) is not None
