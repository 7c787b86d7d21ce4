"""One workload on one placement, and what follows from it, computed once and only when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.checkpointing import trained_bytes
from gpusize.memory import formats
from gpusize.memory.result import Term
from gpusize.memory.training.sharing import WHOLE
from gpusize.placement import Layout, Placement
from gpusize.pricing import Cost, Quote
from gpusize.pricing.storage import Stored
from gpusize.resolving.demand import Demand
from gpusize.settings import ResolveSettings
from gpusize.timing import Timing
from gpusize.volumes import Disk, disk_of
from gpusize.wording import counted
from gpusize.workload import Optimizing

if TYPE_CHECKING:
    import datetime

    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.pricing.purchase import Purchase
    from gpusize.resolving.study import Study
    from gpusize.workload import Market, Workload
    from gpusize_catalog.facts import Gpu, InstanceType
    from gpusize_catalog.store import Catalog


class Hardware(NamedTuple):
    """What memory and time depend on beside the layout: equal for all hosts of the same GPUs."""

    gpu: str
    partition: float
    gpus: int
    nodes: int
    domain: int
    """Nodes that NVLink joins."""
    nvlink: float | None
    pcie: float | None
    p2p: bool | None
    network: float | None


PUBLISHED_BYTES = 2
"""Bytes of one published weight, 16 bits."""


class Candidate:
    """One workload on one placement."""

    __slots__ = ("_cost", "_disk", "_fit", "_hardware", "_timing", "placement", "study")

    def __init__(
        self, study: Study, placement: Placement, hardware: Hardware | None = None
    ) -> None:
        """Keep the two; nothing is computed yet."""
        self.study = study
        self.placement = placement
        self._hardware = hardware
        self._fit: Fit | None = None
        self._timing: Timing | None = None
        self._cost: Cost | None = None
        self._disk: Disk | None = None

    @property
    def workload(self) -> Workload:
        """What was declared."""
        return self.study.workload

    @property
    def architecture(self) -> Architecture:
        """The model."""
        return self.study.architecture

    @property
    def catalog(self) -> Catalog:
        """What is known of hardware and prices."""
        return self.study.catalog

    @property
    def today(self) -> datetime.date:
        """The day that ages of prices are counted to."""
        return self.study.today

    @property
    def settings(self) -> ResolveSettings:
        """Limits."""
        return self.study.settings

    @property
    def demand(self) -> Demand:
        """The declaration in numbers."""
        return self.study.demand

    @property
    def instance(self) -> InstanceType:
        """The instance type."""
        return self.placement.instance

    @property
    def gpu(self) -> Gpu:
        """The GPU of the instance type."""
        return self.placement.gpu

    @property
    def hardware(self) -> Hardware:
        """Key under which what does not depend on the host is shared."""
        if self._hardware is None:
            placement = self.placement
            instance = placement.instance
            self._hardware = Hardware(
                placement.gpu.id,
                instance.partition,
                instance.gpus or 0,
                placement.nodes,
                placement.domain_nodes,
                instance.interconnect_bandwidth,
                instance.pcie_bandwidth,
                instance.p2p,
                instance.network_gbps if placement.nodes > 1 else None,
            )
        return self._hardware

    def at(self, layout: Layout) -> Candidate:
        """The same workload on the same hosts in another layout."""
        return Candidate(self.study, self.placement.laid_out(layout), self.hardware)

    def bought(self, market: Market) -> Candidate:
        """The same workload on the same hosts, bought in another market."""
        if market is self.placement.market:
            return self
        return Candidate(self.study, self.placement._replace(market=market), self.hardware)

    @property
    def fit(self) -> Fit:
        """Memory against the budget."""
        if self._fit is None:
            self._fit = self.study.fit(self.placement, self.hardware)
        return self._fit

    @property
    def timing(self) -> Timing:
        """Seconds per token, prefill, and the share of communication."""
        if self._timing is None:
            self._timing = self.study.timing(self.placement, self.hardware)
        return self._timing

    @property
    def weight_bytes(self) -> int:
        """One copy of the weights, all ranks together; of a pipeline, as downloaded; for training,
        as they are published.

        A trainer loads 16-bit weights and quantizes them on the GPU.
        """
        if self.fit.output is not None:
            return self.fit.output.stored
        layout = self.placement.layout
        spread = layout.copies if self.fit.sharding in WHOLE else 1
        loaded = self.fit.term(Term.WEIGHTS) * layout.tp * layout.pp * spread
        if not isinstance(self.workload, Optimizing):
            return loaded
        return max(loaded, self.architecture.total_params * PUBLISHED_BYTES)

    @property
    def published_bytes(self) -> int | None:
        """The weights as they are published; None where their format is not known, and for
        pipelines, whose parts differ."""
        architecture = self.architecture
        if architecture.stored is not None:
            return architecture.stored.whole
        word = architecture.native_format
        if architecture.pipeline is not None or not architecture.known or not word:
            return None
        form = formats.find_format(self.catalog, word)
        return None if form is None else formats.model_bytes(architecture, form)

    @property
    def disk(self) -> Disk:
        """The root volume of one instance."""
        if self._disk is None:
            self._disk = disk_of(self)
        return self._disk

    @property
    def checkpoint_bytes(self) -> int:
        """One checkpoint of a training run: weights that are trained, and states."""
        return trained_bytes(self.fit, self.placement.layout) if self.demand.trains else 0

    @property
    def run_hours(self) -> float | None:
        """Hours of one run without interruptions: by its tokens or samples, else as declared."""
        follows = self.demand.trains or self.demand.samples is not None
        found = self.timing.hours_to_end if follows else None
        return found or self.demand.run_hours

    @property
    def cost(self) -> Cost:
        """Money for the declared duration."""
        if self._cost is None:
            self._cost = self.bill()
        return self._cost

    def bill(
        self,
        price: Quote | None = None,
        purchase: Purchase | None = None,
        hours: float | None = None,
    ) -> Cost:
        """Money at another price of an instance-hour, bought in another way than declared, or for
        a run of other length.
        """
        return self.study.till.cost(
            self.placement,
            Stored(self.weight_bytes, self.checkpoint_bytes),
            self.disk,
            price,
            hours=hours or self.run_hours,
            purchase=purchase,
        )

    @property
    def cost_elsewhere(self) -> float | None:
        """Money by the dearest price of another region: for comparing what has no price here."""
        till, placement = self.study.till, self.placement
        price = till.elsewhere(placement.instance.id, placement.market.value)
        if price.usd_per_hour is None:
            return None
        cost = self.bill(price)
        return cost.hourly if cost.total is None else cost.total

    def __str__(self) -> str:
        """Write type and GPU: `g6.xlarge (L4)`."""
        return f"{counted(self.placement.nodes, self.instance.id)} ({self.gpu.id})"
