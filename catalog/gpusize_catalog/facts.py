"""What the catalog knows, one immutable row type per table.

Units: bytes, bytes per second, FLOP per second, seconds. An empty cell is `None` (or empty text):
not found, never zero. Each field stands in the table's CSV file under a column that says the unit
(`usable_mib` becomes `usable_bytes`); the JSON Schema beside it describes every column.

Row types are named tuples, not dataclasses: a command that sizes one workload builds hundreds of
rows at start, and a tuple is made several times faster. Change a copy with `_replace`. Annotations
are not postponed here: turning 250 of them back from text would double this module's import.
"""

from enum import Enum
from typing import NamedTuple


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
    """How the priced capacity is bought: market and commitment in one word, as in price lists."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"
    RESERVED_1Y = "reserved-1y"
    RESERVED_3Y = "reserved-3y"


class Coverage(str, Enum):
    """How far the absence of an offering in a region is a statement."""

    API = "api"
    """The EC2 API of one account listed the region: absent means not listed there."""
    PRICE_LIST = "price-list"
    """Only price lists were read: absent means nothing."""


class Gpu(NamedTuple):
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
    """Memory of one device as the EC2 API prints it; None where that is known to be wrong."""
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
    matmul_flops: float | None
    """Rate that large 16-bit products reach, as measured: power limits keep some GPUs far below
    their peak."""
    native_bf16: bool
    native_fp8: bool
    native_int8: bool
    native_fp4: bool
    nvlink_bandwidth: float | None
    """Bidirectional bytes per second of one GPU, where the form factor has NVLink (or its kin)."""
    on_ec2: bool
    confidence: str
    """A: two or more sources; B: one secondary source; C: maker's figure, not re-verified."""
    source: str
    notes: str
    usable_source: str = ""
    driver_note: str = ""
    precision_note: str = ""
    """What a native_* flag leaves out: `int8: slow`, `fp8: fnuz`."""
    isa: str = ""
    """Target name of accelerators without a compute capability (`gfx942`)."""
    memory_bandwidth_from_clock: float | None = None
    """Bandwidth computed from the memory clock seen on EC2: a check, not what sizing uses."""
    nvlink_generation: str = ""
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    """Link width seen on EC2."""
    tdp_watts: int | None = None
    power_limit_watts: int | None = None
    """Power limit seen on EC2."""
    mig: str = ""
    ec2_families: tuple[str, ...] = ()


class InstanceType(NamedTuple):
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
    nvme_gb: float | None
    network_gbps: float | None
    network_is_burst: bool
    network_baseline_gbps: float | None
    efa: bool
    efa_interfaces: int | None
    """EFA interfaces at most; None where EFA is there and the number was not found."""
    ebs_baseline_mbps: float | None
    ebs_max_mbps: float | None
    usage_classes: frozenset[str]
    """SupportedUsageClasses of the API: on-demand, spot, capacity-block. No promise of capacity."""
    on_demand_listed: bool
    """An on-demand list price exists in some source; false alone is a missing row, not a fact."""
    on_demand_statement: str
    """What AWS states about not selling the type on demand; empty: no statement known."""
    quota_on_demand: str
    quota_spot: str
    bare_metal: bool
    first_seen: str
    last_seen: str
    source: str
    p2p_note: str = ""
    interconnect_note: str = ""
    interconnect_source: str = ""
    api_name: str = ""
    """Accelerator name of the API; ambiguous (`A100` is 40 or 80 GB)."""
    api_gpu_count: int | None = None
    """`Count` of the API: 0 on fractional types."""
    nvme_disks: str = ""
    network_performance: str = ""
    network_cards: int | None = None
    current_generation: bool | None = None
    hibernation: bool | None = None
    cross_checked_with: str = ""


class UltraServer(NamedTuple):
    """Instances that AWS sells together, joined by one accelerator interconnect."""

    id: str
    instance_type: str
    instances: int
    gpus: int
    source: str
    note: str


class Region(NamedTuple):
    """One region and how its offerings are known."""

    id: str
    partition: str
    coverage: Coverage
    currency: str
    date: str
    source: str


class Offering(NamedTuple):
    """An instance type in a region, with the zones that list it (empty: not known)."""

    region: str
    instance_type: str
    zones: tuple[str, ...]
    """Zone ids (`use1-az4`); a Local Zone stands as the source names it."""
    basis: str
    """What the row rests on: api, price-list or documentation."""
    first_seen: str
    date: str
    source: str


