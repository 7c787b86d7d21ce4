"""What a user declares: one vocabulary for YAML, Python and Pulumi inputs.

Python names are snake_case, the same names in camelCase stand in files and Pulumi inputs. A kind of
work is one class; `WORKLOAD_CLASSES` maps (kind, modality) to it, and later kinds only add to it.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Positive = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]


class Kind(str, Enum):
    """What runs."""

    SERVING = "serving"
    BATCH_INFERENCE = "batch-inference"
    EVALUATION = "evaluation"


class Modality(str, Enum):
    """What goes in and out."""

    TEXT = "text"
    VISION_LANGUAGE = "vision-language"


class Market(str, Enum):
    """How capacity is bought, in AWS's words."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"


class InterruptionTolerance(str, Enum):
    """What an interruption costs the work."""

    NONE = "none"
    CHECKPOINTED = "checkpointed"
    RESTARTABLE = "restartable"


class TrafficShape(str, Enum):
    """How requests come over the day."""

    STEADY = "steady"
    BURSTY = "bursty"
    SCHEDULED = "scheduled"


class Group(BaseModel):
    """A group of fields: unknown keys are errors, values never change."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
        protected_namespaces=(),
    )


class Tokens(Group):
    """A distribution of token counts per sequence."""

    mean: Positive
    p95: Positive | None = None


class Engine(Group):
    """The serving engine; also written `name@version`."""

    name: str = "vllm"
    version: str | None = None
    memory_fraction: Fraction | None = None
    max_batched_tokens: Positive | None = None
    max_sequences: Positive | None = None
    eager: bool = False
    cpu_offload_gib: Annotated[float, Field(ge=0)] = 0.0
    speculative: str | None = None
    lora_adapters: Annotated[int, Field(ge=0)] = 0


class Latency(Group):
    """Targets that a user feels, at the declared concurrency."""

    time_per_output_token_ms: PositiveFloat | None = None
    time_to_first_token_ms: PositiveFloat | None = None


class Replicas(Group):
    """Copies of the whole placement; `min: 0` scales to zero, unset lets gpusize decide."""

    min: Annotated[int, Field(ge=0)] | None = None
    max: Positive = 1


class Traffic(Group):
    """When requests come."""

    shape: TrafficShape = TrafficShape.STEADY
    hours_per_day: Annotated[float, Field(gt=0, le=24)] = 24.0
    days_per_week: Annotated[float, Field(gt=0, le=7)] = 7.0


class Budget(Group):
    """Ceilings in USD."""

    per_hour: PositiveFloat | None = None
    per_month: PositiveFloat | None = None
    per_run: PositiveFloat | None = None


class WeightsLocation(str, Enum):
    """Where the weights lie before they are loaded."""

    ROOT_VOLUME = "root-volume"
    INSTANCE_STORE = "instance-store"
    S3 = "s3"
    FSX = "fsx"
    HUB = "hub"


class Storage(Group):
    """Where weights lie and what is moved."""

    weights: WeightsLocation = WeightsLocation.ROOT_VOLUME
    weights_region: str | None = None
    root_volume_gib: Positive | None = None
    root_volume_throughput_mbps: Positive | None = None
    egress_gb_per_month: Annotated[float, Field(ge=0)] = 0.0


class InlineModel(Group):
    """An architecture given in place of a catalog id; names follow the hub's config.json."""

    name: str = "inline"
    total_params: Positive
    active_params: Positive | None = None
    layers: Positive
    hidden: Positive
    intermediate: Positive | None = None
    heads: Positive
    kv_heads: Positive
    head_dim: Positive | None = None
    vocab: Positive
    tie_embeddings: bool = False
    max_position: Positive | None = None
    kv_lora_rank: Positive | None = None
    qk_rope_head_dim: Positive | None = None
    sliding_window: Positive | None = None
    sliding_layers: Annotated[int, Field(ge=0)] | None = None
    experts_total: Positive | None = None
    experts_active: Positive | None = None
    moe_intermediate: Positive | None = None
    vision_params: Annotated[int, Field(ge=0)] | None = None
    native_format: str = "bf16"


class Images(Group):
    """Images of one prompt."""

    per_prompt: Positive = 1
    width: Positive = 1024
    height: Positive = 1024


class WaiverEntry(Group):
    """An accepted finding: why, by whom, until when."""

    id: str | None = None
    rule: str
    reason: str
    owner: str
    expires: str
    evidence: str | None = None


class Workload(Group):
    """Fields that every kind takes."""

    kind: Kind
    modality: Modality = Modality.TEXT
    model: str | InlineModel
    weights_format: str = "auto"
    compute_precision: str = "auto"
    region: str
    zone: str | None = None
    tp: Positive | None = None
    pp: Positive | None = None
    dp: Positive | None = None
    ep: Positive | None = None
    instance_type: str | None = None
    nodes_per_replica: Positive | None = None
    market: Market | None = None
    capacity_reservation: str | None = None
    interruption_tolerance: InterruptionTolerance | None = None
    budget: Budget = Budget.model_construct()
    storage: Storage = Field(default_factory=lambda: Storage())
    tags: dict[str, str] = Field(default_factory=dict)
    waivers: tuple[WaiverEntry, ...] = ()

    default_tolerance: ClassVar[InterruptionTolerance] = InterruptionTolerance.NONE


class Inference(Workload):
    """Fields of every kind that generates tokens."""

    engine: Engine = Field(default_factory=lambda: Engine())
    kv_cache_format: str = "auto"
    context_length: Positive
    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    concurrency: Positive = 1
    replicas: Replicas = Field(default_factory=lambda: Replicas())


class Serving(Inference):
    """A service that answers requests."""

    user_facing: bool = True
    latency: Latency = Field(default_factory=lambda: Latency())
    traffic: Traffic = Field(default_factory=lambda: Traffic())
    horizon_months: PositiveFloat | None = None


class BatchInference(Inference):
    """Bounded generation over a set of inputs."""

    run_hours: PositiveFloat | None = None
    runs_per_month: PositiveFloat | None = None

    default_tolerance: ClassVar[InterruptionTolerance] = InterruptionTolerance.RESTARTABLE


class Evaluation(BatchInference):
    """A bounded run that scores a model."""


class VisionLanguageServing(Serving):
    """Serving with images in the prompt."""

    images: Images = Field(default_factory=lambda: Images())


class VisionLanguageBatchInference(BatchInference):
    """Batch inference with images in the prompt."""

    images: Images = Field(default_factory=lambda: Images())


class VisionLanguageEvaluation(Evaluation):
    """Evaluation with images in the prompt."""

    images: Images = Field(default_factory=lambda: Images())


WORKLOAD_CLASSES: dict[tuple[Kind, Modality], type[Workload]] = {
    (Kind.SERVING, Modality.TEXT): Serving,
    (Kind.BATCH_INFERENCE, Modality.TEXT): BatchInference,
    (Kind.EVALUATION, Modality.TEXT): Evaluation,
    (Kind.SERVING, Modality.VISION_LANGUAGE): VisionLanguageServing,
    (Kind.BATCH_INFERENCE, Modality.VISION_LANGUAGE): VisionLanguageBatchInference,
    (Kind.EVALUATION, Modality.VISION_LANGUAGE): VisionLanguageEvaluation,
}


def parse_workload(raw: Any, path: str = "") -> Workload:
    """Turn a declaration (camelCase or snake_case keys) into a workload.

    Raises `GpuSizeError` with every problem, each with its camelCase path below `path` and a fix.
    """
    raise NotImplementedError
