"""Work that makes sound, or writes down what is said in it."""

from pydantic import Field

from gpusize.declared.base import Workload
from gpusize.declared.generation import Pipeline
from gpusize.declared.groups import Replicas
from gpusize.declared.words import Positive, PositiveFloat, SoundEngine


class Audio(Workload):
    """Fields of every kind that makes music or speech, or recognizes speech."""

    seconds: PositiveFloat = Field(
        description="Length of one clip that is made or transcribed, seconds.", examples=[30]
    )
    batch: Positive = Field(1, description="Clips that one GPU works on together.")
    steps: Positive | None = Field(None, description="Steps that remove the noise of one clip.")
    beams: Positive | None = Field(
        None,
        description="Texts that speech recognition weighs against each other for each clip; as the "
        "engine does where it is left out.",
    )
    engine: SoundEngine = Field(
        SoundEngine.TRANSFORMERS, description="What recognizes speech, or makes sound."
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
