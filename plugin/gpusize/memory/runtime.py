"""What an engine takes beside weights and cache, by version: budget, activations, graphs, NCCL.

All constants are rows of the engines table; this module says what they multiply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.versions import in_range, parse_version
from gpusize_catalog.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize.architecture import Architecture
    from gpusize.memory.measured import Taken
    from gpusize_catalog.facts import EngineFacts
    from gpusize_catalog.store import Catalog

LARGE_GPU = 60 * GIB
"""GPUs above this get SGLang's larger reserve."""
IN_SWITCH_REDUCTION = (9, 0)
"""Compute capability from which NCCL reduces inside the NVLink switch, and keeps buffers for it."""
CHUNKED_ABOVE = 32768
CHUNK = 2048
"""vLLM before 0.8 chunked prompts of contexts above 32768 tokens, into 2048 tokens."""
LATENT_WORKSPACE_TOKENS = 64 * 1024
LATENT_WORKSPACE_CONTEXTS = 8
LATENT_WORKSPACE_BLOCKS = 4
"""vLLM profiles latent attention with keys and values of min(64k, max(8 contexts, 4 blocks per
sequence)) tokens expanded (mla/common.py)."""
PATCHES_PER_TOKEN = 4
"""Patches that a tower merges into one token at least, where images are large (Qwen2-VL, Pixtral:
2 by 2); an image of more tokens than the context is not profiled."""
USUAL_PATCHES = 4096
"""Patches of the largest image where the model's own limit is not known: 896 pixels in 14s."""
GATED = 2
"""The widest product of a layer gives the gate and what it gates at once."""
SORT_FREE_SAMPLING = (8, 0)
"""Compute capability from which sampling without sorting is used (vLLM log on T4: as before)."""
SMALL_GRAPHS = (1, 2, 4)
GRAPH_STEP = 8
LARGE_GRAPH_STEP = 16
LARGE_GRAPHS_FROM = 256
LARGEST_GRAPH = 512
"""Captured batch sizes: 1, 2, 4, then every 8 to 256, every 16 to 512, at most twice the sequences
(vLLM compilation config)."""
GRAPH_SEQUENCES = 2
WHOLE_CONTEXT = "context"
CHUNKED_CONTEXT = "chunked"


class Batch(NamedTuple):
    """Tokens and sequences of one step."""

    tokens: int
    sequences: int
    reserve_mib: float | None = None
    """Reserve that the engine's tier of memory names."""


class Device(NamedTuple):
    """What of a GPU and its links memory depends on."""

    usable: int
    capability: tuple[int, int] | None
    nvlink: bool
    taken: Taken | None = None
    """What was measured on it of the work that is sized."""


class Parts(NamedTuple):
    """Bytes of one rank before any cache."""

    weights: int
    activations: int
    graphs: int
    runtime: int
    communication: int
    context: int
    """Outside what the engine counts."""
    graphs_in_budget: bool
    late: int = 0
    """What kernels take outside the allocator after the engine measured."""

    @property
    def fixed(self) -> int:
        """What is there before any token, activations and graphs apart."""
        return self.weights + self.runtime + self.communication


class Budget(NamedTuple):
    """The most that an engine takes, and what is left beside it."""

    limit: int
    slack: int
    """Bytes left beside the limit once what is known to live there is taken; may be < 0."""
    beside: int = 0
    """Bytes that were taken for what lives beside the limit, context apart."""


def engine_row(catalog: Catalog, name: str, version: str | None) -> EngineFacts | None:
    """The row of an engine's version; the newest where none is declared; None: none covers it."""
    rows = catalog.engines(name)
    if not rows:
        return None
    wanted = parse_version(version) if version else None
    if wanted is None:
        return next((row for row in rows if not row.version_before), rows[-1])
    for row in rows:
        if in_range(wanted, row.version_from, row.version_before):
            return row
    return None


def row_name(row: EngineFacts) -> str:
    """How a row is cited: engine and range of versions."""
    if not row.version_from and not row.version_before:
        return f"{row.engine} (any version)"
    return f"{row.engine} {row.version_from or '0'}..{row.version_before or ''}"


