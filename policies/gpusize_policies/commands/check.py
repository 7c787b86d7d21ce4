"""`gpusize check`: judge declared workloads by the rules."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from gpusize_policies.commands.emit import emit, tell, wants_color
from gpusize_policies.commands.options import (
    SEVERITIES,
    Parser,
    add_input,
    add_output,
    add_settings,
)
from gpusize_policies.output import FORMATS

if TYPE_CHECKING:
    from gpusize_catalog.problems import Problem
    from gpusize_policies.finding import Finding
    from gpusize_policies.inputs import Context
    from gpusize_policies.report import Judged

EXIT_CLEAN, EXIT_FINDINGS, EXIT_INPUT = 0, 1, 2

EXAMPLES = """\
  gpusize check gpusize.yaml
  gpusize check --format json --output findings.json services/*.yaml
  gpusize check --strict --catalog ./our-prices gpusize.yaml
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
    add_settings(made)
    return made


def run(options: Namespace) -> int:
    """Judge every file; returns the exit code."""
    from gpusize_policies.commands.session import open_session

    context = open_session(options)
    judged, problems, whole = judge_files(options.files, context)
    tell(problems)
    if not judged and problems:
        return EXIT_INPUT
    from gpusize_policies.output import write
    from gpusize_policies.report import Style, summarize

    report = summarize(judged, problems, context, options.fail_on, whole)
    style = Style(color=options.output is None and wants_color())
    emit(write(options.format, report, style), options.output, is_colored=style.color)
    if problems:
        return EXIT_INPUT
    return EXIT_FINDINGS if report.fails else EXIT_CLEAN


def judge_files(
    files: list[str], context: Context
) -> tuple[tuple[Judged, ...], tuple[Problem, ...], tuple[Finding, ...]]:
    """Judge what can be read, collect the problems of what cannot, and what concerns the run."""
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
    return tuple(judged), tuple(problems), (*alone, *waiving.of_settings(), *waiving.unused())
