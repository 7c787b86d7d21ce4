"""Where a workload runs: instance type, nodes, parallel layout, region and market."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpusize.workload import Market
    from gpusize_catalog.facts import Gpu, InstanceType, UltraServer


class Layout(NamedTuple):
    """Parallel sizes of one replica.

    A replica uses `tp * pp * cp * dp` GPUs: `dp` copies of the model, each cut into `pp` stages of
    `tp` shards, each sequence over `cp` of them. `ep` spreads experts over the ranks of one stage
    (tp * cp * dp) and adds no GPUs.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    cp: int = 1
    """Ranks that share each sequence, or each sample of a pipeline."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def copies(self) -> int:
        """Ranks with the same part of the model: sequences, or parts of one, go to each."""
        return self.dp * self.cp

    def data(self) -> dict[str, int]:
        """Sizes by name, as outputs have them; cp where sequences or samples are shared."""
        sizes = self._asdict()
        if self.cp == 1:
            del sizes["cp"]
        return sizes

    def __str__(self) -> str:
        """Write the sizes above one: `tp=4 dp=2`."""
        sizes = zip(self._fields, self, strict=True)
        return " ".join([f"{name}={size}" for name, size in sizes if size > 1 or name == "tp"])


class Placement(NamedTuple):
    """One concrete way to run one replica; `nodes` instances of one type."""

    instance: InstanceType
    gpu: Gpu
    nodes: int
    layout: Layout
    region: str
    market: Market
    zone: str | None = None
    capacity_reservation: str | None = None
    ultraserver: UltraServer | None = None
    """The UltraServer whose instances it takes: NVLink joins the GPUs of all of them."""

    @property
    def gpus(self) -> int:
        """GPUs of the instances of one replica."""
        return self.nodes * (self.instance.gpus or 0)

    @property
    def domain_nodes(self) -> int:
        """Instances whose GPUs the inner link joins: one, or those of an UltraServer."""
        return self.ultraserver.instances if self.ultraserver else 1

    @property
    def domain_gpus(self) -> int:
        """GPUs that the inner link joins."""
        return self.domain_nodes * (self.instance.gpus or 0)

    @property
    def domains(self) -> int:
        """Nodes, or UltraServers, that one replica spans: the network joins them."""
        return -(-self.nodes // self.domain_nodes)

    def bought(self, replicas: int) -> int:
        """Instances that so many replicas pay for: UltraServers are sold whole.

        A replica lies in one UltraServer, or takes several to itself.
        """
        whole = self.domain_nodes
        if whole == 1:
            return self.nodes * replicas
        if self.nodes > whole:
            return self.domains * whole * replicas
        return -(-replicas // (whole // self.nodes)) * whole

    @property
    def usable_bytes(self) -> int | None:
        """Memory of one device that CUDA reports, a slice's own on fractional types."""
        if self.gpu.usable_bytes is None:
            return None
        return int(self.gpu.usable_bytes * self.instance.partition)

    def laid_out(self, layout: Layout) -> Placement:
        """The same machines in another layout; a search makes hundreds."""
        return Placement(
            self.instance,
            self.gpu,
            self.nodes,
            layout,
            self.region,
            self.market,
            self.zone,
            self.capacity_reservation,
            self.ultraserver,
        )


class Pins(NamedTuple):
    """Parallel sizes that the workload fixes; None leaves them open."""

    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    cp: int | None = None


OPEN = Pins()


class Shape(NamedTuple):
    """What of a model bounds the parallel sizes."""

    heads: int
    vision_heads: int | None
    layers: int
    experts: int | None
    concurrency: int

    def splits(self, tp: int) -> bool:
        """Whether each of `tp` ranks gets the same number of heads."""
        return self.heads % tp == 0 and (not self.vision_heads or self.vision_heads % tp == 0)


def layouts(
    gpus: int, nodes: int, shape: Shape, pins: Pins = OPEN, *, stages_within: bool = True
) -> Iterator[Layout]:
    """Yield the layouts of one replica on `nodes` instances of `gpus` GPUs, the plainest first.

    Open sizes are powers of two that divide the heads; stages span the nodes, and nodes without
    NVLink too (`stages_within`); copies (`dp`) fill what is left, up to one per concurrent
    sequence, for a copy without a sequence is an idle GPU. Pinned sizes are taken as they are.
    """
    seen = set()
    for tp in (pins.tp,) if pins.tp else tensor_sizes(gpus, shape):
        for pp in (pins.pp,) if pins.pp else _stages(gpus, nodes, tp, shape, stages_within):
            cp = pins.cp or 1
            room = max(1, gpus * nodes // (tp * pp * cp))
            dp = pins.dp or min(room, shape.concurrency)
            for ep in (pins.ep,) if pins.ep else _expert_ranks(tp, dp, shape):
                layout = Layout(tp, pp, dp, ep, cp)
                if layout not in seen:
                    seen.add(layout)
                    yield layout


def tensor_sizes(gpus: int, shape: Shape) -> Iterator[int]:
    """Yield the powers of two up to the GPUs of a node that split the heads evenly."""
    size = 1
    while size <= gpus:
        if shape.splits(size):
            yield size
        size *= 2


def _stages(gpus: int, nodes: int, tp: int, shape: Shape, within: bool) -> Iterator[int]:
    if tp > gpus:
        yield max(1, nodes // -(-tp // gpus))
        return
    inner = 1
    while tp * inner <= gpus and nodes * inner <= shape.layers:
        yield nodes * inner
        if not within:
            return
        inner *= 2


def _expert_ranks(tp: int, dp: int, shape: Shape) -> Iterator[int]:
    yield 1
    if shape.experts and dp > 1 and shape.experts % (tp * dp) == 0:
        yield tp * dp
