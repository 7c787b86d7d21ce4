"""`gpusize check`: judge declared workloads by the rules."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpusize_policies.commands.emit import emit, note, tell, wants_color, write_whole
from gpusize_policies.commands.options import (
    SEVERITIES,
    Parser,
    add_input,
    add_output,
    add_settings,
    given,
)
from gpusize_policies.output import FORMATS

if TYPE_CHECKING:
    from gpusize_catalog.problems import Problem
    from gpusize_policies.finding import Finding
    from gpusize_policies.inputs import Context
    from gpusize_policies.report import Judged
    from gpusize_policies.waiving import Waiving

EXIT_CLEAN, EXIT_FINDINGS, EXIT_INPUT = 0, 1, 2

EXAMPLES = """\
  gpusize check gpusize.yaml
  gpusize check --format json --output findings.json services/*.yaml
  gpusize check --strict --catalog ./our-prices gpusize.yaml
  gpusize check --write-baseline gpusize-baseline.json gpusize.yaml
  cat gpusize.yaml | gpusize check -
"""


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "check",
        "Judge declared workloads by the rules. Exits 1 when a finding reaches the threshold,\n"
        "2 when a file is wrong; what stands in the other files is judged all the same.",
        EXAMPLES,
    )
    add_input(made)
    add_output(made, tuple(FORMATS))
    made.add_argument(
        "--fail-on", choices=SEVERITIES, default="error", help="threshold (default: error)"
    )
    made.add_argument("--strict", action="store_true", help="take warnings for errors")
    baseline = made.add_mutually_exclusive_group()
    baseline.add_argument(
        "--baseline",
        metavar="FILE",
        type=given,
        help="findings that were there before and do not fail (default: that of the settings)",
    )
    baseline.add_argument(
        "--write-baseline",
        metavar="FILE",
        type=given,
        help="write down the errors and warnings that are there now, and exit 0",
    )
    add_settings(made)
    return made


def run(options: Namespace) -> int:
    """Judge every file; returns the exit code."""
    from gpusize_policies.commands.session import open_session

    context = _with_baseline(open_session(options), options)
    _keep(options, context)
    judged, problems, whole, waiving = judge_files(options.files, context)
    tell(problems)
    if problems and (not judged or options.write_baseline):
        return EXIT_INPUT
    from gpusize_policies.output import write
    from gpusize_policies.report import Style, summarize

    report = summarize(judged, problems, context, options.fail_on, whole)
    style = Style(color=options.output is None and wants_color())
    if options.write_baseline:
        _write(waiving, _sources(options.files, context), options.write_baseline)
    emit(write(options.format, report, style), options.output, is_colored=style.color)
    if problems:
        return EXIT_INPUT
    return EXIT_FINDINGS if report.fails else EXIT_CLEAN


def _with_baseline(context: Context, options: Namespace) -> Context:
    """Read the baseline that is to be honoured, or written."""
    named = options.write_baseline or options.baseline or context.settings.baseline
    if not named:
        return context
    from gpusize_policies.baseline import read_baseline

    is_open = bool(options.write_baseline)
    return context._replace(baseline=read_baseline(Path(named), is_open=is_open))


def _keep(options: Namespace, context: Context) -> None:
    """Keep the answer from the place of the baseline and of kept decisions."""
    from gpusize_policies.commands.options import keep_read
    from gpusize_policies.inputs import lock_beside

    locks = [lock_beside(file, context.settings) for file in options.files]
    baseline = context.baseline.file
    keep_read(options, [*locks, *([baseline] if baseline else [])])


def _sources(files: list[str], context: Context) -> tuple[str, ...]:
    """Name the files as the entries of a baseline do, from where it lies."""
    from gpusize_policies.baselining import source_of

    return tuple(source_of(file, context.baseline) for file in files)


def _write(waiving: Waiving, sources: tuple[str, ...], file: str) -> None:
    text, count = waiving.known.text(sources)
    write_whole(Path(file), text)
    note(f"{count} finding{'' if count == 1 else 's'} in {file}")


def judge_files(
    files: list[str], context: Context
) -> tuple[tuple[Judged, ...], tuple[Problem, ...], tuple[Finding, ...], Waiving]:
    """Judge what can be read, collect the problems of what cannot, and what concerns the run.

    What was accepted comes last.
    """
    from gpusize_policies.inputs import read_cases, together
    from gpusize_policies.judge import told_once
    from gpusize_policies.report import Judged
    from gpusize_policies.waiving import Waiving

    found, problems = read_cases(files, context)
    judged: list[Judged] = []
    told: dict[str, str] = {}
    waiving = Waiving(context)
    for number, case in enumerate(found):
        findings = told_once(waiving.judge(case), str(number), told)
        judged.append(Judged(case.subject, case.resolution, findings))
    alone = waiving.judge(together(found, context)) if found else ()
    # Where a file could not be read, nobody knows what of it is gone.
    sources = () if problems else _sources(files, context)
    left = (*waiving.of_settings(), *waiving.unused(), *waiving.outdated(sources))
    return tuple(judged), tuple(problems), (*alone, *left), waiving
