"""Reads a file of measured rows, asks each what it can be held to, and predicts it.

A subject answers two questions of a row: what was measured that can be compared (`asks`), and what
gpusize says (`answers`). The second never sees what was measured. No row stops a run: one that
cannot be scored is left out with its reason, one that can be and is not predicted is not covered.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.measured.summary import Judged, Miss, Summary, Told
from gpusize.memory.result import Fit, Verdict
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import Catalog

NOT_SCORED = "assumed_or_backsolved_do_not_score"
OUTLIER = re.compile(r"\boutlier", re.IGNORECASE)
"""In the notes of a row whose author does not trust its value."""
SURPRISES = (
    AssertionError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What code raises over a row that holds something else than the page of the fields says."""
UNIT = "unit"
"""The one word beside what was measured that says how to count, and so is told to predictions."""


class Skip(Exception):
    """Why a row cannot be scored, or is not predicted."""


class Row(dict[str, Any]):
    """Fields of a row; one that is absent is not known, as one that is null."""

    def __missing__(self, key: str) -> Any:
        """Return what stands for not known."""
        return None


class Held(NamedTuple):
    """One figure that a prediction is held to."""

    measure: str
    value: float
    groups: tuple[str, ...]
    """Where its error counts."""


class Asked(NamedTuple):
    """What a row can be held to."""

    held: tuple[Held, ...]
    ran: bool | None = None
    """Whether it ran on the GPU that it names; None where that says nothing."""
    missing: str = ""
    """An input of the run that the row does not state."""


class Answer(NamedTuple):
    """What gpusize says of a row."""

    values: dict[str, float]
    """By measure."""
    verdict: Verdict | None = None
    reasons: tuple[str, ...] = ()
    bound: float | None = None
    """The most that hardware allows of a rate."""
    bands: Mapping[str, tuple[float, float]] = {}
    """Least and most that a figure may be, by measure."""


class Subject(NamedTuple):
    """One file of a folder."""

    file: str
    fit: str
    """Where its verdicts count."""
    asks: Callable[[Row, Catalog], Asked]
    answers: Callable[[Row, Catalog], Answer]


def hold(subject: Subject, folder: Path, catalog: Catalog, summary: Summary) -> None:
    """Hold gpusize to every row of the subject's file."""
    path = folder / subject.file
    if not path.is_file():
        summary.missing.append(subject.file)
        return
    left_out = summary.left_out.setdefault(subject.file, [])
    for name, row in rows_of(path):
        asked = _asked(subject, row, catalog)
        if row is None or isinstance(asked, str):
            left_out.append(Told(name, str(asked)))
        else:
            _hold_one(subject, name, declared(row), asked, catalog, summary)


def rows_of(path: Path) -> Iterator[tuple[str, Row | None]]:
    """Each line's name and fields; None for what is not an object."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            yield name, None
            continue
        row = Row(fields)
        for part in ("measured", "sanity"):
            inner = row[part]
            row[part] = Row(inner if isinstance(inner, dict) else {})
        yield str(row["id"] or name), row


def declared(row: Row) -> Row:
    """The row without what was measured."""
    return Row({**row, "measured": Row({UNIT: row["measured"][UNIT]})})


def number(value: Any) -> float | None:
    """A figure that errors can be taken of; None for what is not known or no such figure."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < math.inf else None


def flag(value: Any) -> bool | None:
    """A yes or no; None for anything else."""
    return value if isinstance(value, bool) else None


def known(found: Fit) -> Fit:
    """The fit; raises `Skip` where its verdict is unknown."""
    if found.verdict is Verdict.UNKNOWN:
        raise Skip("; ".join(found.reasons) or "unknown")
    return found


def _asked(subject: Subject, row: Row | None, catalog: Catalog) -> Asked | str:
    """What a row can be held to, or why it cannot be scored."""
    if row is None:
        return "malformed: not a JSON object"
    if row["sanity"]["arch_facts"] == NOT_SCORED:
        return "the row's own facts are assumed: not scored"
    if OUTLIER.search(str(row["notes"] or "")):
        return "an outlier by its own notes"
    try:
        asked = subject.asks(row, catalog)
    except Skip as reason:
        return str(reason)
    except GpuSizeError as error:
        return _one_line(error)
    except SURPRISES as error:
        return f"malformed: {type(error).__name__} {error}"
    states_nothing = not asked.held and asked.ran is None
    return "nothing measured that is predicted" if states_nothing else asked


def _hold_one(
    subject: Subject, name: str, row: Row, asked: Asked, catalog: Catalog, summary: Summary
) -> None:
    answer, reason = _answered(subject, row, catalog)
    why = reason or "; ".join(answer.reasons)
    for measure, value, groups in asked.held:
        predicted = answer.values.get(measure)
        for group in groups:
            found = summary.group(group)
            if predicted is None or not math.isfinite(predicted):
                found.uncovered.append(Told(name, why or "not predicted"))
            else:
                found.misses.append(Miss(name, predicted, value, answer.bands.get(measure), row))
        if answer.bound is not None:
            summary.bounds.append(Miss(name, answer.bound, value))
    if asked.ran is not None:
        verdict = (answer.verdict or Verdict.UNKNOWN).value
        summary.judge(subject.fit, Judged(name, verdict, asked.ran, why, asked.missing))


def _answered(subject: Subject, row: Row, catalog: Catalog) -> tuple[Answer, str]:
    """The answer, or an empty one and why."""
    try:
        return subject.answers(row, catalog), ""
    except Skip as reason:
        return Answer({}), str(reason)
    except GpuSizeError as error:
        return Answer({}), _one_line(error)
    except SURPRISES as error:
        return Answer({}), f"malformed: {type(error).__name__} {error}"


def _one_line(error: GpuSizeError) -> str:
    return str(error).splitlines()[-1].strip()
