"""Does the memory of the host hold what waits there and what passes through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints.figures import in_gib
from gpusize.constraints.reason import Reason, Weight
from gpusize.memory.training.sharing import WHOLE
from gpusize_catalog.units import GIB, gib

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

LEAST = "the system, the engine and one shard of weights while it loads"


class _Held(NamedTuple):
    """Bytes that the host of one node holds beside system and engine."""

    offloaded: int
    loading: int

    @property
    def peak(self) -> int:
        """The larger of both: what is loaded has left before anything is offloaded."""
        return max(self.offloaded, self.loading)


def offload_exceeds_host(candidate: Candidate) -> Iterator[Reason]:
    """What the ranks of a node offload is larger than the memory of the host."""
    instance, held = candidate.instance, _held(candidate)
    if instance.memory_bytes is None or held.offloaded <= instance.memory_bytes:
        return
    yield Reason(
        "offload-exceeds-host",
        Weight.ERROR,
        f"the ranks of {candidate} offload {gib(held.offloaded)} together, the host has"
        f" {gib(instance.memory_bytes)}",
        "a larger size of the same GPU, or more nodes",
        {"hostGib": in_gib(held.offloaded), "instanceType": instance.id},
    )


def host_memory_too_small(candidate: Candidate) -> Iterator[Reason]:
    """Too little host memory for system, engine and weights that pass through it, or wait there.

    Silent where what waits there is larger by itself.
    """
    instance, held = candidate.instance, _held(candidate)
    if instance.memory_bytes is None or held.offloaded > instance.memory_bytes:
        return
    least = round(candidate.settings.min_host_gib * GIB)
    if instance.memory_bytes >= least + held.peak:
        return
    what = ""
    if held.offloaded >= held.loading and held.offloaded:
        what = f" and {gib(held.offloaded)} that is offloaded"
    elif held.loading:
        what = f" and {gib(held.loading)} of weights that one rank loads for all"
    yield Reason(
        "host-memory-too-small",
        Weight.WARN,
        f"{instance.id} has {gib(instance.memory_bytes)} of host memory, {gib(least)} is the least"
        f" for {LEAST}{what and f',{what}'}",
        numbers={
            "hostGib": in_gib(instance.memory_bytes),
            "neededGib": in_gib(least + held.peak),
            "instanceType": instance.id,
        },
    )


def _held(candidate: Candidate) -> _Held:
    demand, fit = candidate.demand, candidate.fit
    offloaded = (fit.host + round(demand.offload_gib * GIB)) * _ranks(candidate)
    loading = 0
    if demand.trains and fit.sharding in WHOLE:
        # One rank of a node reads the checkpoint whole and hands out the shards.
        loading = candidate.weight_bytes
    return _Held(offloaded, loading)


def _ranks(candidate: Candidate) -> int:
    """Ranks of one node."""
    placement = candidate.placement
    return -(-placement.layout.gpus // placement.nodes)
