"""The cache of compressed attention (DeepSeek-V4): entries for several tokens, and windows.

Every layer keeps a window of all tokens; a compressed one besides keeps an entry for every few
tokens and what it compresses the next one from. Sources: vLLM `models/deepseek_v4` (584 bytes of an
fp8 entry; state of the compressors; windows hold one step more), vllm issue 51041 and 44376.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE

if TYPE_CHECKING:
    from gpusize.architecture import Architecture, AttentionGroup

PACKED_BITS = 8
FULL_BITS = 16
ROTARY_WIDTH = 64
"""Numbers of an entry that stay 16-bit in fp8."""
ROTARY_BYTES = 2
SCALE_BYTES = 8
"""Scales of the other numbers of an fp8 entry."""
INDEX_BYTES = 132
"""Index key of one entry: 128 numbers of 8 bits and one fp32 scale."""
INDEX_WIDTH = 128
STATE_BYTES = 8
"""A compressor keeps keys and scores in fp32 for each number of an entry."""
PAGE_PADDING = 1.32
"""Windows and compressors take pages of the entries' size: 5.44 GiB hold 13528 tokens and 30000
need 6.66 GiB at 16384 tokens a step (vllm issue 44376), where their bytes are 4.1 and 5.1."""
ERROR = 0.15
"""Relative error of the cache's bytes, one side: the same runs, and one of 912128 tokens."""


class Kind(NamedTuple):
    """How one kind compresses."""

    ratio: int
    """Tokens of one entry."""
    overlap: int
    """Neighbouring stretches that a compressor keeps at once."""
    has_index: bool


KINDS = {"csa": Kind(4, 2, True), "hca": Kind(128, 1, False)}


class Bytes(NamedTuple):
    """What all layers keep."""

    growing: float
    """Of every token."""
    held: float
    """Of every token of the window and of one step."""
    window: int


def bytes_of(architecture: Architecture, bits: float, share: float) -> Bytes:
    """Bytes of one rank that holds `share` of the layers; one key head is on every rank."""
    growing = held = 0.0
    window = 1
    for group in architecture.attention:
        layers = group.layers * share
        held += layers * _entry(group, bits)
        window = max(window, group.window or 1)
        kind = KINDS.get(group.kind)
        if kind is None:
            continue
        index = INDEX_WIDTH if kind.has_index else 0
        entry = _entry(group, bits) + (INDEX_BYTES if kind.has_index else 0)
        growing += layers * entry / kind.ratio
        held += layers * kind.overlap * (group.head_dim + index) * STATE_BYTES
    return Bytes(growing, held, window)


def _entry(group: AttentionGroup, bits: float) -> float:
    """Bytes of one entry, which is key and value at once."""
    plain = group.head_dim * max(bits, FULL_BITS) / BITS_PER_BYTE
    packed = group.head_dim - ROTARY_WIDTH + ROTARY_WIDTH * ROTARY_BYTES + SCALE_BYTES
    return min(plain, packed) if bits <= PACKED_BITS else plain
