"""What a step keeps for its backward pass: activations of the layers, logits and the loss."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.training.parts import GATED, matrices, mixing_share, mlp_width, routed_share
from gpusize.memory.weights import padded_vocabulary

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.training.setup import Setup
    from gpusize.workload import Training
    from gpusize_catalog.facts import TrainerFacts

NUMBER = 2
"""Bytes of one activation."""
WIDER = 2
"""How much wider activations are that are computed in fp32."""
SAVED_BYTES = {"fp8": 1, "nvfp4": 0.5625}
"""Bytes of a number of what projections keep of their inputs, by the precision of their products:
Transformer Engine and torchao keep the quantized copy. Four bits have a scale for sixteen."""
SCORE_BYTES = 8
"""Bytes of one attention score that eager attention keeps: fp32 softmax, 16-bit copy, dropout."""
PLAIN_COPIES = 2
"""Copies of a plain MLP's width: before and after the activation."""
PASSED = 2
"""Blocks of keys and values that come from the next rank of a sequence: themselves, and gradients.
Source: ring attention of PyTorch and Transformer Engine, which pass one block at a time."""
BORDERS_HERE = 2
"""Layers whose inputs are on the GPU where they are offloaded: one comes or goes, one is used."""
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
    last: float
    """Of the first layer, with which the backward pass ends: it is whole there in any case."""
    last_scores: float
    logits: float
    many: int = 1
    """Sequences of one sample."""
    spare: float = 0.0
    """Bytes of gradients that come only while the activations go: of the whole rank, not a token.
    The peak is at the loss or, where activations are small, at the end of the backward pass."""
    images: float = 0.0
    """Of the images of one sequence, as long as its activations."""
    tower: float = 0.0
    """Of the images of one sequence, before the language model begins."""
    offloaded: float = 0.0
    """Of all layers, in host memory until the backward pass."""

    def bytes_for(self, tokens: int, sequences: int = 1) -> int:
        """Bytes of a micro batch beside all gradients: at the loss, or at the end of the pass."""
        first, last, tower = self._sequence(tokens)
        samples = self.many * sequences
        return round(max(first * samples - self.spare, last * samples, tower * samples))

    def _sequence(self, tokens: int) -> tuple[float, float, float]:
        """One sequence at the loss, at the first layer walked back last, and in the tower."""
        kept = self.kept + self.kept_scores * tokens
        layer = self.layer + self.layer_scores * tokens
        first = (kept + max(layer, self.logits)) * tokens + self.images
        return first, (self.last + self.last_scores * tokens) * tokens, self.tower

    def logits_for(self, tokens: int, sequences: int) -> int:
        """Of these bytes, what the loss holds; 0 where the layer at hand holds more."""
        layer = self.layer + self.layer_scores * tokens
        if self.logits <= layer:
            return 0
        return round(self.logits * tokens * sequences * self.many)

    def hosted(self, tokens: int, sequences: int) -> float:
        """Bytes of a micro batch that wait in host memory."""
        return self.offloaded * tokens * sequences * self.many

    def sequences_in(self, pool: int, tokens: int) -> float:
        """Samples of a micro batch that so many bytes hold."""
        first, last, tower = self._sequence(tokens)
        most = (pool + self.spare) // (first * self.many)
        return max(0.0, min(most, pool // (max(last, tower) * self.many)))

    def longest(self, pool: int, limit: int) -> int:
        """Tokens of the longest sequence that so many bytes hold, one in a micro batch."""
        return bisect_right(range(1, limit + 1), pool, key=self.bytes_for)


class Share(NamedTuple):
    """What of the model a rank computes."""

    layers: int
    tp: int
    cp: int
    in_flight: int
    """Micro batches whose activations a stage keeps at once."""
    last: bool


def step_of(
    workload: Training,
    architecture: Architecture,
    known: Setup,
    share: Share,
    *,
    frozen: bool,
    spare: float,
    scaled: float = 0.0,
) -> Step:
    """Bytes per token of one rank; `frozen` layers keep no inputs of what has no adapter.

    The `scaled` outputs of projections are kept too, for the gradients of their scales.
    """
    row, habits = known.row, known.habits
    ways = share.tp * share.cp
    saved = SAVED_BYTES.get(workload.compute_precision, NUMBER)
    twice = WIDER if known.computes_wide(workload.compute_precision) else 1
    layer = twice * (_layer(architecture, row, saved, frozen=frozen) + NUMBER * scaled) / ways
    scores = 0.0
    if workload.attention.value == "eager":
        scores = SCORE_BYTES * architecture.heads / ways
    border = twice * NUMBER * architecture.hidden / ways
    by_recompute = {
        "none": (layer, scores),
        "selective": (min(layer, border + layer * row.selective_share), 0.0),
        "full": (border, 0.0),
    }
    kept, kept_scores = by_recompute[habits.recompute]
    many = share.layers * share.in_flight
    offloaded = 0.0
    if habits.offloads_activations:
        # Borders move while the next layers compute: those of two layers are still here.
        offloaded = border * max(0, many - BORDERS_HERE)
    again = {"none": 0.0, "selective": 1 - row.selective_share, "full": 1.0}
    repeated = again[habits.recompute]
    walked = twice * _walked(architecture) / ways
    if share.cp > 1:
        walked += PASSED * NUMBER * 2 * architecture.kv_heads * architecture.head_dim / ways
    return Step(
        kept * many - offloaded,
        kept_scores * many,
        walked + layer * repeated,
        scores if repeated else 0.0,
        walked + layer,
        scores,
        _logits(architecture, known, share),
        known.sequences,
        spare,
        offloaded=offloaded,
    )


def _logits(architecture: Architecture, known: Setup, share: Share) -> float:
    """Bytes of one token's logits and their loss; nothing without a head over the vocabulary."""
    if not share.last or known.headless:
        return 0.0
    rows = padded_vocabulary(architecture.vocab, share.tp) / (share.tp * share.cp)
    return rows * known.row.loss_bytes * LOSS_SHARES[known.habits.loss] * known.company.logits


def _layer(architecture: Architecture, row: TrainerFacts, saved: float, *, frozen: bool) -> float:
    """Bytes of one token in one layer, all tensor ranks together (they share the sequence too)."""
    hidden = architecture.hidden
    query = architecture.heads * architecture.head_dim
    keys = architecture.kv_heads * architecture.head_dim
    attention = NUMBER * (2 * query + 2 * keys + row.attention_copies * query)
    attention *= mixing_share(architecture)
    is_gated = matrices(architecture) == GATED
    copies = (row.gated_copies if is_gated else PLAIN_COPIES) - (1 if frozen else 0)
    mlp = NUMBER * copies * mlp_width(architecture)
    # The first copy is the input of a matrix, kept as it multiplies; the second waits for scores.
    each = hidden * (row.routed_copies * NUMBER - (NUMBER - saved))
    routed = each * (architecture.experts_active or 0) * routed_share(architecture)
    inputs = 0 if frozen else 2 * saved * hidden
    if not frozen:
        # The input of the last matrix is kept as that matrix multiplies it.
        mlp -= (NUMBER - saved) * mlp_width(architecture)
    return row.norm_hidden * hidden + inputs + attention + mlp + routed


def _walked(architecture: Architecture) -> float:
    """Gradients of the layer that the backward pass is at."""
    return NUMBER * (2 * architecture.hidden + 2 * mlp_width(architecture))