class Price(NamedTuple):
    """One dated list or snapshot price."""

    region: str
    """A region code, or patterns where a price page groups regions (`us-*`, `* !us-west-1`)."""
    instance_type: str
    price_type: PriceType
    zone: str
    """Zone id of a spot price; empty: the whole region."""
    date: str
    amount: float
    """Price of one `unit` in `currency`."""
    currency: str
    unit: str
    source: str
    note: str

    @property
    def usd(self) -> float | None:
        """The amount where it is in USD: prices in other currencies are never compared with it."""
        return self.amount if self.currency == "USD" else None

    @property
    def is_grouped(self) -> bool:
        """Whether the price stands for a group of regions, not for this one by name."""
        return "*" in self.region


class PriceChange(NamedTuple):
    """A first or changed on-demand list price in us-east-1."""

    instance_type: str
    date: str
    usd: float
    previous_usd: float | None
    change_percent: float | None
    source: str


class BillingTerms(NamedTuple):
    """Granularity, minimum, notice and commitment of one purchase option."""

    option: str
    provider: str
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
    granularity_seconds: int | None
    minimum_seconds: int | None
    notice_seconds: int | None
    """Spot: from the notice to the stop. Capacity block: from the stop to the paid end."""
    maximum_hours: int | None
    """Longest duration of one purchase."""
    maximum_instances: int | None
    """Instances of one purchase."""
    verified: bool
    """False where some cell is from memory (marked `NOT re-verified`)."""
    source: str
    note: str


class StoragePrice(NamedTuple):
    """Price of storage or of moving data, per region."""

    item: str
    region: str
    """A region code, or `*` for a price that is the same everywhere."""
    usd: float
    unit: str
    date: str
    """Empty where the row is from memory."""
    verified: bool
    source: str
    note: str


class ModelFacts(NamedTuple):
    """Architecture of one published model."""

    id: str
    family: str
    total_params: int
    """Parameters of the checkpoint, towers for images and sound included."""
    active_params: int | None
    """Parameters that one text token touches: no towers."""
    layers: int
    """Blocks of the decoder, or of the encoder where that is all there is."""
    encoder_layers: int | None
    """Blocks of the encoder beside a decoder (speech to text)."""
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
    """`full:10; sliding:52`: blocks by kind; empty: all alike, as `attention_kind` says."""
    experts_total: int | None
    experts_active: int | None
    shared_experts: int | None
    moe_intermediate: int | None
    """Width of one expert; None in a mixture of experts: `intermediate` is that width."""
    first_dense_layers: int | None
    mtp_layers: int | None
    native_format: str | None
    """Format of the published checkpoint; None: not found."""
    modality: str
    vision_params: int | None
    """Parameters of the tower for images (or sound), part of `total_params`."""
    params_method: str
    source: str
    notes: str
    q_lora_rank: int | None = None
    """Width of the compressed query of latent attention; None: not compressed, or not found."""
    full_kv_heads: int | None = None
    """Key heads of the full layers, where they differ from those of the window layers."""
    full_head_dim: int | None = None
    """Width of one head of the full layers, where it differs from that of the window layers."""
    state_elements: int | None = None
    """Numbers of recurrent state of one linear or Mamba layer per sequence."""
    conv_elements: int | None = None
    """Numbers of convolution state of one linear or Mamba layer per sequence."""
    encoder_positions: int | None = None
    """Positions of the encoder that one cross-attention layer keeps per sequence."""
    image_patches: int | None = None
    """Patches of the largest image that the processor lets through; None: not found."""


class ModelAlias(NamedTuple):
    """A hub name that shares the architecture of a catalogued model."""

    alias: str
    model_id: str
    max_position: int | None
    """The alias's own limit, where its checkpoint states another one than the model's."""
    native_format: str | None
    """The alias's own format, where its checkpoint is a copy in another one."""
    note: str


class NameSuffix(NamedTuple):
    """An ending of hub names that changes the weights, not the architecture."""

    suffix: str
    kind: str
    """twin (other weights in the same format) or copy (the same weights in another format)."""
    native_format: str | None
    """Format of a copy; None: the name does not tell it."""
    note: str


class Republisher(NamedTuple):
    """An owner on the hub that publishes copies of others' models under the models' own names."""

    owner: str
    note: str