def default_batch(row: EngineFacts, device: Device, context: int) -> Batch:
    """Tokens and sequences of one step where none are declared: the first tier the GPU meets."""
    for tier in row.batch_defaults.split(";"):
        condition, _, sizes = tier.strip().partition("=")
        least, *excluded = condition.split()
        if device.usable < float(least) * GIB or _excluded(excluded, device):
            continue
        tokens, _, rest = sizes.partition("/")
        sequences, _, reserve = rest.partition("@")
        return Batch(
            _step_tokens(tokens, context), int(sequences), float(reserve) if reserve else None
        )
    return Batch(CHUNK, LARGE_GRAPHS_FROM)


def _step_tokens(word: str, context: int) -> int:
    """Tokens of one step: a number, or the context, whole or cut into chunks when long."""
    if word == WHOLE_CONTEXT or (word == CHUNKED_CONTEXT and context <= CHUNKED_ABOVE):
        return context
    return CHUNK if word == CHUNKED_CONTEXT else int(word)


def _excluded(words: list[str], device: Device) -> bool:
    """Whether a tier names the GPU's compute capability as one that it leaves out (`!8.0`)."""
    if device.capability is None:
        return False
    return "!{}.{}".format(*device.capability) in words


class Step(NamedTuple):
    """What activations depend on beside engine and architecture."""

    tp: int
    batch: Batch
    number: int
    """Bytes of one number."""
    context: int
    sorts: bool
    """Whether sampling sorts whole rows of logits: GPUs without the kernels that avoid it."""
    copies: float = 0.0
    """Copies of the widest output that kernels of the weights' format sum it from."""


def activation_bytes(row: EngineFacts, architecture: Architecture, step: Step) -> int:
    """Peak of activations of one step on one rank.

    The forward pass keeps a few copies of the widest layer for every token; after it the sampler
    keeps copies of the logits of every sequence while the hidden states are still there.
    """
    batch, number = step.batch, step.number
    width = _forward_width(row, architecture, step.tp)
    width += step.copies * GATED * (architecture.intermediate or 0) / step.tp
    forward = batch.tokens * number * width
    hidden = 2 * batch.tokens * architecture.hidden * number
    per_logit = row.sampler_fallback_bytes if step.sorts else row.sampler_bytes
    rows = batch.tokens if row.prefill_logits else min(batch.sequences, batch.tokens)
    logits = rows * architecture.vocab * (per_logit + number)
    sampler = hidden + logits if per_logit else 0
    peak = max(forward, sampler) + _latent_workspace(row, architecture, step)
    if architecture.vision_params:
        largest = architecture.image_patches or USUAL_PATCHES
        patches = min(largest, PATCHES_PER_TOKEN * step.context)
        peak += row.tower_mib * MIB + patches * row.patch_kib * KIB
    return round(peak)


def _forward_width(row: EngineFacts, architecture: Architecture, tp: int) -> float:
    """Numbers per token that are alive at the widest point of the forward pass."""
    hidden = architecture.hidden
    width = row.forward_intermediate * (architecture.intermediate or 0) / tp
    active = architecture.experts_active
    if active and architecture.moe_intermediate:
        inner = architecture.moe_intermediate / tp
        width = max(width, active * (inner + max(2 * inner, hidden)))
    return width + row.forward_hidden * hidden


