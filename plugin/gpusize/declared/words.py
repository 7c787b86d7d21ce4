"""Words and numbers that a declaration may hold: ranges, and lists of choices."""

from enum import Enum
from typing import Annotated

from pydantic import Field

MAX_COUNT = 2**53
"""Largest whole number taken: JSON and Pulumi carry numbers as doubles, exact up to here."""

MAX_TEXT = 512
"""Longest text taken for a name, a path or a reason, in characters."""

Positive = Annotated[int, Field(gt=0, le=MAX_COUNT, strict=True)]

Natural = Annotated[int, Field(ge=0, le=MAX_COUNT, strict=True)]

PositiveFloat = Annotated[float, Field(gt=0, le=MAX_COUNT, strict=True)]

Amount = Annotated[float, Field(ge=0, le=MAX_COUNT, strict=True)]

Fraction = Annotated[float, Field(gt=0, le=1, strict=True)]

Share = Annotated[float, Field(ge=0, le=1, strict=True)]
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
    AUDIO = "audio"


class Processor(str, Enum):
    """Instruction set of a host, in AWS's words."""

    X86_64 = "x86_64"
    ARM64 = "arm64"


class Market(str, Enum):
    """How capacity is bought, in AWS's words."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"


class CommitmentPlan(str, Enum):
    """What covers the bill."""

    NONE = "none"
    SAVINGS_PLAN = "savings-plan"
    RESERVED_INSTANCE = "reserved-instance"


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


class ComponentPart(str, Enum):
    """What a component of a pipeline does."""

    TEXT_ENCODER = "text-encoder"
    TRANSFORMER = "transformer"
    UNET = "unet"
    GENERATOR = "generator"
    VAE = "vae"
    CODEC = "codec"


class DecoderKind(str, Enum):
    """How a decoder works: by images, by padded frames, with norms that see latents or ways around
    blocks, by sound."""

    IMAGE = "2d"
    CAUSAL = "causal-3d"
    CONDITIONED = "conditioned-3d"
    RESIDUAL = "residual-3d"
    SOUND = "1d"


class SoundEngine(str, Enum):
    """What runs a model of sound."""

    TRANSFORMERS = "transformers"
    FASTER_WHISPER = "faster-whisper"


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
    DENSE_LINEAR = "dense-linear"
    ALL_LINEAR = "all-linear"


class AdapterForm(str, Enum):
    """What an adapter is made of."""

    LOW_RANK = "low-rank"
    SCALES = "scales"
    PREFIX = "prefix"


class Objective(str, Enum):
    """What a fine-tuning run learns from."""

    LANGUAGE = "language"
    PREFERENCE = "preference"
    REWARD = "reward"
    CLASSIFICATION = "classification"
    UNPAIRED = "unpaired"
    CONTRAST = "contrast"
    EMBEDDING = "embedding"
    POLICY = "policy"
    ACTOR_CRITIC = "actor-critic"
    DISTILLATION = "distillation"
