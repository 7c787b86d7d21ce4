"""One workload against one catalog: what all its candidates share, computed once."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gpusize.architecture import architecture_for
from gpusize.memory.embedding import Embedder
from gpusize.memory.fit import Sizing
from gpusize.memory.kernels import support
from gpusize.memory.setup import Resolved
from gpusize.memory.setup import resolve as resolve_setup
from gpusize.placement import Layout, Placement, Shape
from gpusize.pricing import Quote, Till
from gpusize.resolving.candidate import Candidate, Hardware
from gpusize.resolving.demand import Demand, demand_of
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize.timing import Timing, unmodelled
from gpusize.token_timing import timing_of
from gpusize.training_time import training_time
from gpusize.workload import BATCHED, DiffusionTraining, Embedding, Inference, Training
from gpusize_catalog.facts import Status

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from gpusize.architecture import Architecture
    from gpusize.memory.result import Fit
    from gpusize.resolving.ranking import Key
    from gpusize.resolving.smaller import Smaller
    from gpusize.speed import Speed
    from gpusize.workload import Workload
    from gpusize_catalog.facts import Gpu, InstanceType, Region, UltraServer
    from gpusize_catalog.store import Catalog


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
        name: str = "",
    ) -> None:
        """Resolve the model; raises `GpuSizeError` when it is unknown."""
        self.workload = workload
        self.name = name
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
