"""Memory of embedding texts: the weights, and what one forward pass over a padded batch holds."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import alone, formats
from gpusize.memory.result import Fit, Output, Term
from gpusize.memory.verdict import headroom
from gpusize.workload import AttentionKernel

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.runtime import Device
    from gpusize.placement import Layout
    from gpusize.workload import Embedding
    from gpusize_catalog.store import Catalog

STREAM_TENSORS = 2
"""Tensors of the residual stream alive at once: itself, and its norm."""
ATTENTION_TENSORS = 4
"""Query, key, value and their result, as wide as the stream at most; scores are never held whole by
fused attention, which PyTorch takes from 2.0 on."""
MLP_TENSORS = 3
"""Gate, up and their product; a plain MLP holds two."""
PLAIN_RATIO = 4
"""Width of a plain MLP over the residual stream, where it is not known."""
WEIGHTS_ERROR = 0.02
"""Of weights, and of the cache, which are counted."""
ACTIVATIONS_ERROR = 0.5
"""No published peak is known: tensors are counted, what kernels keep beside them is not."""
KEY_AND_VALUE = 2
MOST_TEXTS = 4096
STAGE = "embed"
NAME = "transformers"


class Pass(NamedTuple):
    """What one forward pass holds beside the weights, bytes."""

    layer: int
    """Tensors of one layer over all tokens."""
    cache: int
    """Keys and values of every layer of a decoder, which transformers keeps where nobody turns its
    cache off. Source: Qwen3-Reranker-0.6B over 4 and 100 texts of 32,768 tokens, stated as 14 and
    351 GB (xorbitsai/inference#3666), is this alone."""

    @property
    def size(self) -> int:
        """Both together."""
        return self.layer + self.cache


class Embedder:
    """One workload that embeds texts; its need is the same on every GPU."""

    __slots__ = (
        "architecture",
        "assumptions",
        "constants",
        "form",
        "number",
        "problems",
        "workload",
    )

    def __init__(self, workload: Embedding, architecture: Architecture, catalog: Catalog) -> None:
        """Resolve the format; what is not known becomes a problem of every fit."""
        self.workload = workload
        self.architecture = architecture
        self.constants: tuple[str, ...] = (NAME,)
        self.form, self.problems, self.assumptions = alone.form_of(
            workload, architecture, catalog, NAME
        )
        if workload.compute_precision not in (formats.AUTO, *formats.COMPUTE_BYTES):
            told = f"embedding in {workload.compute_precision} is not modelled, only its weights"
            self.problems.append(told)
        name = self.form.id if self.form else formats.DEFAULT_COMPUTE
        self.number = formats.compute_bytes(workload.compute_precision, name)

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size one forward pass; every GPU of a layout holds a model of its own."""
        assert self.form is not None
        held = formats.model_bytes(self.architecture, self.form)
        work = self.pass_of(self.workload.batch)
        beside = alone.overhead(work.size)
        need = held + work.size + beside
        error = _error(held, work)

        def holds(texts: int) -> bool:
            one = self.pass_of(texts)
            spare = headroom(device.usable, _error(held, one))
            return held + one.size + alone.overhead(one.size) + spare <= device.usable

        texts = alone.most(MOST_TEXTS, holds)
        terms = (
            (Term.WEIGHTS, held),
            (Term.ACTIVATIONS, work.size),
            (Term.RUNTIME_OVERHEAD, beside),
        )
        return alone.fit_of(
            alone.Peak(STAGE, terms, need, error),
            device.usable,
            layout,
            self.assumptions,
            self.constants,
            Output(STAGE, texts, 0, 0, held),
            context=self.workload.context_length,
        )

    def floor(self, layout: Layout) -> int:  # noqa: ARG002 (one signature for all sizers)
        """Bytes below which no GPU can be: weights and activations less their error."""
        assert self.form is not None
        held = formats.model_bytes(self.architecture, self.form)
        work = self.pass_of(self.workload.batch)
        return max(0, held + work.size - _error(held, work))

    def pass_of(self, texts: int) -> Pass:
        """What one forward pass over so many texts of full length holds."""
        model = self.architecture
        inner = model.intermediate or PLAIN_RATIO * model.hidden
        widest = max(ATTENTION_TENSORS * model.hidden, MLP_TENSORS * inner)
        kept = sum(
            KEY_AND_VALUE * group.layers * group.kv_heads * group.head_dim
            for group in model.attention
        )
        length = self.workload.context_length
        numbers = texts * length * self.number
        scores = 0
        if self.workload.attention is AttentionKernel.EAGER:
            scores = alone.SCORE_TENSORS * model.heads * length
        return Pass(numbers * (STREAM_TENSORS * model.hidden + widest + scores), numbers * kept)


def _error(held: int, work: Pass) -> int:
    exact = held + work.cache
    return round(sqrt((exact * WEIGHTS_ERROR) ** 2 + (work.layer * ACTIVATIONS_ERROR) ** 2))
