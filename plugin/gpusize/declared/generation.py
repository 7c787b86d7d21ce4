"""Work that makes images and videos by a pipeline of components."""

from typing import Annotated

from pydantic import Field

from gpusize.declared.base import Workload
from gpusize.declared.groups import Group, Replicas
from gpusize.declared.words import PipelineOffload, Positive, PositiveFloat, Switch
from gpusize.declaring.vocabulary import COMPUTE_PRECISIONS, WEIGHTS_FORMATS


class Pipeline(Group):
    """How a pipeline of components is held and decoded."""

    offload: PipelineOffload = Field(
        PipelineOffload.NONE,
        description="What waits in host memory: nothing, each component until its turn (model), or "
        "each layer until its turn (sequential).",
    )
    text_encoder_format: Annotated[str, WEIGHTS_FORMATS] = Field(
        "auto", description="Format of the text encoders' weights; auto: the compute precision."
    )
    quantized_on_gpu: Switch = Field(
        False,
        description="Whether weights are loaded unquantized to the GPU and quantized there.",
    )
    fused_projections: Switch = Field(
        False, description="Whether fused query, key and value projections are held besides."
    )
    tiling: Switch = Field(False, description="Whether the VAE decodes in tiles.")
    slicing: Switch = Field(False, description="Whether the VAE decodes one sample at a time.")
    decoder_precision: Annotated[str, COMPUTE_PRECISIONS] = Field(
        "auto",
        description="Precision of the VAE; auto: as the pipeline is published to run, else the "
        "compute precision.",
    )
    sharded_weights: Switch = Field(
        False,
        description="Whether GPUs that share a sample (`cp`) hold a part of the weights each.",
    )


class Generation(Workload):
    """Fields of every kind that makes pictures by a pipeline of components."""

    width: Positive = Field(description="Width of a picture, pixels.", examples=[1024])
    height: Positive = Field(description="Height of a picture, pixels.", examples=[1024])
    batch: Positive = Field(1, description="Samples that are made together on one GPU.")
    steps: Positive | None = Field(None, description="Steps that remove the noise of one sample.")
    cp: Positive | None = Field(
        None, description="GPUs that share each sample, a part of its tokens each; 1 if left out."
    )
    pipeline: Pipeline = Field(
        Pipeline.model_construct(), description="How the pipeline is held and decoded."
    )
    concurrency: Positive = Field(
        1,
        description="Batches at once in one replica, each on a GPU of its own where one is.",
    )
    replicas: Replicas = Field(
        Replicas.model_construct(), description="Copies of the whole placement."
    )


class Film(Group):
    """Fields of every kind that has to do with videos."""

    frames: Positive | None = Field(
        None, description="Frames of one video; seconds x fps + 1 where it is left out."
    )
    seconds: PositiveFloat | None = Field(None, description="Length of one video, seconds.")
    fps: PositiveFloat = Field(24.0, description="Frames of a video per second.")

    @property
    def all_frames(self) -> int:
        """Frames as declared, or as many as the seconds take."""
        return self.frames or round((self.seconds or 0.0) * self.fps) + 1

    @property
    def length(self) -> float:
        """Seconds of one video."""
        return self.seconds or self.all_frames / self.fps


class VideoGeneration(Film, Generation):
    """Fields of every kind that makes videos."""
