"""A pipeline given by its components in place of a name."""

from typing import Annotated, ClassVar

from pydantic import Field

from gpusize.declared.groups import Group
from gpusize.declared.words import (
    ComponentPart,
    DecoderKind,
    Natural,
    Positive,
    PositiveFloat,
    Switch,
    Text,
)
from gpusize.declaring.vocabulary import NATIVE_FORMATS


class InlineComponent(Group):
    """One component of a pipeline; names follow the catalog's table of components."""

    part: ComponentPart = Field(description="What it does.", examples=["transformer"])
    params: Positive = Field(description="Parameters, counted in ones.", examples=[11901408320])
    hidden: Positive | None = Field(
        None,
        description="Width of a transformer or generator; of a U-Net at full latent resolution.",
        examples=[3072],
    )
    blocks: Positive | None = Field(
        None, description="Blocks that one token passes; for times, and a generator's cache."
    )
    patch: Positive | None = Field(
        None, description="Latents per token, each way; 1 for a U-Net.", examples=[2]
    )
    patch_frames: Positive = Field(1, description="Latent frames per token.")
    rows_per_sample: Positive = Field(
        2, description="Rows of a batch that one sample takes: 2 with guidance in one pass, else 1."
    )
    text_tokens: Natural = Field(
        0, description="Tokens of text that join those of the sample, at most."
    )
    stream_bits: Positive = Field(
        16, description="Bits of one number of the residual stream beside 16-bit weights."
    )
    attention_sets: Positive | None = Field(
        None, description="Sets of query, key and value projections, all as wide as it."
    )
    scale: Positive | None = Field(
        None,
        description="Pixels per latent pixel, each way; samples per latent of sound.",
        examples=[8],
    )
    scale_frames: Positive = Field(1, description="Frames per latent frame.")
    decoder_kind: DecoderKind | None = Field(
        None, description="How the decoder works; 1d where a sample rate is given.", examples=["2d"]
    )
    decoder_width: Positive | None = Field(
        None,
        description="Channels of the decoder's widest layer at its last resolution.",
        examples=[256],
    )
    decoder_shrink: Positive = Field(1, description="Pixels per position of that layer, each way.")
    decoded_frames: Positive | None = Field(
        None, description="Frames that are decoded at once; all where it is left out."
    )
    tile_pixels: Positive | None = Field(None, description="Pixels of a tile, where it can tile.")
    tile_latents: Positive | None = Field(
        None, description="Latents of a tile of sound, where it can tile."
    )
    upcasts_fp16: Switch = Field(
        False, description="Whether the decoder computes in fp32 where the pipeline is fp16."
    )
    decoder_bits: Positive | None = Field(
        None, description="Bits of one number in the decoder; of the compute precision if left out."
    )
    sample_rate: Positive | None = Field(
        None, description="Samples of sound per second, of the decoder.", examples=[44100]
    )
    latents: Positive | None = Field(
        None, description="Latents of every clip of sound, where its length does not matter."
    )
    longest_seconds: PositiveFloat | None = Field(None, description="Longest clip, seconds.")
    tokens_per_second: PositiveFloat | None = Field(
        None,
        description="Tokens that a generator makes one after the other for a second of sound; all "
        "positions at once where it is left out.",
        examples=[50],
    )
    positions: Positive | None = Field(
        None, description="Most positions that a generator holds at once."
    )
    eager_heads: Positive | None = Field(
        None, description="Heads whose attention scores are held whole."
    )
    native_format: Annotated[str, NATIVE_FORMATS] = Field(
        "bf16", description="Format that a generator is published and loaded in."
    )


class InlinePipeline(Group):
    """A pipeline given in place of a name: its text encoders, what makes the sample, a decoder."""

    mark: ClassVar[str] = "components"

    name: Text = Field("inline", description="What to call the pipeline in answers.")
    components: tuple[InlineComponent, ...] = Field(
        description="Its components, each once.", examples=["[{part: vae, params: 83653863, …}]"]
    )
