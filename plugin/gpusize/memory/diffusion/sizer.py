"""The fit of a pipeline: its peak against a GPU, and the largest pictures that the GPU holds."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from gpusize.memory import alone, formats
from gpusize.memory.diffusion import sound, stages, weights
from gpusize.memory.diffusion.job import job_of
from gpusize.memory.diffusion.largest import largest
from gpusize.memory.result import Assumption, Fit, Output, Term
from gpusize.memory.verdict import headroom
from gpusize.pipeline import unknown_facts
from gpusize.workload import PipelineOffload

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.diffusion.job import Job
    from gpusize.memory.diffusion.stages import Stage
    from gpusize.memory.runtime import Device
    from gpusize.placement import Layout
    from gpusize.workload import Audio, Generation
    from gpusize_catalog.facts import FormatFacts
    from gpusize_catalog.store import Catalog

WEIGHTS_ERROR = 0.01
QUANTIZED_ERROR = 0.03
"""Which layers a quantizer leaves alone differs between them."""
ACTIVATIONS_ERROR = 0.25
"""Between the runs that the constants come from: 18 to 20 tensors, 6.4 to 6.7, 37 to 46 kB."""
OLD_PRECISION = "fp16"
WIDE, WIDE_BITS = "fp32", 32
BF16_CAPABILITY = (8, 0)
"""From here on GPUs compute in bf16. Source: CUDA programming guide, arithmetic by capability."""
GGUF = "gguf-"
NAME = "diffusers"
GENERATING = "transformers"
"""What runs pipelines that generate tokens."""


class Diffusion:
    """One workload that makes pictures or sound; its need is the same on every GPU."""

    __slots__ = (
        "_floors",
        "_largest",
        "assumptions",
        "constants",
        "encoder",
        "form",
        "is_open",
        "job",
        "name",
        "pipeline",
        "problems",
    )

    def __init__(
        self, workload: Generation | Audio, architecture: Architecture, catalog: Catalog
    ) -> None:
        """Resolve formats; what is not known becomes a problem of every fit."""
        assert architecture.pipeline is not None
        self.pipeline = architecture.pipeline
        self.job = job_of(workload)
        self.assumptions: list[Assumption] = []
        self.name = GENERATING if self.pipeline.generates else NAME
        self.constants: tuple[str, ...] = (self.name,)
        self.problems = unknown_facts(self.pipeline)
        self.is_open = workload.compute_precision == formats.AUTO
        if self.is_open:
            why = "not declared: what pipelines are published for"
            if self.pipeline.native_format:
                self.job = self.job._replace(precision=self.pipeline.native_format)
                why = "not declared: as published"
            self.assumptions.append(Assumption("computePrecision", self.job.precision, why))
        elif workload.compute_precision != self.job.precision:
            told = f"pipelines in {workload.compute_precision} are not modelled, only their weights"
            self.problems.append(told)
        self._read_decoder(workload.pipeline.decoder_precision)
        self.form = self._format(workload.weights_format, catalog)
        self.job = self.job._replace(int8_products=self.form.id in weights.IMMOVABLE)
        self.encoder = self._format(workload.pipeline.text_encoder_format, catalog)
        if self.job.fused and any(part.attention_sets is None for part in self.pipeline.denoisers):
            self.problems.append(f"projections of {self.pipeline.name} are not known")
        self._floors: dict[int, int] = {}
        self._largest: dict[tuple[int, str, int], Output] = {}

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size the peak; GPUs hold a pipeline of their own each, or share samples (`cp`)."""
        job, assumptions = self.job._replace(sharing=layout.cp), self.assumptions
        if self._falls_back(device):
            job = job._replace(precision=OLD_PRECISION)
            why = "not declared: the GPU computes no bf16"
            assumptions = [Assumption("computePrecision", OLD_PRECISION, why), *assumptions[1:]]
        stage = self._peak(job)
        overhead = alone.overhead(stage.activations)
        need = stage.size + overhead
        error = self._error(stage)
        terms = (
            (Term.WEIGHTS, stage.weights),
            (Term.ACTIVATIONS, stage.activations),
            (Term.RUNTIME_OVERHEAD, overhead),
        )
        return alone.fit_of(
            alone.Peak(stage.name, terms, need, error),
            device.usable,
            layout,
            assumptions,
            self.constants,
            self._output(job, stage, device.usable),
            host=self._waiting(job),
        )

    def _waiting(self, job: Job) -> int:
        """Bytes of the components that wait in host memory for their turn."""
        if job.offload is PipelineOffload.NONE:
            return 0
        held = weights.weights_of(self.pipeline, job, self.form, self.encoder)
        return held.total - held.fixed

    def _falls_back(self, device: Device) -> bool:
        """Whether a GPU without bf16 computes in fp16, nothing else being declared."""
        old = device.capability is not None and device.capability < BF16_CAPABILITY
        return self.is_open and old and self.job.precision == formats.DEFAULT_COMPUTE

    def floor(self, layout: Layout) -> int:
        """Bytes below which no GPU can be: the peak less its error."""
        found = self._floors.get(layout.cp)
        if found is None:
            stage = self._peak(self.job._replace(sharing=layout.cp))
            found = self._floors[layout.cp] = max(0, stage.size - self._error(stage))
        return found

    def _read_decoder(self, declared: str) -> None:
        """The precision of the decoder: as declared, else as the pipeline is published to run."""
        decoder = self.pipeline.decoder
        if declared != formats.AUTO:
            if not self.job.decoder:
                self.problems.append(f"decoding in {declared} is not modelled")
        elif decoder is not None and decoder.decoder_bits:
            bits = decoder.decoder_bits
            if bits == formats.BITS_PER_BYTE * self.job.number:
                return
            word = WIDE if bits == WIDE_BITS else formats.DEFAULT_COMPUTE
            self.job = self.job._replace(decoder=word)
            why = "not declared: as the pipeline is published to run"
            self.assumptions.append(Assumption("decoderPrecision", word, why))

    def _format(self, declared: str, catalog: Catalog) -> FormatFacts:
        """The row of a format; that of the compute precision where it cannot be taken."""
        base = formats.find_format(catalog, self.job.precision)
        assert base is not None
        if declared == formats.AUTO:
            return base
        found = formats.find_format(catalog, declared)
        if found is None or not _is_taken(found.id):
            self.problems.append(f"whether {self.name} loads {declared} weights is not known")
            return base
        return found

    def _peak(self, job: Job) -> Stage:
        held = weights.weights_of(self.pipeline, job, self.form, self.encoder)
        return stages.peak(self.pipeline, job, held)

    def _error(self, stage: Stage) -> int:
        narrow = [form for form in (self.form, self.encoder) if not weights.is_wide(form)]
        share = max([QUANTIZED_ERROR, *(form.error for form in narrow)])
        of_weights = stage.weights * (share if narrow else WEIGHTS_ERROR)
        share = sound.ACTIVATIONS_ERROR if self.job.seconds else ACTIVATIONS_ERROR
        return round(sqrt(of_weights**2 + (stage.activations * share) ** 2))

    def _output(self, job: Job, stage: Stage, usable: int) -> Output:
        """The peak's stage, and the most that a GPU of such memory makes with room to spare."""
        key = (usable, job.precision, job.sharing)
        found = self._largest.get(key)
        if found is None:

            def holds(one: Job) -> bool:
                peak = self._peak(one)
                spare = headroom(usable, self._error(peak))
                return peak.size + alone.overhead(peak.activations) + spare <= usable

            batch, width, height = largest(job, holds)
            stored = self.pipeline.params * job.number
            found = Output(stage.name, batch, width, height, stored)
            if job.seconds:
                seconds = sound.longest(
                    self.pipeline.longest_seconds,
                    lambda length: holds(job._replace(seconds=length)),
                )
                found = found._replace(largest_seconds=seconds)
            self._largest[key] = found
        return found


def _is_taken(form: str) -> bool:
    return form in formats.COMPUTE_BYTES or form in alone.QUANTIZED or form.startswith(GGUF)
