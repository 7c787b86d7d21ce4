"""What of a training run does not depend on where it runs: trainer, format, habits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats
from gpusize.memory.result import Assumption
from gpusize.memory.training import recipe
from gpusize.memory.training.objectives import Company, company_of
from gpusize.versions import in_range, parse_version
from gpusize.workload import Objective

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Training as Workload
    from gpusize_catalog.facts import FormatFacts, TrainerFacts
    from gpusize_catalog.store import Catalog

DEFAULT_QUANTIZED = "nf4"
DEFAULT_WIDE = "bf16"
FULL_WIDTH = "fp32"
"""The format of weights whose products are computed in it, unless another precision is declared."""
WIDE = ("bf16", "fp16", "fp32")
"""Formats of weights that can be trained."""
TEACHING = "taken as large as the model itself"


class Habits(NamedTuple):
    """How a trainer runs where nobody says otherwise, and what was said."""

    recompute: str
    loss: str
    offloads_activations: bool


class Setup(NamedTuple):
    """The trainer's constants, and what is trained in which format."""

    row: TrainerFacts
    form: FormatFacts
    method: str
    habits: Habits
    objective: Objective

    @property
    def adapted(self) -> bool:
        """Whether the weights are frozen and an adapter is trained."""
        return self.method in recipe.ADAPTED

    def computes_wide(self, precision: str) -> bool:
        """Whether activations have 32 bits in a declared precision of products."""
        if precision == formats.AUTO:
            return self.form.id == FULL_WIDTH and not self.adapted
        return precision == FULL_WIDTH

    @property
    def company(self) -> Company:
        """What the objective adds to the run."""
        return company_of(self.objective)

    @property
    def sequences(self) -> int:
        """Sequences of one sample."""
        return self.company.sequences

    @property
    def headless(self) -> bool:
        """Whether there is no output head over the vocabulary."""
        return self.company.is_headless

    @property
    def reference_passes(self) -> int:
        """Forward passes of a reference: with an adapter the frozen weights alone are one."""
        return self.company.references

    @property
    def frozen_models(self) -> int:
        """Frozen models beside; with an adapter the frozen weights are the reference."""
        company = self.company
        if self.adapted:
            return company.judges + company.critics
        return company.references + company.judges


class Resolver:
    """Finds the setup of a workload and notes what was assumed and what is missing."""

    def __init__(self, workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
        """Nothing is known yet."""
        self.workload = workload
        self.architecture = architecture
        self.catalog = catalog
        self.problems: list[str] = []
        self.assumptions: list[Assumption] = []
        self.constants: tuple[str, ...] = ()

    def resolve(self) -> Setup | None:
        """The setup; None where something is missing, and then `problems` says what."""
        workload, architecture = self.workload, self.architecture
        row = self._row()
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
        objective = getattr(workload, "objective", Objective.LANGUAGE)
        company = company_of(objective)
        if company.judges or company.critics:
            self.assumptions.append(Assumption("objective", "models beside", TEACHING))
        return Setup(row, form, name, self._habits(row), objective)

    def _row(self) -> TrainerFacts | None:
        declared = self.workload.trainer
        row = _row(self.catalog, declared.name, declared.version)
        if row is None:
            self.problems.append(f"no memory constants for {declared.name} {declared.version}")
            return None
        self.constants = (f"{row.trainer} {row.newest or '(any version)'}",)
        if declared.version is None and row.newest:
            why = "not declared: the newest version known"
            self.assumptions.append(Assumption("trainer.version", row.newest, why))
        if getattr(self.workload, "optimizer_in_backward", False) and not row.steps_in_backward:
            self.problems.append(f"{row.trainer} has no step of the optimizer in the backward pass")
        return row

    def _habits(self, row: TrainerFacts) -> Habits:
        workload = self.workload
        why = f"not declared: what {row.trainer} does by itself"
        recompute, loss = workload.recompute, workload.loss
        if recompute is None:
            self.assumptions.append(Assumption("recompute", row.recompute, why))
        if loss is None:
            self.assumptions.append(Assumption("loss", row.loss, why))
        offloads = workload.offload_activations
        return Habits(
            row.recompute if recompute is None else recompute.value,
            row.loss if loss is None else loss.value,
            row.offloads_activations if offloads is None else offloads,
        )

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
