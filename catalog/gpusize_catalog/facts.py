"""What the catalog knows, one frozen row type per table.

Units: bytes, bytes per second, FLOP per second, USD. An empty cell is `None`: not found, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(str, Enum):
    """Whether AWS still sells an instance type."""

    CURRENT = "current"
    ULTRASERVER_ONLY = "ultraserver-only"
    RETIRED = "retired"


class Interconnect(str, Enum):
    """What joins the accelerators of one instance."""

    SINGLE = "single"
    PCIE = "pcie"
    NVLINK = "nvlink"
    NVSWITCH = "nvswitch"
    OTHER = "other"


class PriceType(str, Enum):
    """How the priced capacity is bought: market and commitment in one word, as price lists have it."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"
    RESERVED_1Y = "reserved-1y"
    RESERVED_3Y = "reserved-3y"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator model."""

    id: str
    display_name: str
    vendor: str
    architecture: str
    cuda: bool
    compute_capability: tuple[int, int] | None
    form_factor: str
    memory_type: str
    advertised_gb: float | None
    ec2_bytes: int | None
    driver_bytes: int | None
    usable_bytes: int | None
    """Total memory that CUDA reports: what engines multiply by their memory fraction."""
    usable_is_derived: bool
    """True where `usable_bytes` is a share of the driver's figure, not read from a log."""
    memory_bandwidth: float | None
    fp32_flops: float | None
    tf32_flops: float | None
    bf16_flops: float | None
    fp16_flops: float | None
    fp8_flops: float | None
    int8_ops: float | None
    fp4_flops: float | None
    native_bf16: bool
    native_fp8: bool
    native_int8: bool
    native_fp4: bool
    nvlink_bandwidth: float | None
    """Bidirectional bytes per second of one GPU, where the form factor has NVLink."""
    on_ec2: bool
    confidence: str
    source: str
    notes: str


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One EC2 accelerated instance type."""

    id: str
    family: str
    status: Status
    status_note: str
    cuda: bool
    gpu_id: str | None
    gpus: int | None
    """Devices a program sees; a fractional type counts its slice as one."""
    partition: float
    """Share of a physical GPU that one device is: 1.0, or 0.125 to 0.5 on g6f and gr6f."""
    gpu_memory_bytes: int | None
    """Memory of one device as the EC2 API prints it (a slice's own on fractional types)."""
    interconnect: Interconnect
    interconnect_bandwidth: float | None
    """NVLink bytes per second of one GPU, bidirectional."""
    pcie_bandwidth: float | None
    """Host link bytes per second of one GPU, one direction, with the width seen on EC2."""
    p2p: bool | None
    """Peer-to-peer between GPUs: yes, no (staged through the host), or not known."""
    vcpus: int | None
    memory_bytes: int | None
    arch: str
    nvme_gb: float
    network_gbps: float | None
    network_is_burst: bool
    network_baseline_gbps: float | None
    efa_interfaces: int
    ebs_baseline_mbps: float | None
    ebs_max_mbps: float | None
    usage_classes: frozenset[str]
    """SupportedUsageClasses of the API: on-demand, spot, capacity-block."""
    on_demand_listed: bool
    quota_on_demand: str
    quota_spot: str
    bare_metal: bool
    first_seen: str
    last_seen: str
    source: str


@dataclass(frozen=True, slots=True)
class Offering:
    """An instance type in a region, with the zones that list it (empty: not known)."""

    instance_type: str
    region: str
    zones: tuple[str, ...]
    date: str
    source: str


@dataclass(frozen=True, slots=True)
class Price:
    """One dated list or snapshot price."""

    region: str
    instance_type: str
    price_type: PriceType
    usd: float
    unit: str
    zone: str
    date: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class BillingTerms:
    """Granularity, minimum, notice and commitment of one purchase option."""

    option: str
    granularity: str
    minimum_charge: str
    upfront: str
    min_commitment: str
    max_commitment: str
    durations_allowed: str
    lead_time: str
    interruption_notice: str
    stop_supported: str
    hibernate_supported: str
    instance_types: str
    api: str
    cancel: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """Price of storage or of moving data, per region."""

    item: str
    region: str
    usd: float
    unit: str
    date: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Architecture of one published model."""

    id: str
    family: str
    total_params: int
    active_params: int | None
    layers: int
    hidden: int
    intermediate: int | None
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tie_embeddings: bool
    max_position: int | None
    attention_kind: str
    kv_lora_rank: int | None
    qk_rope_head_dim: int | None
    sliding_window: int | None
    layer_pattern: str
    experts_total: int | None
    experts_active: int | None
    shared_experts: int | None
    moe_intermediate: int | None
    first_dense_layers: int | None
    mtp_layers: int | None
    native_format: str
    modality: str
    vision_params: int | None
    params_method: str
    source: str
    notes: str


@dataclass(frozen=True, slots=True)
class ModelAlias:
    """A hub name that shares the architecture of a catalogued model."""

    alias: str
    model_id: str
    note: str


@dataclass(frozen=True, slots=True)
class DiffusionComponent:
    """One component (text encoder, transformer, U-Net, VAE, vocoder) of a pipeline."""

    model: str
    component: str
    class_or_name: str
    params: int
    notes: str
    source: str


@dataclass(frozen=True, slots=True)
class KernelSupport:
    """Whether an engine runs a format on a range of compute capabilities."""

    format: str
    """weights format or compute precision: bf16, fp8, awq, nvfp4, …"""
    engine: str
    engine_from: str
    engine_before: str
    capability_from: tuple[int, int]
    capability_before: tuple[int, int] | None
    support: str
    """native, emulated (memory is saved, compute is not) or refused."""
    source: str


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Memory constants of one engine over a range of versions; empty bounds are open."""

    engine: str
    version_from: str
    version_before: str
    budget_of: str
    """What the memory fraction multiplies: total, free-after-weights, or none."""
    memory_fraction: float | None
    cuda_graphs_in_budget: bool
    graph_bytes: int
    """CUDA graphs of one GPU, typical."""
    context_bytes: int
    """CUDA context and other memory outside the allocator at tp 1."""
    nccl_bytes: int
    """More of the same at tp > 1, per GPU."""
    activation_factor: float
    """Multiplier on batched tokens x width that the profile run keeps alive."""
    uncertainty: float
    """Relative error of runtime overhead, one side."""
    source: str
