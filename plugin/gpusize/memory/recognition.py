"""Memory of speech recognition: weights, the encoder's pass over a window, and two caches."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import alone, formats
from gpusize.memory.embedding import MLP_TENSORS, PLAIN_RATIO, STREAM_TENSORS
from gpusize.memory.result import Assumption, Fit, Output, Term
from gpusize.memory.verdict import headroom
from gpusize.workload import SoundEngine

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.runtime import Device
    from gpusize.placement import Layout
    from gpusize.workload import Audio
    from gpusize_catalog.store import Catalog

KEY_AND_VALUE = 2
GROWING = 1
"""Layers whose own cache lies there twice while it grows: transformers makes it anew."""
WEIGHTS_ERROR = 0.02
CACHE_ERROR = 0.2
"""Shorter texts fill less of the decoder's own cache, prompts more. Whisper-large-v2 in fp16 with
five beams on an RTX 3070 Ti (SYSTRAN/faster-whisper 65882ee, README; GiB of the process): 4.84 of
transformers, 4.9 here; 4.42 and 5.95 of faster-whisper with one and eight windows, 3.9 and 7.0."""
TEXT_SHARE = 2
"""One part in so many of the decoder's positions is written in a window, the rest is for prompts.
Source: openai/whisper c0d2f62, decoding.py."""
ACTIVATIONS_ERROR = 0.5
"""Tensors are counted, what kernels keep beside them is not."""
MOST_CLIPS = 4096
STAGE = "transcribe"
OWN_BEAMS = {SoundEngine.TRANSFORMERS: 1, SoundEngine.FASTER_WHISPER: 5}
"""Beams where none are declared. Sources: transformers 5.24.0, GenerationConfig; faster-whisper
65882ee, transcribe.py."""
QUANTIZED = {
    SoundEngine.TRANSFORMERS: alone.QUANTIZED,
    SoundEngine.FASTER_WHISPER: frozenset({"int8"}),
}
"""Formats that an engine quantizes to. Source: CTranslate2, docs/quantization.md: the others are
those that it computes in."""


class Pass(NamedTuple):
    """What one batch of windows holds beside the weights, bytes."""

    encoder: int
    cache: int
    """Keys and values of the decoder: of its own tokens, and of the encoder's positions, which
    transformers repeats for every beam (5.24.0, generation/utils.py: expanded inputs), CTranslate2
    does not (src/layers/transformer.cc: replicate_state)."""

    @property
    def size(self) -> int:
        """Both together."""
        return self.encoder + self.cache


class Recognizer:
    """One workload that transcribes; its need is the same on every GPU and for every length."""

    __slots__ = (
        "architecture",
        "assumptions",
        "beams",
        "constants",
        "form",
        "number",
        "problems",
        "workload",
    )

    def __init__(self, workload: Audio, architecture: Architecture, catalog: Catalog) -> None:
        """Resolve the format; what is not known becomes a problem of every fit."""
        self.workload = workload
        self.architecture = architecture
        engine = workload.engine
        self.constants: tuple[str, ...] = (engine.value,)
        self.form, self.problems, self.assumptions = alone.form_of(
            workload, architecture, catalog, engine.value, QUANTIZED[engine]
        )
        self.beams = workload.beams or OWN_BEAMS[engine]
        if workload.beams is None:
            why = "not declared: the engine's own"
            self.assumptions.append(Assumption("beams", str(self.beams), why))
        if architecture.max_position is None:
            self.problems.append(f"longest text of {architecture.name} is not known")
        if workload.compute_precision not in (formats.AUTO, *formats.COMPUTE_BYTES):
            told = f"recognition in {workload.compute_precision} is not modelled, only its weights"
            self.problems.append(told)
        name = self.form.id if self.form else formats.DEFAULT_COMPUTE
        self.number = formats.compute_bytes(workload.compute_precision, name)

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size one batch of windows; every GPU of a layout holds a model of its own."""
        held, work = self._weights(), self.pass_of(self.workload.batch)
        beside = alone.overhead(work.size)
        need = held + work.size + beside
        error = _error(held, work)

        def holds(clips: int) -> bool:
            one = self.pass_of(clips)
            spare = headroom(device.usable, _error(held, one))
            return held + one.size + alone.overhead(one.size) + spare <= device.usable

        terms = (
            (Term.WEIGHTS, held),
            (Term.KV_CACHE, work.cache),
            (Term.ACTIVATIONS, work.encoder),
            (Term.RUNTIME_OVERHEAD, beside),
        )
        return alone.fit_of(
            alone.Peak(STAGE, terms, need, error),
            device.usable,
            layout,
            self.assumptions,
            self.constants,
            Output(STAGE, alone.most(MOST_CLIPS, holds), 0, 0, held),
        )

    def floor(self, layout: Layout) -> int:  # noqa: ARG002 (one signature for all sizers)
        """Bytes below which no GPU can be: weights and activations less their error."""
        held, work = self._weights(), self.pass_of(self.workload.batch)
        return max(0, held + work.size - _error(held, work))

    def pass_of(self, clips: int) -> Pass:
        """What so many windows hold; a longer clip is read window by window."""
        model = self.architecture
        positions = max((group.positions or 0 for group in model.attention), default=0)
        inner = model.intermediate or PLAIN_RATIO * model.hidden
        width = STREAM_TENSORS * model.hidden + (MLP_TENSORS - 1) * inner
        kept = sum(self._kept(group.kind, group.layers, positions) for group in model.attention)
        per_head = KEY_AND_VALUE * model.kv_heads * model.head_dim
        numbers = clips * self.number
        return Pass(numbers * positions * width, numbers * kept * per_head)

    def _kept(self, kind: str, layers: int, positions: int) -> int:
        """Tokens of all layers of a kind that the cache holds for one clip."""
        if kind == "cross":
            repeated = self.workload.engine is SoundEngine.TRANSFORMERS
            return layers * positions * (self.beams if repeated else 1)
        written = (self.architecture.max_position or 0) // TEXT_SHARE
        return (layers + GROWING) * written * self.beams

    def _weights(self) -> int:
        assert self.form is not None
        return formats.model_bytes(self.architecture, self.form)


def _error(held: int, work: Pass) -> int:
    parts = (held * WEIGHTS_ERROR, work.cache * CACHE_ERROR, work.encoder * ACTIVATIONS_ERROR)
    return round(sqrt(sum(part**2 for part in parts)))
