"""Work that changes the weights of models that read and write tokens."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from gpusize.declared.groups import Group
from gpusize.declared.inference import Engine
from gpusize.declared.optimizing import Adapter, Optimizing
from gpusize.declared.words import AttentionKernel, Loss, Method, Positive, Text
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


class Training(Optimizing):
    """Fields of every kind that changes the weights of a language model."""

    trainer: Trainer = Field(
        Trainer.model_construct(), description="Training framework: name@version or its fields."
    )
    sequence_length: Positive = Field(
        description="Tokens of one training sequence, padded or packed to it.", examples=[4096]
    )
    attention: AttentionKernel = Field(
        AttentionKernel.FLASH, description="Whether attention keeps its scores."
    )
    loss: Loss = Field(Loss.PLAIN, description="How much of the logits the loss holds at once.")
    tokens: Positive | None = Field(None, description="Tokens of the whole run.")


class FineTuning(Training):
    """A bounded run that adapts a model to examples."""

    method: Method = Field(description="What of the model is trained.", examples=["lora"])
    adapter: Adapter = Field(
        Adapter.model_construct(), description="The adapter of lora, qlora and dora."
    )


class PreTraining(Training):
    """A bounded run that trains a model on text."""
