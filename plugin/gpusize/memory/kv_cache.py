"""Bytes of the KV cache and of recurrent state, per attention kind and per cache layout.

`kv_costs.COSTS` says what one layer of each kind keeps; `LAYOUTS` says how an engine packs layers
of different kinds into one pool. A layout is added by one function and one entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.architecture import COMPRESSED_KINDS
from gpusize.memory import kv_compressed
from gpusize.memory.kv_costs import COSTS, NOTHING, Cost, Rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize.architecture import Architecture
    from gpusize_catalog.facts import EngineFacts

SWA_FULL_RATIO = 0.8
"""Tokens of the window pool per token of the full pool (SGLang swa_full_tokens_ratio)."""
STATE_POOL_RATIO = 0.9
"""Bytes of recurrent state per byte of KV cache (SGLang mamba_full_memory_ratio)."""
CACHE_ERROR = 0.005
"""Relative error of the cache's bytes: block rounding and scales."""
STATE_BLOCK_TOKENS = 16
"""Attention blocks beside recurrent state grow in steps of this (vLLM)."""


class Packing(NamedTuple):
    """How an engine cuts its pool."""

    block: int
    """Tokens of one block."""
    slack: float
    """Largest ratio of layer counts that grouped layouts pad instead of split."""
    batched: int
    """Tokens of one step at most: windows keep that many more."""


NO_LIMIT = 2**31
"""Sequences of a model that keeps no cache: memory sets no limit (encoders)."""


class KvCache:
    """The cache of one rank: bytes of a sequence, and sequences of a pool."""

    __slots__ = ("costs", "unit")

    error = CACHE_ERROR

    def __init__(self, costs: tuple[Cost, ...], unit: int) -> None:
        """`unit` is the smallest piece that the engine hands out, bytes."""
        self.costs = costs
        self.unit = max(1, unit)

    def sequence_bytes(self, tokens: int) -> int:
        """Bytes that one sequence keeps."""
        raise NotImplementedError

    @property
    def state_bytes(self) -> int:
        """Bytes of recurrent and encoder state of one sequence."""
        return round(sum([cost.state_bytes * cost.layers for cost in self.costs]))

    def bytes_for(self, tokens: int, sequences: int = 1) -> int:
        """Bytes that `sequences` sequences of `tokens` tokens keep on the worst rank."""
        return sequences * self.sequence_bytes(tokens)

    def sequences_in(self, pool: int, tokens: int) -> float:
        """Sequences of `tokens` tokens that a pool of so many bytes holds at once."""
        size = self.sequence_bytes(tokens)
        if pool <= 0:
            return 0.0
        if size == 0:
            return float(NO_LIMIT)
        return pool // self.unit * self.unit / size

    def longest(self, pool: int, limit: int) -> int:
        """Tokens of the longest sequence that a pool holds, at most `limit`."""
        if self.sequence_bytes(limit) <= pool:
            return limit
        low, high = 0, limit
        while high - low > 1:
            middle = (low + high) // 2
            if self.sequence_bytes(middle) <= pool:
                low = middle
            else:
                high = middle
        return low


