"""Compares predicted peaks and verdicts of training runs with what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from bench.measured.score import Miss, percentile, worst_lines
from bench.measured.training_cases import Row
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

NEAR = 0.2
OUTSIDE = {
    "allocated": (Term.ALLOCATOR_SLACK, Term.RUNTIME_OVERHEAD, Term.COMMUNICATION),
    "reserved": (Term.RUNTIME_OVERHEAD, Term.COMMUNICATION),
    "process": (),
}
"""Terms that a kind of measurement does not see."""


class Score(NamedTuple):
    """All comparisons of one run."""

    groups: dict[str, list[Miss]]
    unknown: Counter[str]
    """Rows with a peak and no prediction, by group."""
    verdicts: list[tuple[str, str, bool, str]]
    skipped: Counter[str]


def score(rows: Iterable[Row], catalog: Catalog, skipped: Counter[str]) -> Score:
    """Predict every row and compare what it states."""
    groups: dict[str, list[Miss]] = {"dense": [], "other": [], "capped": [], "pipelines": []}
    result = Score(groups, Counter(), [], skipped)
    for row in rows:
        found = fit(row.workload, row.placement, catalog, row.architecture)
        if found.verdict is Verdict.UNKNOWN:
            result.skipped[f"unknown: {'; '.join(found.reasons)}"] += 1
            if row.peak is not None:
                result.unknown[row.group] += 1
            continue
        if row.peak is not None:
            seen = seen_bytes(found, row.kind)
            result.groups[row.group].append(Miss(row.id, seen / GIB, row.peak / GIB))
        if row.has_gpu and row.fits is not None:
            reason = "; ".join(found.reasons)
            result.verdicts.append((row.id, found.verdict.value, row.fits, reason))
    return result


def seen_bytes(found: Fit, kind: str) -> int:
    """What of the need a kind of measurement counts."""
    return (found.need or 0) - sum(found.term(term) for term in OUTSIDE[kind])


def data(result: Score) -> dict[str, Any]:
    """The figures for machines; errors are fractions."""
    table = Counter((verdict, fits) for _, verdict, fits, _ in result.verdicts)
    ran = sum(count for (_, fits), count in table.items() if fits)
    failed = sum(count for (_, fits), count in table.items() if not fits)
    return {
        "groups": {
            f"training.{name}": _group(misses, result.unknown[name])
            for name, misses in result.groups.items()
        },
        "fit": {
            "training": {
                "oomRows": failed,
                "caught": failed - table[("fits", False)],
                "calledFits": table[("fits", False)],
                "ranRows": ran,
                "tight": table[("tight", True)],
                "falseAlarms": table[("does-not-fit", True)],
                "unknown": 0,
            }
        },
    }


def _group(misses: list[Miss], unknown: int) -> dict[str, Any]:
    sizes = [abs(miss.error) for miss in misses] or [0.0]
    return {
        "n": len(misses) + unknown,
        "covered": len(misses),
        "median": percentile(sizes, 0.5),
        "p90": percentile(sizes, 0.9),
        "within20": sum(size <= NEAR for size in sizes) / len(sizes),
        "bias": percentile([miss.error for miss in misses] or [0.0], 0.5),
    }


def report(result: Score, show: int) -> str:
    """The table, the worst rows of each group, and every wrong verdict."""
    lines = []
    figures = data(result)
    for name, misses in result.groups.items():
        group = figures["groups"][f"training.{name}"]
        lines.append(
            f"training.{name}: n {group['n']}, covered {group['covered']}, median"
            f" {group['median']:.1%}, p90 {group['p90']:.1%}, within 20 %"
            f" {group['within20']:.0%}, bias {group['bias']:+.1%}"
        )
        lines += worst_lines(misses, show)
    fit_row = figures["fit"]["training"]
    lines.append(
        f"verdicts: {fit_row['ranRows']} ran, called does-not-fit {fit_row['falseAlarms']}, tight"
        f" {fit_row['tight']}; {fit_row['oomRows']} failed, caught {fit_row['caught']}"
    )
    for case, verdict, fits, reason in result.verdicts:
        if verdict == ("does-not-fit" if fits else "fits"):
            lines.append(f"    {case} {'ran' if fits else 'failed'}, called {verdict}: {reason}")
    lines += [f"left out {count}: {reason}" for reason, count in result.skipped.most_common()]
    return "\n".join(lines)
