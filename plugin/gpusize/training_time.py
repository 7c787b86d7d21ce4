"""How long a training step takes: operations by the parameters, and what moves between GPUs.

An estimate takes the share of the peak that published runs reach, a bound takes all of it.
Weights and gradients move while a GPU computes, activations do not. The share of communication is
that of both kinds were nothing hidden, for how much of it is hidden is not known. Stages wait until
the first micro batch reaches them, and again at the end.

Sources of the shares: llm-foundry on A100 and H100 (dense, 16-bit: 0.32 to 0.60), Megatron-Bridge
and AutoModel (mixtures: 0.11 to 0.24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.timing import (
    COMPUTE_SHARE,
    LINK_SHARE,
    MOE_COMPUTE_SHARE,
    Link,
    Timing,
    inner_link,
    outer_link,
)

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.placement import Layout, Placement
    from gpusize.resolving.demand import Demand
    from gpusize.workload import Training

DENSE_SHARES = (0.32, 0.55)
"""From the least to the most of what dense runs reach."""
MOE_SHARES = (0.09, 0.24)
"""The same for mixtures of experts."""
FLOPS_FORWARD = 2
"""Operations of one parameter and token forwards; as many for the gradients of inputs, as many for
those of weights, and once more where a layer is computed again."""
SCORES = 2
"""Products of attention that grow with the sequence: scores, and values by scores."""
BYTES = 2
"""Bytes of a weight or gradient that moves: 16 bits."""
REDUCTIONS = 4
"""All-reduces of a layer split over tensor ranks, forwards and backwards."""
EXCHANGES = 4
"""All-to-alls of a layer whose experts are spread, forwards and backwards."""
SHARED_WEIGHTS = frozenset({"zero-3", "fsdp"})
HOUR = 3600
ADAPTED = frozenset({"lora", "qlora", "dora"})


class Moved(NamedTuple):
    """Seconds between GPUs in one step of the optimizer."""

    waiting: float
    """Of activations: the layers wait for them."""
    hidden: float
    """Of weights and gradients: computing goes on meanwhile."""

    def step(self, compute: float) -> float:
        """Seconds of a step that computes for so long."""
        return self.waiting + max(compute, self.hidden)


def training_time(
    placement: Placement,
    fit: Fit,
    architecture: Architecture,
    workload: Training,
    demand: Demand,
) -> Timing:
    """Time one step and the whole run; what is not known makes the answer unknown, not zero."""
    clock = _Clock(placement, fit, architecture, workload)
    missing = clock.missing(placement)
    link = clock.link
    shown = placement.layout.gpus > 1
    if missing:
        return _timing(link if shown else None, 0.0 if not shown else None, missing)
    return clock.timing(demand, link if shown else None)


class _Clock:
    """The arithmetic of one placement."""

    def __init__(
        self, placement: Placement, fit: Fit, architecture: Architecture, workload: Training
    ) -> None:
        self.layout: Layout = placement.layout
        self.fit = fit
        self.architecture = architecture
        self.workload = workload
        self.inner = inner_link(placement)
        self.gpus_per_node = placement.instance.gpus or 1
        self.link = outer_link(placement) if placement.nodes > 1 else self.inner
        gpu = placement.gpu
        peak = gpu.bf16_flops or gpu.fp16_flops or 0.0
        self.flops = peak * placement.instance.partition
        method = getattr(workload, "method", None)
        self.adapted = method is not None and method.value in ADAPTED
        self.is_mixture = bool(architecture.experts_total)
        whole = workload.global_batch or workload.micro_batch * self.layout.dp
        self.sequences = whole
        self.micro_steps = max(1, -(-whole // (workload.micro_batch * self.layout.dp)))

    def missing(self, placement: Placement) -> tuple[str, ...]:
        missing = []
        if self.fit.need is None:
            missing.append("memory of the run is not known")
        if not self.flops:
            missing.append(f"tensor throughput of {placement.gpu.id} is not known")
        layout = placement.layout
        if layout.gpus > 1 and not self.link.bandwidth:
            missing.append(f"bandwidth of {self.link.name} is not known")
        elif layout.tp > 1 and not self.inner.bandwidth:
            missing.append(f"bandwidth of {self.inner.name} is not known")
        return tuple(missing)

    def timing(self, demand: Demand, link: Link | None) -> Timing:
        usual = MOE_COMPUTE_SHARE if self.is_mixture else COMPUTE_SHARE
        least, most = MOE_SHARES if self.is_mixture else DENSE_SHARES
        moved = self._moved(LINK_SHARE)
        communication = moved.waiting + moved.hidden
        compute = self._compute()
        filled = 1 + (self.layout.pp - 1) / self.micro_steps
        step = moved.step(compute / usual * filled)
        ideal = self._moved(1.0)
        bound = max(compute, ideal.waiting + ideal.hidden)
        tokens = self.sequences * self.workload.sequence_length
        steps = None if demand.total_tokens is None else demand.total_tokens / tokens
        apart = compute / usual * filled + communication
        remarks = ("what moves to and from the host, and its own steps, are not in the time",)
        found = _timing(link, communication / apart, remarks if self.fit.host else ())
        found = found._replace(tokens_per_second=tokens / step, step_seconds=step, step_bound=bound)
        if steps is None:
            return found
        ends = [steps * moved.step(compute / share * filled) / HOUR for share in (most, least)]
        return found._replace(hours_to_end=steps * step / HOUR, hours_range=(ends[0], ends[1]))

    def _compute(self) -> float:
        """Seconds of a step at the peak, on each GPU."""
        architecture, length = self.architecture, self.workload.sequence_length
        active = architecture.active_params or architecture.total_params
        looked_up = 0 if architecture.tie_embeddings else architecture.embedding_params
        width = architecture.heads * architecture.head_dim
        scores = SCORES * architecture.layers * width * length / 2
        passes = 2 if self.adapted else 3
        if self.workload.recompute.value == "full":
            passes += 1
        per_token = FLOPS_FORWARD * passes * (max(0, active - looked_up) + scores)
        return per_token * self.sequences * length / self.layout.gpus / self.flops

    def _moved(self, share: float) -> Moved:
        layout, architecture = self.layout, self.architecture
        tokens = self.workload.micro_batch * self.workload.sequence_length
        size = tokens * architecture.hidden * BYTES
        micro = gathered = step = 0.0
        if layout.tp > 1:
            once = self.inner.all_reduce(layout.tp, size, share)
            micro += REDUCTIONS * architecture.layers / layout.pp * once
        if layout.ep > 1:
            link = self.inner if layout.ep <= self.gpus_per_node else self.link
            once = link.exchange(layout.ep, size * (architecture.experts_active or 1), share)
            micro += EXCHANGES * architecture.layers / layout.pp * once
        if layout.pp > 1:
            micro += 2 * self.link.send(size / layout.tp, share)
        if layout.dp > 1:
            held = architecture.total_params / (layout.tp * layout.pp)
            trained = self._trained(held)
            if self.fit.sharding in SHARED_WEIGHTS:
                gathered += self.link.all_reduce(layout.dp, held * BYTES, share)
                gathered += self.link.all_reduce(layout.dp, trained * BYTES, share) / 2
            else:
                step += self.link.all_reduce(layout.dp, trained * BYTES, share)
        return Moved(micro * self.micro_steps, gathered * self.micro_steps + step)

    def _trained(self, held: float) -> float:
        """Parameters whose gradients move, of those that a rank computes with."""
        if not self.adapted:
            return held
        from gpusize.memory.training.parts import adapter_params

        adapter = self.workload.adapter  # type: ignore[attr-defined]
        own = adapter_params(self.architecture, adapter.rank, adapter.targets, self.layout.tp)
        ends = self.architecture.embedding_params + self.architecture.head_params
        return own / self.layout.pp + (ends if adapter.train_embeddings else 0)


def _timing(link: Link | None, share: float | None, missing: tuple[str, ...]) -> Timing:
    return Timing(
        token_seconds=None,
        token_bound=None,
        prefill_seconds=None,
        prefill_bound=None,
        communication_share=share,
        link=link.name if link else "",
        link_bandwidth=link.bandwidth if link else None,
        tokens_per_second=None,
        bytes_per_step=None,
        unknown=missing,
    )
