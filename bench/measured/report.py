"""The figures of a run as text: a line for each group, and the rows that are wrong by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench.measured.summary import (
    FITS,
    GROUPS,
    Group,
    Judged,
    Miss,
    Summary,
    Told,
    bound_data,
    fit_data,
    group_data,
)

NONE = "none"
NAMED = ("malformed", "an outlier")
"""Starts of reasons whose rows are named."""


def report(summary: Summary, show: int) -> str:
    """Everything, with so many of the worst rows of each group."""
    lines = [f"skipped: no {file} in the folder given" for file in summary.missing]
    for name in (*GROUPS, *sorted(set(summary.groups) - set(GROUPS))):
        lines += _group_lines(name, summary.groups[name], show)
    for name in FITS:
        lines += _fit_lines(name, summary.verdicts[name])
    lines.append(_bound_line(summary.bounds))
    for file, told in summary.left_out.items():
        lines += _told_lines(f"{file}, left out", told)
    return "\n".join(lines)


def percent(value: float | None, digits: int = 1, sign: str = "") -> str:
    """A fraction as text; what stands for none."""
    return NONE if value is None else f"{value:{sign}.{digits}%}".replace("%", " %")


def _group_lines(name: str, group: Group, show: int) -> list[str]:
    found = group_data(group)
    lines = [
        f"{name}: n {found['n']}, covered {found['covered']}, median {percent(found['median'])},"
        f" p90 {percent(found['p90'])}, within 20 % {percent(found['within20'], 0)},"
        f" bias {percent(found['bias'], sign='+')}"
    ]
    banded = [miss.band[0] <= miss.measured <= miss.band[1] for miss in group.misses if miss.band]
    if banded:
        lines[0] += f", in the band {percent(sum(banded) / len(banded), 0)}"
    worst = sorted(group.misses, key=lambda miss: -abs(miss.error))[:show]
    lines += [
        f"    {miss.id} {percent(miss.error, sign='+')} predicted {miss.predicted:.2f}"
        f" measured {miss.measured:.2f}"
        for miss in worst
    ]
    return lines + _told_lines("    not predicted", group.uncovered)


def _told_lines(start: str, told: Sequence[Told]) -> list[str]:
    lines = []
    for reason, count in Counter(one.reason for one in told).most_common():
        line = f"{start} {count}: {reason}"
        if reason.startswith(NAMED):
            line += f" ({', '.join(one.id for one in told if one.reason == reason)})"
        lines.append(line)
    return lines


def _fit_lines(name: str, judged: Sequence[Judged]) -> list[str]:
    found = fit_data(judged)
    lines = [
        f"verdicts, {name}: {found['ranRows']} ran, called does-not-fit {found['falseAlarms']},"
        f" tight {found['tight']}; {found['oomRows']} failed, caught {found['caught']}, called fits"
        f" {found['calledFits']}, the same where not all inputs are stated"
        f" {found['calledFitsUnstated']};"
        f" unknown {found['unknown']}"
    ]
    return lines + [
        f"    {one.id} {'ran' if one.ran else 'failed'}, called {one.verdict}:"
        f" {one.reason or one.missing}"
        for one in judged
        if one.is_wrong
    ]


def _bound_line(bounds: Sequence[Miss]) -> str:
    found = bound_data(bounds)
    ratio = NONE if found["medianRatio"] is None else f"{found['medianRatio']:.2f}"
    return (
        f"bounds: {found['holds']} of {found['n']} are no less than what was measured, median"
        f" ratio {ratio}"
    )
