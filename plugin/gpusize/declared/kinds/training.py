"""Kinds that train a language model, on text or with images."""

from pydantic import Field

from gpusize.declared.optimizing import Adapter
from gpusize.declared.training import Training, VisionLanguageTraining
from gpusize.declared.words import Method, Objective, Switch


class FineTuning(Training):
    """A bounded run that adapts a model to examples."""

    method: Method = Field(description="What of the model is trained.", examples=["lora"])
    adapter: Adapter = Field(
        Adapter.model_construct(), description="The adapter of lora, qlora and dora."
    )
    objective: Objective = Field(
        Objective.LANGUAGE,
        description="What it learns from: text; pairs of answers beside a frozen copy of the model "
        "(preference, as DPO) or with a head of one number (reward); classes; single answers "
        "beside such a copy (unpaired, as KTO); pairs without one (contrast, as SimPO and ORPO); "
        "or pairs of texts whose vectors shall be near (embedding).",
    )


class PreTraining(Training):
    """A bounded run that trains a model on text."""


class VisionLanguageFineTuning(FineTuning, VisionLanguageTraining):
    """A bounded run that adapts a model to examples with images."""


class VisionLanguagePreTraining(PreTraining, VisionLanguageTraining):
    """A bounded run that trains a model on text and images."""

    train_vision: Switch = Field(
        True, description="Whether the vision tower is trained too; its projector always is."
    )