class DiffusionComponent(NamedTuple):
    """One component (text encoder, transformer, U-Net, VAE, vocoder) of a pipeline."""

    model: str
    component: str
    class_or_name: str
    params: int | None
    """None: not counted."""
    makes: str
    """image, video or audio, on the part that removes the noise or generates first; else empty."""
    hidden: int | None
    """Width of the denoiser; of a U-Net, its width at full latent resolution."""
    blocks: int | None
    """Transformer blocks that one token passes; None: not known, or not a transformer."""
    attention_sets: int | None
    """Sets of query, key and value projections; None: not known, or not all alike."""
    patch: int | None
    """Latent pixels per token, each way."""
    patch_frames: int | None
    """Latent frames per token."""
    rows_per_sample: int | None
    """Rows of the denoiser's batch that one sample takes: 2 with guidance in one pass."""
    passes: int | None
    """Rows that one sample takes in one step, at once or one after the other."""
    pixel_flops: float | None
    """Operations of a U-Net for each latent pixel of one row: convolutions and projections."""
    pair_flops: float | None
    """Operations of a U-Net's attention for each pair of latent pixels of one row."""
    text_tokens: int | None
    stream_bits: int | None
    """Bits of one number of the residual stream beside 16-bit weights."""
    scale: int | None
    """Pixels per latent pixel, each way; samples per latent of sound."""
    scale_frames: int | None
    decoder_kind: str
    """2d, causal-3d, conditioned-3d, residual-3d, or 1d for sound; else empty."""
    decoder_width: int | None
    """Channels of the decoder's widest layer at its last resolution."""
    decoder_shrink: int | None
    """Pixels per position of that layer, each way."""
    decoded_frames: int | None
    """Frames decoded at once; None: all."""
    tile_pixels: int | None
    upcasts_fp16: bool | None
    """Whether the decoder computes in fp32 where the pipeline is fp16."""
    decoder_bits: int | None
    """Bits of one number in the decoder, as it is published to run; None: the compute precision."""
    native_format: str
    """Format that the weights are published and loaded in; empty: the compute precision."""
    sample_rate: int | None
    """Samples of sound per second; `scale` then is samples per latent."""
    latents: int | None
    """Latents of every clip, however long; None: as many as its length takes."""
    longest_seconds: float | None
    """Longest clip; None: not known."""
    tile_latents: int | None
    decoder_flops: int | None
    """Operations of the decoder for one sample of sound; None: not counted."""
    tokens_per_second: float | None
    """Tokens of a generator for a second of sound; None: all positions at once."""
    positions: int | None
    """Most positions that a generator holds at once; None: as many as the clip takes."""
    eager_heads: int | None
    """Heads whose attention scores are held whole; None: fused attention holds none."""
    geometry_source: str
    notes: str
    source: str


class SpeedFacts(NamedTuple):
    """How near an engine comes to the peaks of a GPU, with weights of one width."""

    engine: str
    weights: str
    """16-bit, 8-bit or 4-bit, or the id of a format that is slower or faster than its width."""
    layer_us: float
    """Microseconds that a layer takes besides reading and computing: launches, reductions."""
    expert_us: float
    """The same for each expert of a layer, where an engine goes through them one by one."""
    overlaps: bool
    """Whether launches run ahead of the GPU and only show where they are the longer part."""
    memory_share: float
    """Share of peak bandwidth that reading weights reaches."""
    cache_share: float
    """The same of the cache, whose numbers are never unpacked."""
    cache_copies: float
    """How often a byte of the cache is read or written in one step: 1 where it is read in place."""
    compute_share: float
    """Share of what large products reach (`Gpu.matmul_flops`) that a dense prefill reaches."""
    mixture_share: float
    """The same for mixtures of experts."""
    uncertainty: float
    """Relative error of a rate that follows from these."""
    source: str


class KernelSupport(NamedTuple):
    """Whether an engine runs a format on a range of compute capabilities."""

    format: str
    """An id of the formats table, or `kv:` and one for the KV cache."""
    engine: str
    engine_from: str
    engine_before: str
    capability_from: tuple[int, int]
    capability_before: tuple[int, int] | None
    support: str
    """native, emulated (memory is saved, compute is not) or refused."""
    late_mib: float | None
    """Memory that the kernels take outside the allocator once they run, after the engine measured;
    None: none is known."""
    output_copies: float | None
    """Copies of the widest output that the kernels sum it from; None: none is known."""
    source: str


