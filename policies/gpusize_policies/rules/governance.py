"""Rules about the judging itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.message import Remark, not_known
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule(
    "GPU900",
    "cannot-evaluate",
    Severity.ADVICE,
    since="0.1",
    needs=Needs.NOTHING,
    waivable=Waivable.NO,
    parameters=("unknowns",),
)
def cannot_evaluate(case: Case) -> Iterator[Remark]:
    """Something that the rules need is not known, so they were not asked.

    Why: before an update some values of a program are not computed yet. One summary says which,
        in place of a pass that means nothing.
    Fix: give the value as a plain one, or set `unknowns: error` where an unknown value must stop
        the preview.
    Sources: https://github.com/pulumi/pulumi/issues/19737
    """
    if case.unknown:
        yield not_known(case.unknown)
    if case.missing:
        yield Remark(case.missing.message, (case.missing.fix,))
    if case.workload is not None and case.resolution is None:
        for problem in case.problems:
            yield Remark(problem.message, (problem.fix,) if problem.fix else ())