def _latent_workspace(row: EngineFacts, architecture: Architecture, step: Step) -> float:
    """Keys and values of latent attention expanded while profiling."""
    if architecture.kv_lora_rank is None or not row.latent_cache or row.splits != "tensor":
        return 0.0
    blocks = LATENT_WORKSPACE_BLOCKS * step.batch.sequences * row.block_tokens
    tokens = min(max(LATENT_WORKSPACE_CONTEXTS * step.context, blocks), LATENT_WORKSPACE_TOKENS)
    heads = max(1, architecture.heads // step.tp)
    return tokens * heads * 2 * architecture.head_dim * step.number


def captured_sizes(row: EngineFacts, sequences: int) -> int:
    """How many batch sizes an engine captures as CUDA graphs."""
    largest = min(GRAPH_SEQUENCES * sequences, LARGEST_GRAPH)
    small = len([size for size in SMALL_GRAPHS if size <= largest])
    middle = min(largest, LARGE_GRAPHS_FROM) // GRAPH_STEP
    large = max(0, largest - LARGE_GRAPHS_FROM) // LARGE_GRAPH_STEP
    return min(small + middle + large, row.graph_sizes)


def graph_bytes(row: EngineFacts, layers: int, sequences: int, eager: bool) -> int:
    """CUDA graphs of one rank with so many layers."""
    if eager:
        return 0
    return round(captured_sizes(row, sequences) * layers * row.graph_layer_kib * KIB)


def communication_bytes(row: EngineFacts, ranks: int, device: Device) -> int:
    """Buffers for talking to the other ranks that share a layer, its tensors or its experts."""
    if ranks == 1:
        return 0
    if not device.nvlink:
        return round(row.pcie_mib * MIB)
    switch = device.capability is not None and device.capability >= IN_SWITCH_REDUCTION
    pair = row.nvlink_pair_mib if ranks == 2 or not switch else row.nvlink_group_mib
    return round(pair * MIB)


def _fraction_of(row: EngineFacts, gpus: int) -> float | None:
    """The fixed fraction of a replica of so many GPUs."""
    found = row.memory_fraction
    for step in row.fraction_by_gpus.split(";") if row.fraction_by_gpus else ():
        least, _, fraction = step.partition("=")
        if gpus >= int(least):
            found = float(fraction)
    return found


def default_fraction(row: EngineFacts, device: Device, batch: Batch, gpus: int) -> float | None:
    """The engine's own memory fraction: fixed, or what is left beside a computed reserve."""
    if row.memory_fraction is not None:
        return _fraction_of(row, gpus)
    if row.reserve_mib is None:
        return None
    reserve = batch.reserve_mib
    if reserve is None:
        reserve = (
            row.reserve_mib
            + (row.reserve_token_mib or 0) * max(batch.tokens, CHUNK)
            + (row.reserve_graph_mib or 0) * batch.sequences
        )
    reserve += (row.reserve_gpu_mib or 0) * gpus
    if device.usable > LARGE_GPU:
        reserve = max(reserve, row.reserve_large_mib or 0)
    return max(0.0, 1 - reserve * MIB / device.usable)


def _of_total(usable: int, fraction: float, parts: Parts) -> Budget:
    """A share of all memory; graphs, and what kernels take late, may come on top of it."""
    limit = int(usable * fraction)
    outside = parts.late + (0 if parts.graphs_in_budget else parts.graphs)
    return Budget(limit, usable - limit - parts.context - outside, outside)


def _of_free(usable: int, fraction: float, parts: Parts) -> Budget:
    """A share of what is free before loading; activations and graphs live in the rest."""
    free = usable - parts.context - parts.communication
    limit = int(free * fraction) + parts.communication
    beside = parts.activations + parts.graphs
    return Budget(limit, usable - parts.context - limit - beside, beside)


def _of_rest(usable: int, fraction: float, parts: Parts) -> Budget:
    """A share of what is free after weights, all of it cache; activations live in the rest."""
    free = usable - parts.context - parts.fixed
    cache = _share(free, fraction)
    beside = parts.activations + parts.graphs
    return Budget(parts.fixed + cache, free - cache - beside, beside)


def _for_cache(usable: int, fraction: float, parts: Parts) -> Budget:
    """A share of all memory, all of it cache, beside whatever else is there."""
    cache = int(usable * fraction)
    beside = parts.activations + parts.graphs
    free = usable - parts.context - parts.fixed
    return Budget(parts.fixed + cache, free - cache - beside, beside)


def _of_idle(usable: int, fraction: float, parts: Parts) -> Budget:
    """A share of what is free after weights and workspace, all of it cache."""
    taken = parts.fixed + parts.activations
    free = usable - parts.context - taken - parts.graphs
    cache = _share(free, fraction)
    return Budget(taken + cache, free - cache)


def _share(free: int, fraction: float) -> int:
    """A fraction of what is free; all of it where it is negative, for then nothing is."""
    return int(free * fraction) if free > 0 else free


def _of_all(usable: int, fraction: float, parts: Parts) -> Budget:
    """Whatever the device has beside the context, or a declared share of it."""
    return Budget(int((usable - parts.context) * fraction), 0)


BUDGETS: dict[str, Callable[[int, float, Parts], Budget]] = {
    "total": _of_total,
    "total-for-cache": _for_cache,
    "free": _of_free,
    "free-after-weights": _of_rest,
    "free-after-runtime": _of_idle,
    "all": _of_all,
}
