"""The stages of a pipeline, and what lies on the GPU in each: the peak is the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.diffusion import activations, weights
from gpusize.workload import PipelineOffload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusize.memory.diffusion.job import Job
    from gpusize.memory.diffusion.weights import Weights
    from gpusize.pipeline import PipelineFacts

LAYER_SHARE = 1 / 12
"""Part of a component that lies on the GPU where each layer waits for its turn, at most: the token
table of a text encoder, two layers of a transformer. Source: CogVideoX-5b, 4.8 GiB with tiled
decoding (diffusers-torchao 9b9f238), of which its decoder takes 3.0."""


class Stage(NamedTuple):
    """One stage at its fullest."""

    name: str
    weights: int
    activations: int

    @property
    def size(self) -> int:
        """Both together."""
        return self.weights + self.activations


def stages(pipeline: PipelineFacts, job: Job, held: Weights) -> Iterator[Stage]:
    """Every stage; what is not its own stays on the GPU, or waits in host memory."""
    decoder = pipeline.decoder
    assert decoder is not None
    if job.quantized_on_gpu and job.offload is PipelineOffload.NONE:
        yield Stage("load", weights.unquantized(pipeline, job), 0)
    yield Stage("encode text", _on_gpu(job, held, held.encoders), 0)
    work = max(activations.work_bytes(part, decoder, job) for part in pipeline.denoisers)
    work += weights.gathered(pipeline, job)
    name = "generate" if pipeline.generates else "denoise"
    yield Stage(name, _on_gpu(job, held, held.denoisers), work)
    result = activations.result_bytes(decoder, pipeline.denoisers[0], job)
    yield Stage("decode", _on_gpu(job, held, (held.decoder,)), result)


def peak(pipeline: PipelineFacts, job: Job, held: Weights) -> Stage:
    """The stage that needs most; the one with more weights where two are alike."""
    return max(stages(pipeline, job, held), key=lambda stage: (stage.size, stage.weights))


def _on_gpu(job: Job, held: Weights, own: tuple[int, ...]) -> int:
    if job.offload is PipelineOffload.NONE:
        return held.total
    largest = max(own, default=0)
    share = 1.0 if job.offload is PipelineOffload.MODEL else LAYER_SHARE
    return held.fixed + round(largest * share)