class FormatFacts(NamedTuple):
    """Bits that each part of a model takes when it is held in one format, scales included."""

    id: str
    aliases: tuple[str, ...]
    name: str
    linear_bits: float
    """Projections of attention and dense or shared MLPs."""
    expert_bits: float
    """Routed experts."""
    embedding_bits: float
    head_bits: float
    other_bits: float
    """Norms, routers, biases, towers, heads for drafts."""
    latent_bits: float
    """Attention projections of latent attention, which some formats leave alone."""
    kv_bits: float | None
    """One number of the KV cache; None: not a format of the cache."""
    pad_hidden: int
    """Kernels round the hidden width of experts up to a multiple of this."""
    pad_intermediate: int
    """The same for the width of one expert on one rank; an engine's `expert_tile` can raise it."""
    error: float
    """Relative error of the weights, one side."""
    source: str
    note: str = ""


class EngineFacts(NamedTuple):
    """Memory constants of one engine over a range of versions; empty bounds are open.

    Sizes are in MiB or KiB as their names say, so that the table reads as the logs do.
    """

    engine: str
    version_from: str
    version_before: str
    newest: str
    """Newest version that the row was held against."""
    budget_of: str
    """What the memory fraction multiplies: total, total-for-cache (all of it cache), free (before
    loading), free-after-weights, free-after-runtime, or all (no fraction: the engine takes what it
    needs)."""
    memory_fraction: float | None
    """The engine's default; None: computed from the reserve columns, or there is none."""
    fraction_by_gpus: str | None
    """`GPUs=fraction; …`: defaults from so many GPUs of one replica on, in rising order."""
    reserve_mib: float | None
    """Computed default: fixed share left out of the fraction."""
    reserve_token_mib: float | None
    """Computed default: per token of one batch."""
    reserve_graph_mib: float | None
    """Computed default: per captured sequence."""
    reserve_gpu_mib: float | None
    """Computed default: per GPU of the replica."""
    reserve_large_mib: float | None
    """Computed default: at least this on GPUs of more than 60 GiB."""
    context_mib: float
    """CUDA context and libraries, outside what the engine counts."""
    runtime_mib: float
    """Memory outside the allocator that the engine counts, one GPU."""
    pcie_mib: float
    """More of it with several GPUs without NVLink."""
    nvlink_pair_mib: float
    """More of it with two GPUs over NVLink."""
    nvlink_group_mib: float
    """More of it with three and more over NVLink with in-switch reduction (capability 9.0)."""
    activations_in_budget: bool
    sampler_bytes: float
    """Bytes of one logit alive in the sampler beside the model's own copy."""
    sampler_fallback_bytes: float
    """The same on compute capabilities below 8.0, where sorting samplers are used."""
    prefill_logits: bool
    """Whether warming up keeps the logits of every token of the prompt."""
    forward_intermediate: float
    """Copies of one token's MLP width alive in the forward pass."""
    forward_hidden: float
    """Copies of one token's hidden width alive in the forward pass."""
    tower_mib: float
    """Activations of a tower for images, whatever the size of the image."""
    patch_kib: float
    """More of it per patch of the largest image, which the engine profiles."""
    graphs_in_budget: bool
    graph_layer_kib: float
    """CUDA graph of one captured size, per layer."""
    graph_sizes: int
    """Captured sizes at most."""
    cache_layout: str
    """paged, grouped, two-pools, preallocated (windows as long as they look back), or
    preallocated-whole (windows at full length)."""
    reserves: str
    """For how many sequences the cache is laid out at start: one, all (the most that the engine
    runs at once), or all-unless-fraction (all, where no memory fraction is declared)."""
    reserved_tokens: int | None
    """Tokens that the cache is laid out for at start, where the declared context is shorter."""
    group_slack: float | None
    """Grouped layout: largest ratio of layer counts that is padded instead of split."""
    block_tokens: int
    latent_cache: bool
    """Whether latent attention is cached as latents; else as full keys and values."""
    latent_values: bool
    """Whether latents are cached twice, as keys and again as values."""
    expert_tile: int
    """Multiple that kernels for padded formats round the width of one expert up to."""
    splits: str
    """How GPUs share the model: tensor, or layers (whole layers on each GPU)."""
    host_embeddings: bool
    """Whether token embeddings stay in host memory."""
    uneven_experts: bool | None
    """Whether ranks may hold unequal numbers of experts; None: not known."""
    widens_weights: bool | None
    """Whether it loads packed weights as 16-bit ones where asked to; None: not known."""
    state_blocks: bool | None
    """Whether it refuses more sequences at once than its pool has blocks for recurrent state."""
    batch_defaults: str
    """`min GiB [!capability…]=tokens/sequences[@MiB]; …`, the first that the GPU meets counts.

    Tokens may be `context`, or `chunked`: the context up to 32768 tokens, 2048 above. `@MiB` is a
    reserve that stands for all reserve columns but the one per GPU.
    """
    uncertainty: float
    """Relative error of everything but weights and cache, one side."""
    source: str


