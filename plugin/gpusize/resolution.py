"""What resolving gives: the plan, its runners-up, the rejections, and what would fit.

What costs time and is not always asked for (reasons of rejected types, what would fit) is computed
on first use; the answer is the same whenever it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import datetime

    from gpusize.checkpointing import Checkpoint
    from gpusize.constraints.reason import Reason
    from gpusize.loading import Loading
    from gpusize.memory.result import Assumption, Fit
    from gpusize.placement import Layout
    from gpusize.pricing import Cost
    from gpusize.pricing.options import Option
    from gpusize.resolving.advice import Advice
    from gpusize.resolving.candidate import Candidate
    from gpusize.timing import Timing
    from gpusize.workload import Market, Workload
    from gpusize_catalog.store import Catalog


class Plan(NamedTuple):
    """One way to run the workload that nothing speaks against."""

    instance_type: str
    gpu: str
    nodes: int
    layout: Layout
    region: str
    zones: tuple[str, ...]
    """Zones that offer the type; the pinned one alone where one is pinned."""
    market: Market
    capacity_reservation: str | None
    scaling: str
    """fixed, scheduled or scale-to-zero."""
    replicas: int
    """Replicas that run while there is work."""
    cost: Cost
    fit: Fit
    timing: Timing
    reasons: tuple[str, ...]
    """Why this one, a sentence each."""
    loading: Loading
    """The weights of one instance on their way to its GPUs."""
    checkpoint: Checkpoint | None = None
    """What a training run writes each time."""
    ultraserver: str | None = None
    """The UltraServer whose instances it takes."""

    @property
    def one_zone(self) -> bool:
        """Whether all instances of a replica have to lie in one zone: any one of `zones`."""
        return self.nodes > 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica that do work."""
        return self.layout.gpus


class Rejection:
    """A type that was not taken; its reasons are worked out when asked."""

    def __init__(
        self,
        instance_type: str,
        layout: Layout | None,
        market: Market | None,
        reasons: Callable[[], tuple[Reason, ...]],
    ) -> None:
        """Keep how to find the reasons."""
        self.instance_type = instance_type
        self.layout = layout
        self.market = market
        self._reasons = reasons

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """Why not, the worst first, in numbers."""
        return self._reasons()


class Parts(NamedTuple):
    """How the costlier parts of a resolution are found."""

    remarks: Callable[[], tuple[Reason, ...]]
    runners_up: Callable[[], tuple[Plan, ...]]
    rejections: Callable[[], tuple[Rejection, ...]]
    would_fit: Callable[[], tuple[str, ...]]
    options: Callable[[], tuple[Option, ...]]
    substitutes: Callable[[], tuple[str, ...]]
    advice: Callable[[], tuple[Advice, ...]]


class Resolution:
    """The decision for one workload, with its reasons."""

    def __init__(
        self,
        *,
        workload_name: str,
        workload: Workload,
        plan: Plan | None,
        candidate: Candidate | None,
        assumptions: tuple[Assumption, ...],
        catalog: Catalog,
        gpusize_version: str,
        today: datetime.date,
        parts: Parts,
    ) -> None:
        """Keep the decision; the rest is found through `parts`."""
        self.workload_name = workload_name
        self.workload = workload
        self.plan = plan
        self.candidate = candidate
        """What rules judge: the plan's placement, or the pinned one though it is poor."""
        self.assumptions = assumptions
        self.catalog_version = catalog.version
        self.catalog_digest = catalog.digest
        self.gpusize_version = gpusize_version
        self.today = today
        self._parts = parts

    @cached_property
    def remarks(self) -> tuple[Reason, ...]:
        """What speaks against the declaration itself, whatever runs it."""
        return self._parts.remarks()

    @cached_property
    def runners_up(self) -> tuple[Plan, ...]:
        """The next best plans, each on other GPUs or another number of them."""
        return self._parts.runners_up()

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """The ways to buy the plan, the chosen one among them; none where there is no plan."""
        return self._parts.options()

    @cached_property
    def rejections(self) -> tuple[Rejection, ...]:
        """Every other type that was considered, by name."""
        return self._parts.rejections()

    @cached_property
    def would_fit(self) -> tuple[str, ...]:
        """Where there is no plan: changes of the declaration that were tried and give one."""
        return self._parts.would_fit()

    @cached_property
    def substitutes(self) -> tuple[str, ...]:
        """Other types that can stand in for the plan's, layout and market the same, by price."""
        return self._parts.substitutes()

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """Where there is a plan: changes that were tried and make it cheaper or faster."""
        return self._parts.advice()

    @cached_property
    def summary(self) -> str:
        """One paragraph: why this plan, and what would change it; '' where there is none."""
        from gpusize.resolving.advice import paragraph

        if self.plan is None or self.candidate is None:
            return ""
        return paragraph(self.candidate, self.plan, self.advice)
