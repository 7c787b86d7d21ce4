"""`gpusize waivers`: list accepted findings, with the days that are left."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_policies.commands.emit import emit, tell
from gpusize_policies.commands.options import Parser, add_output, add_settings, given
from gpusize_policies.waivers import State

if TYPE_CHECKING:
    from gpusize_policies.waivers import Standing

EXIT_CLEAN, EXIT_FINDINGS, EXIT_INPUT = 0, 1, 2
FORMAT_VERSION = 1
FAILING = (State.EXPIRED, State.INVALID)
"""States that are errors of the rules on waivers."""

EXAMPLES = """\
  gpusize waivers                          those of gpusize-policy.yaml in this folder
  gpusize waivers gpusize.yaml             with those on its workloads, and which are unused
  gpusize waivers --format json services/*.yaml
"""


class Line(NamedTuple):
    """One waiver of the list."""

    standing: Standing
    state: State
    findings: int | None
    """Findings that it accepts; None where nothing was judged that it is for."""


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "waivers",
        "List the waivers of the settings, and of the workloads in files, with the days that are\n"
        "left. With files these are judged, which tells what is unused. Exits 1 when a waiver is\n"
        "expired or invalid, 2 when a file is wrong.",
        EXAMPLES,
    )
    made.add_argument(
        "files",
        metavar="FILE",
        type=given,
        nargs="*",
        help="workload declarations in YAML or JSON; - reads standard input",
    )
    add_output(made)
    add_settings(made)
    return made


def run(options: Namespace) -> int:
    """List them; returns the exit code."""
    from gpusize_policies.commands.session import open_session
    from gpusize_policies.inputs import read_cases
    from gpusize_policies.waiving import Waiving

    context = open_session(options)
    waiving = Waiving(context)
    cases, problems = read_cases(options.files, context)
    for case in cases:
        waiving.judge(case)
    tell(problems)
    lines = [
        Line(
            one.standing,
            State.UNUSED if one.is_unused else one.standing.state,
            one.accepted if one.asked else None,
        )
        for one in waiving.tallies
    ]
    emit(_WRITERS[options.format](lines, context.today.isoformat()), options.output)
    if problems:
        return EXIT_INPUT
    return EXIT_FINDINGS if any(line.state in FAILING for line in lines) else EXIT_CLEAN


def _text(lines: list[Line], today: str) -> str:
    rows = [_row(line) for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    told: list[str] = []
    for line, row in zip(lines, rows, strict=True):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        told.append("  ".join(cells).rstrip())
        told.append(f"  {_shown(line.standing.waiver.reason) or 'no reason'}")
        told += [f"  {fault.text} ({fault.fix})" for fault in line.standing.faults]
    return "\n".join([*told, _summary(lines, today)]) + "\n"


def _row(line: Line) -> tuple[str, ...]:
    from gpusize.days import days

    waiver, rule, left = line.standing.waiver, line.standing.rule, line.standing.days_left
    when = "no day"
    if left is not None:
        when = f"{days(left)} left" if left >= 0 else f"{days(-left)} ago"
    return (
        line.state.value,
        waiver.label,
        f"{rule.code} {rule.name}" if rule else _shown(waiver.rule),
        waiver.target,
        _shown(waiver.owner) or "no owner",
        _shown(waiver.expires) or "no end",
        when,
    )


def _summary(lines: list[Line], today: str) -> str:
    states = [line.state for line in lines]
    counts = [f"{states.count(state)} {state.value}" for state in State if state in states]
    count = f"{len(lines)} waiver{'' if len(lines) == 1 else 's'}"
    return f"{', '.join([count, *counts])} (today {today})"


def _json(lines: list[Line], today: str) -> str:
    import json

    data = {
        "formatVersion": FORMAT_VERSION,
        "today": today,
        "waivers": [_data(line) for line in lines],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _data(line: Line) -> dict[str, Any]:
    standing = line.standing
    written = standing.waiver._asdict()
    place = written.pop("place")
    fields = {
        **{key: text or None for key, text in written.items()},
        "code": standing.code or None,
        "label": standing.waiver.label,
        "state": line.state.value,
        "daysLeft": standing.days_left,
        "findings": line.findings,
        "faults": [fault.text for fault in standing.faults],
        "file": place.file or None,
        "line": place.line,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _shown(text: str) -> str:
    """A text on one line of the terminal, whatever it holds."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


_WRITERS = {"text": _text, "json": _json}
