"""What a user declares: one vocabulary for YAML, Python and Pulumi inputs.

Python names are snake_case, the same names in camelCase stand in files and Pulumi inputs. A kind of
work is one class; `WORKLOAD_CLASSES` maps (kind, modality) to it, and later kinds only add to it.
Every field has a description: the JSON Schema, the error messages and the docs are made from it.

Annotations are real objects here, not strings: pydantic evaluates them once for each class that
inherits them, and this module lies on the path of every command.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpusize.declaring.vocabulary import (
    COMPUTE_PRECISIONS,
    ENGINES,
    KV_CACHE_FORMATS,
    NATIVE_FORMATS,
    TRAINERS,
    WEIGHTS_FORMATS,
)
from gpusize.names import to_camel

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

MAX_COUNT = 2**53
"""Largest whole number taken: JSON and Pulumi carry numbers as doubles, exact up to here."""
MAX_TEXT = 512
"""Longest text taken for a name, a path or a reason, in characters."""

Positive = Annotated[int, Field(gt=0, le=MAX_COUNT, strict=True)]
Natural = Annotated[int, Field(ge=0, le=MAX_COUNT, strict=True)]
PositiveFloat = Annotated[float, Field(gt=0, le=MAX_COUNT, strict=True)]
Amount = Annotated[float, Field(ge=0, le=MAX_COUNT, strict=True)]
Fraction = Annotated[float, Field(gt=0, le=1, strict=True)]
Switch = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]


class Kind(str, Enum):
    """What runs."""

    SERVING = "serving"
    BATCH_INFERENCE = "batch-inference"
    EVALUATION = "evaluation"
    FINE_TUNING = "fine-tuning"
    PRE_TRAINING = "pre-training"


class Modality(str, Enum):
    """What goes in and out."""

    TEXT = "text"
    VISION_LANGUAGE = "vision-language"
    IMAGE = "image"
    VIDEO = "video"
    EMBEDDING = "embedding"


RESERVED_KINDS = ("post-training",)
"""Kinds of the vocabulary that this version cannot size."""
RESERVED_MODALITIES = ("audio",)
"""Modalities of the vocabulary that this version cannot size."""


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


class WeightsLocation(str, Enum):
    """Where the weights lie before they are loaded."""

    ROOT_VOLUME = "root-volume"
    INSTANCE_STORE = "instance-store"
    S3 = "s3"
    FSX = "fsx"
    HUB = "hub"


class PipelineOffload(str, Enum):
    """What of a pipeline waits in host memory."""

    NONE = "none"
    MODEL = "model"
    SEQUENTIAL = "sequential"


class CheckpointLocation(str, Enum):
    """Where progress is kept."""

    S3 = "s3"
    FSX = "fsx"
    EFS = "efs"
    ROOT_VOLUME = "root-volume"
    INSTANCE_STORE = "instance-store"


class Method(str, Enum):
    """What of a model is trained."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"
    DORA = "dora"


class Optimizer(str, Enum):
    """What keeps moments of the gradients."""

    ADAMW = "adamw"
    ADAMW_8BIT = "adamw-8bit"
    PAGED_ADAMW_8BIT = "paged-adamw-8bit"
    ADAFACTOR = "adafactor"
    MUON = "muon"
    SGD = "sgd"


class StatePrecision(str, Enum):
    """Precision of gradients or of optimizer states."""

    FP32 = "fp32"
    BF16 = "bf16"


class Recompute(str, Enum):
    """Which activations are computed again in the backward pass."""

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


class AttentionKernel(str, Enum):
    """Whether attention keeps its scores."""

    FLASH = "flash"
    EAGER = "eager"


class Loss(str, Enum):
    """How much of the logits a loss holds at once."""

    PLAIN = "plain"
    CHUNKED = "chunked"
    FUSED = "fused"


class ShardingMode(str, Enum):
    """What the ranks of data parallelism share."""

    DDP = "ddp"
    ZERO_1 = "zero-1"
    ZERO_2 = "zero-2"
    ZERO_3 = "zero-3"
    FSDP = "fsdp"


