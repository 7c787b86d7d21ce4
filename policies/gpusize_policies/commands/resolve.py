"""`gpusize resolve`: decide where declared workloads run."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from gpusize_policies.commands.emit import emit, tell
from gpusize_policies.commands.options import Parser, add_input, add_output, add_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusize.resolution import Resolution
    from gpusize_policies.case import Case

EXIT_CLEAN, EXIT_NO_PLAN, EXIT_INPUT = 0, 1, 2

EXAMPLES = """\
  gpusize resolve gpusize.yaml
  gpusize resolve --format json gpusize.yaml
  gpusize explain gpusize.yaml             the same with the whole reasoning
"""


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "resolve",
        "Decide instance type, layout and market of each declared workload by this catalog;\n"
        "gpusize.lock is not read. Exits 1 when one has no plan, 2 when a file is wrong.",
        EXAMPLES,
    )
    add_input(made)
    add_output(made)
    add_settings(made)
    return made


def run(options: Namespace) -> int:
    """Resolve every file; returns the exit code."""
    return answer(options.files, options, whole=False)


def answer(files: list[str], options: Namespace, *, whole: bool) -> int:
    """Print the decisions on all workloads of the files, `whole` with the reasoning."""
    from gpusize_policies.commands.session import open_session
    from gpusize_policies.inputs import read_cases

    context = open_session(options)._replace(use_lock=False)
    found, problems = read_cases(files, context)
    tell(problems)
    if found:
        write = _json if options.format == "json" else _text
        emit(write(found, whole), options.output)
    if problems:
        return EXIT_INPUT
    planned = all(case.resolution and case.resolution.plan for case in found)
    return EXIT_CLEAN if planned else EXIT_NO_PLAN


def _json(found: list[Case], whole: bool) -> str:  # noqa: ARG001 (JSON is whole in any case)
    import json

    from gpusize.explain_data import advice_data, to_data

    resolved = [case.resolution for case in found if case.resolution]
    data = [{**to_data(one), **advice_data(one)} for one in resolved]
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _text(found: list[Case], whole: bool) -> str:
    from gpusize.explain import to_text

    if whole:
        blocks = [
            to_text(case.resolution) + "\n".join(_free(case)) for case in found if case.resolution
        ]
    else:
        blocks = [_short(case) for case in found]
    return "\n".join(block.rstrip("\n") + "\n" for block in blocks)


def _free(case: Case) -> Iterator[str]:
    """Say what would be taken without the pins, where they leave no plan."""
    from gpusize.resolve import is_pinned
    from gpusize.wording import plan_in_words

    resolution = case.resolution
    if resolution is None or resolution.plan is not None or not is_pinned(resolution.workload):
        return
    if case.cheapest is not None:
        yield f"  without the pins: {plan_in_words(case.cheapest)}"


def _why_not(case: Case, resolution: Resolution) -> Iterator[str]:
    """Say what speaks against the pins, and what would do."""
    from gpusize.explain import rejection_lines
    from gpusize.resolve import is_pinned

    if is_pinned(resolution.workload):
        yield from (f"  {line}" for line in rejection_lines(resolution))
    yield from (f"  would fit: {hope}" for hope in resolution.would_fit)
    yield from _free(case)


def _short(case: Case) -> str:
    from gpusize.explain import RANKED, in_words
    from gpusize.wording import plan_in_words

    resolution = case.resolution
    if resolution is None:
        return f"{case.name}: not resolved"
    remarks = [f"  {in_words(reason)}" for reason in resolution.remarks]
    if resolution.plan is None:
        return "\n".join([f"{case.name}: no plan", *remarks, *_why_not(case, resolution)])
    lines = [f"{case.name}: {plan_in_words(resolution.plan)}"]
    lines += [f"  {reason}" for reason in resolution.plan.reasons]
    lines += remarks
    lines += [f"  {item.aim}: {item.text}" for item in resolution.advice]
    if resolution.runners_up:
        lines.append(f"  next best ({RANKED}):")
    lines += [f"    {plan_in_words(plan)}" for plan in resolution.runners_up]
    return "\n".join(lines)
