"""Does AWS offer it there: an error only where a statement says no, never for a missing row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize.resolving.zones import is_local_zone, is_zone_id
from gpusize_catalog.facts import Coverage, Status

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

USUAL_ARCHITECTURE = "x86_64"
"""What images and containers are built for unless somebody says otherwise."""


def unknown_instance_type(candidate: Candidate) -> Iterator[Reason]:
    """The pinned type is not in the catalog."""
    wanted = candidate.workload.instance_type
    if wanted is not None and candidate.catalog.find_instance(wanted) is None:
        close = candidate.catalog.suggest("instances", wanted)
        fix = f"did you mean {' or '.join(close)}?" if close else ""
        yield Reason(
            "unknown-instance-type", Weight.ERROR, "the instance type is not in the catalog", fix
        )


def retired_instance(candidate: Candidate) -> Iterator[Reason]:
    """AWS no longer sells the type."""
    instance = candidate.instance
    if instance.status is Status.RETIRED:
        note = instance.status_note or "retired"
        yield Reason(
            "retired-instance",
            Weight.ERROR,
            f"{instance.id} is no longer offered ({note})",
            numbers={"instanceType": instance.id, "lastSeen": instance.last_seen},
        )


def instance_not_offered_in_region(candidate: Candidate) -> Iterator[Reason]:
    """The API's listing of the region, zone or standard zones lacks the type."""
    text = _stated_absence(candidate)
    if text:
        numbers = {"instanceType": candidate.instance.id, "region": candidate.placement.region}
        yield Reason("instance-not-offered-in-region", Weight.ERROR, text, numbers=numbers)


def _stated_absence(candidate: Candidate) -> str:
    placement, instance = candidate.placement, candidate.instance
    if placement.capacity_reservation is not None:
        return ""
    offering = candidate.catalog.offering(instance.id, placement.region)
    if offering is None:
        region = candidate.study.region
        if region is None or region.coverage is not Coverage.API:
            return ""
        return f"{instance.id} is not in the offerings of {placement.region} (listed {region.date})"
    if not offering.zones:
        return ""
    if placement.zone is None:
        # The zone of a capacity block is that of the offer that is bought.
        bought = placement.market.value == "capacity-block"
        if not bought and all(is_local_zone(zone) for zone in offering.zones):
            where = ", ".join(offering.zones)
            return f"{instance.id} is in {placement.region} only in Local Zones ({where})"
        return ""
    if not is_zone_id(placement.zone) or placement.zone in offering.zones:
        return ""
    where = ", ".join(offering.zones)
    return f"{instance.id} is not offered in zone {placement.zone}, only in {where}"


def availability_unknown(candidate: Candidate) -> Iterator[Reason]:
    """Nothing says whether the type is offered there, or in that market."""
    placement, instance = candidate.placement, candidate.instance
    if placement.capacity_reservation is not None:
        return
    text = ""
    if candidate.catalog.offering(instance.id, placement.region) is None:
        region = candidate.study.region
        if region is None or region.coverage is not Coverage.API:
            text = f"the catalog does not say whether {placement.region} offers {instance.id}"
    elif _market_in_doubt(candidate):
        text = f"no list price and no statement says that {instance.id} is sold on demand"
    if text:
        numbers = {"instanceType": instance.id, "region": placement.region}
        yield Reason("availability-unknown", Weight.ADVICE, text, numbers=numbers)


def _market_in_doubt(candidate: Candidate) -> bool:
    instance = candidate.instance
    if candidate.placement.market.value != "on-demand":
        return False
    return not instance.on_demand_listed and not instance.on_demand_statement


def on_demand_not_sold(candidate: Candidate) -> Iterator[Reason]:
    """AWS says that the type is not sold on demand."""
    instance, market = candidate.instance, candidate.placement.market.value
    if market != "on-demand" or not instance.on_demand_statement:
        return
    others = instance.usage_classes - {"on-demand"}
    if not candidate.demand.interruptible:
        others -= {"spot"}
    sold = " or ".join(sorted(others))
    yield Reason(
        "on-demand-not-sold",
        Weight.ERROR,
        f"{instance.id} is not sold on demand: {instance.on_demand_statement}",
        f"market {sold}" if sold else "",
        {"instanceType": instance.id},
    )


def market_not_sold(candidate: Candidate) -> Iterator[Reason]:
    """The API does not list that market for the type, or a block is not reserved yet."""
    instance, placement = candidate.instance, candidate.placement
    market = placement.market.value
    if market == "on-demand" or not instance.usage_classes or market in instance.usage_classes:
        return
    yield Reason(
        "market-not-sold",
        Weight.ERROR,
        f"{instance.id} is not sold as {market} (API: {', '.join(sorted(instance.usage_classes))})",
        numbers={"instanceType": instance.id, "market": market},
    )


def architecture_mismatch(candidate: Candidate) -> Iterator[Reason]:
    """The image is built for another processor, as declared, or as is usual.

    Where none is declared a pinned type is taken to suit its image, and gpusize chooses no arm64.
    """
    instance, declared = candidate.instance, candidate.workload.image_architecture
    built_for = USUAL_ARCHITECTURE if declared is None else declared.value
    if instance.arch in ("", built_for):
        return
    if declared is None and candidate.workload.instance_type is not None:
        return
    yield Reason(
        "architecture-mismatch",
        Weight.ERROR,
        f"{instance.id} is {instance.arch}: images for {built_for} do not start there",
        f"imageArchitecture: {instance.arch} where the image is built for it",
        {"instanceType": instance.id, "architecture": instance.arch, "image": built_for},
    )
