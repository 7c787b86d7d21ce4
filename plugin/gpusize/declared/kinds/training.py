"""Kinds that train a language model, on text or with images."""

from pydantic import Field

from gpusize.declared.optimizing import TokenAdapter
from gpusize.declared.training import Training, VisionLanguageTraining
from gpusize.declared.words import Method, Objective, Switch


class FineTuning(Training):
    """A bounded run that adapts a model to examples."""

    method: Method = Field(description="What of the model is trained.", examples=["lora"])
    adapter: TokenAdapter = Field(
        TokenAdapter.model_construct(), description="The adapter of lora, qlora and dora."
    )
    objective: Objective = Field(
        Objective.LANGUAGE,
        description="What it learns from: text; pairs of answers beside a frozen copy of the model "
        "(preference, as DPO) or with a head of one number (reward); classes; single answers "
        "beside such a copy (unpaired, as KTO); pairs without one (contrast, as SimPO and ORPO); "
        "pairs of texts whose vectors shall be near (embedding); answers of its own that are "
        "rewarded beside such a copy (policy, as GRPO), and with a critic and a model of rewards "
        "as large as itself (actor-critic, as PPO); or what a teacher as large says of them "
        "(distillation, as GKD).",
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
