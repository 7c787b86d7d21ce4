"""One workload on one placement, and what follows from it, computed once and only when asked."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gpusize.architecture import architecture_for
from gpusize.checkpointing import WHOLE_SHARDS, trained_bytes
from gpusize.memory import formats
from gpusize.memory.embedding import Embedder
from gpusize.memory.fit import Sizing
from gpusize.memory.kernels import support
from gpusize.memory.result import Term
from gpusize.memory.setup import Resolved
from gpusize.memory.setup import resolve as resolve_setup
from gpusize.placement import Layout, Placement, Shape
from gpusize.pricing import Cost, Quote, Till
from gpusize.pricing.storage import Stored
from gpusize.resolving.demand import Demand, demand_of
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize.timing import Timing, timing_of, unmodelled
from gpusize.training_time import training_time
from gpusize.volumes import Disk, disk_of
from gpusize.wording import counted
from gpusize.workload import (
    BATCHED,
    DiffusionTraining,
    Embedding,
    Inference,
    Optimizing,
    Training,
)
from gpusize_catalog.facts import Status

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable
    from pathlib import Path

    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.pricing.purchase import Purchase
    from gpusize.resolving.search import Key
    from gpusize.resolving.smaller import Smaller
    from gpusize.speed import Speed
    from gpusize.workload import Market, Workload
    from gpusize_catalog.facts import Gpu, InstanceType, Region, UltraServer
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
Silicon = tuple[Hardware, Layout]
"""Key under which fit and timing are shared."""


class Saving(NamedTuple):
    """Spot against on-demand, USD per instance-hour."""

    on_demand: float
    spot: float
    share: float
    date: str


class Judged:
    """What searches have found out about hardware, the same wherever and however it is bought."""

    __slots__ = ("devices", "further", "layouts", "nearest", "ways")

    def __init__(self) -> None:
        """Know nothing yet."""
        self.devices: dict[str, bool] = {}
        """Whether nothing speaks against a GPU, by id."""
        self.further: dict[tuple[int, int], tuple[tuple[Layout, ...], ...]] = {}
        """Layouts of a training run to try where those do not work, by GPUs of a node and nodes."""
        self.layouts: dict[tuple[int, int, bool], tuple[Layout, ...]] = {}
        """Layouts to try, by GPUs of a node, nodes, and whether stages may lie inside a node."""
        self.ways: dict[Hardware, tuple[Layout, ...]] = {}
        """Layouts that work, best first."""
        self.nearest: dict[Hardware, Layout] = {}
        """The layout that is nearest to working by its memory."""


class Study:
    """One workload against one catalog: everything that many candidates share."""

    def __init__(
        self,
        workload: Workload,
        catalog: Catalog,
        *,
        today: datetime.date,
        settings: ResolveSettings = DEFAULTS,
        architecture: Architecture | None = None,
        base_dir: Path | None = None,
    ) -> None:
        """Resolve the model; raises `GpuSizeError` when it is unknown."""
        self.workload = workload
        self.catalog = catalog
        self.today = today
        self.settings = settings
        self.architecture = architecture or architecture_for(workload, catalog, base_dir)
        self.demand: Demand = demand_of(workload)
        self.sizing = Sizing(workload, self.architecture, catalog)
        self.resolved: Resolved = self._resolve_setup()
        self.setup = self.resolved.setup
        self.till = Till(catalog, workload, self.demand, today, settings)
        self.judged = Judged()
        self._fits: dict[Silicon, Fit] = {}
        self._support: dict[tuple[str, str], str | None] = {}
        self._timings: dict[Silicon, Timing] = {}

    def _resolve_setup(self) -> Resolved:
        """What is loaded and by what; without tokens to generate the sizer knows it."""
        if isinstance(self.workload, Inference):
            return resolve_setup(self.workload, self.architecture, self.catalog)
        sizer = self.sizing.sizer
        if sizer is None:
            return Resolved(None, [], [], ())
        return Resolved(None, sizer.problems, sizer.assumptions, sizer.constants)

    @property
    def whole(self) -> bool:
        """Whether each GPU does the work whole, and more GPUs are more copies."""
        return isinstance(self.workload, BATCHED)

    def opened(self) -> Study:
        """The same work on any instance type; itself where none is pinned."""
        if self.workload.instance_type is None:
            return self
        other = self.bought(self.workload.model_copy(update={"instance_type": None}), self.settings)
        other.judged = Judged()
        return other

    def spans(self, instance: InstanceType) -> bool:
        """Whether the network of a type is made for one replica on several nodes."""
        return instance.efa and (instance.network_gbps or 0.0) >= self.settings.min_fabric_gbps

    def ultraservers(self, instance: InstanceType) -> tuple[UltraServer, ...]:
        """The UltraServers that a type is sold in, the smallest first; mostly none."""
        if instance.status is not Status.ULTRASERVER_ONLY:
            return ()
        found = [one for one in self.catalog.ultraservers() if one.instance_type == instance.id]
        return tuple(sorted(found, key=lambda one: one.instances))

    def ultraserver(self, instance: InstanceType, nodes: int) -> UltraServer | None:
        """The smallest UltraServer that has so many nodes, else the largest there is."""
        if instance.status is not Status.ULTRASERVER_ONLY:
            return None
        servers = self.ultraservers(instance)
        enough = (one for one in servers if one.instances >= nodes)
        return next(enough, servers[-1] if servers else None)

    def bought(self, workload: Workload, settings: ResolveSettings) -> Study:
        """The same work bought otherwise: all that is known of its memory and times stays.

        `workload` may differ in region, zone and budget, `settings` in the number of nodes.
        """
        other = copy(self)
        other.workload, other.settings = workload, settings
        other.till = Till(self.catalog, workload, self.demand, self.today, settings)
        return other

    def hurried(self, workload: Workload) -> Study:
        """The same work with other latency targets: its times stay, what they mean does not."""
        other = copy(self)
        other.workload = workload
        other.demand = demand_of(workload)
        other.till = Till(self.catalog, workload, other.demand, self.today, self.settings)
        other.judged = Judged()
        return other

    @property
    def region(self) -> Region | None:
        """How the region's offerings are known."""
        return self.catalog.region(self.workload.region)

    @property
    def format(self) -> str:
        """The format of the weights, '' where it is not known."""
        if self.whole:
            declared = self.workload.weights_format
            return "" if declared == "auto" else declared
        return self.setup.form.id if self.setup else ""

    @property
    def splits_tensors(self) -> bool:
        """Whether ranks share each layer; some engines give each rank whole layers instead."""
        return self.setup is None or self.setup.engine.splits == "tensor"

    @property
    def splits_runs(self) -> bool:
        """Whether the trainer spreads layers over GPUs, or copies alone."""
        setup = getattr(self.sizing.sizer, "setup", None)
        return setup is not None and setup.row.splits == "tensor"

    @cached_property
    def speed(self) -> Speed:
        """How near the engine comes to the peaks with these weights."""
        from gpusize.speed import Speed, speed_of

        if self.setup is None:
            return Speed(None, "bf16_flops")
        return speed_of(self.catalog, self.setup.engine.engine, self.setup.form)

    @property
    def shares_sequences(self) -> bool:
        """Whether the trainer gives several ranks parts of one sequence."""
        setup = getattr(self.sizing.sizer, "setup", None)
        return isinstance(self.workload, Training) and bool(setup and setup.row.shares_sequences)

    @property
    def most_nodes(self) -> int:
        """Instances of one replica that a search considers."""
        settings = self.settings
        return settings.max_training_nodes if self.demand.trains else settings.max_nodes

    @property
    def engine(self) -> str:
        """Name and version of the engine."""
        return (
            f"{self.setup.engine.engine} {self.setup.version}" if self.setup else self.demand.engine
        )

    @cached_property
    def shape(self) -> Shape:
        """What bounds the parallel sizes."""
        architecture = self.architecture
        if self.whole or isinstance(self.workload, DiffusionTraining):
            return Shape(1, None, 1, None, self.demand.concurrency)
        by_head = self.splits_tensors
        return Shape(
            heads=architecture.heads if by_head else 0,
            vision_heads=architecture.vision_heads if by_head else None,
            layers=architecture.layers,
            experts=architecture.experts_total,
            concurrency=self.demand.concurrency,
        )

    def candidate(self, placement: Placement) -> Candidate:
        """The workload on that placement."""
        return Candidate(self, placement)

    def support(self, gpu: Gpu, form: str) -> str | None:
        """How the engine runs a format there: native, emulated, refused; None: not known."""
        key = (gpu.id, form)
        if key not in self._support:
            setup = self.setup
            self._support[key] = setup and support(
                self.catalog, form, setup.engine.engine, setup.version, gpu.compute_capability
            )
        return self._support[key]

    def quote(self, placement: Placement) -> Quote:
        """The price of one instance-hour of a placement."""
        return self.till.quote(placement.instance.id, placement.market.value, placement.zone)

    def spot_saving(self, placement: Placement, max_age: int) -> Saving | None:
        """What spot costs less than on-demand; None where that is not known or too old."""
        if self.spot_doubt(placement, max_age):
            return None
        name, zone = placement.instance.id, placement.zone
        spot, steady = (self.till.quote(name, market, zone) for market in ("spot", "on-demand"))
        if spot.usd_per_hour is None or steady.usd_per_hour is None:
            return None
        share = 1 - spot.usd_per_hour / steady.usd_per_hour
        return Saving(steady.usd_per_hour, spot.usd_per_hour, share, spot.date)

    def spot_doubt(self, placement: Placement, max_age: int) -> str:
        """Why spot cannot be compared with on-demand; '' where it can."""
        name = placement.instance.id
        if "spot" not in placement.instance.usage_classes:
            return f"{name} is not sold as spot"
        spot = self.till.quote(name, "spot", placement.zone)
        if spot.usd_per_hour is None:
            return spot.why_unknown
        age = spot.age_days(self.today)
        if age is None or age > max_age:
            how_old = "without a date" if age is None else f"{age} days old"
            return f"the spot price of {name} is {how_old}, the limit is {max_age}"
        return self.till.quote(name, "on-demand", placement.zone).why_unknown

    @cached_property
    def others(self) -> tuple[tuple[Key, Candidate], ...]:
        """Every type that works, as it would be chosen, whatever type is pinned."""
        from gpusize.resolving.cheaper import others

        return others(self)

    def smaller(self, candidate: Candidate) -> Smaller | None:
        """A smaller node that does the same work."""
        from gpusize.resolving.smaller import smaller_node

        return smaller_node(candidate)

    def fit(self, placement: Placement, hardware: Hardware) -> Fit:
        """Memory of the placement, shared by hosts of the same GPUs."""
        key = (hardware, placement.layout)
        found = self._fits.get(key)
        if found is None:
            found = self._fits[key] = self.sizing.fit(placement)
        return found

    def timing(self, placement: Placement, hardware: Hardware) -> Timing:
        """Times of the placement, shared likewise."""
        key = (hardware, placement.layout)
        found = self._timings.get(key)
        if found is None:
            found = self._timings[key] = self._timed(placement, hardware)
        return found

    def _timed(self, placement: Placement, hardware: Hardware) -> Timing:
        if isinstance(self.workload, DiffusionTraining):
            from gpusize.diffusion_training_time import diffusion_training_time

            found = self.fit(placement, hardware)
            return diffusion_training_time(placement, found, self.architecture, self.workload)
        if self.architecture.pipeline is not None:
            from gpusize.pipeline_timing import timing_of_pipeline

            return timing_of_pipeline(self.workload, self.architecture, placement, self.catalog)
        if isinstance(self.workload, Embedding):
            from gpusize.embedding_timing import timing_of_embedding

            sizer = self.sizing.sizer
            if not isinstance(sizer, Embedder):
                return unmodelled("the model is not known")
            return timing_of_embedding(sizer, self.architecture, placement)
        if self.whole:
            return unmodelled("the time of recognizing speech is not modelled")
        fit = self.fit(placement, hardware)
        if isinstance(self.workload, Training):
            known = getattr(self.sizing.sizer, "setup", None)
            return training_time(
                placement, fit, self.architecture, self.workload, self.demand, known
            )
        if not self.splits_tensors:
            layout = placement.layout
            stages = layout._replace(tp=1, pp=layout.tp * layout.pp)
            placement = placement._replace(layout=stages)
        return timing_of(placement, fit, self.architecture, self.demand, self.speed)


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
        spread = layout.copies if self.fit.sharding in WHOLE_SHARDS else 1
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


UNKNOWN_GPU_FIELDS: dict[str, object] = {"cuda": False, "on_ec2": True, "usable_is_derived": False}


def gpu_of(instance: InstanceType, catalog: Catalog) -> Gpu:
    """The GPU of an instance type; one of which nothing is known where the catalog names none."""
    if instance.gpu_id is not None:
        return catalog.gpu(instance.gpu_id)
    return _nameless(instance, catalog.gpus())


def _nameless(instance: InstanceType, known: Iterable[Gpu]) -> Gpu:
    row = type(next(iter(known)))
    blank: dict[str, object] = dict.fromkeys(row._fields)
    for name in row._fields:
        if name.startswith("native_"):
            blank[name] = False
    blank.update(UNKNOWN_GPU_FIELDS, id="unknown GPU", display_name=f"GPU of {instance.id}")
    return row(**blank)  # type: ignore[arg-type]
