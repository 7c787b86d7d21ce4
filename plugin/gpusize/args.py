"""Arguments of a `GpuWorkload` in Python; written by `python -m gpusize.schema`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class AutoStopArgs(TypedDict, total=False):
    """When instances of bounded work stop by themselves."""

    idle_minutes: int
    max_hours: float


class BudgetArgs(TypedDict, total=False):
    """Ceilings in USD."""

    per_hour: float
    per_month: float
    per_run: float


class CapacityBlockArgs(TypedDict, total=False):
    """A capacity block of ML capacity, bought whole and ahead; a bare number is its days."""

    days: int
    start: str
    instances: int
    zone: str


class CheckpointsArgs(TypedDict, total=False):
    """Progress that outlives an interruption."""

    interval_minutes: float
    location: Literal["s3", "fsx", "efs", "root-volume", "instance-store"]


class CommitmentArgs(TypedDict, total=False):
    """A discount for a term of use; a text is the plan."""

    plan: Literal["none", "savings-plan", "reserved-instance"]
    years: int


class EngineArgs(TypedDict, total=False):
    """The serving engine; also written `name@version`."""

    name: str
    version: str
    memory_fraction: float
    max_batched_tokens: int
    max_sequences: int
    eager: bool
    cpu_offload_gib: float
    speculative: str
    speculative_tokens: int
    speculative_acceptance: float
    lora_adapters: int


class ImagesArgs(TypedDict, total=False):
    """Images of one prompt."""

    per_prompt: int
    width: int
    height: int


class InlineComponentArgs(TypedDict, total=False):
    """One component of a pipeline; names follow the catalog's table of components."""

    part: Literal["text-encoder", "transformer", "unet", "generator", "vae", "codec"]
    params: int
    hidden: int
    blocks: int
    patch: int
    patch_frames: int
    rows_per_sample: int
    text_tokens: int
    stream_bits: int
    attention_sets: int
    scale: int
    scale_frames: int
    decoder_kind: Literal["2d", "causal-3d", "conditioned-3d", "residual-3d", "1d"]
    decoder_width: int
    decoder_shrink: int
    decoded_frames: int
    tile_pixels: int
    tile_latents: int
    upcasts_fp16: bool
    decoder_bits: int
    sample_rate: int
    latents: int
    longest_seconds: float
    tokens_per_second: float
    positions: int
    eager_heads: int
    native_format: str


class InlineModelArgs(TypedDict, total=False):
    """An architecture given in place of a catalog id; names follow the hub's config.json."""

    name: str
    total_params: int
    active_params: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tie_embeddings: bool
    max_position: int
    kv_lora_rank: int
    qk_rope_head_dim: int
    sliding_window: int
    sliding_layers: int
    experts_total: int
    experts_active: int
    shared_experts: int
    moe_intermediate: int
    first_dense_layers: int
    vision_params: int
    native_format: str


class InlinePipelineArgs(TypedDict, total=False):
    """A pipeline given in place of a name: its text encoders, what makes the sample, a decoder."""

    name: str
    components: Sequence[InlineComponentArgs]


class LatencyArgs(TypedDict, total=False):
    """Targets that a user feels, at the declared concurrency."""

    time_per_output_token_ms: float
    time_to_first_token_ms: float


class MeasurementArgs(TypedDict, total=False):
    """Memory of the fullest GPU as measured, with all other fields as they are declared."""

    gpu: str
    engine: str
    trainer: str
    tp: int
    pp: int
    dp: int
    ep: int
    cp: int
    weights_gib: float
    overhead_gib: float
    peak_gib: float
    date: str
    source: str


class NeighborArgs(TypedDict, total=False):
    """Another process on the same GPUs."""

    name: str
    memory_gib: float
    memory_fraction: float


class PipelineArgs(TypedDict, total=False):
    """How a pipeline of components is held and decoded."""

    offload: Literal["none", "model", "sequential"]
    text_encoder_format: str
    quantized_on_gpu: bool
    fused_projections: bool
    tiling: bool
    slicing: bool
    decoder_precision: str
    sharded_weights: bool


class ReplicasArgs(TypedDict, total=False):
    """Copies of the whole placement; a bare number fixes both ends."""

    min: int
    max: int
    on_demand_base: int
    spot_share: float


class ReserveArgs(TypedDict, total=False):
    """On-demand capacity that is to be reserved for the work, used or not."""

    instances: int
    until: str


class ShardingArgs(TypedDict, total=False):
    """How the copies of a training run share what they keep; a text is the mode."""

    mode: Literal["ddp", "zero-1", "zero-2", "zero-3", "fsdp"]
    offload: Literal["none", "optimizer", "all"]


