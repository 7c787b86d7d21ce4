"""Work that changes the weights of models that read and write tokens."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from gpusize.declared.groups import Group
from gpusize.declared.inference import Engine, Images
from gpusize.declared.optimizing import Optimizing
from gpusize.declared.words import AttentionKernel, Loss, Positive, Recompute, Switch, Text
from gpusize.declaring.vocabulary import TRAINERS


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
    recompute: Recompute | None = Field(
        None,
        description="Which activations are computed again in the backward pass; as the trainer "
        "does by itself where it is left out.",
    )
    offload_activations: Switch | None = Field(
        None,
        description="Whether inputs of layers wait in host memory for the backward pass; as the "
        "trainer does where it is left out.",
    )
    loss: Loss | None = Field(
        None,
        description="How much of the logits the loss holds at once; as the trainer does where it "
        "is left out.",
    )
    optimizer_in_backward: Switch = Field(
        False,
        description="Whether each gradient is used and dropped in the backward pass; with one "
        "micro batch in a step, where the trainer has it.",
    )
    cp: Positive | None = Field(None, description="Ranks that share each sequence.")
    tokens: Positive | None = Field(None, description="Tokens of the whole run.")


class VisionLanguageTraining(Training):
    """Fields of training with images in the sequences."""

    images: Images = Field(Images.model_construct(), description="Images of one sequence.")
    train_vision: Switch = Field(
        False, description="Whether the vision tower is trained too; its projector always is."
    )
