"""Parameters of adapters: rank times both sides of each matrix that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.training.parts import GATED, matrices

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import AdapterTargets

ON_MLP = frozenset({"all-linear", "dense-linear"})
"""Targets that reach the MLPs."""
ON_EXPERTS = "all-linear"
"""The one that reaches routed experts: each has an adapter of its own."""


class AdapterParams(NamedTuple):
    """Of one rank of an unstaged model."""

    dense: float
    expert: float
    """Beside routed experts, which may be spread over ranks."""


def adapter_params(
    architecture: Architecture, rank: int, targets: AdapterTargets, tp: int, ep: int = 1
) -> AdapterParams:
    """Parameters of an adapter; PEFT gives each expert a matrix of each side of its own.

    Source: `ParamWrapper` of PEFT, whose matrices have experts times rank rows.
    """
    word = targets.value
    hidden = architecture.hidden
    query = architecture.heads * architecture.head_dim
    keys = architecture.kv_heads * architecture.head_dim
    pairs = [(hidden, query), (hidden, keys)]
    if word != "query-value":
        pairs += [(hidden, keys), (query, hidden)]
    if word in ON_MLP:
        shared = (architecture.shared_experts or 0) * (architecture.moe_intermediate or 0)
        width = shared if architecture.experts_total else architecture.intermediate or 0
        pairs += [(hidden, width)] * (matrices(architecture) - 1) + [(width, hidden)]
    sides = _sides(pairs, tp) * architecture.layers
    expert = 0.0
    if word == ON_EXPERTS and architecture.experts_total:
        width = architecture.moe_intermediate or architecture.intermediate or 0
        each = _sides([(hidden, width)] * GATED, 1 if ep > 1 else tp)
        layers = architecture.layers - (architecture.first_dense_layers or 0)
        expert = rank * each * layers * architecture.experts_total / ep
    return AdapterParams(rank * sides, expert)


def _sides(pairs: list[tuple[int, int]], tp: int) -> float:
    return sum(into + out / tp for into, out in pairs if into and out)
