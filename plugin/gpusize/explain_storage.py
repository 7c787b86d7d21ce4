"""How long weights take to load and checkpoints to be written, as data and as lines of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize_catalog.units import GIB, figure, gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusize.checkpointing import Checkpoint
    from gpusize.loading import Loading
    from gpusize.rates import Span

GIB_DIGITS = 3
SECOND_DIGITS = 1


def loading_data(loading: Loading) -> dict[str, Any]:
    """Return how long an instance takes to load the weights, seconds with their band."""
    return {
        "from": loading.place,
        "sizeGib": _gib(loading.size),
        "loadSeconds": _seconds(loading.span),
        "unknown": loading.unknown or None,
    }


def checkpoint_data(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return one checkpoint of a training run, and those that lie beside each other."""
    return {
        "to": checkpoint.location,
        "sizeGib": _gib(checkpoint.size),
        "keptGib": _gib(checkpoint.kept_bytes),
        "writeSeconds": _seconds(checkpoint.span),
        "unknown": checkpoint.unknown or None,
    }


def storage_lines(loading: Loading, checkpoint: Checkpoint | None) -> Iterator[tuple[str, str]]:
    """Return a label and a text for the weights, and for a checkpoint where there is one."""
    read = f"{gib(loading.size)} from {loading.place}"
    yield "loading:", read + _in_words(loading.span, loading.unknown)
    if checkpoint is not None:
        written = f"{gib(checkpoint.size)} to {checkpoint.location}"
        yield "checkpoint:", written + _in_words(checkpoint.span, checkpoint.unknown)


def _in_words(span: Span | None, unknown: str) -> str:
    if span is None:
        return f", the time is not known: {unknown}"
    low, high = figure(span.low), figure(span.high)
    ends = "" if low == high else f"{low} to {high} s; "
    return f" in about {figure(span.seconds)} s ({ends}{span.limit})"


def _seconds(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "usual": round(span.seconds, SECOND_DIGITS),
        "low": round(span.low, SECOND_DIGITS),
        "high": round(span.high, SECOND_DIGITS),
        "limit": span.limit,
    }


def _gib(size: int) -> float | None:
    return round(size / GIB, GIB_DIGITS) or None
