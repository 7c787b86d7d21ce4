"""How long a step takes: bytes read, operations done, and what moves between GPUs.

Two figures stand side by side. A *bound* takes every peak for granted: nothing is faster. An
*estimate* takes the share of the peak that good engines reach. What lies between is not known.

Sources of the shares: rates that Qwen (vLLM on A100, SGLang on H20) and TensorRT-LLM publish for
decode and prefill. Of the latencies: NVIDIA/nccl issues 1259 (H100, NVSwitch), 1530 and 1439 (eight
GPUs without peer access), haohervchb/sglang-V100 pull request 2 (four ranks behind a PCIe switch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.result import Term
from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.placement import Layout, Placement
    from gpusize.resolving.demand import Demand

MEMORY_SHARE_16_BIT = 0.61
"""Share of peak bandwidth of a decode step, 16- or 8-bit weights (vLLM, A100: 0.53 to 0.63)."""
MEMORY_SHARE_4_BIT = 0.46
"""The same with 4-bit weights: they do not speed up in proportion (vLLM, A100: 0.36 to 0.62)."""
COMPUTE_SHARE = 0.4
"""Share of peak operations of a prefill (0.34 TensorRT-LLM fp8 to 0.54 training on A100)."""
MOE_COMPUTE_SHARE = 0.16
"""The same for mixtures of experts: a third to a half of dense (TensorRT-LLM fp8: 0.04 to 0.16)."""
LINK_SHARE = 0.8
"""Share of a link's peak that large collectives reach (NCCL bus bandwidth on NVLink and EFA)."""
STEP_FLOOR = 4e-3
"""Seconds that a decode step takes at least: launches, sampling, scheduling (4 to 6 ms seen)."""
LAYER_FLOOR = 1e-4
"""Seconds that a layer takes at least, however few bytes it reads: its kernels follow each other.
Rates of one sequence that Qwen publishes for SGLang on H20: 86 us (Qwen3-0.6B) to 152 us
(Qwen3-30B-A3B), where reading the weights takes 10 to 34 us of them."""

NVLINK_LATENCY = (5e-6, 0.4e-6)
"""Seconds of one all-reduce of few bytes, and more per ring hop: 6 us at 2 GPUs, 11 us at 8."""
PCIE_LATENCY = (8e-6, 2.6e-6)
"""The same over PCIe: 20 us at 4 GPUs, 44 us at 8."""
NETWORK_LATENCY = (30e-6, 15e-6)
"""The same between nodes over EFA; plain TCP is slower."""

STAGED = 2
"""Without peer access a byte crosses the host link twice."""
ACTIVATION_BYTES = 2
"""Bytes of one value of the residual stream: 16 bit in every engine here."""
BITS_PER_BYTE = 8
GIGA = 1e9
HALF = 2
"""NVLink is quoted in both directions together."""
FLOPS_PER_PARAM = 2
REDUCTIONS_PER_LAYER = 2
"""All-reduces of one transformer layer: after attention and after the MLP."""
EXCHANGES_PER_LAYER = 2
"""All-to-alls of one expert-parallel layer: dispatch and combine."""


class Link(NamedTuple):
    """What joins the ranks of a collective."""

    name: str
    bandwidth: float | None
    """Bytes per second of one GPU (or node), one direction; None: not known."""
    latency: tuple[float, float]

    def all_reduce(self, ranks: int, size: float, share: float) -> float:
        """Seconds of a ring all-reduce of `size` bytes; needs a known bandwidth."""
        hops = 2 * (ranks - 1)
        moved = hops / ranks * size
        return self._seconds(hops, moved, share)

    def exchange(self, ranks: int, size: float, share: float) -> float:
        """Seconds of an all-to-all in which each rank sends `size` bytes in all."""
        return self._seconds(ranks - 1, (ranks - 1) / ranks * size, share)

    def send(self, size: float, share: float) -> float:
        """Seconds of one message between two ranks."""
        return self._seconds(1, size, share)

    def _seconds(self, hops: int, moved: float, share: float) -> float:
        start, per_hop = self.latency
        return start + hops * per_hop + moved / ((self.bandwidth or 0.0) * share)


