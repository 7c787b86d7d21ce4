"""What a user declares: one vocabulary for YAML, Python and Pulumi inputs.

Python names are snake_case, the same names in camelCase stand in files and Pulumi inputs. A kind of
work is one class, in `gpusize.declared`; `WORKLOAD_CLASSES` maps (kind, modality) to it, and later
kinds only add to it. Every field has a description: the JSON Schema, the error messages and the
docs are made from it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpusize.declared.audio import (
    Audio,
    AudioBatchInference,
    AudioEvaluation,
    AudioServing,
)
from gpusize.declared.base import Bounded, Service, Workload
from gpusize.declared.components import InlineComponent, InlinePipeline
from gpusize.declared.diffusion_training import (
    DiffusionTraining,
    ImageFineTuning,
    VideoFineTuning,
)
from gpusize.declared.embedding import (
    Embedding,
    EmbeddingBatchInference,
    EmbeddingEvaluation,
    EmbeddingServing,
)
from gpusize.declared.generation import (
    Film,
    Generation,
    ImageBatchInference,
    ImageEvaluation,
    ImageServing,
    Pipeline,
    VideoBatchInference,
    VideoEvaluation,
    VideoGeneration,
    VideoServing,
)
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
    Evaluation,
    Images,
    Inference,
    Latency,
    Serving,
    Tokens,
    VisionLanguageBatchInference,
    VisionLanguageEvaluation,
    VisionLanguageServing,
)
from gpusize.declared.optimizing import Adapter, Optimizing, Sharding
from gpusize.declared.training import (
    FineTuning,
    PreTraining,
    Trainer,
    Training,
    VisionLanguageFineTuning,
    VisionLanguagePreTraining,
    VisionLanguageTraining,
)
from gpusize.declared.words import (
    MAX_COUNT,
    MAX_TEXT,
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
    from gpusize_catalog.store import Catalog

__all__ = [
    "BATCHED",
    "MAX_COUNT",
    "MAX_TEXT",
    "RESERVED_KINDS",
    "RESERVED_MODALITIES",
    "WORKLOAD_CLASSES",
    "Adapter",
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

WORKLOAD_CLASSES: dict[tuple[Kind, Modality], type[Workload]] = {
    (Kind.SERVING, Modality.TEXT): Serving,
    (Kind.BATCH_INFERENCE, Modality.TEXT): BatchInference,
    (Kind.EVALUATION, Modality.TEXT): Evaluation,
    (Kind.FINE_TUNING, Modality.TEXT): FineTuning,
    (Kind.PRE_TRAINING, Modality.TEXT): PreTraining,
    (Kind.SERVING, Modality.VISION_LANGUAGE): VisionLanguageServing,
    (Kind.BATCH_INFERENCE, Modality.VISION_LANGUAGE): VisionLanguageBatchInference,
    (Kind.EVALUATION, Modality.VISION_LANGUAGE): VisionLanguageEvaluation,
    (Kind.FINE_TUNING, Modality.VISION_LANGUAGE): VisionLanguageFineTuning,
    (Kind.PRE_TRAINING, Modality.VISION_LANGUAGE): VisionLanguagePreTraining,
    (Kind.SERVING, Modality.IMAGE): ImageServing,
    (Kind.BATCH_INFERENCE, Modality.IMAGE): ImageBatchInference,
    (Kind.EVALUATION, Modality.IMAGE): ImageEvaluation,
    (Kind.SERVING, Modality.VIDEO): VideoServing,
    (Kind.BATCH_INFERENCE, Modality.VIDEO): VideoBatchInference,
    (Kind.EVALUATION, Modality.VIDEO): VideoEvaluation,
    (Kind.FINE_TUNING, Modality.IMAGE): ImageFineTuning,
    (Kind.FINE_TUNING, Modality.VIDEO): VideoFineTuning,
    (Kind.SERVING, Modality.EMBEDDING): EmbeddingServing,
    (Kind.BATCH_INFERENCE, Modality.EMBEDDING): EmbeddingBatchInference,
    (Kind.EVALUATION, Modality.EMBEDDING): EmbeddingEvaluation,
    (Kind.SERVING, Modality.AUDIO): AudioServing,
    (Kind.BATCH_INFERENCE, Modality.AUDIO): AudioBatchInference,
    (Kind.EVALUATION, Modality.AUDIO): AudioEvaluation,
}

BATCHED = (Generation, Embedding, Audio)
"""Classes of work that runs whole on each GPU, batch by batch: it has no sequences to serve."""


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


def workload_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a declarations file; one workload is `$defs/workload`."""
    from gpusize.workload_schema import schema

    return schema()