class Offload(str, Enum):
    """What lies in host memory."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    ALL = "all"


class AdapterTargets(str, Enum):
    """Which projections have an adapter."""

    QUERY_VALUE = "query-value"
    ATTENTION = "attention"
    ALL_LINEAR = "all-linear"


_SCHEDULE_KEYS = ("hoursPerDay", "hours_per_day", "daysPerWeek", "days_per_week")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Group(BaseModel):
    """A group of fields: unknown keys are errors, values never change."""

    short_form: ClassVar[str] = ""
    """What may stand in place of the fields, in words."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
        protected_namespaces=(),
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """The fields that a short form stands for; anything else as it is."""
        return value

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return cls.expand(value)


class Tokens(Group):
    """A distribution of token counts per sequence; a bare number is the mean."""

    mean: Positive = Field(description="Mean, tokens.", examples=[1500])
    p95: Positive | None = Field(
        None, description="95th percentile, tokens; the mean where it is left out."
    )

    short_form: ClassVar[str] = "a number of tokens"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A bare number is the mean."""
        return {"mean": value} if _is_number(value) else value

    @property
    def high(self) -> int:
        """The 95th percentile, or the mean where none is declared."""
        return self.mean if self.p95 is None else self.p95


class Engine(Group):
    """The serving engine; also written `name@version`."""

    name: Annotated[str, ENGINES] = Field("vllm", description="Serving engine.")
    version: Text | None = Field(
        None, description="Engine version, as released; the newest known where it is left out."
    )
    memory_fraction: Fraction | None = Field(
        None,
        description="Share of the GPU's memory that the engine may take; the engine version's own "
        "default where it is left out.",
    )
    max_batched_tokens: Positive | None = Field(
        None,
        description="Tokens that one step of the engine processes at most; the engine version's "
        "own default where it is left out.",
    )
    max_sequences: Positive | None = Field(
        None,
        description="Sequences that one step of the engine processes at most; the engine "
        "version's own default where it is left out.",
    )
    eager: Switch = Field(False, description="Whether the engine runs without CUDA graphs.")
    cpu_offload_gib: Amount = Field(
        0.0, description="Weights kept in host memory, GiB per GPU.", examples=[4]
    )
    speculative: Text | None = Field(
        None, description="Draft model of speculative decoding: a catalog id, alias or config path."
    )
    speculative_tokens: Positive | None = Field(
        None, description="Tokens that the draft model proposes in each step."
    )
    speculative_acceptance: Fraction | None = Field(
        None, description="Share of the proposed tokens that is accepted, as measured."
    )
    lora_adapters: Natural = Field(0, description="LoRA adapters held on the GPU at once.")

    short_form: ClassVar[str] = "name@version"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the name, with the version after an @."""
        if not isinstance(value, str):
            return value
        name, _, version = value.partition("@")
        return {"name": name, "version": version} if version else {"name": name}


class Latency(Group):
    """Targets that a user feels, at the declared concurrency."""

    time_per_output_token_ms: PositiveFloat | None = Field(
        None, description="Longest mean time between two output tokens, milliseconds."
    )
    time_to_first_token_ms: PositiveFloat | None = Field(
        None, description="Longest time from request to first token, milliseconds."
    )


class Replicas(Group):
    """Copies of the whole placement; a bare number fixes both ends."""

    min: Natural | None = Field(
        None,
        description="Fewest replicas; 0 scales to zero; gpusize decides where it is left out.",
    )
    max: Positive = Field(1, description="Most replicas.")

    short_form: ClassVar[str] = "a number of replicas"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A bare number fixes both ends; the most are never fewer than the fewest."""
        if _is_number(value):
            return {"min": value, "max": value}
        least = value.get("min") if isinstance(value, Mapping) and "max" not in value else None
        if not isinstance(least, (int, float)) or least <= 1:
            return value
        return {**value, "max": least}


class Traffic(Group):
    """When requests come; part of a day or of a week means scheduled where no shape is given."""

    shape: TrafficShape = Field(TrafficShape.STEADY, description="How requests come over the day.")
    hours_per_day: Annotated[float, Field(gt=0, le=24, strict=True)] = Field(
        24.0, description="Hours of a day with requests."
    )
    days_per_week: Annotated[float, Field(gt=0, le=7, strict=True)] = Field(
        7.0, description="Days of a week with requests."
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Hours or days below the whole mean that traffic keeps to a schedule."""
        if not isinstance(value, Mapping) or "shape" in value:
            return value
        parts = [value.get(key) for key in _SCHEDULE_KEYS if key in value]
        whole = all(not _is_number(part) or part in (24, 7) for part in parts)
        return value if whole else {**value, "shape": TrafficShape.SCHEDULED}