class Pace(NamedTuple):
    """Seconds that a pipeline takes on one GPU for each sample."""

    what: str
    """image, or second of video."""
    seconds: float
    """Estimate, and the ends of its error band."""
    low: float
    high: float
    bound: float
    """At the peak: nothing is faster."""


class Timing(NamedTuple):
    """Seconds of one replica at the declared concurrency; None: not known, `unknown` says why."""

    token_seconds: float | None
    """Between two tokens of one sequence, estimate."""
    token_bound: float | None
    """The same at every peak: no setting of this placement is faster."""
    prefill_seconds: float | None
    """First token of a long prompt without queueing, estimate."""
    prefill_bound: float | None
    communication_share: float | None
    """Part of the engine's time that is spent moving data between GPUs."""
    link: str
    link_bandwidth: float | None
    tokens_per_second: float | None
    """Output of the replica, all sequences together, prefill included."""
    bytes_per_step: float | None
    """Read from the memory of the busiest GPU in one step."""
    unknown: tuple[str, ...]
    step_seconds: float | None = None
    """One step of the optimizer in a training run, estimate."""
    step_bound: float | None = None
    """The same at every peak."""
    hours_to_end: float | None = None
    """The whole training run, estimate; None: its tokens are not declared, or no training."""
    hours_range: tuple[float, float] | None = None
    """Between which hours it lies, by the shares of the peak that published runs reach."""
    pace: Pace | None = None
    """Of pipelines, which have no tokens."""


def unmodelled(*why: str) -> Timing:
    """No times, of work on whole GPUs between which nothing moves."""
    return Timing(None, None, None, None, 0.0, "", None, None, None, why)


class Step(NamedTuple):
    """One engine step of some tokens: computing and moving, seconds."""

    compute: float
    communication: float

    @property
    def total(self) -> float:
        """Both, one after the other."""
        return self.compute + self.communication


def inner_link(placement: Placement) -> Link:
    """The link between GPUs of one node."""
    instance = placement.instance
    if instance.interconnect_bandwidth:
        return Link("NVLink", instance.interconnect_bandwidth / HALF, NVLINK_LATENCY)
    bandwidth = instance.pcie_bandwidth
    if instance.p2p:
        return Link("PCIe", bandwidth, PCIE_LATENCY)
    staged = bandwidth / STAGED if bandwidth else None
    return Link("PCIe through the host", staged, PCIE_LATENCY)


def outer_link(placement: Placement) -> Link:
    """The link between nodes."""
    instance = placement.instance
    gbps = instance.network_baseline_gbps or instance.network_gbps
    bandwidth = gbps * GIGA / BITS_PER_BYTE if gbps else None
    return Link("EFA" if instance.efa else "network", bandwidth, NETWORK_LATENCY)


def timing_of(placement: Placement, fit: Fit, architecture: Architecture, demand: Demand) -> Timing:
    """Time one replica; what the catalog does not know makes the answer unknown, not zero."""
    clock = Clock(placement, fit, architecture, demand)
    if clock.unknown:
        link = clock.tensor_link
        return Timing(
            None,
            None,
            None,
            None,
            clock.no_share,
            link.name,
            link.bandwidth,
            None,
            None,
            clock.unknown,
        )
    return clock.timing()


