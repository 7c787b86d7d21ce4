"""The fit of a run that trains a pipeline: the worst stage, in the first mode that fits."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from gpusize.memory import alone, formats
from gpusize.memory.diffusion.largest import largest
from gpusize.memory.diffusion.weights import is_wide
from gpusize.memory.diffusion_training.activations import UNET
from gpusize.memory.diffusion_training.job import job_of
from gpusize.memory.diffusion_training.stages import Plan, Stage, peak, stages
from gpusize.memory.diffusion_training.states import held_of
from gpusize.memory.diffusion_training.trained import trainable_encoders, trained_of
from gpusize.memory.result import Assumption, Fit, Output, Term, Verdict
from gpusize.memory.training.recipe import ADAPTED
from gpusize.memory.verdict import headroom
from gpusize.pipeline import unknown_facts
from gpusize_catalog.units import MIB

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.diffusion.job import Job
    from gpusize.memory.diffusion_training.states import Held
    from gpusize.memory.runtime import Device
    from gpusize.placement import Layout
    from gpusize.workload import DiffusionTraining as Workload
    from gpusize_catalog.facts import FormatFacts
    from gpusize_catalog.store import Catalog

STATES_ERROR = 0.06
"""Relative error of weights, gradients and states, as of training runs of language models."""
ACTIVATIONS_ERROR = 0.3
"""Between the runs that the constants come from: CogVideoX lies 10 % below, HunyuanVideo 24 %
above."""
UNET_ERROR = 0.4
"""Of U-Nets, whose constants come from one model and are taken for others by width."""
QUANTIZED = "nf4"
NO_SHARING = "none"


class DiffusionTrainer:
    """One run that trains a pipeline; sized for each placement."""

    __slots__ = (
        "_largest",
        "_peaks",
        "assumptions",
        "constants",
        "encoder",
        "form",
        "job",
        "pipeline",
        "problems",
        "row",
        "trained",
        "workload",
    )

    def __init__(self, workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
        """Resolve trainer and formats; what is not known becomes a problem of every fit."""
        assert architecture.pipeline is not None
        self.workload = workload
        self.pipeline = architecture.pipeline
        self.job = job_of(workload)
        self.assumptions: list[Assumption] = []
        self.problems = unknown_facts(self.pipeline)
        row = catalog.diffusion_trainer(workload.trainer)
        assert row is not None, "the vocabulary has the trainers of the catalog"
        self.row = row
        self.constants: tuple[str, ...] = (f"{row.trainer} (any version)",)
        if "trainer" not in workload.model_fields_set:
            why = "not declared: the example scripts of diffusers"
            self.assumptions.append(Assumption("trainer", row.trainer, why))
        if workload.compute_precision == formats.AUTO:
            why = "not declared: what pipelines are published for"
            self.assumptions.append(Assumption("computePrecision", self.job.precision, why))
        elif workload.compute_precision != self.job.precision:
            self.problems.append(f"training in {workload.compute_precision} is not modelled")
        self.form = self._form(catalog)
        self.encoder = self._encoder(catalog)
        self.trained = trained_of(workload, self.pipeline, self.job, self.form, self.encoder)
        self._check()
        self._largest: dict[tuple[int, str, int], Output] = {}
        self._peaks: dict[tuple[Job, str, int], Stage] = {}

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size the fullest stage of a rank in the first mode that fits."""
        fit = None
        for mode in self.modes(layout):
            fit = self._fit(device, layout, mode)
            if fit.verdict is Verdict.FITS:
                break
        assert fit is not None
        return fit

    def floor(self, layout: Layout) -> int:
        """Bytes below which no GPU can be: what is kept from step to step in the leanest mode."""
        held = self._held(layout, self.modes(layout)[-1])
        return int((1 - 2 * STATES_ERROR) * (held.weights + held.gradients + held.states))

    def modes(self, layout: Layout) -> tuple[str, ...]:
        """Modes of sharding to try, the one that moves least first."""
        declared = self.workload.sharding.mode
        if declared is not None:
            return (declared.value,)
        return (NO_SHARING,) if layout.dp == 1 else ("ddp", "fsdp")

    def _check(self) -> None:
        part, workload = self.trained.denoiser, self.workload
        if part.component != UNET and part.blocks is None:
            self.problems.append(f"blocks of {self.pipeline.name} are not known")
        if workload.train_text_encoder and not trainable_encoders(self.pipeline):
            told = f"no trainer that is known trains the text encoder of {self.pipeline.name}"
            self.problems.append(told)
        if workload.swapped_blocks and (part.blocks is None or workload.method.value == "full"):
            self.problems.append("blocks are swapped of frozen transformers alone")
        if len(self.pipeline.denoisers) > 1:
            why = "it has several, of which one is trained at a time"
            self.assumptions.append(Assumption("model", part.class_or_name, why))

    def _form(self, catalog: Catalog) -> FormatFacts:
        """Format of the frozen denoiser, or of what is trained."""
        method, declared = self.workload.method.value, self.workload.weights_format
        word = declared
        if declared == formats.AUTO:
            word = QUANTIZED if method == "qlora" else self.job.precision
            if method != "full":
                why = "not declared: usual for the method"
                self.assumptions.append(Assumption("weightsFormat", word, why))
        form = self._known(word, catalog)
        if method == "full" and not is_wide(form):
            self.problems.append(f"weights of format {form.id} cannot be trained: take bf16")
        elif method == "qlora" and is_wide(form):
            self.problems.append(f"qlora keeps quantized weights, {form.id} is not")
        return form

    def _encoder(self, catalog: Catalog) -> FormatFacts:
        declared = self.workload.text_encoder_format
        return self._known(self.job.precision if declared == formats.AUTO else declared, catalog)

    def _known(self, word: str, catalog: Catalog) -> FormatFacts:
        """The row of a format; that of the compute precision where it cannot be loaded."""
        found = formats.find_format(catalog, word)
        if found is not None and (is_wide(found) or found.id in alone.QUANTIZED):
            return found
        self.problems.append(f"whether trainers of pipelines load {word} weights is not known")
        base = formats.find_format(catalog, self.job.precision)
        assert base is not None
        return base

    def _held(self, layout: Layout, mode: str) -> Held:
        return held_of(self.workload, self.row, self.form, self.trained, layout.dp, mode)

    def _plan(self, layout: Layout, batch: int) -> Plan:
        workload = self.workload
        whole = workload.global_batch or batch * layout.dp
        adapted = workload.method.value in ADAPTED
        return Plan(
            workload.cached_text_embeddings,
            workload.cached_latents,
            whole > batch * layout.dp,
            workload.recompute.value == "full",
            not adapted or workload.adapter.targets.value == "all-linear",
        )

    def _peak(self, job: Job, held: Held, layout: Layout, mode: str) -> Stage:
        """The fullest stage of a job: the same on every GPU, and asked for on most of them."""
        key = (job, mode, layout.dp)
        found = self._peaks.get(key)
        if found is None:
            decoder = self.pipeline.decoder
            assert decoder is not None
            plan = self._plan(layout, job.batch)
            found = self._peaks[key] = peak(stages(self.trained, decoder, job, held, plan))
        return found

    def _beside(self, stage: Stage, layout: Layout) -> float:
        """What the process takes beside: the allocator's reserve, CUDA, collectives."""
        row = self.row
        nccl = row.nccl_mib if layout.gpus > 1 else 0.0
        return stage.size * row.slack + (row.context_mib + nccl) * MIB

    def _error(self, stage: Stage) -> int:
        is_unet = self.trained.denoiser.component == UNET
        share = UNET_ERROR if is_unet else ACTIVATIONS_ERROR
        moving = stage.size - stage.states
        return round(sqrt((stage.states * STATES_ERROR) ** 2 + (moving * share) ** 2))

    def _fit(self, device: Device, layout: Layout, mode: str) -> Fit:
        held = self._held(layout, mode)
        stage = self._peak(self.job, held, layout, mode)
        row = self.row
        terms = [
            *stage.terms,
            (Term.ALLOCATOR_SLACK, stage.size * row.slack),
            (Term.RUNTIME_OVERHEAD, row.context_mib * MIB),
            (Term.COMMUNICATION, row.nccl_mib * MIB if layout.gpus > 1 else 0.0),
        ]
        need = round(sum(size for _, size in terms))
        error = self._error(stage)
        shown = tuple([(term, round(size)) for term, size in terms if size >= 1])
        return alone.fit_of(
            alone.Peak(stage.name, shown, need, error),
            device.usable,
            layout,
            self._echo(mode),
            self.constants,
            self._output(device.usable, layout, mode, held, stage),
            sharding=mode,
            host=round(held.host),
        )

    def _output(self, usable: int, layout: Layout, mode: str, held: Held, stage: Stage) -> Output:
        """The peak's stage, and the most that a GPU of such memory trains with room to spare."""
        key = (usable, mode, layout.dp)
        found = self._largest.get(key)
        if found is None:

            def holds(one: Job) -> bool:
                most = self._peak(one, held, layout, mode)
                spare = headroom(usable, self._error(most))
                return most.size + self._beside(most, layout) + spare <= usable

            batch, width, height = largest(self.job, holds)
            stored = self.pipeline.params * self.job.number
            found = self._largest[key] = Output(stage.name, batch, width, height, stored)
        return found

    def _echo(self, mode: str) -> tuple[Assumption, ...]:
        if mode == NO_SHARING or self.workload.sharding.mode is not None:
            return tuple(self.assumptions)
        why = "not declared: ddp where a whole copy fits, else fsdp"
        return (*self.assumptions, Assumption("sharding.mode", mode, why))
