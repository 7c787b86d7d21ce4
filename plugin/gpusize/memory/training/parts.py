"""Parameters that one rank works with, by how formats and shards treat them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.weights import Stage
    from gpusize.placement import Layout
    from gpusize_catalog.facts import FormatFacts

GATED = 3
"""Matrices of a gated MLP: gate, up, down."""
PLAIN = 2
"""Matrices of a plain MLP: up, down."""


class Parts(NamedTuple):
    """Parameters of one rank; all ranks together hold the model once for each copy."""

    ends: float
    """Embedding and output head."""
    linear: float
    expert: float
    other: float
    tower: float = 0.0
    """Towers for images or sound, on the first stage."""

    @property
    def total(self) -> float:
        """All of them."""
        return self.ends + self.linear + self.expert + self.other + self.tower

    def bytes_in(self, form: FormatFacts) -> float:
        """Bytes in a format of the weights."""
        return (
            self.ends * form.embedding_bits
            + self.linear * form.linear_bits
            + self.expert * form.expert_bits
            + (self.other + self.tower) * form.other_bits
        ) / BITS_PER_BYTE


def of_rank(
    architecture: Architecture, layout: Layout, stage: Stage, *, headless: bool = False
) -> Parts:
    """Cut the model over tensor ranks, stages and ranks that share experts.

    A `headless` one is trained without its output head.
    """
    share = stage.layers / architecture.layers
    ends = 0
    if stage.first:
        ends += architecture.embedding_params
    if stage.last and not headless:
        again = architecture.tie_embeddings and not stage.first
        ends += architecture.embedding_params if again else architecture.head_params
    ways = layout.ep if layout.ep > 1 else layout.tp
    tower = architecture.vision_params or 0
    return Parts(
        ends / layout.tp,
        architecture.linear_params * share / layout.tp,
        architecture.expert_params * share / ways,
        (architecture.other_params - tower) * share,
        float(tower if stage.first else 0),
    )


def matrices(architecture: Architecture) -> int:
    """Matrices of one MLP, by what the projections hold beside attention."""
    width = architecture.intermediate
    if architecture.experts_total or not width:
        return GATED
    per_matrix = architecture.layers * architecture.hidden * width
    rest = architecture.linear_params - architecture.layers * _attention(architecture)
    return PLAIN if rest < (PLAIN + GATED) / 2 * per_matrix else GATED


def _attention(architecture: Architecture) -> int:
    """Parameters of one layer's attention, taken as query, key, value and output."""
    width = 2 * (architecture.heads + architecture.kv_heads) * architecture.head_dim
    return architecture.hidden * width


def mlp_share(architecture: Architecture) -> float:
    """Part of the layers that have an MLP where others have attention or state alone; else 1."""
    without = sum(group.layers for group in architecture.attention if group.kind == "none")
    return without / architecture.layers if 0 < without < architecture.layers else 1.0


def mixing_share(architecture: Architecture) -> float:
    """Part of the layers that mix tokens; where layers do both, all of them."""
    share = mlp_share(architecture)
    return 1 - share if share < 1 else 1.0


def routed_share(architecture: Architecture) -> float:
    """Part of the layers whose MLP is experts; the first ones of some models have a dense one."""
    dense = architecture.first_dense_layers or 0
    return mlp_share(architecture) * (architecture.layers - dense) / architecture.layers


def mlp_width(architecture: Architecture) -> float:
    """Width of the MLPs that one token passes in a layer, the mean of all layers."""
    return mlp_share(architecture) * _mlp_width(architecture)


def _mlp_width(architecture: Architecture) -> float:
    dense = architecture.intermediate or 0
    active = architecture.experts_active
    if not architecture.experts_total or not active:
        return dense
    width = architecture.moe_intermediate or dense
    routed = width * (active + (architecture.shared_experts or 0))
    first = architecture.first_dense_layers or 0
    return (first * dense + (architecture.layers - first) * routed) / architecture.layers


def largest_matrix(architecture: Architecture) -> int:
    """Parameters of the largest projection."""
    width = architecture.moe_intermediate if architecture.experts_total else None
    widest = max(
        width or architecture.intermediate or 0, architecture.heads * architecture.head_dim
    )
    return architecture.hidden * widest
