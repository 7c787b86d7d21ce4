"""Do weights and answers cross the border of a region, and what does that cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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


def cross_region_weights(candidate: Candidate) -> Iterator[Reason]:
    """Weights that lie in another region are sent over and paid for at every start."""
    workload = candidate.workload
    home, location = workload.storage.weights_region, workload.storage.weights.value
    if home is None or home == workload.region or location not in FETCHED_ANEW:
        return
    size, copies = candidate.weight_bytes, candidate.placement.nodes * candidate.demand.replicas
    numbers: dict[str, Number] = {"weightsGib": in_gib(size), "instances": copies}
    row = candidate.catalog.storage_price(BETWEEN_REGIONS, home, candidate.study.today.isoformat())
    money = f"what {home} charges for it is not known"
    if row is not None:
        paid = size / GB * row.usd * copies
        numbers["usdPerStart"] = round(paid, 2)
        money = f"{usd(paid)} (price of {row.date})"
    yield Reason(
        "cross-region-weights",
        Weight.WARN,
        f"weights of {gib(size)} lie in {home}, the work runs in {workload.region}: each start of"
        f" {copies} instance{'' if copies == 1 else 's'} sends them over, {money}, and waits"
        " for the way",
        f"a copy of the bucket in {workload.region}",
        numbers,
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
