"""Compares predictions with what was measured, and says which rows are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.measured.cases import Case
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

PAGED = frozenset({"vllm", "sglang", "tgi", "tensorrt-llm", "lmdeploy"})
"""Engines that log a pool and refuse to start; the others log buffers."""


class Miss(NamedTuple):
    """One comparison."""

    id: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.predicted / self.measured - 1


class Score(NamedTuple):
    """All comparisons of one run."""

    weights: list[Miss]
    capacity: list[Miss]
    cache: list[Miss]
    verdicts: list[tuple[str, str, bool, str]]
    skipped: Counter[str]


def score(cases: Iterable[Case], catalog: Catalog, skipped: Counter[str]) -> Score:
    """Predict every case and compare what the row states."""
    result = Score([], [], [], [], skipped)
    for case in cases:
        found = fit(case.workload, case.placement, catalog, case.architecture)
        if found.verdict is Verdict.UNKNOWN:
            result.skipped[f"unknown: {'; '.join(found.reasons)}"] += 1
            continue
        _compare(case, found, result)
    return result


def _compare(case: Case, found: Fit, result: Score) -> None:
    truth = case.truth
    paged = case.engine in PAGED
    if truth.weights and paged:
        weights = found.term(Term.WEIGHTS)
        result.weights.append(Miss(case.id, weights / GIB, truth.weights / GIB))
    if not paged:
        if truth.cache and case.has_context and found.cache:
            size = found.cache.bytes_for(case.workload.context_length)
            result.cache.append(Miss(case.id, size / GIB, truth.cache / GIB))
        return
    if case.has_gpu and case.has_fraction and found.sequences is not None:
        context = case.workload.context_length
        if truth.concurrency:
            result.capacity.append(Miss(case.id, found.sequences, truth.concurrency))
        elif truth.tokens:
            result.capacity.append(Miss(case.id, found.sequences * context, truth.tokens))
    if case.has_gpu and truth.fits is not None and case.has_context:
        reason = "; ".join(found.reasons)
        result.verdicts.append((case.id, found.verdict.value, truth.fits, reason))


def percentile(values: list[float], share: float) -> float:
    """Linear percentile of unsorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def worst_lines(misses: Sequence[Miss], show: int) -> list[str]:
    """Name the rows that are furthest off."""
    worst = sorted(misses, key=lambda miss: -abs(miss.error))[:show]
    return [
        f"    {m.id} {m.error:+.1%} predicted {m.predicted:.2f} measured {m.measured:.2f}"
        for m in worst
    ]


def report(result: Score, show: int) -> str:
    """The table, the worst rows of each measure, and every wrong verdict."""
    lines = []
    for name, misses in (
        ("weights", result.weights),
        ("concurrency or tokens", result.capacity),
        ("cache bytes (llama.cpp)", result.cache),
    ):
        if not misses:
            continue
        sizes = [abs(miss.error) for miss in misses]
        bias = percentile([miss.error for miss in misses], 0.5)
        lines.append(
            f"{name}: n {len(sizes)}, median {percentile(sizes, 0.5):.2%}, "
            f"p90 {percentile(sizes, 0.9):.2%}, bias {bias:+.2%}"
        )
        lines += worst_lines(misses, show)
    lines += _verdict_lines(result)
    lines += [f"left out {count}: {reason}" for reason, count in result.skipped.most_common()]
    return "\n".join(lines)


def _verdict_lines(result: Score) -> list[str]:
    table = Counter((verdict, fits) for _, verdict, fits, _ in result.verdicts)
    ran = sum(count for (_, fits), count in table.items() if fits)
    failed = sum(count for (_, fits), count in table.items() if not fits)
    caught = failed - table[("fits", False)]
    lines = [
        f"verdicts: {ran} ran, called does-not-fit {table[('does-not-fit', True)]}, "
        f"tight {table[('tight', True)]}; {failed} failed, caught {caught}"
    ]
    for case, verdict, fits, reason in result.verdicts:
        wrong = verdict == "does-not-fit" if fits else verdict == "fits"
        if wrong or (fits and verdict == "tight"):
            lines.append(f"    {case} {'ran' if fits else 'failed'}, called {verdict}: {reason}")
    return lines
