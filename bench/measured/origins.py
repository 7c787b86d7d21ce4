"""The same errors by where rows come from: what a figure is worth on rows of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from bench.measured.report import percent
from bench.measured.summary import GROUPS, Group, Miss, Summary, group_data

FIELDS = ("source", "framework", "engine", "model", "gpu", "method")
"""What rows can be told apart by."""
ENDS = ("@", ":", "#")
"""What stands behind the name of a source: a commit, a file or a thread."""
UNKNOWN = "not stated"


def origins(summary: Summary, field: str) -> str:
    """Figures of each group by a field of its rows, the largest parts first."""
    lines = []
    for name in (*GROUPS, *sorted(set(summary.groups) - set(GROUPS))):
        parts = parted(summary.groups[name], field)
        if not parts:
            continue
        lines.append(name)
        order = sorted(parts, key=lambda label: (-len(parts[label].misses), label))
        lines += [_line(label, parts[label], summary.groups[name]) for label in order]
    return "\n".join(lines)


def parted(group: Group, field: str) -> dict[str, Group]:
    """The rows of a group that have a prediction, by what a field says."""
    found: dict[str, list[Miss]] = defaultdict(list)
    for miss in group.misses:
        found[label_of(miss.about, field)].append(miss)
    return {label: Group(misses, []) for label, misses in found.items()}


def label_of(about: Mapping[str, Any], field: str) -> str:
    """What a row says of the field; of a source its name alone, without commit and file."""
    stated = str(about.get(field) or UNKNOWN)
    if field == "source":
        for end in ENDS:
            stated = stated.partition(end)[0]
    return stated


def _line(label: str, part: Group, whole: Group) -> str:
    """One part, and the median of all rows but its own."""
    own = {miss.id for miss in part.misses}
    rest = Group([miss for miss in whole.misses if miss.id not in own], [])
    found, others = group_data(part), group_data(rest)
    return (
        f"    {label}: n {found['n']}, median {percent(found['median'])}, p90"
        f" {percent(found['p90'])}, within 20 % {percent(found['within20'], 0)}, bias"
        f" {percent(found['bias'], sign='+')}; all others {percent(others['median'])}"
    )
