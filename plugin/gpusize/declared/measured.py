"""What somebody measured of a workload, in place of the estimate."""

from pydantic import Field

from gpusize.declared.groups import Group
from gpusize.declared.words import Positive, PositiveFloat, Text


class Measurement(Group):
    """Memory of the fullest GPU as measured, with all other fields as they are declared."""

    gpu: Text = Field(description="GPU that it was measured on.", examples=["L40S"])
    engine: Text | None = Field(
        None,
        description="Serving engine that it was measured with, name@version.",
        examples=["vllm@0.20.1"],
    )
    trainer: Text | None = Field(
        None,
        description="Training framework that it was measured with: name or name@version.",
        examples=["hf"],
    )
    tp: Positive = Field(1, description="Tensor-parallel ranks.")
    pp: Positive = Field(1, description="Pipeline stages.")
    dp: Positive = Field(1, description="Copies of the model; counts for training alone.")
    ep: Positive = Field(1, description="Ranks that shared the experts of a stage.")
    cp: Positive = Field(1, description="Ranks that shared each sequence or sample.")
    weights_gib: PositiveFloat | None = Field(
        None, description="Weights of the fullest GPU of an engine, GiB."
    )
    overhead_gib: PositiveFloat | None = Field(
        None,
        description="All that the engine counts in its budget but weights and KV cache, GiB: the "
        "budget less the weights and the cache that its log says is available.",
    )
    peak_gib: PositiveFloat | None = Field(
        None,
        description="Peak of the process on the fullest GPU, GiB, of work that no engine serves: "
        "training, pipelines, embedding, speech.",
    )
    date: Text = Field(description="Day of the measurement, YYYY-MM-DD.", examples=["2026-11-01"])
    source: Text = Field(
        description="Where it can be read: a link, a path or a log.",
        examples=["logs/chat-2026-11-01.txt"],
    )
