"""Where a workload runs: instance type, nodes, parallel layout, region and market."""

from __future__ import annotations

from dataclasses import dataclass

from gpusize_catalog.facts import Gpu, InstanceType
from gpusize.workload import Market


@dataclass(frozen=True, slots=True)
class Layout:
    """Parallel sizes of one replica.

    A replica uses `tp * pp * dp` GPUs: `dp` copies of the model, each cut into `pp` stages of `tp`
    shards. `ep` spreads experts over the ranks of one stage (tp * dp) and adds no GPUs.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.dp

    def __str__(self) -> str:
        sizes = (("tp", self.tp), ("pp", self.pp), ("dp", self.dp), ("ep", self.ep))
        return " ".join(f"{name}={size}" for name, size in sizes if size > 1 or name == "tp")


@dataclass(frozen=True, slots=True)
class Placement:
    """One concrete way to run one replica; `nodes` instances of one type."""

    instance: InstanceType
    gpu: Gpu
    nodes: int
    layout: Layout
    region: str
    market: Market
    zone: str | None = None
    capacity_reservation: str | None = None

    @property
    def gpus(self) -> int:
        """GPUs paid for in one replica."""
        return self.nodes * (self.instance.gpus or 0)

    @property
    def usable_bytes(self) -> int | None:
        """Memory of one device that CUDA reports, a slice's own on fractional types."""
        if self.gpu.usable_bytes is None:
            return None
        return int(self.gpu.usable_bytes * self.instance.partition)
