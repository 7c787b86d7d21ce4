"""What one layer of each kind of attention keeps on one rank.

A kind is added by one function and one entry of `COSTS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize.architecture import AttentionGroup

EXPANDED_HEAD = 256
"""Width that vLLM before 0.7.1 padded keys and values of latent attention to."""
INDEX_DIM = 128
INDEX_SCALE_BYTES = 4
"""Index key of one token in sparse latent attention: 128 numbers of 8 bits and one fp32 scale."""
PACKED_LATENT_BYTES = 656
"""One token of sparse latent attention in fp8 (vLLM fp8_ds_mla): 512 fp8, 4 scales, 64 bf16."""
PACKED_BITS = 8
STATE_BYTES = 4
"""Recurrent state is kept in fp32 (vLLM logs of Qwen3.5: exact with 4 bytes)."""
CONV_BYTES = 2


class Rank(NamedTuple):
    """What the cost of a layer depends on."""

    tp: int
    bits: float
    """Bits of one cached number."""
    latent: bool
    """Whether latent attention is cached as latents."""
    heads: int
    """Query heads of the whole model."""
    latent_width: int
    """Numbers of one token's latent and rotary key; 0 without latent attention."""


class Cost(NamedTuple):
    """What layers of one kind keep on one rank."""

    token_bytes: int
    """Bytes of one token in one layer."""
    window: int | None
    """Tokens that a layer needs to look back; None: all."""
    state_bytes: int
    """Bytes of one sequence in one layer, whatever its length."""
    layers: float


def _full(group: AttentionGroup, rank: Rank) -> Cost:
    """Keys and values of every token; heads repeat when there are more ranks than heads."""
    heads = max(1, group.kv_heads // rank.tp)
    width = group.head_dim + (group.value_dim or group.head_dim)
    return Cost(round(heads * width * rank.bits / BITS_PER_BYTE), None, 0, group.layers)


def _sliding(group: AttentionGroup, rank: Rank) -> Cost:
    """Keys and values of the last tokens only."""
    return _full(group, rank)._replace(window=group.window)


def _latent(group: AttentionGroup, rank: Rank) -> Cost:
    """One latent and one rotary key per token, on every rank; or, in old engines, full heads."""
    if not rank.latent:
        width = 2 * max(1, rank.heads // rank.tp) * EXPANDED_HEAD
    else:
        width = rank.latent_width
    return Cost(round(width * rank.bits / BITS_PER_BYTE), None, 0, group.layers)


def _indexed(group: AttentionGroup, rank: Rank) -> Cost:
    """Latent attention, or full heads, with an index key for choosing tokens."""
    is_latent = rank.latent_width > 0
    cost = _latent(group, rank) if is_latent else _full(group, rank)
    is_packed = is_latent and rank.bits <= PACKED_BITS
    size = PACKED_LATENT_BYTES if is_packed else cost.token_bytes
    index = group.index_dim or INDEX_DIM
    return cost._replace(token_bytes=size + index + INDEX_SCALE_BYTES)


def _recurrent(group: AttentionGroup, rank: Rank) -> Cost:
    """Recurrent state and convolution state, one copy per sequence, cut over the ranks."""
    size = (group.state_elements or 0) * STATE_BYTES + (group.conv_elements or 0) * CONV_BYTES
    return Cost(0, None, -(-size // rank.tp), group.layers)


def _cross(group: AttentionGroup, rank: Rank) -> Cost:
    """Keys and values of the encoder's positions, kept once per sequence."""
    cost = _full(group, rank)
    return Cost(0, None, cost.token_bytes * (group.positions or 0), group.layers)


COSTS: dict[str, Callable[[AttentionGroup, Rank], Cost]] = {
    "full": _full,
    "sliding": _sliding,
    "chunked": _full,
    "mla": _latent,
    "indexed": _indexed,
    "linear": _recurrent,
    "mamba": _recurrent,
    "cross": _cross,
}
"""Chunked attention is cached at full length: engines do not free the chunks left behind."""
NOTHING = "none"
