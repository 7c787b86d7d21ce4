"""What must hold inside an architecture given in place of a model's name."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.components import one_architecture
from gpusize.declaring.relations.given import Given, Relation
from gpusize_catalog.problems import Problem


def inline_attention(given: Given) -> Iterator[Problem]:
    """Heads of an inline architecture divide; partners are declared together."""
    heads, kv_heads = given.number("model.heads"), given.number("model.kvHeads")
    if heads is not None and kv_heads is not None and heads % kv_heads:
        yield Problem(
            "model.kvHeads",
            f"{kv_heads} does not divide the {heads} heads",
            f"give a divisor of {heads}",
        )
    hidden = given.number("model.hidden")
    if heads and hidden is not None and not given.has("model.headDim") and hidden % heads:
        told = f"is missing, and hidden / heads is not whole ({hidden} / {heads})"
        yield Problem("model.headDim", told, "declare it")
    yield from _both(given, "kvLoraRank", "qkRopeHeadDim")
    if given.has("model.slidingLayers") and not given.has("model.slidingWindow"):
        yield Problem("model.slidingWindow", "is missing beside slidingLayers", "give it in tokens")
    yield from _at_most(given, "slidingLayers", "layers")


def inline_counts(given: Given) -> Iterator[Problem]:
    """Counts of an inline architecture do not contradict each other."""
    total, vocab = given.number("model.totalParams"), given.number("model.vocab")
    hidden = given.number("model.hidden")
    if total is not None and vocab is not None and hidden is not None and total < vocab * hidden:
        yield Problem(
            "model.totalParams",
            f"is less than the embedding table alone ({vocab} x {hidden})",
            "count parameters in ones, not in billions",
        )
    yield from _both(given, "expertsTotal", "expertsActive")
    yield from _both(given, "expertsTotal", "moeIntermediate")
    yield from _at_most(given, "expertsActive", "expertsTotal")
    yield from _at_most(given, "activeParams", "totalParams")
    yield from _at_most(given, "visionParams", "totalParams")
    yield from _at_most(given, "firstDenseLayers", "layers")


def _both(given: Given, first: str, second: str) -> Iterator[Problem]:
    has = {name: given.has(f"model.{name}") for name in (first, second)}
    if has[first] != has[second]:
        missing, there = (second, first) if has[first] else (first, second)
        yield Problem(f"model.{missing}", f"is missing beside {there}", "declare both or none")


def _at_most(given: Given, low: str, high: str) -> Iterator[Problem]:
    less, more = given.number(f"model.{low}"), given.number(f"model.{high}")
    if less is not None and more is not None and less > more:
        yield Problem(f"model.{low}", f"is above {high} ({less} > {more})", f"give at most {more}")


INLINE: tuple[Relation, ...] = (
    one_architecture,
    inline_attention,
    inline_counts,
)
