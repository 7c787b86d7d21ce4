"""Memory of a training run: the worst rank, in the first mode of sharding that fits."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats
from gpusize.memory.result import Assumption, Fit, Term, Verdict, unknown
from gpusize.memory.training import activations, recipe, vision
from gpusize.memory.training.adapters import ON_MLP, outputs
from gpusize.memory.training.kept import NO_SHARING, Keeper, Kept
from gpusize.memory.training.setup import Resolver, Setup
from gpusize.memory.verdict import headroom
from gpusize.memory.weights import Stage, distinct_stages
from gpusize.placement import Layout
from gpusize.workload import AdapterForm, VisionLanguageTraining
from gpusize_catalog.units import MIB, gib

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.runtime import Device
    from gpusize.workload import TokenAdapter
    from gpusize.workload import Training as Workload
    from gpusize_catalog.facts import TrainerFacts
    from gpusize_catalog.store import Catalog

STATES_ERROR = 0.06
"""Relative error of weights, gradients and states: tied tables, buffers, what stays of loading.
Measured peaks of published runs lie within it and the trainer's own error in two of three cases."""
SURE_SHARE = 1 - 2 * STATES_ERROR
"""Part of what is kept that a run needs in any case: twice the error below the estimate."""
GATHERED_ERROR = 0.6
"""Relative error of what ZeRO-3 gathers: how far its streams run ahead is not bounded by a count.
Two of three of thirteen peaks of ZeRO-3 (QwenLM/Qwen, modelscope/ms-swift) lie within it."""
GATHERING = "zero-3"
TENSOR = "tensor"
"""Word of the trainers table: layers, stages and experts are spread over GPUs too."""


class Sized(NamedTuple):
    """The worst rank of a layout in one mode: what it needs, on whatever GPU."""

    mode: str
    terms: tuple[tuple[Term, int], ...]
    need: int
    error: int
    fixed: float
    """Bytes that a micro batch does not change."""
    before: float
    """Bytes of loading or of the optimizer's step, which take the place of a micro batch."""
    slack: float
    step: activations.Step
    host: int
    host_activations: int
    saved: tuple[int, int]

    def pool(self, usable: int) -> int:
        """Bytes that are left for micro batches."""
        pool = round((usable - self.fixed) / (1 + self.slack))
        return min(pool, 0) if self.before > pool else pool


