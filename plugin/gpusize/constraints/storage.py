"""Do weights fit where they lie and come from there in time, and do checkpoints outlive a run."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING

from gpusize.checkpointing import LOST_WITH_INSTANCE
from gpusize.constraints.figures import in_gib
from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.interruptions import SHORT_RUN_HOURS
from gpusize.loading import volume_rate
from gpusize.rates import GP3_MOST_MBPS, MIB, volume
from gpusize.volumes import (
    ON_ROOT,
    contents_of,
    least_gib,
    limit_seconds,
    recommended_gib,
)
from gpusize_catalog.units import figure, gib, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

DURABLE = "checkpoints: {intervalMinutes: 30, location: s3}"
LOSSES = {
    "instance-store": "the local disks of an instance are empty after a stop",
    "root-volume": "the root volume is deleted with its instance",
}


def root_volume_too_small(candidate: Candidate) -> Iterator[Reason]:
    """The declared root volume does not hold the image and the weights that lie on it."""
    storage = candidate.workload.storage
    declared, contents = storage.root_volume_gib, contents_of(candidate)
    if declared is None or storage.weights.value not in ON_ROOT or not contents.weights:
        return
    certain = contents._replace(
        weights=min(contents.weights, candidate.published_bytes or contents.weights), converted=0
    )
    needed = least_gib(storage, certain)
    if declared >= needed:
        return
    kept = f" and checkpoints of {gib(certain.checkpoints)}" if certain.checkpoints else ""
    yield Reason(
        "root-volume-too-small",
        Weight.ERROR,
        f"a root volume of {declared} GiB does not hold the image and weights of"
        f" {gib(certain.weights)}{kept}: at least {needed} GiB with a tenth of room",
        f"storage.rootVolumeGib {recommended_gib(storage, contents)}, or weights elsewhere",
        {
            "rootVolumeGib": declared,
            "neededGib": needed,
            "weightsGib": in_gib(certain.weights),
        },
    )


def root_volume_too_slow(candidate: Candidate) -> Iterator[Reason]:
    """The root volume gives the weights to no loader in the time that a start may take."""
    storage, size = candidate.workload.storage, candidate.weight_bytes
    rate = volume_rate(candidate)
    if storage.weights.value not in ON_ROOT or rate is None or not size:
        return
    limit = limit_seconds(storage, candidate.settings)
    seconds = size / rate.high
    if seconds <= limit:
        return
    wanted = ceil(size / limit / MIB) if limit else 0
    most = volume(GP3_MOST_MBPS, candidate.instance)
    enough = most is not None and 0 < wanted * MIB <= most.high
    fix = f"storage.rootVolumeThroughputMbps {wanted}, or " if enough else ""
    yield Reason(
        "root-volume-too-slow",
        Weight.ADVICE,
        f"the root volume gives weights of {gib(size)} in {seconds:.0f} s at least"
        f" ({rate.limit}), limit {limit:.0f} s",
        f"{fix}weights in s3 or on the instance store",
        {"loadSeconds": round(seconds), "limitSeconds": round(limit), "weightsGib": in_gib(size)},
    )


def no_checkpoint_storage(candidate: Candidate) -> Iterator[Reason]:
    """A training run of hours keeps no checkpoints; on spot a rule of its own says so."""
    demand, hours = candidate.demand, candidate.run_hours
    if not demand.trains or demand.saves_progress or hours is None or hours <= SHORT_RUN_HOURS:
        return
    if candidate.placement.market.value == "spot":
        return
    numbers: dict[str, Number] = {"runHours": round(hours, 1)}
    lost = candidate.cost.hourly
    cost = ""
    if lost is not None:
        numbers["lostUsd"] = round(lost * hours, 2)
        cost = f" (up to {usd(lost * hours)})"
    yield Reason(
        "no-checkpoint-storage",
        Weight.ERROR,
        f"a run of {figure(hours)} h keeps no checkpoints: whatever stops it throws all of it away"
        f"{cost}",
        DURABLE,
        numbers,
    )


def checkpoints_on_instance_store(candidate: Candidate) -> Iterator[Reason]:
    """Checkpoints lie where they are lost with the instance that writes them."""
    checkpoints = getattr(candidate.workload, "checkpoints", None)
    location = checkpoints.location.value if checkpoints else ""
    hours = candidate.run_hours
    if location not in LOST_WITH_INSTANCE or (hours is not None and hours <= SHORT_RUN_HOURS):
        return
    yield Reason(
        "checkpoints-on-instance-store",
        Weight.ERROR,
        f"checkpoints are kept on the {location}: {LOSSES[location]}",
        "checkpoints.location s3, fsx or efs",
        {"location": location},
    )
