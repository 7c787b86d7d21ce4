"""What a step keeps for its backward pass: activations of the layers, logits and the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.training.parts import GATED, matrices, mlp_width
from gpusize.memory.weights import padded_vocabulary

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Training
    from gpusize_catalog.facts import TrainerFacts

NUMBER = 2
"""Bytes of one activation."""
SCORE_BYTES = 8
"""Bytes of one attention score that eager attention keeps: fp32 softmax, 16-bit copy, dropout."""
GATED_COPIES = 4
"""Copies of a gated MLP's width: gate, its activation, up, their product."""
PLAIN_COPIES = 2
"""Copies of a plain MLP's width: before and after the activation."""
CHUNKED_SHARE = 0.25
"""Part of a plain loss that a chunked one holds: 3 of 12 bytes; set on few runs."""
FUSED_SHARE = 0.02
"""Part that a fused loss holds: one block of the vocabulary."""
LOSS_SHARES = {"plain": 1.0, "chunked": CHUNKED_SHARE, "fused": FUSED_SHARE}


class Step(NamedTuple):
    """Bytes of one token in the steps of one rank; scores grow with the sequence besides."""

    kept: float
    """Of all layers and all micro batches in flight, without scores."""
    kept_scores: float
    """Of all layers, for each token of the sequence."""
    layer: float
    """Of the layer that is computed again or walked back."""
    layer_scores: float
    logits: float

    def bytes_for(self, tokens: int, sequences: int = 1) -> int:
        """Bytes of a micro batch: what is kept, and the layer at hand or the loss."""
        kept = self.kept + self.kept_scores * tokens
        layer = self.layer + self.layer_scores * tokens
        return round((kept + max(layer, self.logits)) * tokens * sequences)

    def logits_for(self, tokens: int, sequences: int) -> int:
        """Of these bytes, what the loss holds; 0 where the layer at hand holds more."""
        layer = self.layer + self.layer_scores * tokens
        return round(self.logits * tokens * sequences) if self.logits > layer else 0

    def sequences_in(self, pool: int, tokens: int) -> float:
        """Sequences of a micro batch that so many bytes hold."""
        each = self.bytes_for(tokens)
        return max(0, pool) // each if each else 0.0

    def longest(self, pool: int, limit: int) -> int:
        """Tokens of the longest sequence that so many bytes hold, one in a micro batch."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.bytes_for(middle) <= pool else (low, middle - 1)
        return low


class Share(NamedTuple):
    """What of the model a rank computes."""

    layers: int
    tp: int
    in_flight: int
    """Micro batches whose activations a stage keeps at once."""
    last: bool


def step_of(
    workload: Training, architecture: Architecture, row: TrainerFacts, share: Share, *, frozen: bool
) -> Step:
    """Bytes per token of one rank; `frozen` layers keep no inputs of what has no adapter."""
    layer = _layer(architecture, row, frozen=frozen) / share.tp
    scores = 0.0
    if workload.attention.value == "eager":
        scores = SCORE_BYTES * architecture.heads / share.tp
    border = NUMBER * architecture.hidden / share.tp
    by_recompute = {
        "none": (layer, scores),
        "selective": (min(layer, border + layer * row.selective_share), 0.0),
        "full": (border, 0.0),
    }
    kept, kept_scores = by_recompute[workload.recompute.value]
    many = share.layers * share.in_flight
    logits = 0.0
    if share.last:
        rows = padded_vocabulary(architecture.vocab, share.tp) / share.tp
        logits = rows * row.loss_bytes * LOSS_SHARES[workload.loss.value]
    again = {"none": 0.0, "selective": 1 - row.selective_share, "full": 1.0}
    repeated = again[workload.recompute.value]
    walked = _walked(architecture) / share.tp
    return Step(
        kept * many,
        kept_scores * many,
        walked + layer * repeated,
        scores if repeated else 0.0,
        logits,
    )


def _layer(architecture: Architecture, row: TrainerFacts, *, frozen: bool) -> float:
    """Bytes of one token in one layer, all tensor ranks together (they share the sequence too)."""
    hidden = architecture.hidden
    query = architecture.heads * architecture.head_dim
    keys = architecture.kv_heads * architecture.head_dim
    attention = NUMBER * (2 * query + 2 * keys + row.attention_copies * query)
    is_gated = matrices(architecture) == GATED
    copies = (GATED_COPIES if is_gated else PLAIN_COPIES) - (1 if frozen else 0)
    mlp = NUMBER * copies * mlp_width(architecture)
    routed = 2 * NUMBER * hidden * (architecture.experts_active or 0)
    inputs = 0 if frozen else 2 * NUMBER * hidden
    return row.norm_hidden * hidden + inputs + attention + mlp + routed


def _walked(architecture: Architecture) -> float:
    """Gradients of the layer that the backward pass is at."""
    return NUMBER * (2 * architecture.hidden + 2 * mlp_width(architecture))
