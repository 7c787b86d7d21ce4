"""How long a step takes: bytes read, operations done, and what moves between GPUs.

Two figures stand side by side. A *bound* takes every peak for granted: nothing is faster. An
*estimate* goes by the catalog's speeds: reading, computing and the launches of each layer take
turns, each at the share of its peak that the engine reaches. What lies between is not known.

Sources of the latencies: NVIDIA/nccl issues 1259 (H100, NVSwitch), 1530 and 1439 (eight
GPUs without peer access), haohervchb/sglang-V100 pull request 2 (four ranks behind a PCIe switch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.memory.result import Term
from gpusize.speed import reached
from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.placement import Layout, Placement
    from gpusize.resolving.demand import Demand
    from gpusize.speed import Speed
    from gpusize_catalog.facts import SpeedFacts

LINK_SHARE = 0.8
"""Share of a link's peak that large collectives reach (NCCL bus bandwidth on NVLink and EFA)."""
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
MICRO = 1e-6
STEP_TOKENS = 8192
"""Tokens of prompts that engines process in one step when many wait (vLLM, SGLang: 8192)."""
HOUR = 3600
MOST_ERROR = 0.9
"""Relative error of a rate above which the longest time that it allows says nothing."""
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
    """image, or second of video or sound."""
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
    """The whole run, of training or of declared samples, estimate; None: not declared or known."""
    hours_range: tuple[float, float] | None = None
    """Between which hours it lies: by the shares of the peak that published runs reach, or the
    error of the engine's rate."""
    exposed_share: float | None = None
    """Part of a training step in which a GPU waits for others though all is hidden that can be."""
    pace: Pace | None = None
    """Of pipelines, which have no tokens."""
    rate_bound: float | None = None
    """Output of the replica at every peak: see `tokens_per_second`."""


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
    """The link between GPUs of one node, or of one UltraServer."""
    instance = placement.instance
    if instance.interconnect_bandwidth:
        return Link("NVLink", instance.interconnect_bandwidth / HALF, NVLINK_LATENCY)
    bandwidth = instance.pcie_bandwidth
    if instance.p2p:
        return Link("PCIe", bandwidth, PCIE_LATENCY)
    staged = bandwidth / STAGED if bandwidth else None
    return Link("PCIe through the host", staged, PCIE_LATENCY)


def outer_link(placement: Placement) -> Link:
    """The link between nodes, or UltraServers, by the network of one node."""
    instance = placement.instance
    gbps = instance.network_baseline_gbps or instance.network_gbps
    bandwidth = gbps * GIGA / BITS_PER_BYTE if gbps else None
    return Link("EFA" if instance.efa else "network", bandwidth, NETWORK_LATENCY)


