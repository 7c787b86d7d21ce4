"""What must hold between fields of work that generates tokens."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.given import Given, Relation, unreleased
from gpusize_catalog.problems import Problem


def tokens_in_order(given: Given) -> Iterator[Problem]:
    """A 95th percentile is not below the mean."""
    for field in ("promptTokens", "outputTokens"):
        mean, high = given.number(f"{field}.mean"), given.number(f"{field}.p95")
        if mean is not None and high is not None and high < mean:
            yield Problem(
                f"{field}.p95", f"is below the mean ({high} < {mean})", f"give at least {mean}"
            )


def tokens_in_context(given: Given) -> Iterator[Problem]:
    """A mean sequence is not longer than the context; its tail may be cut by the engine."""
    context = given.number("contextLength")
    prompt = given.number("promptTokens.mean") or 0
    output = given.number("outputTokens.mean") or 0
    if context is not None and prompt + output > context:
        yield Problem(
            "contextLength",
            f"is shorter than a mean sequence ({prompt} prompt + {output} output tokens)",
            f"raise it to at least {prompt + output}, or give fewer tokens",
        )


def engine_settings(given: Given) -> Iterator[Problem]:
    """An engine's version is a number; speculation needs a draft model."""
    yield from unreleased(given, "engine.version", "0.20 or 0.19.1")
    for key in ("speculativeTokens", "speculativeAcceptance"):
        if given.has(f"engine.{key}") and not given.has("engine.speculative"):
            yield Problem(f"engine.{key}", "needs a draft model", "name it in engine.speculative")


SERVING: tuple[Relation, ...] = (
    tokens_in_order,
    tokens_in_context,
    engine_settings,
)