class Budget(Group):
    """Ceilings in USD."""

    per_hour: PositiveFloat | None = Field(None, description="USD per hour of all replicas.")
    per_month: PositiveFloat | None = Field(None, description="USD per month of all replicas.")
    per_run: PositiveFloat | None = Field(None, description="USD per run of bounded work.")


class Storage(Group):
    """Where weights lie and what is moved."""

    weights: WeightsLocation = Field(
        WeightsLocation.ROOT_VOLUME, description="Where the weights lie before they are loaded."
    )
    weights_region: Text | None = Field(
        None, description="AWS region of the weights; the workload's own where it is left out."
    )
    root_volume_gib: Positive | None = Field(
        None, description="Size of the root volume, GiB; gpusize decides where it is left out."
    )
    root_volume_throughput_mbps: Positive | None = Field(
        None, description="Throughput of the root volume, MB/s."
    )
    egress_gb_per_month: Amount = Field(
        0.0, description="Data sent out of the region, GB per month."
    )


class Checkpoints(Group):
    """Progress that outlives an interruption."""

    interval_minutes: PositiveFloat = Field(
        description="Longest time between two checkpoints, minutes.", examples=[30]
    )
    location: CheckpointLocation = Field(
        CheckpointLocation.S3, description="Where progress is kept."
    )


class InlineModel(Group):
    """An architecture given in place of a catalog id; names follow the hub's config.json."""

    name: Text = Field("inline", description="What to call the model in answers.")
    total_params: Positive = Field(
        description="All parameters, counted in ones.", examples=[8030261248]
    )
    active_params: Positive | None = Field(
        None, description="Parameters that one token passes; all of them where it is left out."
    )
    layers: Positive = Field(description="Transformer layers.", examples=[32])
    hidden: Positive = Field(description="Width of the residual stream.", examples=[4096])
    intermediate: Positive | None = Field(
        None, description="Width of the MLP of a dense layer; 4 x hidden where it is left out."
    )
    heads: Positive = Field(description="Attention heads.", examples=[32])
    kv_heads: Positive = Field(description="Key/value heads.", examples=[8])
    head_dim: Positive | None = Field(
        None, description="Width of one head; hidden / heads where it is left out."
    )
    vocab: Positive = Field(description="Rows of the embedding table.", examples=[128256])
    tie_embeddings: Switch = Field(
        False, description="Whether the output head is the embedding table."
    )
    max_position: Positive | None = Field(
        None, description="Longest context that the model was made for, tokens."
    )
    kv_lora_rank: Positive | None = Field(
        None, description="Rank of the compressed key/value state of latent attention (MLA)."
    )
    qk_rope_head_dim: Positive | None = Field(
        None, description="Rotary width beside that state (MLA)."
    )
    sliding_window: Positive | None = Field(None, description="Window of local layers, tokens.")
    sliding_layers: Natural | None = Field(
        None, description="Layers with that window; every layer where it is left out."
    )
    experts_total: Positive | None = Field(None, description="Routed experts of one MoE layer.")
    experts_active: Positive | None = Field(
        None, description="Routed experts that one token passes in a layer."
    )
    shared_experts: Natural | None = Field(
        None, description="Experts of one MoE layer that every token passes."
    )
    moe_intermediate: Positive | None = Field(None, description="Width of one expert.")
    first_dense_layers: Natural | None = Field(
        None, description="Layers before the first MoE layer."
    )
    vision_params: Natural | None = Field(
        None, description="Parameters of the vision tower, part of the total."
    )
    native_format: Annotated[str, NATIVE_FORMATS] = Field(
        "bf16", description="Format of the published weights."
    )


class Images(Group):
    """Images of one prompt."""

    per_prompt: Positive = Field(1, description="Images in one prompt.")
    width: Positive = Field(1024, description="Width of one image, pixels.")
    height: Positive = Field(1024, description="Height of one image, pixels.")


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


