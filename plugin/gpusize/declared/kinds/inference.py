"""Kinds that answer with text, beside the two that what is asked is read by."""

from pydantic import Field

from gpusize.declared.inference import BatchInference, Images, Serving


class Evaluation(BatchInference):
    """A bounded run that scores a model."""


class VisionLanguageServing(Serving):
    """Serving with images in the prompt."""

    images: Images = Field(Images.model_construct(), description="Images of one prompt.")


class VisionLanguageBatchInference(BatchInference):
    """Batch inference with images in the prompt."""

    images: Images = Field(Images.model_construct(), description="Images of one prompt.")


class VisionLanguageEvaluation(Evaluation):
    """Evaluation with images in the prompt."""

    images: Images = Field(Images.model_construct(), description="Images of one prompt.")
