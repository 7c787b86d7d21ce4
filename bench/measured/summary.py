"""Figures of a run: errors by group, verdicts, bounds, and why rows are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

NEAR = 0.2
"""The relative error that counts as near."""
GROUPS = (
    "serving.weights",
    "serving.kv",
    "training.dense",
    "training.other",
    "diffusion",
    "throughput",
)
"""Those that make up the figures; what else is compared stands beside them."""
FITS = ("serving", "training", "other")
FITTING = "fits"
TIGHT = "tight"
NOT_FITTING = "does-not-fit"
UNKNOWN = "unknown"


class Told(NamedTuple):
    """A row, and why nothing is said of it."""

    id: str
    reason: str


class Miss(NamedTuple):
    """One comparison."""

    id: str
    predicted: float
    measured: float
    band: tuple[float, float] | None = None
    """Least and most that was predicted, where a prediction has them."""
    about: Mapping[str, Any] = MappingProxyType({})
    """What the row declares."""

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.predicted / self.measured - 1


class Group(NamedTuple):
    """Rows that can be scored: compared, or not predicted."""

    misses: list[Miss]
    uncovered: list[Told]


class Judged(NamedTuple):
    """A verdict on a row that is known to have run, or to have failed."""

    id: str
    verdict: str
    ran: bool
    reason: str
    missing: str = ""
    """An input of the run that its row does not state."""

    @property
    def is_wrong(self) -> bool:
        """Whether it calls a failure fitting, or keeps a run from running."""
        return self.verdict == (NOT_FITTING if self.ran else FITTING)


class Summary(NamedTuple):
    """All comparisons of a run."""

    groups: dict[str, Group]
    verdicts: dict[str, list[Judged]]
    bounds: list[Miss]
    left_out: dict[str, list[Told]]
    """By file."""
    missing: list[str]
    """Files that the folder does not have."""

    def group(self, name: str) -> Group:
        """The group of that name, made when it is not there."""
        return self.groups.setdefault(name, Group([], []))

    def judge(self, fit: str, judged: Judged) -> None:
        """Keep a verdict."""
        self.verdicts.setdefault(fit, []).append(judged)


def empty() -> Summary:
    """A summary with the groups that every run reports."""
    groups = {name: Group([], []) for name in GROUPS}
    return Summary(groups, {name: [] for name in FITS}, [], {}, [])


def percentile(values: Iterable[float], share: float) -> float | None:
    """Linear percentile; None of no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def group_data(group: Group) -> dict[str, Any]:
    """Figures of a group; errors are fractions, None where there is none."""
    sizes = [abs(miss.error) for miss in group.misses]
    return {
        "n": len(group.misses) + len(group.uncovered),
        "covered": len(group.misses),
        "median": percentile(sizes, 0.5),
        "p90": percentile(sizes, 0.9),
        "within20": sum(size <= NEAR for size in sizes) / len(sizes) if sizes else None,
        "bias": percentile((miss.error for miss in group.misses), 0.5),
    }


def fit_data(judged: Sequence[Judged]) -> dict[str, int]:
    """The table of verdicts against what happened.

    `calledFits` are failures that are called fitting; those whose rows do not state all that the
    run depends on stand apart as `calledFitsUnstated`.
    """
    table = Counter((one.verdict, one.ran) for one in judged)
    unstated = sum(one.is_wrong and not one.ran and bool(one.missing) for one in judged)
    return {
        "oomRows": sum(not one.ran for one in judged),
        "caught": table[NOT_FITTING, False] + table[TIGHT, False],
        "calledFits": table[FITTING, False] - unstated,
        "calledFitsUnstated": unstated,
        "ranRows": sum(one.ran for one in judged),
        "tight": table[TIGHT, True],
        "falseAlarms": table[NOT_FITTING, True],
        "unknown": table[UNKNOWN, True] + table[UNKNOWN, False],
    }


def bound_data(bounds: Sequence[Miss]) -> dict[str, Any]:
    """How often what hardware allows is at least what was measured."""
    return {
        "n": len(bounds),
        "holds": sum(one.predicted >= one.measured for one in bounds),
        "medianRatio": percentile((one.predicted / one.measured for one in bounds), 0.5),
    }


def data(summary: Summary) -> dict[str, Any]:
    """The figures for machines."""
    return {
        "groups": {name: group_data(summary.groups[name]) for name in GROUPS},
        "fit": {name: fit_data(summary.verdicts[name]) for name in FITS},
        "bound": bound_data(summary.bounds),
    }