class WaiverEntry(Group):
    """An accepted finding: why, by whom, until when."""

    id: Text | None = Field(None, description="Name of the waiver, for tags that refer to it.")
    rule: Text = Field(
        description="Code or name of the waived rule.", examples=["no-memory-headroom"]
    )
    reason: Text = Field(
        description="Why the finding is accepted.",
        examples=["measured at peak load, 2 GiB stay free"],
    )
    owner: Text = Field(description="Who answers for it.", examples=["ml-platform"])
    expires: Text = Field(
        description="Last day on which it holds, YYYY-MM-DD.", examples=["2027-01-31"]
    )
    evidence: Text | None = Field(
        None, description="Link or path to a measurement, where the rule asks for one."
    )


class Trainer(Group):
    """The training framework; also written `name@version`."""

    name: Annotated[str, TRAINERS] = Field("hf", description="Training framework.")
    version: Text | None = Field(
        None, description="Its version, as released; the newest known where it is left out."
    )

    short_form: ClassVar[str] = "name@version"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the name, with the version after an @."""
        return Engine.expand(value)


class Sharding(Group):
    """How the copies of a training run share what they keep; a text is the mode."""

    mode: ShardingMode | None = Field(
        None,
        description="What the copies share; left out, gpusize takes ddp where a whole copy fits, "
        "else fsdp.",
    )
    offload: Offload = Field(Offload.NONE, description="What lies in host memory.")

    short_form: ClassVar[str] = "a mode"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the mode."""
        return {"mode": value} if isinstance(value, str) else value


class Adapter(Group):
    """Small matrices that are trained beside frozen weights."""

    rank: Positive = Field(16, description="Rank of the adapter.", examples=[16])
    targets: AdapterTargets = Field(
        AdapterTargets.ALL_LINEAR, description="Which projections have an adapter."
    )
    train_embeddings: Switch = Field(
        False, description="Whether embeddings and output head are trained in full beside it."
    )


class Workload(Group):
    """Fields that every kind takes."""

    kind: Kind = Field(description="What runs.", examples=["serving"])
    modality: Modality = Field(Modality.TEXT, description="What goes in and out.")
    model: Text | InlineModel = Field(
        description="Model: a catalog id or alias, the path of a config.json, or an architecture; "
        "for images and videos the id of a pipeline.",
        examples=["meta-llama/Llama-3.1-8B-Instruct"],
    )
    weights_format: Annotated[str, WEIGHTS_FORMATS] = Field(
        "auto", description="Format of the weights that the engine loads; auto: as published."
    )
    compute_precision: Annotated[str, COMPUTE_PRECISIONS] = Field(
        "auto", description="Precision of activations and matrix products; auto: the engine's own."
    )
    region: Text = Field(description="AWS region.", examples=["us-east-1"])
    zone: Text | None = Field(None, description="Availability zone, where one is required.")
    tp: Positive | None = Field(None, description="Tensor-parallel ranks of one replica.")
    pp: Positive | None = Field(None, description="Pipeline stages of one replica.")
    dp: Positive | None = Field(None, description="Copies of the model inside one replica.")
    ep: Positive | None = Field(None, description="Ranks that share the experts of a stage.")
    instance_type: Text | None = Field(
        None, description="EC2 instance type; gpusize decides where it is left out."
    )
    nodes_per_replica: Positive | None = Field(
        None, description="Instances that one replica spans; gpusize decides where it is left out."
    )
    market: Market | None = Field(
        None, description="How capacity is bought; gpusize decides where it is left out."
    )
    capacity_reservation: Text | None = Field(
        None, description="Id of the capacity reservation or block to launch into."
    )
    interruption_tolerance: InterruptionTolerance | None = Field(
        None, description="What an interruption costs; follows from the kind where it is left out."
    )
    budget: Budget = Field(Budget.model_construct(), description="Ceilings in USD.")
    storage: Storage = Field(
        Storage.model_construct(), description="Where weights lie and what is moved."
    )
    tags: dict[str, str] = Field({}, description="Tags for every resource of the workload.")
    waivers: tuple[WaiverEntry, ...] = Field((), description="Findings that are accepted.")

    default_tolerance: ClassVar[InterruptionTolerance] = InterruptionTolerance.NONE

    @property
    def tolerance(self) -> InterruptionTolerance:
        """What an interruption costs: as declared, or as usual for the kind."""
        return self.interruption_tolerance or self.default_tolerance


