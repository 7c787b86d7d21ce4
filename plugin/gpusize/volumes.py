"""The root volume of an instance: how large it must be for what lies on it, and how fast."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from gpusize.checkpointing import KEPT, trained_bytes
from gpusize.rates import GP3_INCLUDED_MBPS, GP3_MOST_MBPS, MEGABITS, MIB
from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize.settings import ResolveSettings
    from gpusize.workload import Storage
    from gpusize_catalog.facts import InstanceType

IMAGE_GIB = 40
"""System, CUDA libraries and container image: 20 to 30 GB, and room to unpack it."""
LEAST_IMAGE_GIB = 20
"""The least that they take: what a volume is blamed for where no image is declared."""
ROOM = 1.1
"""A volume is a tenth larger than what lies on it: tokenizer, metadata, blocks, logs."""
ON_ROOT = frozenset({"root-volume", "hub"})
"""Locations of weights that lie on the root volume when they are loaded: what comes from the hub is
kept there."""
SHORTEST_SECONDS = 1.0
"""No volume is bought to load faster than this."""
THROUGHPUT_STEP_MBPS = 25
"""Throughput is chosen in such steps."""


CONVERTING = frozenset({"tensorrt-llm"})
"""Engines that write the weights once more in a form of their own (TensorRT-LLM user guide,
trtllm-build); its PyTorch backend does not, and is not told apart."""


class Disk(NamedTuple):
    """A root volume."""

    gib: int
    mbps: int
    """Throughput, MiB/s."""


class Contents(NamedTuple):
    """Bytes that lie on the root volume beside the image."""

    weights: int = 0
    converted: int = 0
    """A second copy, in the engine's own form."""
    checkpoints: int = 0

    @property
    def size(self) -> int:
        """All of it."""
        return self.weights + self.converted + self.checkpoints


def root_volume_gib(storage: Storage, contents: Contents) -> int:
    """Size of the root volume, GiB: as declared, else as recommended."""
    if storage.root_volume_gib is not None:
        return storage.root_volume_gib
    return recommended_gib(storage, contents)


def recommended_gib(storage: Storage, contents: Contents) -> int:
    """Size of a root volume for what lies on it, and a tenth more, GiB."""
    image = IMAGE_GIB if storage.image_gib is None else storage.image_gib * ROOM
    return int(image + contents.size / GIB * ROOM) + 1


def least_gib(storage: Storage, contents: Contents) -> int:
    """Size below which a root volume is too small for certain, GiB."""
    image = storage.image_gib or LEAST_IMAGE_GIB
    return ceil((image + contents.size / GIB) * ROOM)


def contents_of(candidate: Candidate) -> Contents:
    """What of a workload lies on the root volume of one instance."""
    storage = candidate.workload.storage
    weights = candidate.weight_bytes if storage.weights.value in ON_ROOT else 0
    converted = weights if candidate.demand.engine in CONVERTING else 0
    kept = getattr(candidate.workload, "checkpoints", None)
    if kept is None or not candidate.demand.trains or kept.location.value != "root-volume":
        return Contents(weights, converted)
    size = trained_bytes(candidate.fit, candidate.placement.layout)
    return Contents(weights, converted, KEPT * size)


def disk_of(candidate: Candidate) -> Disk:
    """The root volume of one instance."""
    storage, contents = candidate.workload.storage, contents_of(candidate)
    return Disk(
        root_volume_gib(storage, contents),
        throughput_mbps(storage, contents.weights, candidate.instance, candidate.settings),
    )


def limit_seconds(storage: Storage, settings: ResolveSettings) -> float:
    """Longest time that loading may take: as declared, else by the settings."""
    return storage.load_seconds or settings.max_load_seconds


def throughput_mbps(
    storage: Storage, read: int, instance: InstanceType, settings: ResolveSettings
) -> int:
    """Throughput of the root volume, MiB/s: as declared, else what loads `read` bytes in time.

    What is included costs nothing; more than the EBS bandwidth of the type lets through is never
    bought.
    """
    if storage.root_volume_throughput_mbps is not None:
        return storage.root_volume_throughput_mbps
    wanted = read / max(limit_seconds(storage, settings), SHORTEST_SECONDS) / MIB
    steps = ceil(wanted / THROUGHPUT_STEP_MBPS) * THROUGHPUT_STEP_MBPS
    link = instance.ebs_max_mbps or instance.ebs_baseline_mbps
    through = GP3_MOST_MBPS if link is None else ceil(link * MEGABITS / MIB)
    return max(GP3_INCLUDED_MBPS, min(steps, through, GP3_MOST_MBPS))