class PagedCache(KvCache):
    """Blocks of a fixed number of tokens in all layers at once; windows save nothing."""

    __slots__ = ("block", "page", "state")

    def __init__(self, costs: tuple[Cost, ...], packing: Packing) -> None:
        """One page is a block in every layer."""
        self.block = packing.block
        self.page = round(self.block * sum([cost.token_bytes * cost.layers for cost in costs]))
        super().__init__(costs, self.page)
        self.state = self.state_bytes

    def sequence_bytes(self, tokens: int) -> int:
        """Whole blocks and the state."""
        return -(-tokens // self.block) * self.page + self.state


class _Group(NamedTuple):
    """Layers that share block tables in a grouped cache."""

    tables: int
    block: int
    window: int | None
    is_state: bool


class GroupedCache(KvCache):
    """Layers of several kinds cut into groups of equal size over one pool of equal pages (vLLM)."""

    __slots__ = ("batched", "groups")

    def __init__(self, costs: tuple[Cost, ...], packing: Packing) -> None:
        """Find the page that all kinds share and the size of the groups."""
        self.batched = packing.batched
        block = packing.block
        token = max([cost.token_bytes for cost in costs])
        state = max([cost.state_bytes for cost in costs])
        if state and token:
            block = max(block, -(-state // (token * STATE_BLOCK_TOKENS)) * STATE_BLOCK_TOKENS)
        page = max(block * token, state)
        counts = [max(1, round(cost.layers)) for cost in costs]
        size = max(counts) if max(counts) < min(counts) * packing.slack else min(counts)
        self.groups = tuple(
            _Group(
                -(-count // size),
                block * token // cost.token_bytes if cost.token_bytes else block,
                cost.window,
                not cost.token_bytes,
            )
            for cost, count in zip(costs, counts, strict=True)
        )
        super().__init__(costs, page * size)

    def sequence_bytes(self, tokens: int) -> int:
        """Pages of every group: all tokens, the window and one step, or one page of state."""
        pages = 0
        for group in self.groups:
            if group.is_state:
                pages += group.tables
                continue
            kept = tokens
            spare = 0
            if group.window is not None:
                kept = min(group.window - 1 + self.batched, tokens)
                spare = 1
            pages += group.tables * (-(-kept // group.block) + spare)
        return pages * self.unit


class PoolsCache(KvCache):
    """Separate pools for full layers, window layers and state, in fixed shares (SGLang)."""

    __slots__ = ("batched", "full", "state", "swa", "window")

    def __init__(self, costs: tuple[Cost, ...], packing: Packing) -> None:
        """Sort the layers into pools."""
        self.full = sum([c.token_bytes * c.layers for c in costs if c.window is None])
        self.swa = sum([c.token_bytes * c.layers for c in costs if c.window is not None])
        self.window = max([c.window or 0 for c in costs])
        self.batched = packing.batched
        super().__init__(costs, 1)
        self.state = self.state_bytes

    def sequence_bytes(self, tokens: int) -> int:
        """Share of the pools that one sequence takes, by the pool that runs out first."""
        size = float(tokens) * self.full
        if self.swa:
            kept = min(tokens, self.window + self.batched)
            size = (self.full + SWA_FULL_RATIO * self.swa) * max(tokens, kept / SWA_FULL_RATIO)
            if not self.full:
                size = float(kept * self.swa)
        if not self.state:
            return round(size)
        split = 1 + STATE_POOL_RATIO
        return round(max(size * split, self.state * split / STATE_POOL_RATIO))


class PreallocatedCache(KvCache):
    """One buffer per layer, as long as the context or the window (llama.cpp, transformers)."""

    __slots__ = ("batched", "block", "state")

    def __init__(self, costs: tuple[Cost, ...], packing: Packing) -> None:
        """Buffers in steps of a block; windows keep one step more."""
        self.block = packing.block
        self.batched = packing.batched
        super().__init__(costs, 1)
        self.state = self.state_bytes

    def sequence_bytes(self, tokens: int) -> int:
        """Bytes of all buffers for one sequence."""
        total = 0.0
        for cost in self.costs:
            kept = tokens
            if cost.window is not None:
                kept = min(tokens, cost.window + self.batched)
            total += -(-kept // self.block) * self.block * cost.token_bytes * cost.layers
        return round(total) + self.state


class CompressedCache(KvCache):
    """Entries for several tokens in whole blocks, and windows that hold one step more (vLLM)."""

    __slots__ = ("batched", "block", "kept")

    error = kv_compressed.ERROR

    def __init__(self, kept: kv_compressed.Bytes, packing: Packing) -> None:
        """Keep what a token takes."""
        super().__init__((), 1)
        self.kept = kept
        self.block = packing.block
        self.batched = packing.batched

    def sequence_bytes(self, tokens: int) -> int:
        """Entries of all tokens, padded windows of the last ones."""
        whole = -(-tokens // self.block) * self.block * self.kept.growing
        near = min(tokens, self.kept.window - 1 + self.batched)
        return round(whole + kv_compressed.PAGE_PADDING * near * self.kept.held)


def _grouped(costs: tuple[Cost, ...], packing: Packing) -> KvCache:
    """Groups, unless all layers keep every token."""
    if all(cost.window is None and not cost.state_bytes for cost in costs):
        return PagedCache(costs, packing)
    return GroupedCache(costs, packing)


def _whole(costs: tuple[Cost, ...], packing: Packing) -> KvCache:
    """One buffer per layer, windows as long as the context too."""
    return PreallocatedCache(tuple([cost._replace(window=None) for cost in costs]), packing)


LAYOUTS: dict[str, Callable[[tuple[Cost, ...], Packing], KvCache]] = {
    "paged": PagedCache,
    "grouped": _grouped,
    "two-pools": PoolsCache,
    "preallocated": PreallocatedCache,
    "preallocated-whole": _whole,
}


def build(
    architecture: Architecture,
    engine: EngineFacts,
    tp: int,
    bits: float,
    batched: int,
    share: float = 1.0,
) -> KvCache:
    """The cache of one of tp ranks that holds `share` of the layers.

    `bits` of one cached number, `batched` tokens of one step.
    """
    packing = Packing(engine.block_tokens, engine.group_slack or 1.0, batched)
    if any(group.kind in COMPRESSED_KINDS for group in architecture.attention):
        return CompressedCache(kv_compressed.bytes_of(architecture, bits, share), packing)
    copies = 2 if engine.latent_values else 1
    latent = copies * (architecture.kv_lora_rank or 0) + (architecture.qk_rope_head_dim or 0)
    rank = Rank(tp, bits, engine.latent_cache, architecture.heads, latent)
    merged: dict[tuple[int, int | None, int], float] = {}
    for group in architecture.attention:
        if group.kind == NOTHING:
            continue
        cost = COSTS[group.kind](group, rank)
        key = cost[:3]
        merged[key] = merged.get(key, 0) + cost.layers * share
    costs = tuple([Cost(*key, layers) for key, layers in merged.items()])
    return LAYOUTS[engine.cache_layout](costs or (Cost(0, None, 0, 0),), packing)


def unbuilt_kind(architecture: Architecture) -> str:
    """An attention kind that no function counts yet, or whose sizes are missing; else empty."""
    for group in architecture.attention:
        if group.kind not in COSTS and group.kind not in {NOTHING, *COMPRESSED_KINDS}:
            return f"attention of kind {group.kind} is not modelled"
        if group.kind in ("linear", "mamba") and group.state_elements is None:
            return f"the size of the recurrent state of its {group.kind} layers is not known"
        if group.kind == "cross" and group.positions is None:
            return "the length of its encoder is not known"
    return ""