class Inference(Workload):
    """Fields of every kind that generates tokens."""

    engine: Engine = Field(
        Engine.model_construct(), description="Serving engine: name@version or its settings."
    )
    kv_cache_format: Annotated[str, KV_CACHE_FORMATS] = Field(
        "auto", description="Format of the KV cache; auto: the compute precision."
    )
    context_length: Positive = Field(
        description="The engine's limit for one sequence, prompt and output, tokens.",
        examples=[8192],
    )
    prompt_tokens: Tokens | None = Field(
        None, description="Tokens of a prompt; contextLength bounds them where it is left out."
    )
    output_tokens: Tokens | None = Field(
        None, description="Tokens of an answer; contextLength bounds them where it is left out."
    )
    concurrency: Positive = Field(1, description="Sequences at once in one replica.")
    replicas: Replicas = Field(
        Replicas.model_construct(), description="Copies of the whole placement."
    )


class Service(Group):
    """Fields of what answers until further notice."""

    user_facing: Switch = Field(True, description="Whether a person waits for the answer.")
    traffic: Traffic = Field(Traffic.model_construct(), description="When requests come.")
    horizon_months: PositiveFloat | None = Field(
        None, description="Months that the service is to run."
    )


class Bounded(Group):
    """Fields of what runs to an end."""

    run_hours: PositiveFloat | None = Field(None, description="Length of one run, hours.")
    runs_per_month: PositiveFloat | None = Field(None, description="Runs in a month.")
    checkpoints: Checkpoints | None = Field(
        None, description="How progress is kept over an interruption."
    )

    default_tolerance: ClassVar[InterruptionTolerance] = InterruptionTolerance.RESTARTABLE


class Serving(Service, Inference):
    """A service that answers requests."""

    latency: Latency = Field(Latency.model_construct(), description="Targets that a user feels.")


class BatchInference(Bounded, Inference):
    """Bounded generation over a set of inputs."""


class Evaluation(BatchInference):
    """A bounded run that scores a model."""


class VisionLanguageServing(Serving):
    """Serving with images in the prompt."""

    images: Images = Field(Images.model_construct(), description="Images of one prompt.")


class VisionLanguageBatchInference(BatchInference):
    """Batch inference with images in the prompt."""

    images: Images = Field(Images.model_construct(), description="Images of one prompt.")


class VisionLanguageEvaluation(Evaluation):
    """Evaluation with images in the prompt."""

    images: Images = Field(Images.model_construct(), description="Images of one prompt.")


class Training(Workload):
    """Fields of every kind that changes weights."""

    trainer: Trainer = Field(
        Trainer.model_construct(), description="Training framework: name@version or its fields."
    )
    sequence_length: Positive = Field(
        description="Tokens of one training sequence, padded or packed to it.", examples=[4096]
    )
    micro_batch: Positive = Field(1, description="Sequences that one GPU processes at once.")
    global_batch: Positive | None = Field(
        None, description="Sequences of one step of the optimizer, all GPUs together."
    )
    optimizer: Optimizer = Field(
        Optimizer.ADAMW, description="What keeps moments of the gradients."
    )
    optimizer_precision: StatePrecision | None = Field(
        None, description="Precision of its moments; the trainer's own where it is left out."
    )
    master_weights: Switch | None = Field(
        None,
        description="Whether an fp32 copy of 16-bit weights is kept; as the trainer does where it "
        "is left out.",
    )
    gradient_precision: StatePrecision | None = Field(
        None, description="Precision of gradients; the trainer's own where it is left out."
    )
    recompute: Recompute = Field(
        Recompute.NONE, description="Which activations are computed again in the backward pass."
    )
    attention: AttentionKernel = Field(
        AttentionKernel.FLASH, description="Whether attention keeps its scores."
    )
    loss: Loss = Field(Loss.PLAIN, description="How much of the logits the loss holds at once.")
    sharding: Sharding = Field(
        Sharding.model_construct(), description="How the copies share what they keep."
    )
    tokens: Positive | None = Field(None, description="Tokens of the whole run.")
    samples: Positive | None = Field(None, description="Sequences of the data set.")
    epochs: PositiveFloat = Field(1.0, description="Passes over the samples.")
    run_hours: PositiveFloat | None = Field(
        None, description="Length of one run, hours; from its tokens where it is left out."
    )
    runs_per_month: PositiveFloat | None = Field(None, description="Runs in a month.")
    checkpoints: Checkpoints | None = Field(
        None, description="How progress is kept over an interruption."
    )

    @property
    def tolerance(self) -> InterruptionTolerance:
        """What an interruption costs: as declared, else what the checkpoints save."""
        if self.interruption_tolerance is not None:
            return self.interruption_tolerance
        is_kept = self.checkpoints is not None
        return InterruptionTolerance.CHECKPOINTED if is_kept else InterruptionTolerance.NONE