class Clock:
    """The arithmetic of one placement."""

    def __init__(
        self, placement: Placement, fit: Fit, architecture: Architecture, demand: Demand
    ) -> None:
        """Read what the arithmetic needs; `unknown` lists what is missing."""
        self.layout: Layout = placement.layout
        self.architecture = architecture
        self.demand = demand
        self.fit = fit
        instance, gpu = placement.instance, placement.gpu
        self.inner = inner_link(placement)
        self.outer = outer_link(placement)
        self.spans = placement.nodes > 1
        ranks = self.layout.tp * (self.layout.dp if self.layout.ep > 1 else 1)
        self.tensor_link = self.outer if ranks > (instance.gpus or 1) else self.inner
        self.bandwidth = (gpu.memory_bandwidth or 0.0) * instance.partition
        self.weight_bytes = fit.term(Term.WEIGHTS)
        four_bit = self.bytes_per_param < 1 if architecture.total_params else False
        self.memory_share = MEMORY_SHARE_4_BIT if four_bit else MEMORY_SHARE_16_BIT
        eight_bit = (
            gpu.native_fp8 and not four_bit and self.bytes_per_param < ACTIVATION_BYTES * 0.75
        )
        peak = gpu.fp8_flops if eight_bit else None
        self.flops = (peak or gpu.bf16_flops or gpu.fp16_flops or 0.0) * instance.partition
        self.host_bandwidth = instance.pcie_bandwidth or 0.0
        self.is_mixture = bool(architecture.experts_total)
        self.unknown = tuple(self._missing(gpu.id))

    @property
    def bytes_per_param(self) -> float:
        """Mean bytes of one parameter on the fullest rank."""
        split = self.layout.tp * self.layout.pp
        return self.weight_bytes * split / self.architecture.total_params

    @property
    def step_floor(self) -> float:
        """Seconds that all layers take one after the other, were there nothing to read."""
        return max(STEP_FLOOR, self.architecture.layers * LAYER_FLOOR)

    @property
    def no_share(self) -> float | None:
        """Share of communication that is certain without any arithmetic."""
        return 0.0 if self.layout.tp == self.layout.pp == self.layout.ep == 1 else None

    def _missing(self, gpu: str) -> list[str]:
        missing = []
        if not self.bandwidth:
            missing.append(f"memory bandwidth of {gpu} is not known")
        if not self.weight_bytes or self.fit.cache is None:
            missing.append("memory of the model is not known")
        if self.layout.tp * self.layout.ep > 1 and not self.tensor_link.bandwidth:
            missing.append(f"bandwidth of {self.tensor_link.name} is not known")
        if self.demand.offload_gib and not self.host_bandwidth:
            missing.append(f"host link of {gpu} is not known")
        if self.layout.pp > 1 and not self._stage_link().bandwidth:
            missing.append(f"bandwidth of {self._stage_link().name} is not known")
        return missing

    def _stage_link(self) -> Link:
        return self.outer if self.spans else self.inner

    def timing(self) -> Timing:
        """Put decode, prefill and their mix together."""
        demand, pp = self.demand, self.layout.pp
        batch = -(-demand.concurrency // self.layout.dp)
        stage = -(-batch // pp)
        read = self._bytes_read(stage)
        decode = self._decode(stage, read, estimate=True)
        bound = self._decode(stage, read, estimate=False)
        per_step = demand.tokens_per_step
        floor = max(decode.total, self.step_floor + decode.communication)
        prefill = self._prefill(demand.prompt, estimate=True)
        share, rate = self._mix(decode, floor, prefill, batch)
        long_prompt = self._prefill(demand.prompt_high, estimate=True)
        ideal_prompt = self._prefill(demand.prompt_high, estimate=False)
        return Timing(
            token_seconds=floor / per_step if per_step else None,
            token_bound=bound.total / per_step if per_step else None,
            prefill_seconds=long_prompt.total if long_prompt else None,
            prefill_bound=ideal_prompt.total if ideal_prompt else None,
            communication_share=share,
            link=self.tensor_link.name if self.layout.gpus > 1 else "",
            link_bandwidth=self.tensor_link.bandwidth if self.layout.gpus > 1 else None,
            tokens_per_second=rate,
            bytes_per_step=read,
            unknown=self._remarks(),
        )

    def _remarks(self) -> tuple[str, ...]:
        remarks = []
        if not self.flops:
            remarks.append("tensor throughput of the GPU is not known: no prefill time")
        if self.demand.tokens_per_step is None:
            remarks.append("acceptance of speculative decoding is not declared: no time per token")
        return tuple(remarks)

    def _bytes_read(self, batch: int) -> float:
        cache = self.fit.cache
        kept = cache.bytes_for(self.demand.tokens_cached, batch) if cache else 0
        return self._weights_read(batch) + kept

    def _weights_read(self, batch: int) -> float:
        """Bytes of weights that one step touches: no lookup tables, only the experts in use."""
        architecture, layout = self.architecture, self.layout
        ranks = layout.tp * layout.pp
        looked_up = 0 if architecture.tie_embeddings else architecture.embedding_params
        unread = (looked_up + (architecture.vision_params or 0)) * ACTIVATION_BYTES / ranks
        read = max(0.0, self.weight_bytes - unread)
        if not architecture.experts_total or not architecture.experts_active:
            return read
        wide = architecture.embedding_params + architecture.head_params + architecture.other_params
        packed = max(0.0, self.weight_bytes - wide * ACTIVATION_BYTES / ranks)
        experts = architecture.expert_params / max(layout.tp, layout.ep)
        linear = architecture.linear_params / layout.tp
        held = packed * experts / (experts + linear) if experts + linear else 0.0
        tokens = batch * (layout.dp if layout.ep > 1 else 1)
        idle = (1 - architecture.experts_active / architecture.experts_total) ** tokens
        return max(0.0, read - held * idle)

    def _decode(self, batch: int, read: float, *, estimate: bool) -> Step:
        """One token for each of `batch` sequences of a stage, through all stages."""
        memory = read / (self.bandwidth * (self.memory_share if estimate else 1.0))
        if self.demand.offload_gib:
            memory += self.demand.offload_gib * GIB / self.host_bandwidth
        compute = max(memory, self._math_seconds(batch, 0, estimate=estimate))
        return Step(compute * self.layout.pp, self._moving(batch, estimate=estimate))

    def _prefill(self, tokens: int, *, estimate: bool) -> Step | None:
        """One prompt through all stages; None where the GPU's throughput is not known."""
        if not self.flops:
            return None
        memory = self.weight_bytes / (self.bandwidth * (self.memory_share if estimate else 1.0))
        compute = max(memory, self._math_seconds(tokens, tokens // HALF, estimate=estimate))
        return Step(compute * self.layout.pp, self._moving(tokens, estimate=estimate))

    def _math_seconds(self, tokens: int, attended: int, *, estimate: bool) -> float:
        """Operations of `tokens` on one rank of one stage, each attending to `attended` others."""
        if not self.flops:
            return 0.0
        architecture = self.architecture
        active = architecture.active_params or architecture.total_params
        scores = architecture.layers * architecture.heads * architecture.head_dim * attended
        flops = FLOPS_PER_PARAM * tokens * (active + HALF * scores)
        share = (MOE_COMPUTE_SHARE if self.is_mixture else COMPUTE_SHARE) if estimate else 1.0
        return flops / (self.layout.tp * self.layout.pp) / (self.flops * share)

    def _moving(self, tokens: int, *, estimate: bool) -> float:
        """Seconds in which `tokens` rows of the residual stream go between ranks, all layers."""
        layout, architecture = self.layout, self.architecture
        share = LINK_SHARE if estimate else 1.0
        size = tokens * architecture.hidden * ACTIVATION_BYTES
        seconds = 0.0
        if layout.tp > 1:
            reductions = 1 if layout.ep > 1 else REDUCTIONS_PER_LAYER
            once = self.tensor_link.all_reduce(layout.tp, size, share)
            seconds += reductions * architecture.layers * once
        if layout.ep > 1:
            routed = size / layout.tp * (architecture.experts_active or 1)
            once = self.tensor_link.exchange(layout.ep, routed, share)
            seconds += EXCHANGES_PER_LAYER * architecture.layers * once
        if layout.pp > 1:
            seconds += (layout.pp - 1) * self._stage_link().send(size, share)
        return seconds

    def _mix(
        self, decode: Step, floor: float, prefill: Step | None, batch: int
    ) -> tuple[float, float]:
        """Share of communication in the time of one request, and output tokens per second."""
        steps = self.demand.output / (self.demand.tokens_per_step or 1.0)
        total = steps * floor / batch + (prefill.total if prefill else 0.0)
        moving = steps * decode.communication / batch
        moving += prefill.communication if prefill else 0.0
        return moving / total, self.layout.dp * self.demand.output / total
