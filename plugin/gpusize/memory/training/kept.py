"""What one rank keeps from step to step, by how its copies share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats
from gpusize.memory.training import parts, recipe, setup, vision
from gpusize.memory.training.adapters import params_of
from gpusize.memory.training.sharing import WHOLE, shared_in
from gpusize.workload import VisionLanguageTraining

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.training.setup import Setup
    from gpusize.memory.weights import Stage
    from gpusize.placement import Layout
    from gpusize.workload import Training as Workload

NO_SHARING = "none"
BUCKETS = 3
"""Buckets of ZeRO: two of gradients, filled in turn, and one of gathered weights."""
GATHER_COPIES = 2
"""Copies of layers that ZeRO-3 fetches ahead: the flat buffer that ranks fill, and each parameter
put together of its parts. Source: `AllGatherCoalescedHandle.wait` of
deepspeed/runtime/zero/partition_parameters.py, deepspeedai/DeepSpeed; a matrix that is fetched
alone is gathered in place."""
PARAMS_OF_LAYERS = 2
"""Layers that FSDP holds gathered: the one at hand and the next."""


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
    spare: float
    """Part of the gradients that is not there yet when the loss is taken."""
    saved: tuple[float, float]
    """Trained weights and states, wherever they lie: what a checkpoint writes."""
    sampling: float = 0.0
    """Weights that are whole while the model writes answers, before the step."""

    @property
    def held(self) -> float:
        """All that is there in the backward pass beside activations."""
        return self.weights + self.gradients + self.states + self.gathered


class _Group(NamedTuple):
    """Trained parameters of one rank, their copies among ranks, and their recipe."""

    size: float
    copies: float
    made: recipe.Recipe


class Keeper:
    """The arithmetic of one workload on one rank."""

    def __init__(
        self,
        workload: Workload,
        architecture: Architecture,
        known: Setup,
        layout: Layout,
        stage: Stage,
        mode: str,
    ) -> None:
        """Cut the model for the rank."""
        self.workload = workload
        self.architecture = architecture
        self.known = known
        self.layout = layout
        self.stage = stage
        self.mode = mode
        self.held = parts.of_rank(architecture, layout, stage, headless=known.headless)
        self.made = recipe.recipe_of(
            workload, known.row, mode, is_wide=known.form.id == setup.FULL_WIDTH
        )
        self.shares = shared_in(mode)

    def kept(self) -> Kept:
        """Weights, gradients, states, and what comes and goes."""
        known, row = self.known, self.known.row
        weights = gradients = states = moments = moment = trained = 0.0
        for size, copies, made in self._trained():
            weights += size * made.weight / (copies if self.shares.weights else 1)
            gradients += size * made.gradient / (copies if self.shares.gradients else 1)
            own = size / (copies if self.shares.states else 1)
            trained += own
            states += own * made.states
            moments += own * made.moments
            moment += own * made.moment
        frozen, load = self._frozen()
        copy = self._step_copy(trained, moment)
        gathered = self._gathered(gradients)
        body = (self.held.total - self.held.ends) / self.stage.layers
        if self._steps_in_backward:
            gradients = min(gradients, max(body, self.held.ends) * self.made.gradient)
            copy = 0.0
        spare = 0.0 if self._accumulates or row.keeps_gradients else gradients
        if self.mode.startswith("zero") or known.adapted or self._steps_in_backward:
            spare = 0.0
        saved = (weights, states)
        found = Kept(
            weights + frozen,
            gradients,
            states,
            gathered,
            copy,
            load,
            0.0,
            spare,
            saved,
            self._sampling,
        )
        return self._offloaded(found, moments)

    @property
    def _sampling(self) -> float:
        """Bytes of all weights where a rank puts its copies' shares together to write answers.

        Source: `unwrap_model_for_generation` of trl/models/utils.py, huggingface/trl, which gathers
        all parameters of ZeRO-3 by default.
        """
        if not self.known.company.samples or not self.shares.weights:
            return 0.0
        return self.held.total * recipe.HALF

    @property
    def _steps_in_backward(self) -> bool:
        return self.workload.optimizer_in_backward and not self.known.adapted

    @property
    def _accumulates(self) -> bool:
        """Whether several micro batches add to the same gradients."""
        whole = self.workload.global_batch
        return whole is not None and whole > self.workload.micro_batch * self.layout.dp

    def _offloaded(self, kept: Kept, moments: float) -> Kept:
        """The same with what is declared to lie in host memory."""
        workload = self.workload
        if workload.optimizer.value == recipe.PAGED:
            kept = kept._replace(host=moments, states=kept.states - moments)
        offload = workload.sharding.offload.value
        if offload != "none":
            kept = kept._replace(host=kept.host + kept.states, states=0.0, step_copy=0.0)
        if offload == "all" and self.shares.weights:
            host = kept.host + kept.weights + kept.gradients
            kept = kept._replace(host=host, weights=0.0, gradients=0.0, spare=0.0)
        return kept

    @property
    def _expert_copies(self) -> float:
        """Copies of one expert: ranks that share experts are copies of everything else."""
        layout = self.layout
        if layout.ep == 1:
            return layout.copies
        return max(1.0, layout.copies * layout.tp / layout.ep)

    @property
    def frozen_tower(self) -> float:
        """Parameters of the tower that are not trained, of a run that trains the rest in full."""
        workload, tower = self.workload, self.held.tower
        if not isinstance(workload, VisionLanguageTraining):
            return tower
        return 0.0 if workload.train_vision else tower * (1 - vision.PROJECTOR_SHARE)

    def _trained(self) -> list[_Group]:
        """What is trained: all but a frozen tower, or what stands beside frozen weights."""
        copies, held = self.layout.copies, self.held
        if self.known.adapted:
            return self._beside()
        dense = held.total - held.expert - self.frozen_tower
        trained = [
            _Group(dense, copies, self.made),
            _Group(held.expert, self._expert_copies, self.made),
        ]
        return trained * (1 + self.known.company.critics)

    def _beside(self) -> list[_Group]:
        """The adapter, perhaps the ends of the model, and the projector of images."""
        workload, known, held = self.workload, self.known, self.held
        layout, copies = self.layout, self.layout.copies
        adapter = workload.adapter  # type: ignore[attr-defined]
        made = recipe.adapter_recipe(workload, known.row)
        own = params_of(self.architecture, adapter, layout.tp, layout.ep)
        share = self.stage.layers / self.architecture.layers
        groups = [
            _Group(share * own.dense, copies, made),
            _Group(share * own.expert, self._expert_copies, made),
        ]
        groups *= 1 + known.company.critics
        # The projector's weights are stored among the frozen ones already.
        beside = self.made._replace(weight=self.made.weight - recipe.HALF)
        if adapter.train_embeddings:
            groups.append(_Group(held.ends, copies, self.made))
        if held.tower and isinstance(workload, VisionLanguageTraining):
            groups.append(_Group(held.tower * vision.PROJECTOR_SHARE, copies, beside))
            if workload.train_vision:
                size = vision.adapter_params(self.architecture, adapter.rank)
                groups.append(_Group(size, copies, made))
        return groups

    def _frozen(self) -> tuple[float, float]:
        """Bytes of weights that are not trained, and of loading them whole at first."""
        known, held = self.known, self.held
        copies = self.layout.copies
        by = copies if self.shares.weights else 1
        beside = known.frozen_models * self._reference() if known.frozen_models else 0.0
        if not known.adapted:
            return self.frozen_tower * recipe.HALF / by + beside, 0.0
        whole = held.bytes_in(known.form)
        frozen = whole
        if self.shares.weights:
            experts = held._replace(ends=0, linear=0, other=0, tower=0).bytes_in(known.form)
            frozen = (whole - experts) / copies + experts / self._expert_copies
        loads = self.mode == "fsdp" and known.row.loads_whole
        return frozen + beside, whole + frozen if loads else 0.0

    def _reference(self) -> float:
        """Bytes of a frozen copy of the model, shared as the weights are."""
        held = self.held
        if not self.shares.weights:
            return held.total * recipe.HALF
        dense = (held.total - held.expert) / self.layout.copies
        return (dense + held.expert / self._expert_copies) * recipe.HALF

    def _step_copy(self, trained: float, moment: float) -> float:
        """What a step of the optimizer holds beside the states, for a moment."""
        row, mode = self.known.row, self.mode
        if mode.startswith("zero") and row.zero_recipe == "mixed" and not self.known.adapted:
            group = min(trained, row.live_params) if mode == "zero-3" else trained
            return group * recipe.WIDE
        shares = self.shares.states and not self.known.adapted
        return moment if row.step_copy and not shares else 0.0

    def _gathered(self, gradients: float) -> float:
        """Weights and gradients that are whole for a moment."""
        gathered = self._gathered_weights() + self._cast()
        if self.mode == "ddp":
            gathered += gradients
        return gathered

    def _gathered_weights(self) -> float:
        row, held, mode, adapted = self.known.row, self.held, self.mode, self.known.adapted
        body = (held.total - held.ends) / self.stage.layers
        gathered = 0.0
        table = self._table
        if mode == "zero-3" and row.live_params:
            # The table is gathered whatever its size, beside layers that are fetched ahead.
            layers = min(row.live_params, held.total - held.ends)
            gathered = (GATHER_COPIES * layers + table) * recipe.HALF
        elif mode in WHOLE:
            gathered = (PARAMS_OF_LAYERS * body + held.ends) * recipe.HALF
        if mode == "fsdp" and self.layout.pp > 1:
            # Between stages weights stay gathered and gradients whole for all micro batches.
            gathered = held.total * (recipe.HALF + (0 if adapted else recipe.WIDE))
        if mode in (NO_SHARING, "ddp") and row.plain_recipe == "full" and not adapted:
            gathered = held.total * recipe.HALF
        if mode in ("zero-2", "zero-3") and row.bucket_params and not adapted:
            gathered += BUCKETS * min(row.bucket_params, held.total) * recipe.HALF
        elif mode in ("zero-2", "zero-3") and row.bucket_params and self._trains_ends:
            # A gradient that is larger than a bucket makes one of its own.
            gathered += BUCKETS * min(max(row.bucket_params, table), held.ends) * recipe.HALF
        elif mode == "fsdp" and not adapted and self.layout.pp == 1:
            gathered += max(body, held.ends) * recipe.WIDE
        return gathered

    @property
    def _table(self) -> float:
        """Parameters of the largest matrix at the ends, which is gathered whole."""
        return min(
            self.held.ends, self.architecture.vocab * self.architecture.hidden / self.layout.tp
        )

    @property
    def _trains_ends(self) -> bool:
        adapter = getattr(self.workload, "adapter", None)
        return self.known.adapted and adapter is not None and bool(adapter.train_embeddings)

    def _cast(self) -> float:
        """Frozen weights that stand in another format for a moment."""
        known, held, tp = self.known, self.held, self.layout.tp
        largest = parts.largest_matrix(self.architecture) / tp
        bits = formats.BITS_PER_BYTE * recipe.HALF
        cast = 0.0
        if known.method == "dora":
            # The norm of weight and update is taken of their sum: both are whole for a moment.
            cast += 2 * largest * recipe.HALF
        if known.adapted and known.form.linear_bits > bits:
            # A cast copy of each frozen fp32 matrix lives until its backward pass.
            cast += (held.linear + held.expert) * recipe.HALF
        if known.adapted and known.form.linear_bits < bits:
            cast += largest * recipe.HALF
        return cast
