"""What a user declares: one vocabulary for YAML, Python and Pulumi inputs.

Python names are snake_case, the same names in camelCase stand in files and Pulumi inputs. A kind of
work is one class, in `gpusize.declared`; `WORKLOAD_CLASSES` maps (kind, modality) to it and builds
it when it is asked for. Every field has a description: the JSON Schema, the error messages and the
docs are made from it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpusize.declared.audio import Audio
from gpusize.declared.base import Bounded, Service, Workload
from gpusize.declared.components import InlineComponent, InlinePipeline
from gpusize.declared.diffusion_training import DiffusionTraining
from gpusize.declared.embedding import Embedding
from gpusize.declared.generation import Film, Generation, Pipeline, VideoGeneration
from gpusize.declared.groups import (
    AutoStop,
    Budget,
    CapacityBlock,
    Checkpoints,
    Commitment,
    Group,
    InlineModel,
    Neighbor,
    Replicas,
    Reserve,
    Storage,
    Traffic,
    WaiverEntry,
)
from gpusize.declared.inference import (
    BatchInference,
    Engine,
    Images,
    Inference,
    Latency,
    Serving,
    Tokens,
)
from gpusize.declared.kinds import NAMES, WORKLOAD_CLASSES, named
from gpusize.declared.measured import Measurement
from gpusize.declared.optimizing import Adapter, Optimizing, Sharding, TokenAdapter
from gpusize.declared.training import Trainer, Training, VisionLanguageTraining
from gpusize.declared.words import (
    MAX_COUNT,
    MAX_TEXT,
    AdapterForm,
    AdapterTargets,
    Amount,
    AttentionKernel,
    CheckpointLocation,
    CommitmentPlan,
    ComponentPart,
    DecoderKind,
    Fraction,
    InterruptionTolerance,
    Kind,
    Loss,
    Market,
    Method,
    Modality,
    Natural,
    Objective,
    Offload,
    Optimizer,
    PipelineOffload,
    Positive,
    PositiveFloat,
    Processor,
    Recompute,
    ShardingMode,
    Share,
    SoundEngine,
    StatePrecision,
    Switch,
    Text,
    TrafficShape,
    WeightsLocation,
)

if TYPE_CHECKING:
    from gpusize.declared.kinds.audio import AudioBatchInference, AudioEvaluation, AudioServing
    from gpusize.declared.kinds.diffusion_training import ImageFineTuning, VideoFineTuning
    from gpusize.declared.kinds.embedding import (
        EmbeddingBatchInference,
        EmbeddingEvaluation,
        EmbeddingServing,
    )
    from gpusize.declared.kinds.generation import (
        ImageBatchInference,
        ImageEvaluation,
        ImageServing,
        VideoBatchInference,
        VideoEvaluation,
        VideoServing,
    )
    from gpusize.declared.kinds.inference import (
        Evaluation,
        VisionLanguageBatchInference,
        VisionLanguageEvaluation,
        VisionLanguageServing,
    )
    from gpusize.declared.kinds.training import (
        FineTuning,
        PreTraining,
        VisionLanguageFineTuning,
        VisionLanguagePreTraining,
    )
    from gpusize.declaring.sidecar import Sidecar
    from gpusize_catalog.store import Catalog

__all__ = [
    "BATCHED",
    "MAX_COUNT",
    "MAX_TEXT",
    "RESERVED_KINDS",
    "RESERVED_MODALITIES",
    "WORKLOAD_CLASSES",
    "Adapter",
    "AdapterForm",
    "AdapterTargets",
    "Amount",
    "AttentionKernel",
    "Audio",
    "AudioBatchInference",
    "AudioEvaluation",
    "AudioServing",
    "AutoStop",
    "BatchInference",
    "Bounded",
    "Budget",
    "CapacityBlock",
    "CheckpointLocation",
    "Checkpoints",
    "Commitment",
    "CommitmentPlan",
    "ComponentPart",
    "DecoderKind",
    "DiffusionTraining",
    "Embedding",
    "EmbeddingBatchInference",
    "EmbeddingEvaluation",
    "EmbeddingServing",
    "Engine",
    "Evaluation",
    "Film",
    "FineTuning",
    "Fraction",
    "Generation",
    "Group",
    "ImageBatchInference",
    "ImageEvaluation",
    "ImageFineTuning",
    "ImageServing",
    "Images",
    "Inference",
    "InlineComponent",
    "InlineModel",
    "InlinePipeline",
    "InterruptionTolerance",
    "Kind",
    "Latency",
    "Loss",
    "Market",
    "Measurement",
    "Method",
    "Modality",
    "Natural",
    "Neighbor",
    "Objective",
    "Offload",
    "Optimizer",
    "Optimizing",
    "Pipeline",
    "PipelineOffload",
    "Positive",
    "PositiveFloat",
    "PreTraining",
    "Processor",
    "Recompute",
    "Replicas",
    "Reserve",
    "Service",
    "Serving",
    "Sharding",
    "ShardingMode",
    "Share",
    "SoundEngine",
    "StatePrecision",
    "Storage",
    "Switch",
    "Text",
    "TokenAdapter",
    "Tokens",
    "Traffic",
    "TrafficShape",
    "Trainer",
    "Training",
    "VideoBatchInference",
    "VideoEvaluation",
    "VideoFineTuning",
    "VideoGeneration",
    "VideoServing",
    "VisionLanguageBatchInference",
    "VisionLanguageEvaluation",
    "VisionLanguageFineTuning",
    "VisionLanguagePreTraining",
    "VisionLanguageServing",
    "VisionLanguageTraining",
    "WaiverEntry",
    "WeightsLocation",
    "Workload",
    "parse_workload",
    "parse_workloads",
    "workload_schema",
]

RESERVED_KINDS = ("post-training",)
"""Kinds of the vocabulary that this version cannot size."""

RESERVED_MODALITIES: tuple[str, ...] = ()
"""Modalities of the vocabulary that this version cannot size."""

BATCHED = (Generation, Embedding, Audio)
"""Classes of work that runs whole on each GPU, batch by batch: it has no sequences to serve."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Workload]:
        """Build a class of a kind when its name is imported from here."""
        if name in NAMES:
            return named(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def parse_workload(raw: Any, path: str = "", catalog: "Catalog | None" = None) -> Workload:
    """Turn a declaration (camelCase or snake_case keys) into a workload.

    `catalog` has the formats and engines that may be named; the shipped one where it is left out.
    Raises `GpuSizeError` with every problem, each with its camelCase path below `path` and a fix.
    """
    from gpusize.declaring.declaration import read_workload

    return read_workload(raw, path, catalog)


def parse_workloads(
    raw: Any,
    file: str = "",
    lines: Mapping[str, tuple[int, int]] | None = None,
    catalog: "Catalog | None" = None,
) -> dict[str, Workload]:
    """Turn a file's content, `workloads: {name: declaration}`, into workloads by name.

    `lines` maps a path to the line and column where it stands; `catalog` as above. Raises
    `GpuSizeError` with every problem of every workload.
    """
    from gpusize.declaring.declaration import read_workloads

    return read_workloads(raw, file, lines, catalog)


def parse_file(
    raw: Any,
    file: str = "",
    lines: Mapping[str, tuple[int, int]] | None = None,
    catalog: "Catalog | None" = None,
) -> "tuple[dict[str, Workload], Sidecar]":
    """Turn a file's content into its workloads and what it says of the stack beside them.

    Takes and raises what `parse_workloads` does.
    """
    from gpusize.declaring.declaration import read_file

    return read_file(raw, file, lines, catalog)


def workload_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a declarations file; one workload is `$defs/workload`."""
    from gpusize.workload_schema import schema

    return schema()
