"""Options that subcommands share, and a parser that suggests what was meant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gpusize.project import SETTINGS_FILE

if TYPE_CHECKING:
    from gpusize_catalog.problems import GpuSizeError

FORMATS_OF_ANSWERS = ("text", "json")
SEVERITIES = ("error", "warn", "advice")


WIDTH = 88
"""Columns of help texts, fixed so that help and docs are the same everywhere."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Wraps at a fixed width; asking the terminal costs an import of archive formats."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations, whose errors end in a hint."""

    def __init__(self, name: str, summary: str, examples: str = "") -> None:
        """Describe `gpusize NAME`."""
        super().__init__(
            prog=f"gpusize {name}",
            description=summary,
            epilog=f"examples:\n{examples}" if examples else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Exit 2 with the message and what was probably meant."""
        unknown = message.removeprefix("unrecognized arguments: ")
        hint = f"`{self.prog} --help` shows its use"
        if unknown != message:
            close = self._close(unknown.split(" ")[0].split("=")[0])
            hint = f"did you mean {close}?" if close else hint
        print(f"{self.prog}: {_printable(message)} ({hint})", file=sys.stderr)
        raise SystemExit(2)

    def _close(self, word: str) -> str:
        from gpusize_catalog.spelling import close_words

        return "".join(close_words(word, self._option_string_actions, most=1))


def add_input(parser: Parser, many: bool = True) -> None:
    """Take files of declarations."""
    parser.add_argument(
        "files",
        metavar="FILE",
        type=given,
        nargs="+" if many else 1,
        help="workload declarations in YAML or JSON; - reads standard input",
    )


def add_settings_file(parser: Parser) -> None:
    """Take the settings alone."""
    parser.add_argument(
        "--settings",
        metavar="FILE",
        type=given,
        help="settings (default: gpusize-policy.yaml in this folder, where there is one)",
    )


def add_settings(parser: Parser) -> None:
    """Take what decides how everything is judged."""
    add_settings_file(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--stack",
        metavar="NAME",
        type=given,
        help="judge as on this stack, where the settings have environments",
    )
    where.add_argument(
        "--environment",
        metavar="NAME",
        type=given,
        help="judge by this environment of the settings",
    )
    add_catalog(parser)
    parser.add_argument(
        "--today",
        metavar="DATE",
        type=given,
        help="judge prices and waivers as of YYYY-MM-DD (default: the clock)",
    )


def add_catalog(parser: Parser) -> None:
    """Take overlays of the catalog."""
    parser.add_argument(
        "--catalog",
        metavar="DIR",
        type=given,
        action="append",
        default=[],
        help="folder with rows that replace or add to the catalog; may stand several times",
    )


def add_output(parser: Parser, formats: tuple[str, ...] = FORMATS_OF_ANSWERS) -> None:
    """Take the format and the place of the answer."""
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=f"default: {formats[0]}"
    )
    add_place(parser, "write to a file, whole or not at all (default: print)")


def add_place(parser: Parser, text: str) -> None:
    """Take the place of the answer alone."""
    parser.add_argument("--output", metavar="FILE", type=given, help=text)


def given(word: str) -> str:
    """Take a word that says something: a variable of the shell that is not set leaves none."""
    if not word.strip():
        raise argparse.ArgumentTypeError("is empty")
    return word


INPUTS = ("files", "file", "subject", "settings", "baseline")
WRITTEN = ("output", "lock", "write_baseline")


def keep_inputs(options: argparse.Namespace) -> None:
    """Refuse to write over what is read, or twice to one place; raises GpuSizeError."""
    places: dict[str, str] = {}
    for name in WRITTEN:
        place = getattr(options, name, None)
        if not place:
            continue
        if any(_is_same(place, one) for one in _inputs(options)):
            raise _kept(name, "would be written over an input", place)
        whole = os.path.realpath(place)
        if whole in places:
            raise _kept(name, f"is the place of {_option(places[whole])} too", place)
        places[whole] = name


def keep_read(options: argparse.Namespace, read: Iterable[Path]) -> None:
    """Refuse an answer in the place of what files or settings refer to; raises GpuSizeError."""
    place = options.output
    if place and any(_is_same(place, str(one)) for one in read):
        raise _kept("output", "would be written over an input", place)


def _kept(name: str, message: str, place: str) -> GpuSizeError:
    from gpusize_catalog.problems import GpuSizeError, Problem

    return GpuSizeError([Problem(_option(name), message, "name another file", place)])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _inputs(options: argparse.Namespace) -> list[str]:
    found = [getattr(options, name, None) or [] for name in INPUTS]
    if hasattr(options, "settings") and not options.settings:
        found.append(SETTINGS_FILE)
    return [one for given in found for one in ([given] if isinstance(given, str) else given)]


def _is_same(one: str, other: str) -> bool:
    try:
        return Path(one).is_file() and Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
