"""What must hold inside what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpusize.declaring.relations.given import Given, Relation
from gpusize_catalog.problems import Problem

ENGINE_TERMS = ("weightsGib", "overheadGib")
PEAK = "peakGib"
LIKE = "write it like vllm@0.20.1"
TRAINING = ("fine-tuning", "pre-training")


def measured_terms(given: Given) -> Iterator[Problem]:
    """An engine's memory is measured in two terms, other work as one peak."""
    serves = _serves(given)
    wanted = ENGINE_TERMS if serves else (PEAK,)
    other = (PEAK,) if serves else ENGINE_TERMS
    for path, one in _each(given):
        for key in wanted:
            if key not in one and not given.is_bad(f"{path}.{key}"):
                yield Problem(f"{path}.{key}", "is missing", "give it in GiB")
        for key in other:
            if key in one:
                told = f"give {' and '.join(wanted)}"
                yield Problem(f"{path}.{key}", "is not how this kind of work is measured", told)


def measured_with(given: Given) -> Iterator[Problem]:
    """What ran is named, with the version on which an engine's memory depends."""
    from gpusize.versions import parse_version

    trains = given.text("kind") in TRAINING
    for path, one in _each(given):
        engine, trainer = one.get("engine"), one.get("trainer")
        if _serves(given) and engine is None and not given.is_bad(f"{path}.engine"):
            yield Problem(f"{path}.engine", "is missing", LIKE)
        elif engine is not None and not _serves(given):
            yield Problem(f"{path}.engine", "no engine serves this kind of work", "leave it out")
        elif isinstance(engine, str) and parse_version(engine.partition("@")[2]) is None:
            yield Problem(f"{path}.engine", "names no released version", LIKE)
        if trainer is not None and not trains:
            yield Problem(f"{path}.trainer", "is for training", "leave it out")


def measured_day(given: Given) -> Iterator[Problem]:
    """It was measured on a day of the calendar."""
    from gpusize.days import DAY_FIX, NO_DAY, day_of

    for path, one in _each(given):
        date = one.get("date")
        if isinstance(date, str) and day_of(date) is None:
            yield Problem(f"{path}.date", NO_DAY, DAY_FIX)


def _serves(given: Given) -> bool:
    """Whether an engine generates tokens."""
    modality = given.text("modality") or "text"
    return modality in ("text", "vision-language") and given.text("kind") not in TRAINING


def _each(given: Given) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each measurement with its path."""
    measured = given.value("measured")
    for index, one in enumerate(measured if isinstance(measured, list) else ()):
        if isinstance(one, dict):
            yield f"measured[{index}]", one


MEASURED: tuple[Relation, ...] = (measured_terms, measured_with, measured_day)