def timing_of(
    placement: Placement,
    fit: Fit,
    architecture: Architecture,
    demand: Demand,
    speed: Speed,
) -> Timing:
    """Time one replica; what the catalog does not know makes the answer unknown, not zero.

    `speed` says how near the engine comes to the peaks.
    """
    clock = Clock(placement, fit, architecture, demand, speed)
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
        self,
        placement: Placement,
        fit: Fit,
        architecture: Architecture,
        demand: Demand,
        speed: Speed,
    ) -> None:
        """Read what the arithmetic needs; `unknown` lists what is missing."""
        self.speed = speed.facts
        self.layout: Layout = placement.layout
        self.architecture = architecture
        self.demand = demand
        self.fit = fit
        instance, gpu = placement.instance, placement.gpu
        self.inner = inner_link(placement)
        self.outer = outer_link(placement)
        self.spans = placement.domains > 1
        ranks = self.layout.tp * (self.layout.dp if self.layout.ep > 1 else 1)
        self.tensor_link = self.outer if ranks > (placement.domain_gpus or 1) else self.inner
        self.bandwidth = (gpu.memory_bandwidth or 0.0) * instance.partition
        self.weight_bytes = fit.term(Term.WEIGHTS)
        self.flops = speed.peak(gpu) * instance.partition
        self.reach = reached(gpu)
        self.host_bandwidth = instance.pcie_bandwidth or 0.0
        self.is_mixture = bool(architecture.experts_total)
        self.unknown = tuple(self._missing(gpu.id))

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
        decode = self._decode(stage, read)
        bound = self._decode(stage, read, at_peak=True)
        per_step = demand.tokens_per_step
        share, rate = self._mix(decode, batch)
        long_prompt = self._prefill(demand.prompt_high)
        ideal_prompt = self._prefill(demand.prompt_high, at_peak=True)
        return Timing(
            token_seconds=decode.total / per_step if per_step else None,
            token_bound=bound.total / per_step if per_step else None,
            prefill_seconds=long_prompt.total if long_prompt else None,
            prefill_bound=ideal_prompt.total if ideal_prompt else None,
            communication_share=share,
            link=self.tensor_link.name if self.layout.gpus > 1 else "",
            link_bandwidth=self.tensor_link.bandwidth if self.layout.gpus > 1 else None,
            tokens_per_second=rate,
            bytes_per_step=read,
            unknown=self._remarks(),
            rate_bound=self._rate_bound(bound, batch),
        )._replace(**self._run(rate))

    def _run(self, rate: float) -> dict[str, Any]:
        """Hours of a run of so many samples, all replicas at once, and the ends of their band.

        A rate that rests on the peaks alone tells no hours.
        """
        samples, speed = self.demand.samples, self.speed
        if samples is None or speed is None or not rate:
            return {}
        hours = samples * self.demand.output / (rate * self.demand.replicas) / HOUR
        error = min(speed.uncertainty, MOST_ERROR)
        return {
            "hours_to_end": hours,
            "hours_range": (hours / (1 + error), hours / (1 - error)),
        }

    def _remarks(self) -> tuple[str, ...]:
        remarks = []
        if not self.flops:
            remarks.append("tensor throughput of the GPU is not known: no prefill time")
        if self.demand.tokens_per_step is None:
            remarks.append("acceptance of speculative decoding is not declared: no time per token")
        return tuple(remarks)

    def _bytes_read(self, batch: int) -> float:
        return self._weights_read(batch) + self._cache_read(batch)

    def _cache_read(self, batch: int) -> int:
        cache = self.fit.cache
        return cache.bytes_for(self.demand.tokens_cached, batch) if cache else 0

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

    def _decode(self, batch: int, read: float, *, at_peak: bool = False) -> Step:
        """One token for each of `batch` sequences of a stage, through all stages."""
        speed, demand = self.speed, self.demand
        memory = read / self.bandwidth
        math = self._math_seconds(batch, demand.tokens_cached)
        host = demand.offload_gib * GIB / self.host_bandwidth if demand.offload_gib else 0.0
        moving = self._moving(batch, at_peak=at_peak)
        if at_peak or speed is None:
            return Step((max(memory, math) + host) * self.layout.pp, moving)
        # Reading and computing take turns: a layer of attention reads while no product is formed.
        weights = self._weights_read(batch) / speed.memory_share
        cache = self._cache_read(batch) * speed.cache_copies / speed.cache_share
        busy = (weights + cache) / self.bandwidth + math / self._compute_share(speed) + host
        launches = self._launches(speed) / self.layout.pp
        stage = max(busy, launches) if speed.overlaps else busy + launches
        return Step(stage * self.layout.pp, moving)

    def _launches(self, speed: SpeedFacts) -> float:
        """Seconds of all layers in one step besides reading and computing."""
        experts = self.architecture.experts_total or 0
        each = speed.layer_us + speed.expert_us * experts
        return self.architecture.layers * each * MICRO

    def _compute_share(self, speed: SpeedFacts) -> float:
        share = speed.mixture_share if self.is_mixture else speed.compute_share
        return share * self.reach

    def _prefill(self, tokens: int, *, at_peak: bool = False) -> Step | None:
        """One prompt through all stages; None where the GPU's throughput is not known."""
        if not self.flops:
            return None
        speed = self.speed
        memory = self._weights_read(tokens) / self.bandwidth
        math = self._math_seconds(tokens, tokens // HALF)
        tower = self._tower_seconds()
        moving = self._moving(tokens, at_peak=at_peak)
        if at_peak or speed is None:
            return Step(max(memory, math) * self.layout.pp + tower, moving)
        share = self._compute_share(speed)
        busy = max(memory / speed.memory_share, math / share)
        return Step(max(busy * self.layout.pp, self._launches(speed)) + tower / share, moving)

    def _tower_seconds(self) -> float:
        """Seconds at the peak in which a tower turns the images of one prompt into tokens.

        Attention among patches is left out: some towers attend in windows, and no table says which.
        """
        images, params = self.demand.images, self.architecture.vision_params
        if images is None or not params or not self.flops:
            return 0.0
        from gpusize.memory.training.vision import patches

        count = patches(self.architecture, images)
        return FLOPS_PER_PARAM * params * count / self.layout.tp / self.flops

    def _math_seconds(self, tokens: int, attended: int) -> float:
        """Seconds at the peak of `tokens` on one rank of a stage, each attending to `attended`."""
        if not self.flops:
            return 0.0
        architecture = self.architecture
        active = architecture.active_params or architecture.total_params
        looked_up = 0 if architecture.tie_embeddings else architecture.embedding_params
        scores = architecture.layers * architecture.heads * architecture.head_dim * attended
        flops = FLOPS_PER_PARAM * tokens * (max(0, active - looked_up) + HALF * scores)
        return flops / (self.layout.tp * self.layout.pp) / self.flops

    def _moving(self, tokens: int, *, at_peak: bool) -> float:
        """Seconds in which `tokens` rows of the residual stream go between ranks, all layers."""
        layout, architecture = self.layout, self.architecture
        share = 1.0 if at_peak else LINK_SHARE
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

    def _mix(self, decode: Step, batch: int) -> tuple[float, float]:
        """Share of communication in the time of one request, and output tokens per second."""
        steps = self.demand.output / (self.demand.tokens_per_step or 1.0)
        prefill = self._prefill_in_batch(batch)
        total = steps * decode.total / batch + prefill.total
        moving = steps * decode.communication / batch + prefill.communication
        return moving / total, self.layout.dp * self.demand.output / total

    def _prefill_in_batch(self, batch: int) -> Step:
        """Seconds of one prompt among others: prompts share a step, and stages work at once."""
        tokens, pp = self.demand.prompt, self.layout.pp
        if not self.flops or not tokens:
            return Step(0.0, 0.0)
        together = max(1, min(batch, STEP_TOKENS // tokens))
        math = self._math_seconds(tokens, tokens // HALF) + self._tower_seconds() / pp
        moving = self._moving(tokens * together, at_peak=False) / together / pp
        memory = self._weights_read(tokens * together) / self.bandwidth / together
        if self.speed is None:
            return Step(max(math, memory), moving)
        busy = max(math / self._compute_share(self.speed), memory / self.speed.memory_share)
        return Step(busy + self._launches(self.speed) / together / pp, moving)

    def _rate_bound(self, decode: Step, batch: int) -> float:
        """Output tokens per second at every peak: no batch of that size is faster."""
        output, prompt = self.demand.output, self.demand.prompt
        steps = output / (self.demand.tokens_per_step or 1.0)
        prefill = self._math_seconds(prompt, prompt // HALF)
        prefill += self._tower_seconds() / self.layout.pp
        return self.layout.dp * output / (steps * decode.compute / batch + prefill)
