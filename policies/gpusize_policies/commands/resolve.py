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

    from gpusize.explain import to_data

    data = [to_data(case.resolution) for case in found if case.resolution]
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _text(found: list[Case], whole: bool) -> str:
    from gpusize.explain import to_text

    if whole:
        blocks = [
            to_text(case.resolution) + _pinned(case, case.resolution)
            for case in found
            if case.resolution
        ]
    else:
        blocks = [_short(case) for case in found]
    return "\n".join(block.rstrip("\n") + "\n" for block in blocks)


def _pinned(case: Case, resolution: Resolution) -> str:
    """Say of pins that leave no plan what the memory is made of, and everything against them."""
    from gpusize_catalog.units import gib

    candidate = resolution.candidate
    if resolution.plan is not None or candidate is None:
        return ""
    lines = ["  as pinned:"]
    fit = candidate.fit
    if fit.terms and fit.budget is not None:
        terms = ", ".join(f"{term.value} {gib(size)}" for term, size in fit.terms)
        lines.append(f"    memory of one GPU: {terms}; {gib(fit.budget)} usable")
    lines += [f"  {line}" for line in _why_not(case, resolution)]
    return "\n".join(lines) + "\n"


def _why_not(case: Case, resolution: Resolution) -> Iterator[str]:
    """Say what speaks against the pins, and what would do."""
    from gpusize.wording import plan_in_words

    for rejection in resolution.rejections if resolution.candidate else ():
        yield from (f"  {reason.text}" for reason in rejection.reasons)
    yield from (f"  would fit: {hope}" for hope in resolution.would_fit)
    if case.cheapest is not None:
        yield f"  without the pins: {plan_in_words(case.cheapest)}"


def _short(case: Case) -> str:
    from gpusize.wording import plan_in_words

    resolution = case.resolution
    if resolution is None:
        return f"{case.name}: not resolved"
    if resolution.plan is None:
        return "\n".join([f"{case.name}: no plan", *_why_not(case, resolution)])
    lines = [f"{case.name}: {plan_in_words(resolution.plan)}"]
    lines += [f"  {reason}" for reason in resolution.plan.reasons]
    lines += [f"  next best: {plan_in_words(plan)}" for plan in resolution.runners_up]
    return "\n".join(lines)
