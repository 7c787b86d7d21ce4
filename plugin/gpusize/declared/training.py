"""Work that changes weights."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from gpusize.declared.base import Bounded, Workload
from gpusize.declared.groups import Group
from gpusize.declared.inference import Engine
from gpusize.declared.words import (
    AdapterTargets,
    AttentionKernel,
    InterruptionTolerance,
    Loss,
    Method,
    Offload,
    Optimizer,
    Positive,
    PositiveFloat,
    Recompute,
    ShardingMode,
    StatePrecision,
    Switch,
    Text,
)
from gpusize.declaring.vocabulary import (
    TRAINERS,
)


class Trainer(Group):
    """The training framework; also written `name@version`."""

    name: Annotated[str, TRAINERS] = Field("hf", description="Training framework.")
    version: Text | None = Field(
        None, description="Its version, as released; the newest known where it is left out."
    )

    short_form: ClassVar[str] = "name@version"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the name, with the version after an @."""
        return Engine.expand(value)


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
        AdapterTargets.ALL_LINEAR, description="Which projections have an adapter."
    )
    train_embeddings: Switch = Field(
        False, description="Whether embeddings and output head are trained in full beside it."
    )


class Training(Bounded, Workload):
    """Fields of every kind that changes weights."""

    trainer: Trainer = Field(
        Trainer.model_construct(), description="Training framework: name@version or its fields."
    )
    sequence_length: Positive = Field(
        description="Tokens of one training sequence, padded or packed to it.", examples=[4096]
    )
    micro_batch: Positive = Field(1, description="Sequences that one GPU processes at once.")
    global_batch: Positive | None = Field(
        None, description="Sequences of one step of the optimizer, all GPUs together."
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
    recompute: Recompute = Field(
        Recompute.NONE, description="Which activations are computed again in the backward pass."
    )
    attention: AttentionKernel = Field(
        AttentionKernel.FLASH, description="Whether attention keeps its scores."
    )
    loss: Loss = Field(Loss.PLAIN, description="How much of the logits the loss holds at once.")
    sharding: Sharding = Field(
        Sharding.model_construct(), description="How the copies share what they keep."
    )
    tokens: Positive | None = Field(None, description="Tokens of the whole run.")
    samples: Positive | None = Field(None, description="Sequences of the data set.")
    epochs: PositiveFloat = Field(1.0, description="Passes over the samples.")

    @property
    def tolerance(self) -> InterruptionTolerance:
        """What an interruption costs: as declared, else what the checkpoints save."""
        if self.interruption_tolerance is not None:
            return self.interruption_tolerance
        is_kept = self.checkpoints is not None
        return InterruptionTolerance.CHECKPOINTED if is_kept else InterruptionTolerance.NONE


class FineTuning(Training):
    """A bounded run that adapts a model to examples."""

    method: Method = Field(description="What of the model is trained.", examples=["lora"])
    adapter: Adapter = Field(
        Adapter.model_construct(), description="The adapter of lora, qlora and dora."
    )


class PreTraining(Training):
    """A bounded run that trains a model on text."""