class FineTuning(Training):
    """A bounded run that adapts a model to examples."""

    method: Method = Field(description="What of the model is trained.", examples=["lora"])
    adapter: Adapter = Field(
        Adapter.model_construct(), description="The adapter of lora, qlora and dora."
    )


class PreTraining(Training):
    """A bounded run that trains a model on text."""


class Generation(Workload):
    """Fields of every kind that makes pictures by a pipeline of components."""

    width: Positive = Field(description="Width of a picture, pixels.", examples=[1024])
    height: Positive = Field(description="Height of a picture, pixels.", examples=[1024])
    batch: Positive = Field(1, description="Samples that are made together on one GPU.")
    steps: Positive | None = Field(None, description="Steps that remove the noise of one sample.")
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


class VideoGeneration(Generation):
    """Fields of every kind that makes videos."""

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


class Embedding(Workload):
    """Fields of every kind that turns texts into vectors, or ranks them."""

    context_length: Positive = Field(description="Longest text, tokens.", examples=[512])
    batch: Positive = Field(1, description="Texts that one forward pass takes on one GPU.")
    concurrency: Positive = Field(
        1,
        description="Batches at once in one replica, each on a GPU of its own where one is.",
    )
    replicas: Replicas = Field(
        Replicas.model_construct(), description="Copies of the whole placement."
    )


class EmbeddingServing(Service, Embedding):
    """A service that embeds texts."""


class EmbeddingBatchInference(Bounded, Embedding):
    """Bounded embedding of a set of texts."""


class EmbeddingEvaluation(EmbeddingBatchInference):
    """A bounded run that scores an embedding model."""


class ImageServing(Service, Generation):
    """A service that makes images."""


class ImageBatchInference(Bounded, Generation):
    """Bounded making of images."""


class ImageEvaluation(ImageBatchInference):
    """A bounded run that scores an image pipeline."""


class VideoServing(Service, VideoGeneration):
    """A service that makes videos."""


class VideoBatchInference(Bounded, VideoGeneration):
    """Bounded making of videos."""


class VideoEvaluation(VideoBatchInference):
    """A bounded run that scores a video pipeline."""


WORKLOAD_CLASSES: dict[tuple[Kind, Modality], type[Workload]] = {
    (Kind.SERVING, Modality.TEXT): Serving,
    (Kind.BATCH_INFERENCE, Modality.TEXT): BatchInference,
    (Kind.EVALUATION, Modality.TEXT): Evaluation,
    (Kind.FINE_TUNING, Modality.TEXT): FineTuning,
    (Kind.PRE_TRAINING, Modality.TEXT): PreTraining,
    (Kind.SERVING, Modality.VISION_LANGUAGE): VisionLanguageServing,
    (Kind.BATCH_INFERENCE, Modality.VISION_LANGUAGE): VisionLanguageBatchInference,
    (Kind.EVALUATION, Modality.VISION_LANGUAGE): VisionLanguageEvaluation,
    (Kind.SERVING, Modality.IMAGE): ImageServing,
    (Kind.BATCH_INFERENCE, Modality.IMAGE): ImageBatchInference,
    (Kind.EVALUATION, Modality.IMAGE): ImageEvaluation,
    (Kind.SERVING, Modality.VIDEO): VideoServing,
    (Kind.BATCH_INFERENCE, Modality.VIDEO): VideoBatchInference,
    (Kind.EVALUATION, Modality.VIDEO): VideoEvaluation,
    (Kind.SERVING, Modality.EMBEDDING): EmbeddingServing,
    (Kind.BATCH_INFERENCE, Modality.EMBEDDING): EmbeddingBatchInference,
    (Kind.EVALUATION, Modality.EMBEDDING): EmbeddingEvaluation,
}


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
