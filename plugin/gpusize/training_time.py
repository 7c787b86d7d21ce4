"""How long a training step takes: operations by the parameters, and what moves between GPUs.

An estimate adds up what takes turns on a GPU: products of weights, at the precision they are
computed in; scores of attention; norms, activations and casts, which are bound by memory; and the
launches of each layer. A bound takes the products alone, at the peak.
Weights and gradients move while a GPU computes, activations do not. The share of communication is
that of both kinds were nothing hidden; the exposed share is what is left of it where all is hidden
that can be. Stages wait until the first micro batch reaches them, and again at the end.

Which link a group of ranks talks over follows from how ranks lie (see `training_layouts`): one that
fits a node takes the link inside it, one that spans nodes shares their network with the groups
beside it.

Sources of the shares: what one set of them makes of the rates that llm-foundry (A100, H100: 125M to
70B, 512 to 65536 tokens), Megatron-Bridge (H100 to GB300: dense and mixtures, bf16, fp8, fp4) and
torchtitan publish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.links import LINK_SHARE, Link, inner_link, outer_link
from gpusize.memory.training.adapters import params_of
from gpusize.memory.training.sharing import WHOLE
from gpusize.memory.training.vision import patches
from gpusize.speed import peak_of, reached, wide_flops
from gpusize.timing import Timing, unmodelled
from gpusize.workload import VisionLanguageTraining
from gpusize_catalog.units import HOUR

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.memory.training.setup import Setup
    from gpusize.placement import Layout, Placement
    from gpusize.resolving.demand import Demand
    from gpusize.workload import Training

LINEAR_SHARE = 0.9
"""Share of what large products reach (`Gpu.matmul_flops`) of the products of dense layers."""
MIXTURE_SHARE = 0.5
"""The same of layers with experts, whose products are small."""
SCORE_SHARE = 0.4
"""The same of attention: scores and their gradients, in 16 bits whatever the rest is in."""
ELEMENTWISE = 80
"""Times that a hidden state is read or written in one pass of one layer beside the products."""
LAUNCHES = 400e-6
"""Seconds of one pass of one layer and micro batch besides: launches, small kernels, waiting."""
MIXTURE_LAUNCHES = 1600e-6
"""The same of layers with experts: routing, sorting tokens and many small products."""
DENSE_ERROR = 0.25
"""Relative error of a step: 86 % of the published rates of dense models lie within it."""
MIXTURE_ERROR = 0.50
"""The same of mixtures of experts: 85 % lie within it."""
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
RING_PASSES = 3
"""Times that the keys and values of a layer go round the ranks of a sequence: forwards, backwards,
and their gradients."""
HOST_STEP = 0.22e-9
"""Seconds that the processors of a node take to step one parameter with Adam. Source: ZeRO-Offload,
arXiv 2101.06840, latency of CPU-Adam: 0.22 s for a billion parameters (from memory)."""
MOVED_TO_HOST = 4
"""Bytes of an offloaded parameter that cross in a step: its gradient down, its weight up."""


class Moved(NamedTuple):
    """Seconds between GPUs, and to the host, in one step of the optimizer."""

    waiting: float
    """Of activations: the layers wait for them."""
    hidden: float
    """Of weights and gradients: computing goes on meanwhile."""
    host: float = 0.0
    """Of offloaded states: gradients down, a step of the processors, weights up."""

    def exposed(self, compute: float) -> float:
        """Seconds between GPUs in which a step that computes for so long does not compute."""
        return self.waiting + max(0.0, self.hidden - compute)

    def step(self, compute: float) -> float:
        """Seconds of a step that computes for so long."""
        return compute + self.exposed(compute) + self.host


class Work(NamedTuple):
    """What one GPU does in a step of the optimizer."""

    products: float
    """Operations with weights."""
    scores: float
    """Operations of attention that grow with the sequence."""
    moved: float
    """Bytes that norms, activations and casts read and write."""
    passes: float
    """Passes of a layer, each once for every micro batch."""

    def at_peak(self, products: float, scores: float) -> float:
        """Seconds of the operations alone at two rates."""
        return self.products / products + self.scores / scores


class Fabric(NamedTuple):
    """What joins the ranks of a layout."""

    inner: Link
    outer: Link
    domain: int
    """GPUs that the inner link joins."""
    nodes: int = 1
    """Nodes of those; each brings its own network."""

    def ring(self, ranks: int, stride: int) -> Link:
        """The link of a ring over ranks that lie `stride` apart."""
        if ranks * stride <= self.domain:
            return self.inner
        # Rings side by side share the network of a node.
        beside = min(stride, self.domain)
        bandwidth = (self.outer.bandwidth or 0.0) * self.nodes / beside
        if beside < self.domain:
            bandwidth = min(bandwidth, self.inner.bandwidth or bandwidth)
        return self.outer._replace(bandwidth=bandwidth)

    def exchange(self, ranks: int) -> Link:
        """The link of an all-to-all over ranks that lie side by side: each GPU sends for itself."""
        near = self.domain
        if ranks <= near:
            return self.inner
        outside = (ranks - near) / (ranks - 1)
        bandwidth = (self.outer.bandwidth or 0.0) * self.nodes / near / outside
        return self.outer._replace(bandwidth=bandwidth)


def training_time(
    placement: Placement,
    fit: Fit,
    architecture: Architecture,
    workload: Training,
    demand: Demand,
    known: Setup | None,
) -> Timing:
    """Time one step and the whole run; what is not known makes the answer unknown, not zero."""
    clock = _Clock(placement, fit, architecture, workload, known)
    missing = clock.missing(placement)
    link = clock.link if placement.layout.gpus > 1 else None
    if missing:
        return unmodelled(*missing, link=link, share=None if link else 0.0)
    return clock.timing(demand, link)


class _Clock:
    """The arithmetic of one placement."""

    def __init__(
        self,
        placement: Placement,
        fit: Fit,
        architecture: Architecture,
        workload: Training,
        known: Setup | None,
    ) -> None:
        self.layout: Layout = placement.layout
        self.fit = fit
        self.architecture = architecture
        self.workload = workload
        self.known = known
        instance = placement.instance
        self.inner = inner_link(placement)
        self.gpus_per_node = instance.gpus or 1
        outer, domain = outer_link(placement), placement.domain_gpus or 1
        self.link = outer if placement.domains > 1 else self.inner
        self.fabric = Fabric(self.inner, outer, domain, placement.domain_nodes)
        self.nodes = placement.nodes
        self.pcie = instance.pcie_bandwidth
        gpu = placement.gpu
        self.flops = wide_flops(gpu) * instance.partition
        self.products = peak_of(gpu, workload.compute_precision) * instance.partition
        self.reach = reached(gpu)
        self.bandwidth = (gpu.memory_bandwidth or 0.0) * instance.partition
        self.adapted = known is not None and known.adapted
        self.is_mixture = bool(architecture.experts_total)
        whole = workload.global_batch or workload.micro_batch * self.layout.dp
        self.micro_steps = max(1, -(-whole // (workload.micro_batch * self.layout.dp)))
        self.samples = whole
        self.many = known.sequences if known else 1
        self.sequences = whole * self.many

    def missing(self, placement: Placement) -> tuple[str, ...]:
        missing = []
        if self.fit.need is None:
            missing.append("memory of the run is not known")
        if self.known is not None and self.known.company.samples:
            missing.append("how long answers take that the model writes in training is not known")
        if not self.flops:
            missing.append(f"tensor throughput of {placement.gpu.id} is not known")
        if not self.bandwidth:
            missing.append(f"memory bandwidth of {placement.gpu.id} is not known")
        layout = placement.layout
        if layout.gpus > 1 and not self.link.bandwidth:
            missing.append(f"bandwidth of {self.link.name} is not known")
        elif layout.gpus > layout.pp and self.gpus_per_node > 1 and not self.inner.bandwidth:
            missing.append(f"bandwidth of {self.inner.name} is not known")
        return tuple(missing)

    def timing(self, demand: Demand, link: Link | None) -> Timing:
        moved = self._moved(LINK_SHARE)
        work = self._work()
        filled = 1 + (self.layout.pp - 1) / self.micro_steps
        compute = self._seconds(work) * filled
        step = moved.step(compute)
        ideal = self._moved(1.0)
        bound = max(work.at_peak(self.products, self.flops), ideal.waiting + ideal.hidden)
        tokens = self.samples * self.workload.sequence_length
        steps = None if demand.total_tokens is None else demand.total_tokens / tokens
        between = moved.waiting + moved.hidden
        share = between / (compute + between)
        found = unmodelled(*self._remarks(moved), link=link, share=share)
        found = found._replace(
            tokens_per_second=tokens / step,
            step_seconds=step,
            step_bound=min(step, bound),
            exposed_share=moved.exposed(compute) / step,
        )
        if steps is None:
            return found
        hours = steps * step / HOUR
        error = MIXTURE_ERROR if self.is_mixture else DENSE_ERROR
        return found._replace(
            hours_to_end=hours, hours_range=(hours / (1 + error), hours * (1 + error))
        )

    def _seconds(self, work: Work) -> float:
        """Seconds that a GPU computes in a step, stages always busy."""
        share, launches = LINEAR_SHARE, LAUNCHES
        if self.is_mixture:
            share, launches = MIXTURE_SHARE, MIXTURE_LAUNCHES
        return (
            work.products / (self.products * self.reach * share)
            + work.scores / (self.flops * self.reach * SCORE_SHARE)
            + work.moved / self.bandwidth
            + work.passes * launches
        )

    def _remarks(self, moved: Moved) -> tuple[str, ...]:
        # Inputs of layers that wait in the host move while the next layers compute.
        if self.fit.host <= self.fit.host_activations or moved.host:
            return ()
        return ("what moves to and from the host, and its own steps, are not in the time",)

    def _work(self) -> Work:
        """What one GPU does in a step."""
        architecture, length = self.architecture, self.workload.sequence_length
        tower = architecture.vision_params or 0
        active = architecture.active_params or architecture.total_params - tower
        looked_up = 0 if architecture.tie_embeddings else architecture.embedding_params
        width = architecture.heads * architecture.head_dim
        scores = SCORES * architecture.layers * width * length / 2
        passes = 2 if self.adapted else 3
        if self.known is not None:
            passes += self.known.habits.recompute == "full"
            passes += self.known.reference_passes
        gpus, layers = self.layout.gpus, architecture.layers
        tokens = self.sequences * length / gpus
        each = FLOPS_FORWARD * passes
        return Work(
            products=each * max(0, active - looked_up) * tokens
            + self._images() * self.sequences / gpus,
            scores=each * scores * tokens,
            moved=ELEMENTWISE * BYTES * passes * layers * architecture.hidden * tokens,
            passes=passes * layers / self.layout.pp * self.micro_steps,
        )

    def _images(self) -> float:
        """Operations of the images of one sequence: a frozen tower only goes forwards."""
        workload = self.workload
        if not isinstance(workload, VisionLanguageTraining):
            return 0.0
        passes = 3 if workload.train_vision else 1
        tower = self.architecture.vision_params or 0
        return FLOPS_FORWARD * passes * tower * patches(self.architecture, workload.images)

    def _moved(self, share: float) -> Moved:
        micro = self._activations(share)
        gathered, step = self._weights(share)
        # Between stages weights stay gathered for all micro batches.
        times = 1 if self.layout.pp > 1 else self.micro_steps
        # A stage waits for what the others move before its first micro batch and after its last.
        filled = self.micro_steps + self.layout.pp - 1
        return Moved(micro * filled, gathered * times + step, self._to_host(share, times))

    def _activations(self, share: float) -> float:
        """Seconds of one micro batch: what tensors, experts, sequences and stages pass on."""
        layout, architecture, fabric = self.layout, self.architecture, self.fabric
        tokens = self.workload.micro_batch * self.many * self.workload.sequence_length / layout.cp
        size = tokens * architecture.hidden * BYTES
        layers = architecture.layers / layout.pp
        micro = 0.0
        if layout.tp > 1:
            once = fabric.ring(layout.tp, 1).all_reduce(layout.tp, size, share)
            micro += REDUCTIONS * layers * once
        if layout.ep > 1:
            routed = size / layout.tp * self._copies_sent()
            once = fabric.exchange(layout.ep).exchange(layout.ep, routed, share)
            micro += EXCHANGES * layers * once
        if layout.cp > 1:
            keys = 2 * architecture.kv_heads * architecture.head_dim / layout.tp
            block = tokens * keys * BYTES
            once = fabric.ring(layout.cp, layout.tp).send(block, share)
            micro += RING_PASSES * (layout.cp - 1) * layers * once
        if layout.pp > 1:
            ranks = layout.tp * layout.cp * layout.dp
            micro += 2 * fabric.ring(layout.pp, ranks).send(size / layout.tp, share)
        return micro

    def _copies_sent(self) -> float:
        """Copies of a token that leave for its experts.

        One goes to each rank that holds some of them, and from node to node one to each node: what
        crosses the network is handed on inside.
        """
        active = self.architecture.experts_active or 1
        places = self.layout.ep
        if places > self.gpus_per_node:
            places = -(-places // self.gpus_per_node)
        return places * (1 - (1 - 1 / places) ** active)

    def _weights(self, share: float) -> tuple[float, float]:
        """Seconds of one gathering of weights and reduction of gradients, and of one a step."""
        layout, architecture = self.layout, self.architecture
        gathered = step = 0.0
        split = layout.tp * layout.pp
        experts = architecture.expert_params
        spread = layout.ep if layout.ep > 1 else layout.tp
        own = self._own()
        groups = [(layout.copies, layout.tp, (architecture.total_params - experts) / split, own[0])]
        if experts:
            copies = layout.copies * layout.tp // spread
            groups.append((copies, spread, experts / (spread * layout.pp), own[1]))
        for copies, stride, held, adapter in groups:
            if copies <= 1 or not held:
                continue
            trained = adapter if self.adapted else held
            link = self.fabric.ring(copies, stride)
            if self.fit.sharding in WHOLE:
                gathered += link.all_reduce(copies, held * BYTES, share)
                gathered += link.all_reduce(copies, trained * BYTES, share) / 2
            elif trained:
                step += link.all_reduce(copies, trained * BYTES, share)
        return gathered, step

    def _own(self) -> tuple[float, float]:
        """Parameters of an adapter on one rank, beside dense layers and beside experts."""
        if not self.adapted:
            return 0.0, 0.0
        adapter, layout = self.workload.adapter, self.layout  # type: ignore[attr-defined]
        own = params_of(self.architecture, adapter, layout.tp, layout.ep)
        ends = self.architecture.embedding_params + self.architecture.head_params
        dense = own.dense / layout.pp + (ends if adapter.train_embeddings else 0)
        return dense, own.expert / layout.pp

    def _to_host(self, share: float, times: int) -> float:
        """Seconds that a step waits for the host; 0 where nothing is known to move.

        Gradients go down and weights come up once a step, and where the weights lie in the host too
        they come up for each pass of each micro batch.
        """
        offload = self.workload.sharding.offload.value
        if offload == "none" or not self.pcie:
            return 0.0
        layout = self.layout
        held = self.architecture.total_params / (layout.tp * layout.pp)
        trained = sum(self._own()) if self.adapted else held
        by = 1 if self.fit.sharding in ("none", "ddp") else layout.copies
        crossing = trained / by * MOVED_TO_HOST
        if offload == "all":
            crossing += 2 * times * held / by * BYTES
        ranks = min(layout.gpus, self.gpus_per_node)
        return crossing / (self.pcie * share) + trained / by * ranks * HOST_STEP