class TrainerFacts(NamedTuple):
    """Memory constants of one trainer over a range of versions; empty bounds are open.

    A recipe says what a trained parameter keeps beside the moments of the optimizer: `pure` (weight
    and gradient 16-bit), `mixed` (the same and an fp32 master copy), `mixed-fp32-gradients` (master
    copy, gradients in fp32) or `full` (weight and gradient fp32, cast when used).
    """

    trainer: str
    version_from: str
    version_before: str
    newest: str
    """Newest version that the row was held against; empty: its sources name commits, no release."""
    plain_recipe: str
    """Recipe without sharding, and with copies alone (DDP)."""
    zero_recipe: str
    """Recipe with ZeRO."""
    fsdp_recipe: str
    """Recipe with FSDP."""
    splits: str
    """What it spreads over GPUs: data (copies, whole or sharded), or tensor (layers besides)."""
    shares_sequences: bool
    """Whether several ranks can share one sequence (context parallel)."""
    recompute: str
    """What it computes again where nobody says: none, selective or full."""
    loss: str
    """How it takes the loss where nobody says: plain, chunked or fused."""
    offloads_activations: bool
    """Whether inputs of layers wait in host memory where nobody says."""
    steps_in_backward: bool
    """Whether it can use and drop each gradient in the backward pass."""
    keeps_gradients: bool
    """Whether gradients without ZeRO stand all along; else they come while activations go."""
    adapter_bytes: int
    """Bytes of one adapter weight."""
    loads_whole: bool
    """Whether with FSDP each rank loads frozen weights whole before it keeps its part of them."""
    norm_hidden: float
    """Bytes that the norms and residuals of a layer keep per token and hidden width."""
    gated_copies: float
    """Copies of a gated MLP's width that a layer keeps: gate, its activation, up, their product."""
    attention_copies: float
    """Copies of the queries' width that rotation and repeated heads keep, 16-bit."""
    routed_copies: float
    """Copies of the hidden width that a token keeps for each routed expert: input, and output."""
    loss_bytes: float
    """Bytes of one logit of a plain loss, gradients among them."""
    selective_share: float
    """Part of a layer's activations that selective recomputation keeps."""
    step_copy: bool
    """Whether the optimizer's step makes a copy of one moment for all parameters at once."""
    live_params: float
    """Parameters that ZeRO-3 keeps gathered at most; 0: two layers and the ends of the model."""
    bucket_params: float
    """Gradients that one reduction gathers in ZeRO; 0: those of a layer."""
    slack: float
    """Part by which what the allocator reserves is above what is in use."""
    context_mib: float
    """CUDA context and libraries."""
    nccl_mib: float
    """Buffers of collectives, with several GPUs."""
    uncertainty: float
    """Relative error of everything but weights and optimizer states, one side."""
    source: str


class DiffusionTrainerFacts(NamedTuple):
    """Memory constants of one trainer of diffusion pipelines; recipes as of `TrainerFacts`."""

    trainer: str
    plain_recipe: str
    """Recipe without sharding, and with copies alone (DDP)."""
    zero_recipe: str
    """Recipe with ZeRO."""
    fsdp_recipe: str
    """Recipe with FSDP."""
    adapter_bytes: int
    """Bytes of one adapter weight."""
    step_copy: bool
    """Whether the optimizer's step makes a copy of one moment for all parameters at once."""
    slack: float
    """Part by which what the allocator reserves is above what is in use."""
    context_mib: float
    """CUDA context and libraries."""
    nccl_mib: float
    """Buffers of collectives, with several GPUs."""
    source: str
