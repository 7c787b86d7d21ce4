"""Memory of a training run: the worst rank, and how its copies share what they keep."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats
from gpusize.memory.result import Assumption, Fit, Term, Verdict, unknown
from gpusize.memory.training import activations, parts, recipe
from gpusize.memory.training.sharing import WHOLE, shares_of
from gpusize.memory.verdict import HEADROOM_BYTES, HEADROOM_SHARE
from gpusize.memory.weights import distinct_stages
from gpusize.versions import in_range, parse_version
from gpusize_catalog.units import MIB, gib

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.runtime import Device
    from gpusize.memory.weights import Stage
    from gpusize.placement import Layout
    from gpusize.workload import Training as Workload
    from gpusize_catalog.facts import FormatFacts, TrainerFacts
    from gpusize_catalog.store import Catalog

STATES_ERROR = 0.06
"""Relative error of weights, gradients and states: tied tables, buffers, what stays of loading.
Measured peaks of published runs lie within it and the trainer's own error in two of three cases."""
DEFAULT_QUANTIZED = "nf4"
DEFAULT_WIDE = "bf16"
WIDE = ("bf16", "fp16", "fp32")
"""Formats of weights that can be trained."""
ADAPTED = frozenset({"lora", "qlora", "dora"})
TENSOR = "tensor"
"""Word of the trainers table: layers, stages and experts are spread over GPUs too."""
NO_SHARING = "none"
BUCKETS = 3
"""Buckets of ZeRO: two of gradients, filled in turn, and one of gathered weights."""
PARAMS_OF_LAYERS = 2
"""Layers that FSDP holds gathered: the one at hand and the next."""


class Setup(NamedTuple):
    """What does not depend on the placement."""

    row: TrainerFacts
    form: FormatFacts
    method: str


class Kept(NamedTuple):
    """Bytes that one rank keeps from step to step, and what a step adds for a moment."""

    weights: float
    gradients: float
    states: float
    gathered: float
    step_copy: float
    load: float
    """Bytes while the weights are loaded, before anything else is there."""
    host: float


