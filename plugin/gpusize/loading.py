"""How long an instance takes to load the weights: from where they lie into the memory of its GPUs.

What an engine does besides (compiling, graphs, warming up) is not in it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize.rates import (
    HUB_READ,
    PLAIN_LOADER,
    S3_READ,
    Rate,
    Span,
    banded,
    host_link,
    instance_store,
    internet,
    lustre,
    network,
    of_memory,
    slowest,
    span,
    volume,
)

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

READER = Rate(PLAIN_LOADER, PLAIN_LOADER, inf, "one reader of an ordinary loader")
"""What maps a file on a volume; readers side by side take all that it gives."""


class Loading(NamedTuple):
    """The weights of one instance on their way to its GPUs."""

    place: str
    """Where they lie."""
    size: int
    """Bytes that are read."""
    span: Span | None
    """Seconds; None: not known, `unknown` says why."""
    unknown: str

    @property
    def seconds(self) -> float | None:
        """Seconds, as is usual."""
        return None if self.span is None else self.span.seconds


def loading_of(candidate: Candidate) -> Loading:
    """Time the loading of one instance; each instance of a replica reads all files."""
    place, size = candidate.workload.storage.weights.value, candidate.weight_bytes
    if not size:
        return Loading(place, 0, None, "the size of the weights is not known")
    found, unknown = _from(candidate, place, size)
    if found is not None:
        # An engine that quantizes while it loads reads the files as they were published.
        most = max(size, candidate.published_bytes or 0)
        found = found._replace(high=found.high * most / size)
    return Loading(place, size, found, unknown)


def volume_rate(candidate: Candidate) -> Rate | None:
    """What the root volume gives to the best of loaders; None: not known."""
    return volume(candidate.disk.mbps, candidate.instance)


def _from(candidate: Candidate, place: str, size: int) -> tuple[Span | None, str]:
    if place == "hub":
        return _from_hub(candidate, size)
    rate, unknown = _rate(candidate, place)
    if rate is None:
        return None, unknown
    return span(size, slowest(rate, host_link(candidate.instance))), ""


def _rate(candidate: Candidate, place: str) -> tuple[Rate | None, str]:
    instance = candidate.instance
    if place == "root-volume":
        rate = volume(candidate.disk.mbps, instance)
        if rate is None:
            return None, f"EBS bandwidth of {instance.id} is not known"
        return slowest(rate, READER), ""
    if place == "instance-store":
        return instance_store(instance)
    link = _link(candidate)
    if link is None:
        return None, f"network of {instance.id} is not known"
    if place == "s3":
        return slowest(link, banded(S3_READ, "what one loader reads from S3")), ""
    shared = lustre(candidate.workload.storage)
    if shared is None:
        return None, "storage.fsxGib is not declared"
    return slowest(link, shared, READER), ""


def _link(candidate: Candidate) -> Rate | None:
    """The network to the weights; other regions are reached as the internet is."""
    region = candidate.workload.storage.weights_region
    far = region is not None and region != candidate.workload.region
    return internet(candidate.instance) if far else network(candidate.instance)


def _from_hub(candidate: Candidate, size: int) -> tuple[Span | None, str]:
    """Downloaded onto the root volume, and read from memory where it keeps them, else again."""
    instance = candidate.instance
    link, disk = internet(instance), volume(candidate.disk.mbps, instance)
    if link is None or disk is None:
        what = "network" if link is None else "EBS bandwidth"
        return None, f"{what} of {instance.id} is not known"
    first = span(size, slowest(link, disk, banded(HUB_READ, "what one client reads from the hub")))
    again = span(size, slowest(disk, READER))
    seconds = first.seconds if of_memory(instance, size) else first.seconds + again.seconds
    return Span(seconds, first.low, first.high + again.high, first.limit), ""
