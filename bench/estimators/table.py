"""Scores of estimators side by side, and the rows where another one is nearer than gpusize."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

OURS = "gpusize"
COLUMNS = {
    "serving": {"weights": "weights", "kv_tokens": "cache tokens", "kv_per_tok": "bytes a token"},
    "inference": {"kv_per_tok": "bytes a token", "peak": "peak"},
    "training": {"peak": "peak"},
    "decode": {"tok_s": "tokens per second"},
}
"""Figures of each kind of case, by the word that the harness scores them under."""
MEASURES = (
    ("weights", "weights_gib_per_gpu", "weights_gib"),
    ("kv_tokens", "kv_tokens", "kv_tokens"),
    ("peak", "total_gib_per_gpu", "peak_gib"),
    ("tok_s", "tok_s", "tok_s"),
)
"""What is compared row by row: its name, and where prediction and truth hold it."""
MARGIN = 0.1
"""How much nearer another estimator has to be to be named: less is noise."""
NONE = "none"
TIGHT = "tight"
Line = dict[str, Any]


class Nearer(NamedTuple):
    """A row on which another estimator is nearer than gpusize."""

    id: str
    measure: str
    ours: float
    """Signed relative error."""
    peer: str
    theirs: float


def table(kind: str, scores: Sequence[Line]) -> str:
    """A table in Markdown: a line an estimator, gpusize first."""
    columns = COLUMNS[kind]
    head = ["estimator", "answered", *(f"{word}: median / p90" for word in columns.values())]
    head.append("fits right / failures caught / called fits / false alarms")
    rows = [head, ["---"] * len(head)]
    for line in sorted(scores, key=lambda one: one["peer"] != OURS):
        if line["answered"]:
            figures = [_figure(line[name]) for name in columns]
            answered = f"{line['answered']} of {line['cases']}"
            rows.append([line["peer"], answered, *figures, _verdicts(line["verdict"])])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def nearer(lines: Iterable[Line]) -> list[Nearer]:
    """Rows on which another estimator is nearer, the one furthest ahead of each row and figure."""
    by_row: dict[str, dict[str, Line]] = defaultdict(dict)
    for line in lines:
        if line["status"] == "ok":
            by_row[line["id"]][line["peer"]] = line
    found = []
    for name, said in by_row.items():
        ours = said.pop(OURS, None)
        if ours is None:
            continue
        for measure in MEASURES:
            own = _error(ours, measure)
            errors = {peer: _error(line, measure) for peer, line in said.items()}
            others = {peer: error for peer, error in errors.items() if error is not None}
            if own is None or not others:
                continue
            peer = min(others, key=lambda one: abs(others[one]))
            if abs(own) - abs(others[peer]) > MARGIN:
                found.append(Nearer(name, measure[0], own, peer, others[peer]))
    return sorted(found, key=lambda one: abs(one.theirs) - abs(one.ours))


def misjudged(lines: Iterable[Line]) -> list[str]:
    """Rows whose verdict gpusize has wrong, with the estimators that have it right."""
    right: dict[str, list[str]] = defaultdict(list)
    wrong = {}
    for line in lines:
        fits = (line.get("prediction") or {}).get("fits")
        meta, ran = line["meta"], line["truth"].get("fits")
        is_judged = not meta.get("gpu_assumed") and meta.get("context_stated") is not False
        if fits is None or ran is None or not is_judged:
            continue
        if fits == ran:
            right[line["id"]].append(line["peer"])
        elif line["peer"] == OURS:
            wrong[line["id"]] = "ran" if ran else "failed"
    return [
        f"{name} {what}; right: {', '.join(right[name]) or NONE}" for name, what in wrong.items()
    ]


def narrow(lines: Iterable[Line]) -> tuple[int, int]:
    """Failures, and runs, that gpusize calls tight: here they count as fitting."""
    calls = [
        line["truth"].get("fits")
        for line in lines
        if line["peer"] == OURS and (line.get("prediction") or {}).get("verdict") == TIGHT
    ]
    return calls.count(False), calls.count(True)


def _error(line: Line, measure: tuple[str, str, str]) -> float | None:
    _, said, held = measure
    predicted, truth = line["prediction"].get(said), line["truth"].get(held)
    meta = line["meta"]
    pool_counts = meta.get("util_stated") is not False and not meta.get("gpu_assumed")
    if predicted is None or not truth or (said == "kv_tokens" and not pool_counts):
        return None
    return float(predicted / truth - 1)


def _figure(found: Line) -> str:
    if not found["n"]:
        return NONE
    return f"{found['median']:.1%} / {found['p90']:.1%} ({found['n']})"


def _verdicts(found: Line) -> str:
    keys = ("fits_ok", "oom_ok", "false_fits", "false_oom")
    return " / ".join(str(found[key]) for key in keys)
