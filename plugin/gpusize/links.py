"""What joins GPUs, and how long collectives take over it.

Sources of the latencies: NVIDIA/nccl issues 1259 (H100, NVSwitch), 1530 and 1439 (eight
GPUs without peer access), haohervchb/sglang-V100 pull request 2 (four ranks behind a PCIe switch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpusize.placement import Placement

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
BITS_PER_BYTE = 8
GIGA = 1e9
DIRECTIONS = 2
"""NVLink is quoted in both directions together."""


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


def inner_link(placement: Placement) -> Link:
    """The link between GPUs of one node, or of one UltraServer."""
    instance = placement.instance
    if instance.interconnect_bandwidth:
        return Link("NVLink", instance.interconnect_bandwidth / DIRECTIONS, NVLINK_LATENCY)
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
