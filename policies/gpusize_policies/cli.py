"""The `gpusize` command: finds the subcommand and runs it; nothing else is imported."""

from __future__ import annotations

import sys

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
TRACEBACK = "GPUSIZE_TRACEBACK"
"""Environment variable that shows where a defect of the command lies."""

COMMANDS: dict[str, str] = {
    "check": "judge declared workloads by the rules",
    "resolve": "decide instance type, layout and market of declared workloads",
    "explain": "explain a rule, or the whole reasoning behind a decision",
    "rules": "list the rules",
    "waivers": "list accepted findings with the days that are left",
    "lock": "keep decisions in gpusize.lock, so that a newer catalog does not change them",
    "catalog": "show and search GPUs, instance types, models and prices",
    "schema": "print the JSON Schema of declarations, settings, baselines or reports",
}
"""Subcommands, each the name of a module in `commands`."""

HELP = """\
usage: gpusize COMMAND [OPTIONS] [ARGUMENTS]

Sizes GPU workloads on AWS: what holds the model, what it costs, and what is wrong with a plan.

commands:
{commands}

options:
  -h, --help  show this help; `gpusize COMMAND --help` shows that of a command
  --version   show the version

examples:
  gpusize check gpusize.yaml               findings, exit 1 when one is an error
  gpusize check --format json *.yaml       the same for programs
  gpusize resolve gpusize.yaml             what gpusize would rent
  gpusize explain GPU101                   what a rule means
  gpusize catalog show g6e.xlarge          what the catalog knows

exit codes: 0 clean, 1 findings at or above the threshold, 2 wrong usage or input
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code, and never shows a traceback of bad input."""
    if arguments is None:
        _own_the_process()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = _dispatch(words)
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _silence_stdout()
        print(f"gpusize: cannot write: {error.strerror or 'failed'}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        return _internal(error)
    return code


def _own_the_process() -> None:
    """Leave cycles alone: a run is short, and its memory goes back with the process.

    Looking for them takes a tenth of a run, and once more as much at its end, where the interpreter
    would take everything apart; what is frozen it leaves to the system.
    """
    import atexit
    import gc

    gc.disable()
    atexit.register(gc.freeze)


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first in ("--version", "-V"):
        from gpusize import __version__

        print(f"gpusize {__version__}")
        return EXIT_CLEAN
    if first in ("-h", "--help", "help"):
        print(help_text(), end="")
        return EXIT_CLEAN if words else EXIT_USAGE
    if first not in COMMANDS:
        return _unknown(first)
    from gpusize_policies.commands import run

    return run(first, words[1:])


def help_text() -> str:
    """Return the help of the whole command."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name.ljust(width)}  {text}" for name, text in COMMANDS.items()]
    return HELP.format(commands="\n".join(lines))


def _unknown(word: str) -> int:
    from gpusize_catalog.spelling import close_words

    shown = "".join(char if char.isprintable() else "?" for char in word[:40])
    if word.startswith("-"):
        hint = "options stand after the command: `gpusize check --help`"
    else:
        close = close_words(word, COMMANDS, most=1)
        hint = f"did you mean `gpusize {close[0]}`?" if close else "`gpusize --help` lists them"
    kind = "option" if word.startswith("-") else "command"
    print(f"gpusize: no such {kind}: {shown} ({hint})", file=sys.stderr)
    return EXIT_USAGE


def _internal(error: Exception) -> int:
    """Tell a defect of ours by its place; the text of the error may hold a user's values."""
    import os
    import traceback

    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119
    hint = f"{TRACEBACK}=1 shows more; please report it with the declaration"
    print(f"gpusize: internal error: {type(error).__name__} at {where} ({hint})", file=sys.stderr)
    return EXIT_USAGE


def _silence_stdout() -> None:
    """Keep the interpreter from flushing into the closed pipe at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
