"""One checkpoint of a training run: its bytes, where it lies, and how long it takes to write.

A checkpoint is what a run cannot compute again: the weights that it trains and the states of the
optimizer; of an adapter run that is the adapter alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.result import Term
from gpusize.memory.training.sharing import WHOLE
from gpusize.rates import (
    EFS_CLIENT,
    S3_WRITE,
    Rate,
    Span,
    banded,
    instance_store,
    lustre,
    network,
    slowest,
    span,
    volume,
)

if TYPE_CHECKING:
    from gpusize.memory.result import Fit
    from gpusize.placement import Layout
    from gpusize.resolving.candidate import Candidate

UNSHARED = frozenset({"none", "ddp"})
"""Modes in which each copy keeps all states."""
KEPT = 2
"""Checkpoints that lie beside each other at least: the old one until the new one is whole."""
LOST_WITH_INSTANCE = frozenset({"instance-store", "root-volume"})
"""Locations that end with the instance: local disks, and the root volume, which EC2 deletes on
termination where nothing else is said."""
NOTICE_SECONDS = 120
"""From the notice of a spot interruption to the stop (EC2 user guide; catalog: billing terms)."""


class Checkpoint(NamedTuple):
    """What a run writes each time."""

    size: int
    """Bytes of one, all ranks together."""
    location: str
    """Where it goes: as declared, else s3."""
    span: Span | None
    """Seconds to write it; None: not known, `unknown` says why."""
    unknown: str

    @property
    def kept_bytes(self) -> int:
        """Bytes of the checkpoints that lie beside each other."""
        return KEPT * self.size

    @property
    def seconds(self) -> float | None:
        """Seconds to write one, as is usual."""
        return None if self.span is None else self.span.seconds


def trained_bytes(fit: Fit, layout: Layout) -> int:
    """Bytes of one checkpoint: what is trained, and the states of the optimizer, of all ranks."""
    ranks = layout.tp * layout.pp
    shared = 1 if fit.sharding in UNSHARED else layout.copies
    weights, states = fit.saved or _of_terms(fit)
    whole = layout.copies if fit.sharding in WHOLE else 1
    return (weights * whole + states * shared) * ranks


def _of_terms(fit: Fit) -> tuple[int, int]:
    """Trained weights, as large as their gradients, and states, some of them in host memory."""
    host = fit.host - fit.host_activations
    return fit.term(Term.GRADIENTS), fit.term(Term.OPTIMIZER_STATES) + host


def checkpoint_of(candidate: Candidate) -> Checkpoint | None:
    """The checkpoint of a training run on a placement; None for other work."""
    if not candidate.demand.trains:
        return None
    declared = candidate.workload.checkpoints  # type: ignore[attr-defined]
    location = declared.location.value if declared else "s3"
    size = trained_bytes(candidate.fit, candidate.placement.layout)
    if not size:
        return Checkpoint(0, location, None, "memory of the run is not known")
    rate, unknown = _rate(candidate, location)
    if rate is None:
        return Checkpoint(size, location, None, unknown)
    return Checkpoint(size, location, span(_share(candidate, size), rate), "")


def _share(candidate: Candidate, size: int) -> float:
    """Bytes that one instance writes: shards are written where they lie, whole copies once."""
    fit, nodes = candidate.fit, candidate.placement.nodes
    return size if fit.sharding in UNSHARED else size / nodes


def _rate(candidate: Candidate, location: str) -> tuple[Rate | None, str]:
    instance, storage = candidate.instance, candidate.workload.storage
    if location == "root-volume":
        rate = volume(candidate.disk.mbps, instance)
        return rate, f"EBS bandwidth of {instance.id} is not known"
    if location == "instance-store":
        return instance_store(instance)
    link = network(instance)
    if link is None:
        return None, f"network of {instance.id} is not known"
    if location == "s3":
        each = banded(S3_WRITE, "what clients write into S3")
        return slowest(link, each.times(_writers(candidate))), ""
    if location == "efs":
        return slowest(link, banded(EFS_CLIENT, "one client of EFS")), ""
    shared = lustre(storage)
    if shared is None:
        return None, "storage.fsxGib is not declared"
    disks = shared._replace(high=shared.usual)
    return slowest(link, disks.times(1 / candidate.placement.nodes)), ""


def _writers(candidate: Candidate) -> int:
    """Ranks of one instance that write side by side: each its shard, or one the whole copy."""
    placement = candidate.placement
    layout = placement.layout
    shards = layout.tp * layout.pp if candidate.fit.sharding in UNSHARED else layout.gpus
    return max(1, shards // placement.nodes)
