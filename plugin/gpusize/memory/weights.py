"""Bytes of weights on each rank under tensor, pipeline, data and expert parallelism.

Embeddings and head are cut over tp with the vocabulary padded; norms and routers are on every rank;
key and value projections repeat when there are more ranks than heads; experts are cut over tp or
moved whole over ep; pipeline stages hold whole layers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.placement import Layout
    from gpusize_catalog.facts import EngineFacts, FormatFacts

VOCAB_PADDING = 64
"""Rows that the vocabulary is rounded up to before it is cut (vLLM vocab_parallel_embedding)."""
GATED_MATRICES = 3
"""Matrices of one gated MLP: gate, up, down."""
ROTARY_BYTES = 2
"""Bytes of one rotary angle (vLLM keeps the table in the model's 16 bits)."""
LORA_RANK = 16
"""Default max_lora_rank of vLLM: slots are allocated for it whatever the adapters have."""
LORA_BYTES = 2
LORA_PROJECTIONS = 4 + GATED_MATRICES
"""Projections of a layer with an adapter: query, key, value, output, and those of the MLP."""


class Stage(NamedTuple):
    """One pipeline stage: how many layers, and whether it holds the ends of the model."""

    layers: int
    first: bool
    last: bool


def stages(layers: int, pp: int) -> tuple[Stage, ...]:
    """Cut layers over pp stages; a remainder goes one each to the stages before the last."""
    base, extra = divmod(layers, pp)
    return tuple(
        Stage(base + (pp - 1 - extra <= index < pp - 1), index == 0, index == pp - 1)
        for index in range(pp)
    )


@lru_cache(maxsize=64)
def distinct_stages(layers: int, pp: int) -> tuple[Stage, ...]:
    """The stages that differ from each other."""
    return tuple(dict.fromkeys(stages(layers, pp)))


def rank_bytes(
    architecture: Architecture,
    form: FormatFacts,
    engine: EngineFacts,
    layout: Layout,
    stage: Stage,
) -> int:
    """Bytes of weights that one rank of a stage holds."""
    share = stage.layers / architecture.layers
    bits = (
        _ends_bits(architecture, form, engine, layout.tp, stage)
        + share * _linear_bits(architecture, form, layout.tp)
        + share * _expert_bits(architecture, form, engine, layout)
        + _other_bits(architecture, form, layout.tp, stage, share)
    )
    return round(bits / BITS_PER_BYTE) + _rotary_bytes(architecture)


def _rotary_bytes(architecture: Architecture) -> int:
    """Table of rotary angles, one on every rank: a row of one head's width for every position."""
    width = architecture.qk_rope_head_dim or architecture.head_dim
    return (architecture.max_position or 0) * width * ROTARY_BYTES


def padded_vocabulary(vocab: int, tp: int) -> int:
    """Rows of the vocabulary after padding for tp ranks."""
    rows = -(-vocab // VOCAB_PADDING) * VOCAB_PADDING
    return -(-rows // tp) * tp


def _ends_bits(
    architecture: Architecture, form: FormatFacts, engine: EngineFacts, tp: int, stage: Stage
) -> float:
    """Bits of embeddings and head on one rank."""
    shard = padded_vocabulary(architecture.vocab, tp) / architecture.vocab / tp
    embedding, head = architecture.embedding_params, architecture.head_params
    bits = 0.0
    if stage.first and not engine.host_embeddings:
        bits += embedding * form.embedding_bits
    if stage.last:
        tied = architecture.tie_embeddings
        again = tied and (engine.host_embeddings or not stage.first)
        bits += (embedding if again else head) * form.head_bits
    return bits * shard


def _linear_bits(architecture: Architecture, form: FormatFacts, tp: int) -> float:
    """Bits of all attention and dense projections on one rank of an unstaged model."""
    bits = architecture.linear_params * form.linear_bits / tp
    if architecture.kv_lora_rank is not None:
        return bits + _latent_bits(architecture, form, tp)
    copies = 0.0
    for group in architecture.attention:
        if group.kv_heads and tp > group.kv_heads:
            width = group.head_dim + (group.value_dim or group.head_dim)
            missing = 1 - group.kv_heads / tp
            copies += group.layers * architecture.hidden * width * missing
    return bits + copies * form.linear_bits


def _latent_bits(architecture: Architecture, form: FormatFacts, tp: int) -> float:
    """Bits that latent attention adds: its down projections on every rank, and its own format."""
    latent = architecture.kv_lora_rank or 0
    narrow = latent + (architecture.qk_rope_head_dim or 0) + (architecture.q_lora_rank or 0)
    down = architecture.hidden * narrow
    repeated = architecture.layers * down * (1 - 1 / tp)
    attention = _attention_params(architecture)
    wider = attention * (form.latent_bits - form.linear_bits) / tp
    return repeated * form.latent_bits + wider


def _attention_params(architecture: Architecture) -> int:
    """Projections of attention: as told, else what the linears hold beside the MLPs."""
    if architecture.latent_params is not None:
        return architecture.latent_params
    hidden = architecture.hidden
    dense_layers = architecture.first_dense_layers or 0
    sparse_layers = architecture.layers - dense_layers
    if not architecture.experts_total:
        dense_layers, sparse_layers = architecture.layers, 0
    dense = GATED_MATRICES * hidden * (architecture.intermediate or 0) * dense_layers
    width = (architecture.moe_intermediate or 0) * (architecture.shared_experts or 0)
    shared = GATED_MATRICES * hidden * width * sparse_layers
    return max(0, architecture.linear_params - dense - shared)


def _expert_bits(
    architecture: Architecture, form: FormatFacts, engine: EngineFacts, layout: Layout
) -> float:
    """Bits of routed experts on one rank of an unstaged model."""
    experts = architecture.experts_total
    if not experts or not architecture.expert_params:
        return 0.0
    ways = max(1, layout.ep)
    cut = max(1, layout.tp * layout.dp // ways) if ways > 1 else layout.tp
    cut = min(cut, layout.tp)
    share = -(-experts // ways) / experts / cut
    padding = _padding(architecture, form, engine, cut)
    return architecture.expert_params * form.expert_bits * share * padding


def _padding(architecture: Architecture, form: FormatFacts, engine: EngineFacts, cut: int) -> float:
    """How much larger padded experts are than their parameters."""
    width = architecture.moe_intermediate or architecture.intermediate
    if form.pad_hidden == 1 or not width:
        return 1.0
    tile = max(form.pad_intermediate, engine.expert_tile)
    hidden = -(-architecture.hidden // form.pad_hidden) * form.pad_hidden
    piece = width / cut
    return hidden / architecture.hidden * (-(-piece // tile) * tile / piece)


def _other_bits(
    architecture: Architecture, form: FormatFacts, tp: int, stage: Stage, share: float
) -> float:
    """Bits of norms, routers and biases (on every rank) and of the tower for images."""
    tower = architecture.vision_params or 0
    bits = (architecture.other_params - tower) * share * form.other_bits
    if stage.first and tower:
        heads = architecture.vision_heads
        cut = tp if heads is None or heads % tp == 0 else 1
        bits += tower / cut * form.other_bits
    return bits


def draft_bytes(architecture: Architecture, form: FormatFacts, tp: int) -> int:
    """Bytes of the model's own draft layers (multi-token prediction), 16-bit, on one rank."""
    layers = architecture.mtp_layers or 0
    body = architecture.expert_params + architecture.linear_params
    return round(layers * body / architecture.layers / tp * form.other_bits / BITS_PER_BYTE)


def lora_bytes(architecture: Architecture, slots: int, tp: int) -> int:
    """Bytes of adapter slots on all projections of one rank.

    What reads the residual stream or writes it has that side whole on every rank, the other side is
    cut: vllm/lora/layers/base_linear.py and row_parallel_linear.py, vllm-project/vllm, where
    adapters are not fully sharded, as is its default.
    """
    hidden = architecture.hidden
    width = architecture.intermediate or architecture.moe_intermediate or hidden
    query = architecture.heads * architecture.head_dim
    keys = 2 * architecture.kv_heads * architecture.head_dim
    whole = LORA_PROJECTIONS * hidden
    cut = 2 * query + keys + GATED_MATRICES * width
    params = LORA_RANK * (whole + cut / tp) * architecture.layers
    return round(slots * params * LORA_BYTES)
