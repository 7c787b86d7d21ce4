"""Do weights and answers cross the border of a region, and what does that cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpusize.constraints.figures import in_gib
from gpusize.constraints.reason import Number, Reason, Weight
from gpusize_catalog.units import GB, PERCENT, gib, usd

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

BETWEEN_REGIONS = "inter-region"
"""Price row of what is sent from one region to another; the sender's counts."""
FETCHED_ANEW = frozenset({"s3", "root-volume", "instance-store"})
"""Locations of weights that each instance fills for itself: what is fetched crosses every time. A
file system is filled once, and the hub is in no region."""


class Fetched(NamedTuple):
    """Weights that all instances of a workload fetch at a start, and what sending them costs."""

    size: int
    """Of one copy, bytes."""
    copies: int
    paid: float | None
    """USD of all copies; None where the catalog has no price."""
    price_date: str

    @property
    def numbers(self) -> dict[str, Number]:
        """The same for machines."""
        found: dict[str, Number] = {"weightsGib": in_gib(self.size), "instances": self.copies}
        return found if self.paid is None else {**found, "usdPerStart": round(self.paid, 2)}

    @property
    def starters(self) -> str:
        """Who fetches: `4 instances`."""
        return f"{self.copies} instance{'' if self.copies == 1 else 's'}"

    def money(self, unknown: str) -> str:
        """What it costs with the date of the price, `unknown` where there is none."""
        if self.paid is None:
            return unknown
        return f"{usd(self.paid)} (price of {self.price_date})"


def fetched(candidate: Candidate, item: str, region: str) -> Fetched:
    """Return what a start of all replicas fetches, at the price of an item in a region."""
    size, copies = candidate.weight_bytes, candidate.placement.nodes * candidate.demand.replicas
    row = candidate.catalog.storage_price(item, region, candidate.study.today.isoformat())
    paid = None if row is None else size / GB * row.usd * copies
    return Fetched(size, copies, paid, "" if row is None else row.date)


def cross_region_weights(candidate: Candidate) -> Iterator[Reason]:
    """Weights that lie in another region are sent over and paid for at every start."""
    workload = candidate.workload
    home, location = workload.storage.weights_region, workload.storage.weights.value
    if home is None or home == workload.region or location not in FETCHED_ANEW:
        return
    found = fetched(candidate, BETWEEN_REGIONS, home)
    money = found.money(f"what {home} charges for it is not known")
    yield Reason(
        "cross-region-weights",
        Weight.WARN,
        f"weights of {gib(found.size)} lie in {home}, the work runs in {workload.region}: each"
        f" start of {found.starters} sends them over, {money}, and waits for the way",
        f"a copy of the bucket in {workload.region}",
        found.numbers,
    )


def egress_heavy_output(candidate: Candidate) -> Iterator[Reason]:
    """What is sent to the internet costs a share of the GPUs that is worth a word."""
    storage, cost = candidate.workload.storage, candidate.cost
    egress, compute = cost.egress_monthly, cost.compute_monthly
    if not storage.egress_gb_per_month or not egress or not compute:
        return
    share, limit = egress / compute, candidate.settings.max_egress_share
    if share <= limit:
        return
    yield Reason(
        "egress-heavy-output",
        Weight.ADVICE,
        f"{storage.egress_gb_per_month:,.0f} GB per month to the internet cost {usd(egress)},"
        f" {share:.0%} of the {usd(compute)} for the instances, limit {limit:.0%}",
        "serve users from the same region or through a content network, or compress what is sent",
        {
            "egressUsdPerMonth": round(egress, 2),
            "computeUsdPerMonth": round(compute, 2),
            "egressPercent": round(share * PERCENT, 1),
        },
    )
