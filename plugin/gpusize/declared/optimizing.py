"""What every run that changes weights declares: optimizer, states, how copies share them."""

from typing import Any, ClassVar

from pydantic import Field

from gpusize.declared.base import Bounded, Workload
from gpusize.declared.groups import Group
from gpusize.declared.words import (
    AdapterForm,
    AdapterTargets,
    InterruptionTolerance,
    Offload,
    Optimizer,
    Positive,
    PositiveFloat,
    ShardingMode,
    StatePrecision,
    Switch,
)


class Sharding(Group):
    """How the copies of a training run share what they keep; a text is the mode."""

    mode: ShardingMode | None = Field(
        None,
        description="What the copies share; left out, gpusize takes ddp where a whole copy fits, "
        "else fsdp.",
    )
    offload: Offload = Field(Offload.NONE, description="What lies in host memory.")

    short_form: ClassVar[str] = "a mode"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the mode."""
        return {"mode": value} if isinstance(value, str) else value


class Adapter(Group):
    """Small matrices that are trained beside frozen weights."""

    rank: Positive = Field(16, description="Rank of the adapter.", examples=[16])
    targets: AdapterTargets = Field(
        AdapterTargets.ALL_LINEAR,
        description="Which projections have an adapter; all-linear reaches each routed expert, "
        "dense-linear all but them.",
    )
    train_embeddings: Switch = Field(
        False, description="Whether embeddings and output head are trained in full beside it."
    )


class TokenAdapter(Adapter):
    """An adapter of a model that reads and writes tokens."""

    form: AdapterForm = Field(
        AdapterForm.LOW_RANK,
        description="What it is made of: two thin matrices beside each projection (low-rank), a "
        "scale and a bias of each projection's output (scales, as IA3 and LLaMA-Adapter v2), or as "
        "many virtual tokens as the rank says in each layer (prefix, as LLaMA-Adapter and prefix "
        "tuning).",
    )


class Optimizing(Bounded, Workload):
    """Fields of every run that changes weights, whatever its model makes."""

    micro_batch: Positive = Field(
        1, description="Sequences, pictures or videos that one GPU processes at once."
    )
    global_batch: Positive | None = Field(
        None,
        description="Sequences, pictures or videos of one step of the optimizer, all GPUs "
        "together.",
    )
    optimizer: Optimizer = Field(
        Optimizer.ADAMW, description="What keeps moments of the gradients."
    )
    optimizer_precision: StatePrecision | None = Field(
        None, description="Precision of its moments; the trainer's own where it is left out."
    )
    master_weights: Switch | None = Field(
        None,
        description="Whether an fp32 copy of 16-bit weights is kept; as the trainer does where it "
        "is left out.",
    )
    gradient_precision: StatePrecision | None = Field(
        None, description="Precision of gradients; the trainer's own where it is left out."
    )
    sharding: Sharding = Field(
        Sharding.model_construct(), description="How the copies share what they keep."
    )
    samples: Positive | None = Field(
        None, description="Sequences, pictures or videos of the data set."
    )
    epochs: PositiveFloat = Field(1.0, description="Passes over the samples.")

    @property
    def tolerance(self) -> InterruptionTolerance:
        """What an interruption costs: as declared, else what the checkpoints save."""
        if self.interruption_tolerance is not None:
            return self.interruption_tolerance
        is_kept = self.checkpoints is not None
        return InterruptionTolerance.CHECKPOINTED if is_kept else InterruptionTolerance.NONE
