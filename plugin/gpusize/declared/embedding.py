"""Work that turns texts into vectors, or ranks them."""

from pydantic import Field

from gpusize.declared.base import Workload
from gpusize.declared.groups import Replicas
from gpusize.declared.words import AttentionKernel, Positive


class Embedding(Workload):
    """Fields of every kind that turns texts into vectors, or ranks them."""

    context_length: Positive = Field(description="Longest text, tokens.", examples=[512])
    batch: Positive = Field(1, description="Texts that one forward pass takes on one GPU.")
    attention: AttentionKernel = Field(
        AttentionKernel.FLASH,
        description="Whether attention keeps its scores, as eager attention does.",
    )
    concurrency: Positive = Field(
        1,
        description="Batches at once in one replica, each on a GPU of its own where one is.",
    )
    replicas: Replicas = Field(
        Replicas.model_construct(), description="Copies of the whole placement."
    )
