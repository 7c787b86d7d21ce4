"""Work that changes the weights of pipelines that make pictures."""

from typing import Annotated

from pydantic import Field

from gpusize.declared.optimizing import Adapter, Optimizing
from gpusize.declared.words import Method, Positive, Recompute, Switch
from gpusize.declaring.vocabulary import DIFFUSION_TRAINERS, WEIGHTS_FORMATS


class DiffusionTraining(Optimizing):
    """Fields of every kind that trains what removes the noise in a pipeline."""

    trainer: Annotated[str, DIFFUSION_TRAINERS] = Field(
        "diffusers", description="Training framework."
    )
    method: Method = Field(description="What of the pipeline is trained.", examples=["lora"])
    adapter: Adapter = Field(
        Adapter.model_construct(), description="The adapter of lora, qlora and dora."
    )
    width: Positive = Field(
        description="Width of the pictures that are trained on, pixels.", examples=[1024]
    )
    height: Positive = Field(
        description="Height of the pictures that are trained on, pixels.", examples=[1024]
    )
    caption_tokens: Positive | None = Field(
        None,
        description="Tokens that a caption is padded to; as many as the pipeline takes where it is "
        "left out.",
    )
    text_encoder_format: Annotated[str, WEIGHTS_FORMATS] = Field(
        "auto", description="Format of the text encoders' weights; auto: the compute precision."
    )
    recompute: Recompute = Field(
        Recompute.NONE, description="Which activations are computed again in the backward pass."
    )
    cached_latents: Switch = Field(
        False,
        description="Whether the VAE encodes all pictures before the training and is then freed.",
    )
    cached_text_embeddings: Switch = Field(
        False,
        description="Whether the text encoders encode all captions before the training and are "
        "then freed.",
    )
    train_text_encoder: Switch = Field(
        False, description="Whether the CLIP text encoders are trained too, by the same method."
    )
    ema: Switch = Field(False, description="Whether a running mean of trained weights is kept.")
    tiling: Switch = Field(False, description="Whether the VAE encodes in tiles.")
    swapped_blocks: Positive | None = Field(
        None,
        description="Blocks of the frozen denoiser that wait in host memory until they are used.",
    )
    train_steps: Positive | None = Field(
        None, description="Steps of the optimizer in the whole run, in place of samples and epochs."
    )