class Training:
    """One training run; each layout is sized once, and judged for each GPU."""

    __slots__ = (
        "_floors",
        "_kept",
        "_sized",
        "architecture",
        "assumptions",
        "constants",
        "problems",
        "setup",
        "workload",
    )

    def __init__(self, workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
        """Find the trainer's row and the format of the weights; what is missing is a problem."""
        self.workload = workload
        self.architecture = architecture
        resolver = Resolver(workload, architecture, catalog)
        self.setup = resolver.resolve()
        self.problems = resolver.problems
        self.assumptions = resolver.assumptions
        self.constants = resolver.constants
        self._floors: dict[Layout, float] = {}
        self._kept: dict[tuple[Layout, Stage, str], Kept] = {}
        self._sized: dict[tuple[Layout, str], Sized] = {}
        if isinstance(workload, VisionLanguageTraining):
            self._look_at_images()

    def _look_at_images(self) -> None:
        """Say where the tokens of images count, which decides the length of a sequence."""
        architecture = self.architecture
        if not architecture.vision_params:
            self.problems.append(f"the vision tower of {architecture.name} is not known")
        self.assumptions.append(vision.where_images_count(architecture, "sequenceLength"))

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size every stage that differs and keep the worst, in the first mode that fits."""
        if self.setup is None:
            return unknown(tuple(self.problems))
        row = self.setup.row
        if row.splits != TENSOR and max(layout.tp, layout.pp, layout.ep) > 1:
            told = f"{row.trainer} is sized with copies alone, not at {layout}"
            return unknown((told,))
        if layout.cp > 1 and not row.shares_sequences:
            return unknown((f"{row.trainer} shares no sequences among ranks, as {layout} does",))
        if layout.pp > self.architecture.layers:
            return unknown((f"{layout.pp} stages are more than the model has layers",))
        *others, last = self.modes(layout)
        for mode in (*others, last):
            if mode != last and self._states(self.setup, layout, mode) > device.usable:
                continue
            sized = self._worst(self.setup, layout, mode)
            judged = _judge(device.usable, device.usable - sized.need, sized.error)
            if judged[0] is Verdict.FITS:
                break
        return self._fit(sized, device.usable, *judged)

    def floor(self, layout: Layout) -> int:
        """Bytes below which no GPU can be, whatever the error of the estimate."""
        return int(SURE_SHARE * self.states(layout))

    def states(self, layout: Layout) -> float:
        """What some rank keeps from step to step in the leanest mode; 0 where that is not known.

        A GPU that has less fits no run, though it may be within the error.
        """
        found = self._floors.get(layout)
        if found is None:
            known, is_cut = self.setup, layout.pp <= self.architecture.layers
            found = 0.0
            if known is not None and is_cut:
                found = self._states(known, layout, self.modes(layout)[-1])
            self._floors[layout] = found
        return found

    def least(self) -> float:
        """Bytes below which no GPUs together can be, however they share what is kept."""
        known = self.setup
        if known is None:
            return 0.0
        many = self.modes(Layout(dp=2))
        whole = Stage(self.architecture.layers, first=True, last=True)
        totals = (self.kept(known, Layout(), whole, mode) for mode in many)
        kept = min(one.weights + one.gradients + one.states for one in totals)
        return SURE_SHARE * kept

    def _states(self, known: Setup, layout: Layout, mode: str) -> float:
        """Bytes that some rank keeps from step to step: what the fullest one needs is no less.

        The first stage, which has the embedding, is mostly the fullest.
        """
        stage = distinct_stages(self.architecture.layers, layout.pp)[0]
        kept = self.kept(known, layout, stage, mode)
        return kept.weights + kept.gradients + kept.states

    def modes(self, layout: Layout) -> tuple[str, ...]:
        """Modes of sharding to try, the one that moves least first."""
        declared = self.workload.sharding.mode
        if declared is not None:
            return (declared.value,)
        if layout.copies == 1:
            return (NO_SHARING,)
        if self.setup is not None and self.setup.row.zero_recipe == "mixed-fp32-gradients":
            # Between stages sharded weights would stay gathered: nothing is won.
            return ("zero-1",) if layout.pp > 1 else ("zero-1", "fsdp")
        return ("ddp", "fsdp")

    def kept(self, known: Setup, layout: Layout, stage: Stage, mode: str) -> Kept:
        """What one rank of a stage keeps, by how the copies share it."""
        key = (layout, stage, mode)
        found = self._kept.get(key)
        if found is None:
            keeper = Keeper(self.workload, self.architecture, known, layout, stage, mode)
            found = self._kept[key] = keeper.kept()
        return found

    def _worst(self, known: Setup, layout: Layout, mode: str) -> Sized:
        found = self._sized.get((layout, mode))
        if found is None:
            stages = distinct_stages(self.architecture.layers, layout.pp)
            sized = [self._stage(known, layout, stage, mode) for stage in stages]
            found = self._sized[layout, mode] = max(sized, key=lambda one: one.need)
        return found

    def _step(self, known: Setup, layout: Layout, stage: Stage, kept: Kept) -> activations.Step:
        share = activations.Share(
            stage.layers, layout.tp, layout.cp, self._in_flight(layout, stage), stage.last
        )
        wide = known.form.linear_bits >= formats.BITS_PER_BYTE * recipe.HALF
        frozen = known.adapted and wide and not self._adapts_mlp()
        step = activations.step_of(
            self.workload,
            self.architecture,
            known,
            share,
            frozen=frozen,
            spare=kept.spare,
            scaled=self._scaled(known),
        )
        images = vision.NO_PICTURES
        if stage.first and isinstance(self.workload, VisionLanguageTraining):
            images = vision.pictures(
                self.architecture,
                self.workload.images,
                trained=self.workload.train_vision,
                recompute=known.habits.recompute,
            )
        return step._replace(images=images.kept * share.in_flight, tower=images.forward)

    def _stage(self, known: Setup, layout: Layout, stage: Stage, mode: str) -> Sized:
        workload, row = self.workload, known.row
        kept = self.kept(known, layout, stage, mode)
        step = self._step(known, layout, stage, kept)
        length = workload.sequence_length
        held = kept.held
        moments = _moments(step, length, workload.micro_batch, kept, held)
        moving = sum([size for _, size in moments])
        context = row.context_mib * MIB
        nccl = row.nccl_mib * MIB if layout.gpus > 1 else 0.0
        terms = [
            (Term.WEIGHTS, kept.weights),
            (Term.GRADIENTS, kept.gradients),
            (Term.OPTIMIZER_STATES, kept.states),
            (Term.GATHERED, kept.gathered),
            *moments,
            (Term.ALLOCATOR_SLACK, (held + moving) * row.slack),
            (Term.RUNTIME_OVERHEAD, context),
            (Term.COMMUNICATION, nccl),
        ]
        need = round(sum([size for _, size in terms]))
        hosted = step.hosted(length, workload.micro_batch)
        states = kept.weights + kept.gradients + kept.states
        return Sized(
            mode,
            tuple([(term, round(size)) for term, size in terms if size >= 1]),
            need,
            _error(states, kept.gathered, need, row, mode),
            held * (1 + row.slack) + context + nccl,
            max(kept.step_copy, kept.sampling, kept.load - held),
            row.slack,
            step,
            round(kept.host + hosted),
            round(hosted),
            (round(kept.saved[0]), round(kept.saved[1])),
        )

    def _fit(self, sized: Sized, usable: int, verdict: Verdict, reasons: tuple[str, ...]) -> Fit:
        length = self.workload.sequence_length
        return Fit(
            verdict,
            reasons,
            sized.terms,
            sized.need,
            usable,
            sized.error,
            sized.pool(usable),
            length,
            max(length, self.architecture.max_position or length),
            sized.step,
            1,
            self._echo(sized.mode),
            self.constants,
            sized.mode,
            sized.host,
            host_activations=sized.host_activations,
            saved=sized.saved,
        )

    def _in_flight(self, layout: Layout, stage: Stage) -> int:
        """Micro batches that a stage has begun and not yet walked back."""
        if layout.pp == 1:
            return 1
        ahead = layout.pp if stage.first else 1 if stage.last else layout.pp - 1
        whole = self.workload.global_batch
        if whole is None:
            return ahead
        return max(1, min(ahead, whole // (self.workload.micro_batch * layout.dp)))

    def _scaled(self, known: Setup) -> float:
        """Columns of outputs that an adapter scales."""
        if not known.adapted or self._adapter.form is not AdapterForm.SCALES:
            return 0.0
        return outputs(self.architecture, self._adapter.targets)

    @property
    def _adapter(self) -> TokenAdapter:
        adapter: TokenAdapter = self.workload.adapter  # type: ignore[attr-defined]
        return adapter

    def _adapts_mlp(self) -> bool:
        """Whether matrices of the MLP have thin ones beside them, which need their inputs."""
        adapter = self._adapter
        return adapter.form is AdapterForm.LOW_RANK and adapter.targets.value in ON_MLP

    def _echo(self, mode: str) -> tuple[Assumption, ...]:
        if mode == NO_SHARING or self.workload.sharding.mode is not None:
            return tuple(self.assumptions)
        why = "not declared: ddp where a whole copy fits, else fsdp"
        return (*self.assumptions, Assumption("sharding.mode", mode, why))


def _moments(
    step: activations.Step, length: int, sequences: int, kept: Kept, held: float
) -> list[tuple[Term, float]]:
    """The largest of what comes one after the other: loading, a micro batch, the optimizer."""
    batch = step.bytes_for(length, sequences)
    load = kept.load - held
    if load > max(batch, kept.step_copy):
        return [(Term.LOADING, load)]
    if kept.sampling > max(batch, kept.step_copy):
        return [(Term.SAMPLING, kept.sampling)]
    if kept.step_copy > batch:
        return [(Term.OPTIMIZER_STEP, kept.step_copy)]
    logits = min(batch, step.logits_for(length, sequences))
    return [(Term.ACTIVATIONS, batch - logits), (Term.LOGITS, logits)]


def _error(states: float, gathered: float, need: int, row: TrainerFacts, mode: str) -> int:
    """One-sided error of the need, bytes; what comes and goes shares an allocator: errors add."""
    moving = (need - states) * row.uncertainty
    if mode == GATHERING:
        moving += gathered * max(0.0, GATHERED_ERROR - row.uncertainty)
    return round(sqrt((states * STATES_ERROR) ** 2 + moving**2))


def _judge(usable: int, margin: int, error: int) -> tuple[Verdict, tuple[str, ...]]:
    if margin < -error:
        told = f"needs {gib(-margin)} more than the {gib(usable)} of the GPU: out of memory"
        return Verdict.DOES_NOT_FIT, (told,)
    if margin < 0:
        told = f"needs {gib(-margin)} more than there is, within the error of {gib(error)}"
        return Verdict.TIGHT, (told,)
    if margin < headroom(usable, error):
        return Verdict.TIGHT, (f"only {gib(margin)} of {gib(usable)} are left",)
    return Verdict.FITS, ()