class StorageArgs(TypedDict, total=False):
    """Where weights lie and what is moved."""

    weights: Literal["root-volume", "instance-store", "s3", "fsx", "hub"]
    weights_region: str
    root_volume_gib: int
    root_volume_throughput_mbps: int
    image_gib: int
    dataset_gib: float
    fsx_gib: int
    fsx_mbps_per_tib: int
    load_seconds: float
    egress_gb_per_month: float


class TokenAdapterArgs(TypedDict, total=False):
    """An adapter of a model that reads and writes tokens."""

    rank: int
    targets: Literal["query-value", "attention", "dense-linear", "all-linear"]
    train_embeddings: bool
    form: Literal["low-rank", "scales", "prefix"]


class TokensArgs(TypedDict, total=False):
    """A distribution of token counts per sequence; a bare number is the mean."""

    mean: int
    p95: int


class TrafficArgs(TypedDict, total=False):
    """When requests come; part of a day or of a week means scheduled where no shape is given."""

    shape: Literal["steady", "bursty", "scheduled"]
    hours_per_day: float
    days_per_week: float
    start: str
    time_zone: str


class TrainerArgs(TypedDict, total=False):
    """The training framework; also written `name@version`."""

    name: str
    version: str


class WaiverEntryArgs(TypedDict, total=False):
    """An accepted finding: why, by whom, until when."""

    id: str
    rule: str
    reason: str
    owner: str
    expires: str
    evidence: str


class DeclarationArgs(TypedDict, total=False):
    """What runs and how it must run, as in a workload file."""

    kind: Literal["serving", "batch-inference", "evaluation", "fine-tuning", "pre-training"]
    modality: Literal["text", "vision-language", "image", "video", "embedding", "audio"]
    model: str | InlineModelArgs | InlinePipelineArgs
    weights_format: str
    compute_precision: str
    region: str
    zone: str
    tp: int
    pp: int
    dp: int
    ep: int
    instance_type: str
    nodes_per_replica: int
    market: Literal["on-demand", "spot", "capacity-block"]
    capacity_reservation: str
    image_architecture: Literal["x86_64", "arm64"]
    interruption_tolerance: Literal["none", "checkpointed", "restartable"]
    capacity_block: float | CapacityBlockArgs
    reserve: ReserveArgs
    commitment: str | CommitmentArgs
    neighbors: Sequence[NeighborArgs]
    measured: Sequence[MeasurementArgs]
    budget: BudgetArgs
    storage: StorageArgs
    tags: dict[str, str]
    waivers: Sequence[WaiverEntryArgs]
    engine: str | EngineArgs
    kv_cache_format: str
    context_length: int
    prompt_tokens: float | TokensArgs
    output_tokens: float | TokensArgs
    concurrency: int
    replicas: float | ReplicasArgs
    user_facing: bool
    traffic: TrafficArgs
    horizon_months: float
    latency: LatencyArgs
    run_hours: float
    deadline_hours: float
    auto_stop: AutoStopArgs
    runs_per_month: float
    checkpoints: CheckpointsArgs
    samples: int
    micro_batch: int
    global_batch: int
    optimizer: Literal["adamw", "adamw-8bit", "paged-adamw-8bit", "adafactor", "muon", "sgd"]
    optimizer_precision: Literal["fp32", "bf16"]
    master_weights: bool
    gradient_precision: Literal["fp32", "bf16"]
    sharding: str | ShardingArgs
    epochs: float
    trainer: str | TrainerArgs
    sequence_length: int
    attention: Literal["flash", "eager"]
    recompute: Literal["none", "selective", "full"]
    offload_activations: bool
    loss: Literal["plain", "chunked", "fused"]
    optimizer_in_backward: bool
    cp: int
    tokens: int
    method: Literal["full", "lora", "qlora", "dora"]
    adapter: TokenAdapterArgs
    objective: Literal[
        "language",
        "preference",
        "reward",
        "classification",
        "unpaired",
        "contrast",
        "embedding",
        "policy",
        "actor-critic",
        "distillation",
    ]
    images: ImagesArgs
    train_vision: bool
    width: int
    height: int
    batch: int
    steps: int
    pipeline: PipelineArgs
    frames: int
    seconds: float
    fps: float
    caption_tokens: int
    text_encoder_format: str
    cached_latents: bool
    cached_text_embeddings: bool
    train_text_encoder: bool
    ema: bool
    tiling: bool
    swapped_blocks: int
    train_steps: int
    beams: int
