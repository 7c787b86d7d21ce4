"""One rank that generates tokens: its terms, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.result import Term
from gpusize_catalog.units import gib

if TYPE_CHECKING:
    from gpusize.memory import setup, weights
    from gpusize.memory.kv_cache import KvCache
    from gpusize.memory.result import Fit
    from gpusize.memory.runtime import Parts
    from gpusize_catalog.facts import EngineFacts


class Split(NamedTuple):
    """Weights of one rank of a pipeline stage."""

    stage: weights.Stage
    weights: int


class Rank(NamedTuple):
    """What a rank of one stage needs, whatever the memory of its GPU."""

    parts: Parts
    taken: int
    """Bytes that count in the engine's budget, cache apart."""
    cache: KvCache
    kept: int
    """Bytes of cache that the engine lays out at start."""
    terms: tuple[tuple[Term, int], ...]
    """All terms."""
    error: int
    """One-sided error of the need, bytes."""


def kernel_question(known: setup.Setup, capability: tuple[int, int] | None) -> str:
    """What the kernels table does not say."""
    name = ".".join([str(part) for part in capability or ()])
    engine = f"{known.engine.engine} {known.version}"
    return (
        f"whether {engine} runs {known.form.id} weights on compute capability {name} is not known"
    )


def room(fit: Fit) -> int:
    """Margin of a stage, for choosing the worst."""
    return fit.margin or 0


def laid_out(engine: EngineFacts, cache: KvCache, context: int, sequences: int) -> int:
    """Bytes of cache that are there once the engine runs: sequences, or tokens that it reserves."""
    kept = cache.bytes_for(context, sequences)
    if engine.reserved_tokens is None:
        return kept
    return max(kept, cache.bytes_for(engine.reserved_tokens))


def fixed_terms(engine: EngineFacts, parts: Parts) -> tuple[tuple[Term, int], ...]:
    """The terms that count in the engine's budget, cache apart; weights first."""
    terms = [(Term.WEIGHTS, parts.weights)]
    if engine.activations_in_budget:
        terms.append((Term.ACTIVATIONS, parts.activations))
    if engine.graphs_in_budget and parts.graphs:
        terms.append((Term.CUDA_GRAPHS, parts.graphs))
    terms.append((Term.RUNTIME_OVERHEAD, parts.runtime))
    if parts.communication:
        terms.append((Term.COMMUNICATION, parts.communication))
    return tuple(terms)


def cache_terms(kept: int, state: int) -> tuple[tuple[Term, int], ...]:
    """The cache, its recurrent state apart."""
    if not state:
        return ((Term.KV_CACHE, kept),)
    return ((Term.KV_CACHE, kept - state), (Term.RECURRENT_STATE, state))


def binding(parts: Parts, limit: int, kept: int, context: int) -> str:
    """Which term is too large."""
    if parts.weights > limit:
        return f"weights alone take {gib(parts.weights)}"
    return f"one sequence of {context} tokens needs {gib(kept)} of cache"
