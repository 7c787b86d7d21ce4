"""Adapters: their parameters, and what they keep of a token besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.training.parts import GATED, matrices, mlp_width
from gpusize.workload import AdapterForm

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import AdapterTargets, TokenAdapter

ON_MLP = frozenset({"all-linear", "dense-linear"})
"""Targets that reach the MLPs."""
ON_EXPERTS = "all-linear"
"""The one that reaches routed experts: each has an adapter of its own."""
NUMBERS_OF_A_SCALE = 2
"""Numbers that a projection's output has in an adapter of scales, for each of its columns: a scale
and a bias. Source: `AdapterV2Linear` of litgpt/adapter_v2.py, Lightning-AI/litgpt; IA3 has no
bias."""


Pairs = list[tuple[int, int]]
"""Inputs and outputs of projections."""


class AdapterParams(NamedTuple):
    """Of one rank of an unstaged model."""

    dense: float
    expert: float
    """Beside routed experts, which may be spread over ranks."""


def params_of(
    architecture: Architecture, adapter: TokenAdapter, tp: int, ep: int = 1
) -> AdapterParams:
    """Parameters of an adapter of any form."""
    if adapter.form is AdapterForm.SCALES:
        size = NUMBERS_OF_A_SCALE * outputs(architecture, adapter.targets) * architecture.layers
        return AdapterParams(size / tp, 0.0)
    if adapter.form is AdapterForm.PREFIX:
        return AdapterParams(adapter.rank * architecture.hidden * architecture.layers, 0.0)
    return adapter_params(architecture, adapter.rank, adapter.targets, tp, ep)


def outputs(architecture: Architecture, targets: AdapterTargets) -> float:
    """Columns of the projections with an adapter that one token passes in a layer."""
    query = architecture.heads * architecture.head_dim
    keys = architecture.kv_heads * architecture.head_dim
    if targets.value == "query-value":
        return query + keys
    attention = query + 2 * keys + architecture.hidden
    if targets.value not in ON_MLP:
        return attention
    mlp = (matrices(architecture) - 1) * mlp_width(architecture)
    return attention + mlp + architecture.hidden


def adapter_params(
    architecture: Architecture, rank: int, targets: AdapterTargets, tp: int, ep: int = 1
) -> AdapterParams:
    """Parameters of two thin matrices beside each projection.

    PEFT gives each expert a matrix of each side of its own: `ParamWrapper`, whose matrices have
    experts times rank rows. Of a projection whose outputs are cut over tensor ranks the second
    matrix is cut, of one whose inputs are cut the first: `LoraParallelLinear` of
    peft/tuners/lora/tp_layer.py, huggingface/peft. Megatron Bridge cuts both sides of all
    (`ParallelLinearAdapter`), which is less.
    """
    word = targets.value
    hidden = architecture.hidden
    query = architecture.heads * architecture.head_dim
    keys = architecture.kv_heads * architecture.head_dim
    outputs_cut, inputs_cut = [(hidden, query), (hidden, keys)], []
    if word != "query-value":
        outputs_cut.append((hidden, keys))
        inputs_cut.append((query, hidden))
    if word in ON_MLP:
        shared = (architecture.shared_experts or 0) * (architecture.moe_intermediate or 0)
        width = shared if architecture.experts_total else architecture.intermediate or 0
        outputs_cut += [(hidden, width)] * (matrices(architecture) - 1)
        inputs_cut.append((width, hidden))
    sides = _sides(outputs_cut, inputs_cut, tp) * architecture.layers
    expert = 0.0
    if word == ON_EXPERTS and architecture.experts_total:
        width = architecture.moe_intermediate or architecture.intermediate or 0
        gated = [(hidden, width)] * (GATED - 1)
        each = _sides(gated, [(width, hidden)], 1 if ep > 1 else tp)
        layers = architecture.layers - (architecture.first_dense_layers or 0)
        expert = rank * each * layers * architecture.experts_total / ep
    return AdapterParams(rank * sides, expert)


def _sides(outputs_cut: Pairs, inputs_cut: Pairs, tp: int) -> float:
    """Inputs and outputs of projections that a rank has an adapter for, one row of each."""
    by_output = sum(into + out / tp for into, out in outputs_cut if into and out)
    return by_output + sum(into / tp + out for into, out in inputs_cut if into and out)