class Training:
    """One training run; sized for each placement."""

    __slots__ = (
        "architecture",
        "assumptions",
        "catalog",
        "constants",
        "problems",
        "setup",
        "workload",
    )

    def __init__(self, workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
        """Find the trainer's row and the format of the weights; what is missing is a problem."""
        self.workload = workload
        self.architecture = architecture
        self.catalog = catalog
        self.problems: list[str] = []
        self.assumptions: list[Assumption] = []
        self.constants: tuple[str, ...] = ()
        self.setup = self._resolve()

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size every stage that differs and keep the worst, in the first mode that fits."""
        if self.setup is None:
            return unknown(tuple(self.problems))
        row = self.setup.row
        if row.splits != TENSOR and max(layout.tp, layout.pp, layout.ep) > 1:
            told = f"{row.trainer} is sized with copies alone, not at {layout}"
            return unknown((told,))
        if layout.pp > self.architecture.layers:
            return unknown((f"{layout.pp} stages are more than the model has layers",))
        fit = None
        for mode in self.modes(layout):
            fit = self._worst(self.setup, device, layout, mode)
            if fit.verdict is Verdict.FITS:
                break
        assert fit is not None
        return fit

    def floor(self, layout: Layout) -> int:
        """Bytes below which no GPU can be: what is kept from step to step in the leanest mode."""
        if self.setup is None or layout.pp > self.architecture.layers:
            return 0
        mode = self.modes(layout)[-1]
        stages = distinct_stages(self.architecture.layers, layout.pp)
        kept = (self.kept(self.setup, layout, stage, mode) for stage in stages)
        return int((1 - 2 * STATES_ERROR) * max(k.weights + k.gradients + k.states for k in kept))

    def modes(self, layout: Layout) -> tuple[str, ...]:
        """Modes of sharding to try, the one that moves least first."""
        declared = self.workload.sharding.mode
        if declared is not None:
            return (declared.value,)
        if layout.dp == 1:
            return (NO_SHARING,)
        if self.setup is not None and self.setup.row.zero_recipe == "mixed-fp32-gradients":
            return ("zero-1",)
        return ("ddp", "fsdp")

    def _resolve(self) -> Setup | None:
        workload, architecture = self.workload, self.architecture
        declared = workload.trainer
        row = _row(self.catalog, declared.name, declared.version)
        if row is None:
            self.problems.append(f"no memory constants for {declared.name} {declared.version}")
        else:
            self.constants = (f"{row.trainer} {row.newest or '(any version)'}",)
            if declared.version is None and row.newest:
                why = "not declared: the newest version known"
                self.assumptions.append(Assumption("trainer.version", row.newest, why))
        if not architecture.known:
            reason = architecture.unknown_reason or "its layers are not known"
            self.problems.append(f"architecture of {architecture.name}: {reason}")
        if architecture.encoder_layers:
            self.problems.append("training of encoder-decoder models is not modelled yet")
        method = getattr(workload, "method", None)
        name = method.value if method is not None else "full"
        form = self._form(name)
        if self.problems or row is None or form is None:
            return None
        return Setup(row, form, name)

    def _form(self, method: str) -> FormatFacts | None:
        word = self.workload.weights_format
        native = self.architecture.native_format or DEFAULT_WIDE
        if word == formats.AUTO:
            word = DEFAULT_QUANTIZED if method == "qlora" else native
            if method == "full":
                word = native if native in WIDE else DEFAULT_WIDE
            why = "not declared: usual for the method"
            self.assumptions.append(Assumption("weightsFormat", word, why))
        form = formats.find_format(self.catalog, word)
        if form is None:
            self.problems.append(f"weights format {word} is not in the catalog")
        elif method == "full" and form.id not in WIDE:
            self.problems.append(f"weights of format {form.id} cannot be trained: take bf16")
        elif method == "qlora" and form.linear_bits >= formats.BITS_PER_BYTE * recipe.HALF:
            self.problems.append(f"qlora keeps quantized weights, {form.id} is not")
        return form

    def kept(self, known: Setup, layout: Layout, stage: Stage, mode: str) -> Kept:
        """What one rank keeps, by how the copies share it."""
        workload, row = self.workload, known.row
        held = parts.of_rank(self.architecture, layout, stage)
        made = recipe.recipe_of(workload, row, mode)
        copies = layout.dp
        shares_all = mode in WHOLE
        by_weights, by_gradients, by_states = shares_of(mode, copies)
        # Ranks that share experts are copies of everything else: experts have fewer copies.
        fewer = min(copies, layout.ep) if layout.ep > 1 else 1
        trained = held.total - held.expert + held.expert * (fewer if by_states > 1 else 1)
        stored = trained if by_weights > 1 else held.total
        weights = stored * made.weight / by_weights
        gradients = (stored if by_gradients == 1 else trained) * made.gradient / by_gradients
        states = trained * made.states / by_states
        moments = trained * made.moments / by_states
        load = 0.0
        copy = self._step_copy(known, trained / by_states, made, mode, by_states)
        if known.method in ADAPTED:
            whole = held.total - held.expert + held.expert * (fewer if shares_all else 1)
            unspread = held.bytes_in(known.form)
            frozen = unspread
            if shares_all:
                frozen *= whole / held.total / copies
            load = unspread + frozen if mode == "fsdp" and row.loads_whole else 0.0
            own = self._trained_beside(known, held, layout, stage)
            weights = frozen + sum(size * made.weight for size, made in own) / by_weights
            gradients = sum(size * made.gradient for size, made in own) / by_gradients
            states = sum(size * made.states for size, made in own) / by_states
            moments = sum(size * made.moments for size, made in own) / by_states
            copy = sum(size * made.moment for size, made in own) if row.step_copy else 0.0
            copy /= by_states
        gathered = self._gathered(known, held, layout, stage, mode)
        if mode == "ddp":
            gathered += gradients
        host = 0.0
        if workload.optimizer.value == recipe.PAGED:
            host, states = moments, states - moments
        offload = workload.sharding.offload.value
        if offload != "none":
            host, states, copy = host + states, 0.0, 0.0
        if offload == "all" and shares_all:
            host, weights = host + weights + gradients, 0.0
            gradients = 0.0
        return Kept(weights, gradients, states, gathered, copy, load, host)

    def _step_copy(
        self, known: Setup, trained: float, made: recipe.Recipe, mode: str, by_states: int
    ) -> float:
        """What a step of the optimizer holds beside the states, for a moment."""
        row = known.row
        if mode.startswith("zero") and row.zero_recipe == "mixed":
            group = min(trained, row.live_params) if mode == "zero-3" else trained
            return group * recipe.WIDE
        return trained * made.moment if row.step_copy and by_states == 1 else 0.0

    def _trained_beside(
        self, known: Setup, held: parts.Parts, layout: Layout, stage: Stage
    ) -> list[tuple[float, recipe.Recipe]]:
        """What is trained beside frozen weights: the adapter, perhaps the ends of the model."""
        made = recipe.adapter_recipe(self.workload, known.row)
        own = [(self._adapter(layout, stage), made)]
        if self.workload.adapter.train_embeddings:  # type: ignore[attr-defined]
            own.append((held.ends, recipe.recipe_of(self.workload, known.row, "none")))
        return own

    def _adapter(self, layout: Layout, stage: Stage) -> float:
        adapter = self.workload.adapter  # type: ignore[attr-defined]
        share = stage.layers / self.architecture.layers
        return share * parts.adapter_params(
            self.architecture, adapter.rank, adapter.targets, layout.tp
        )

    def _gathered(
        self, known: Setup, held: parts.Parts, layout: Layout, stage: Stage, mode: str
    ) -> float:
        """Weights and gradients that are whole for a moment."""
        row, adapted = known.row, known.method in ADAPTED
        body = (held.total - held.ends) / stage.layers
        gathered = 0.0
        if mode == "zero-3" and row.live_params:
            gathered = min(row.live_params, held.total) * recipe.HALF
        elif mode in ("zero-3", "fsdp"):
            gathered = (PARAMS_OF_LAYERS * body + held.ends) * recipe.HALF
        if mode == "fsdp" and layout.pp > 1:
            # Between stages weights stay gathered and gradients whole for all micro batches.
            gathered = held.total * (recipe.HALF + (0 if adapted else recipe.WIDE))
        if mode in (NO_SHARING, "ddp") and row.plain_recipe == "full" and not adapted:
            gathered = held.total * recipe.HALF
        if mode in ("zero-2", "zero-3") and row.bucket_params and not adapted:
            gathered += BUCKETS * min(row.bucket_params, held.total) * recipe.HALF
        elif mode == "fsdp" and not adapted and layout.pp == 1:
            gathered += max(body, held.ends) * recipe.WIDE
        if known.method == "dora":
            # The norm of weight and update is taken of their sum: both are whole for a moment.
            gathered += 2 * parts.largest_matrix(self.architecture) / layout.tp * recipe.HALF
        if adapted and known.form.linear_bits > formats.BITS_PER_BYTE * recipe.HALF:
            # A cast copy of each frozen fp32 matrix lives until its backward pass.
            gathered += (held.linear + held.expert) * recipe.HALF
        if known.form.linear_bits < formats.BITS_PER_BYTE * recipe.HALF and adapted:
            gathered += parts.largest_matrix(self.architecture) / layout.tp * recipe.HALF
        return gathered

    def _worst(self, known: Setup, device: Device, layout: Layout, mode: str) -> Fit:
        stages = distinct_stages(self.architecture.layers, layout.pp)
        fits = [self._stage(known, device, layout, stage, mode) for stage in stages]
        return min(fits, key=lambda fit: fit.margin or 0)

    def _stage(self, known: Setup, device: Device, layout: Layout, stage: Stage, mode: str) -> Fit:
        workload, row = self.workload, known.row
        kept = self.kept(known, layout, stage, mode)
        share = activations.Share(
            stage.layers, layout.tp, self._in_flight(layout, stage), stage.last
        )
        wide = known.form.linear_bits >= formats.BITS_PER_BYTE * recipe.HALF
        frozen = known.method in ADAPTED and wide and not self._adapts_mlp()
        step = activations.step_of(workload, self.architecture, row, share, frozen=frozen)
        length = workload.sequence_length
        held = kept.weights + kept.gradients + kept.states + kept.gathered
        moments = _moments(step, length, workload.micro_batch, kept, held)
        moving = sum(size for _, size in moments)
        slack = (held + moving) * row.slack
        context = row.context_mib * MIB
        nccl = row.nccl_mib * MIB if layout.gpus > 1 else 0.0
        terms = [
            (Term.WEIGHTS, kept.weights),
            (Term.GRADIENTS, kept.gradients),
            (Term.OPTIMIZER_STATES, kept.states),
            (Term.GATHERED, kept.gathered),
            *moments,
            (Term.ALLOCATOR_SLACK, slack),
            (Term.RUNTIME_OVERHEAD, context),
            (Term.COMMUNICATION, nccl),
        ]
        need = round(sum(size for _, size in terms))
        states = kept.weights + kept.gradients + kept.states
        error = round(sqrt((states * STATES_ERROR) ** 2 + ((need - states) * row.uncertainty) ** 2))
        margin = device.usable - need
        judged, reasons = _judge(device.usable, margin, error)
        fixed = held * (1 + row.slack) + context + nccl
        pool = round((device.usable - fixed) / (1 + row.slack))
        if max(kept.step_copy, kept.load - held) > pool:
            pool = min(pool, 0)
        return Fit(
            judged,
            reasons,
            tuple((term, round(size)) for term, size in terms if size >= 1),
            need,
            device.usable,
            error,
            pool,
            length,
            max(length, self.architecture.max_position or length),
            step,
            1,
            self._echo(mode),
            self.constants,
            mode,
            round(kept.host),
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

    def _adapts_mlp(self) -> bool:
        adapter = self.workload.adapter  # type: ignore[attr-defined]
        return bool(adapter.targets.value == "all-linear")

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
    if kept.step_copy > batch:
        return [(Term.OPTIMIZER_STEP, kept.step_copy)]
    logits = step.logits_for(length, sequences)
    return [(Term.ACTIVATIONS, batch - logits), (Term.LOGITS, logits)]


def _row(catalog: Catalog, name: str, version: str | None) -> TrainerFacts | None:
    """The row of a trainer's version; the newest where none is declared."""
    rows = catalog.trainers(name)
    wanted = parse_version(version) if version else None
    if wanted is None:
        return next((row for row in rows if not row.version_before), None)
    for row in rows:
        if in_range(wanted, row.version_from, row.version_before):
            return row
    return None


def _judge(usable: int, margin: int, error: int) -> tuple[Verdict, tuple[str, ...]]:
    if margin < -error:
        told = f"needs {gib(-margin)} more than the {gib(usable)} of the GPU: out of memory"
        return Verdict.DOES_NOT_FIT, (told,)
    if margin < 0:
        told = f"needs {gib(-margin)} more than there is, within the error of {gib(error)}"
        return Verdict.TIGHT, (told,)
    least = max(error, HEADROOM_BYTES, HEADROOM_SHARE * usable)
    if margin < least:
        return Verdict.TIGHT, (f"only {gib(margin)} of {gib(usable)} are left",)
    return Verdict.FITS, ()
