"""The figures of a run as tables in Markdown, and the page of the documentation that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.measured.report import NONE, percent
from bench.measured.summary import (
    FITS,
    Group,
    Summary,
    bound_data,
    fit_data,
    group_data,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured.md"
START = "<!-- figures: written by `python -m bench.measured DIR --table` -->"
END = "<!-- end of figures -->"
WORDS = {
    "serving.weights": "weights per GPU of serving engines",
    "serving.kv": "tokens that their cache holds",
    "training.dense": "training peak, dense models",
    "training.other": "training peak, mixtures of experts, vision, stages, pipelines",
    "diffusion": "peak of pipelines of images, videos and sound",
    "diffusion.image": "of them, images",
    "diffusion.video": "of them, videos",
    "diffusion.audio": "of them, sound",
    "throughput": "tokens per second, all",
    "throughput.training": "of them, of trainers",
    "throughput.offline": "of them, of many sequences at once",
    "throughput.one": "of them, of one sequence",
    "serving.drafted.weights": "weights beside a draft model",
    "serving.drafted.kv": "tokens beside a draft model",
    "serving.cache": "bytes of the cache of llama.cpp",
    "training.capped": "training peak, sequences below the length that is stated",
    "generation": "peak of text that transformers generates",
    "embedding": "peak of ranking texts",
    "pictures.seconds": "seconds of pipelines of 16 bits",
    "pictures.seconds.quantized": "seconds of quantized pipelines",
}
"""Groups in the order of the page."""
KINDS = {"serving": "serving", "training": "training", "other": "pipelines and other"}


def tables(summary: Summary) -> str:
    """Errors of groups, verdicts and bounds."""
    bound = bound_data(summary.bounds)
    ratio = NONE if bound["medianRatio"] is None else f"{bound['medianRatio']:.2f}"
    head = ("what", "rows", "predicted", "median error", "p90 error", "within 20 %", "bias")
    groups = [
        (words, *_figures(summary.groups[name]))
        for name, words in WORDS.items()
        if name in summary.groups
    ]
    verdicts = [(KINDS[name], *fit_data(summary.verdicts[name]).values()) for name in FITS]
    judged = (
        "verdicts",
        "failed",
        "caught",
        "called fits",
        "called fits, not all stated",
        "ran",
        "called tight",
        "called does-not-fit",
        "unknown",
    )
    return "\n\n".join(
        (
            _table(head, groups),
            _table(judged, verdicts),
            f"What hardware allows is no less than what was measured on {bound['holds']} of"
            f" {bound['n']} rates; the median ratio of the two is {ratio}.",
        )
    )


def written(page: str, block: str) -> str:
    """The page with other figures; raises ValueError where it has no place for them."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"no line {START!r} with {END!r} below it")
    return f"{before}{START}\n\n{block}\n\n{END}{after}"


def _figures(group: Group) -> tuple[str, ...]:
    found = group_data(group)
    return (
        str(found["n"]),
        str(found["covered"]),
        percent(found["median"]),
        percent(found["p90"]),
        percent(found["within20"], 0),
        percent(found["bias"], sign="+"),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
