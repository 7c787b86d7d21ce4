"""How long tokens take: bytes read, operations done, and what moves between GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.links import LINK_SHARE, inner_link, outer_link
from gpusize.memory.result import Term
from gpusize.speed import reached
from gpusize.timing import Timing, unmodelled
from gpusize_catalog.units import GIB, HOUR

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.links import Link
    from gpusize.memory.result import Fit
    from gpusize.placement import Layout, Placement
    from gpusize.resolving.demand import Demand
    from gpusize.speed import Speed
    from gpusize_catalog.facts import SpeedFacts

ACTIVATION_BYTES = 2
"""Bytes of one value of the residual stream: 16 bit in every engine here."""
MICRO = 1e-6
STEP_TOKENS = 8192
"""Tokens of prompts that engines process in one step when many wait (vLLM, SGLang: 8192)."""
MOST_ERROR = 0.9
"""Relative error of a rate above which the longest time that it allows says nothing."""
FLOPS_PER_PARAM = 2
PRODUCTS = 2
"""Of attention: queries by keys, and what they weigh by values."""
HALF = 2
"""At the mean a token of a prompt sees half of it."""
REDUCTIONS_PER_LAYER = 2
"""All-reduces of one transformer layer: after attention and after the MLP."""
EXCHANGES_PER_LAYER = 2
"""All-to-alls of one expert-parallel layer: dispatch and combine."""


class Step(NamedTuple):
    """One engine step of some tokens: computing and moving, seconds."""

    compute: float
    communication: float

    @property
    def total(self) -> float:
        """Both, one after the other."""
        return self.compute + self.communication


class Read(NamedTuple):
    """What one step of a rank reads, bytes."""

    weights: float
    cache: int

    @property
    def total(self) -> float:
        """Both."""
        return self.weights + self.cache


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
        return unmodelled(*clock.unknown, link=clock.tensor_link, share=clock.no_share)
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
        read = Read(self._weights_read(stage), self._cache_read(stage))
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
            bytes_per_step=read.total,
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

    def _decode(self, batch: int, read: Read, *, at_peak: bool = False) -> Step:
        """One token for each of `batch` sequences of a stage, through all stages."""
        speed, demand = self.speed, self.demand
        memory = read.total / self.bandwidth
        math = self._math_seconds(batch, demand.tokens_cached)
        host = demand.offload_gib * GIB / self.host_bandwidth if demand.offload_gib else 0.0
        moving = self._moving(batch, at_peak=at_peak)
        if at_peak or speed is None:
            return Step((max(memory, math) + host) * self.layout.pp, moving)
        # Reading and computing take turns: a layer of attention reads while no product is formed.
        weights = read.weights / speed.memory_share
        cache = read.cache * speed.cache_copies / speed.cache_share
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
        flops = FLOPS_PER_PARAM * tokens * (max(0, active - looked_up) + PRODUCTS * scores)
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
