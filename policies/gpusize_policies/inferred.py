"""Workloads that nobody declared, as what a machine starts says them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.declared import Declared
from gpusize_policies.finding import Provenance
from gpusize_policies.message import shorten

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog
    from gpusize_policies.launched import Inferred, Launch

LONGEST_NOTE = 150
"""Characters of a message that say what was inferred and assumed."""

FOUNDED_TOPICS = frozenset({"memory", "precision", "parallelism", "governance"})
FOUNDED = frozenset(
    {
        "attribute-selection-too-loose",
        "heterogeneous-override-unfit",
        "instance-not-offered-in-region",
        "retired-instance",
    }
)
"""Rules that rest on what a text says, by topic and by name: who waits for an answer, for how long
it runs and where weights lie stands in no command, and nothing is said on a guess."""
ON_LOAD = frozenset(
    {"context-bound-concurrency", "nvlink-required", "pipeline-bubbles", "tp-over-pcie"}
)
"""Rules of these topics that rest on how many sequences run at once."""
ON_RANKS = frozenset({"idle-gpus-on-node"})
"""Rules that rest on all GPUs that are taken: an engine may take all by itself, and so may another
process of the machine."""


class Work(NamedTuple):
    """What one process of a machine does."""

    declared: Declared
    provenance: Provenance
    only: frozenset[str]
    """Names of the rules that may speak on it."""


class Room(NamedTuple):
    """What processes have at hand on one machine."""

    gpus: int
    """GPUs of the machine."""
    held: int | None = None
    """GPUs that the containers ask for, None where nothing says it."""
    source: str = ""
    """Property that says it."""
    is_shared: bool = False
    """Whether other work may run on the machine."""

    @property
    def is_own(self) -> bool:
        """Whether all GPUs of the machine are for these processes."""
        return not self.is_shared if self.held is None else self.held >= self.gpus


def works(
    launches: tuple[Launch, ...], catalog: Catalog, region: str, room: Room
) -> tuple[Work, ...]:
    """Return what the processes of an undeclared machine do, as far as their texts say it."""
    from gpusize_policies.launched.inferring import infer_all

    found = infer_all(launches)
    alone = len(found) == 1
    return tuple(_work(one, catalog, region, room, alone=alone) for one in found)


def _work(inferred: Inferred, catalog: Catalog, region: str, room: Room, *, alone: bool) -> Work:
    from gpusize_policies.launched.declaring import declare, held, spread

    only = founded(inferred, alone=alone and room.is_own)
    if room.held and alone:
        inferred = held(inferred, room.held, room.source)
    key = repr((inferred.terms, inferred.assumed, inferred.unread, inferred.engine, region))
    try:
        workload, inferred = declare(spread(inferred, room.gpus), catalog, region)
    except GpuSizeError as error:
        return Work(Declared(None, None, error.problems[0], key), Provenance(), only)
    return Work(Declared(workload, None, key=key), provenance(inferred), only)


def provenance(inferred: Inferred) -> Provenance:
    """Say which fields were inferred and which were assumed."""
    terms = ", ".join(term.field for term in inferred.terms)
    assumed = ", ".join(str(one) for one in inferred.assumed)
    told = f"inferred from {inferred.origin}: {terms}"
    text = f"({told}; assumed: {assumed})" if assumed else f"({told})"
    if len(text) > LONGEST_NOTE:
        text = shorten(text, LONGEST_NOTE - 1) + ")"
    return Provenance(text, {"inferred": terms, "assumed": assumed})


def founded(inferred: Inferred, *, alone: bool) -> frozenset[str]:
    """Name the rules that rest on what was read; `alone` where nothing else known is started."""
    from gpusize_policies.registry import RULES

    names = {rule.name for rule in RULES if rule.topic in FOUNDED_TOPICS} | FOUNDED
    said = {term.field for term in inferred.terms if term.value is not None}
    if "concurrency" not in said:
        names -= ON_LOAD
    ranks = "tp" if inferred.declaration["kind"] == "serving" else "dp"
    if not alone or inferred.declaration.get(ranks) is None:
        names -= ON_RANKS
    return frozenset(names)
