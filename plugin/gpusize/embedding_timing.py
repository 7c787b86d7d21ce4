"""How long embedding takes: the operations of one forward pass over texts of full length.

The bound takes the peak of the GPU for granted; the estimate lies between the shares of it that
published runs reach. Texts are padded to the longest, and what is padded is computed too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.memory import alone
from gpusize.speed import wide_flops
from gpusize.timing import Pace, Timing, unmodelled

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.embedding import Embedder
    from gpusize.placement import Placement

COMPUTE_SHARE = 0.20
LOW_SHARE, HIGH_SHARE = 0.10, 0.36
"""Share of the GPU's 16-bit peak, and its range. Source: michaelfeil/infinity,
docs/benchmarks/benchmarking.md, bge-large-en-v1.5 on an L4 with texts of 449 tokens: 0.10
sentence-transformers (59.1 s for 1.15 million tokens), 0.26 TensorRT, 0.33
text-embeddings-inference (18.5 s). One model on one GPU: others may lie outside."""
FLOPS_PER_PARAM = 2
SCORE_FLOPS = 4
"""Operations of attention for each pair of tokens and each number of the width: scores, sum."""
FULL_BYTES = 4
"""Bytes of one number in fp32."""
TEXTS = 1000
WHAT = "1,000 texts"


def timing_of_embedding(
    embedder: Embedder, architecture: Architecture, placement: Placement
) -> Timing:
    """Time texts of the declared length; copies on several GPUs move nothing between them."""
    unknown = _unknown(embedder)
    peak = _peak(embedder, placement)
    if not unknown and not peak:
        unknown = f"tensor throughput of {placement.gpu.id} is not known"
    if unknown or peak is None:
        return unmodelled(unknown)
    length = embedder.workload.context_length
    best = TEXTS * length * flops_per_token(architecture, length) / peak
    pace = Pace(WHAT, best / COMPUTE_SHARE, best / HIGH_SHARE, best / LOW_SHARE, best)
    rate = TEXTS * length / pace.seconds * placement.layout.dp
    return unmodelled()._replace(pace=pace, tokens_per_second=rate)


def flops_per_token(architecture: Architecture, length: int) -> float:
    """Operations of one token among `length`; a decoder attends to half of them on the average."""
    looked_up = architecture.embedding_params + architecture.head_params
    active = (architecture.active_params or architecture.total_params) - looked_up
    is_decoder = any(group.kv_heads for group in architecture.attention)
    attended = length / 2 if is_decoder else length
    width = architecture.heads * architecture.head_dim
    scores = SCORE_FLOPS * architecture.layers * width * attended
    return FLOPS_PER_PARAM * max(0, active) + scores


def _unknown(embedder: Embedder) -> str:
    if embedder.problems or embedder.form is None:
        return "; ".join(embedder.problems)
    if embedder.form.id in alone.QUANTIZED:
        return f"the time of {embedder.form.id} weights is not modelled"
    return ""


def _peak(embedder: Embedder, placement: Placement) -> float | None:
    """What the GPU does at most at the precision that is computed in."""
    gpu = placement.gpu
    full = embedder.number == FULL_BYTES
    peak = gpu.fp32_flops if full else wide_flops(gpu)
    return peak and peak * placement.instance.partition
