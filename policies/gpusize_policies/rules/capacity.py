"""Will AWS hand out the capacity that machines of a stack ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpusize_catalog.units import PERCENT, usd
from gpusize_policies.finding import Severity
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.reading.overrides import LOWEST_PRICE
from gpusize_policies.reading.selection import (
    CAPACITY_BLOCK,
    CLUSTER,
    NAMED,
    ON_DEMAND,
    SPOT,
    Role,
    Selection,
)
from gpusize_policies.rule import Needs, rule

if TYPE_CHECKING:
    from gpusize.pricing import Quote
    from gpusize.resolving.candidate import Candidate
    from gpusize_policies.case import Case

MOST_DISCOUNT = 0.90
"""AWS sells spot capacity at up to so much less than on demand (aws.amazon.com/ec2/spot)."""
BEST_STRATEGY = "price-capacity-optimized"
SHOWN_TYPES = 3
"""Other instance types that a fix names."""


@rule("GPU514", "capacity-block-zone-mismatch", Severity.ERROR, since="0.1", needs=Needs.RESOURCE)
def capacity_block_zone_mismatch(case: Case) -> Iterator[Remark | Doubt]:
    """Machines cannot be launched into their capacity block.

    Why: a launch into a block needs `marketType: capacity-block`, the id of the block, and a subnet
        in the block's zone. Without one of them it fails, and the block is paid for all the same.
    Fix: set both in the launch template, and take a subnet in the zone of the block.
    Limits: the zone of a block is known where the declaration says it (`capacityBlock.zone`), or
        where the block is part of the stack and bought already.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-launch.html
    """
    candidate, selection = _of(case)
    asked, held = selection.market.text, selection.reservation.text
    if selection.role is not Role.MACHINE or CAPACITY_BLOCK not in (asked, held):
        return
    if asked != CAPACITY_BLOCK:
        yield Remark(
            f"{candidate.instance.id} is launched into a capacity block as {asked}: the launch"
            " fails",
            ("marketType: capacity-block in instanceMarketOptions",),
            {"market": asked},
        )
        return
    if not selection.capacity_reservation.known and not held:
        yield Doubt(selection.doubts("capacity_reservation"))
        return
    if not held and not selection.capacity_reservation.value:
        yield Remark(
            f"{candidate.instance.id} is bought as a capacity block without the id of one: the"
            " launch fails",
            ("capacityReservationTarget.capacityReservationId with the id of the block",),
            {"instanceType": candidate.instance.id},
        )
        return
    yield from _elsewhere(case, selection)


def _elsewhere(case: Case, selection: Selection) -> Iterator[Remark | Doubt]:
    """Say where machines lie that do not lie in the zone of their block."""
    workload = case.workload
    declared = workload.capacity_block if workload else None
    zone = selection.reservation_zone.text or (declared.zone if declared else None)
    if zone is None:
        return
    if not selection.zones.known:
        yield Doubt(selection.doubts("zones"))
        return
    others = [one for one in selection.zones.value or () if _differ(one, zone)]
    if others:
        yield Remark(
            f"the capacity block lies in {zone}, the machines in {', '.join(others)}: launches"
            " there fail",
            (f"a subnet in {zone}",),
            {"blockZone": zone, "machineZone": others[0]},
        )


def _differ(first: str, second: str) -> bool:
    """Tell zones apart; a name (`us-east-1a`) and an id (`use1-az4`) cannot be compared."""
    return first != second and ("-az" in first) == ("-az" in second)


@rule("GPU516", "spot-single-pool", Severity.WARN, since="0.1", needs=Needs.RESOURCE)
def spot_single_pool(case: Case) -> Iterator[Remark | Doubt]:
    """Spot capacity is taken from one pool, or from the cheapest ones alone.

    Why: each pair of type and zone is a pool of its own, and AWS takes back what one pool runs out
        of. With one pool there is nothing to move to; by the lowest price alone instances sit in
        the pools that everyone takes.
    Fix: an Auto Scaling group over several zones with every type that holds the work as an
        override, and `spotAllocationStrategy: price-capacity-optimized`.
    Limits: silent where a placement group, EFA or a reservation keeps the machines in one zone.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html,
        https://docs.aws.amazon.com/autoscaling/ec2/userguide/allocation-strategies.html
    """
    candidate, selection = _of(case)
    if selection.role is not Role.MACHINE or selection.market.text != SPOT:
        return
    if _is_bound(selection):
        return
    name = candidate.instance.id
    yield from _of_one_pool(
        case,
        candidate,
        selection,
        lambda others: Remark(
            f"spot {name} comes from one pool: one type in one zone",
            (f"{_wider(others)} and {BEST_STRATEGY}",),
            {"pools": 1, "instanceType": name},
        ),
    )
    if selection.allocation.text == LOWEST_PRICE:
        yield Remark(
            f"spot pools are picked by {LOWEST_PRICE} alone, which are taken back most",
            (f"{selection.name_of('allocation')}: {BEST_STRATEGY}",),
            {"strategy": LOWEST_PRICE},
        )
    elif not selection.allocation.known:
        yield Doubt(selection.doubts("allocation"))


def _is_bound(selection: Selection) -> bool:
    """Tell whether something holds the machines in one zone."""
    near = selection.placement_group.text in (CLUSTER, NAMED)
    efa = bool(selection.efa_interfaces.value) and selection.efa_interfaces.known
    return near or efa or selection.capacity_reservation.says or selection.reservation.says


def _of_one_pool(
    case: Case,
    candidate: Candidate,
    selection: Selection,
    told: Callable[[tuple[str, ...]], Remark],
) -> Iterator[Remark | Doubt]:
    """Yield what is `told` of one type in one zone, with other types that hold the work."""
    types = len(selection.types.value or ()) or 1
    zones = len(selection.zones.value) if selection.zones.says else selection.subnets.value or 1
    if types > 1 or (zones > 1 and selection.subnets.known):
        return
    unknown = selection.doubts("types", "subnets", "placement_group", "efa_interfaces")
    yield Doubt(unknown) if unknown else told(_others(case, candidate))


def _wider(others: Sequence[str]) -> str:
    """Put in words where machines of more pools come from."""
    listed = f" with overrides {', '.join(others)}" if others else ""
    return f"a group over several zones{listed}"


def _others(case: Case, candidate: Candidate) -> tuple[str, ...]:
    """Other types that hold the work in the same layout and market, the best first."""
    opened = case.without("instance_type")
    if opened is None or opened.plan is None:
        return ()
    names = (opened.plan.instance_type, *opened.substitutes)
    return tuple(name for name in names if name != candidate.instance.id)[:SHOWN_TYPES]


@rule("GPU912", "production-without-fallback", Severity.WARN, since="0.1", needs=Needs.RESOURCE)
def production_without_fallback(case: Case) -> Iterator[Remark | Doubt]:
    """Users wait for machines of one type in one zone, and nothing stands in for them.

    Why: AWS runs out of a GPU type in a zone for hours; a service that knows no other then neither
        grows nor comes back after a fault.
    Fix: a group over several zones, with the types that the finding names as overrides.
    Limits: silent on spot, which is GPU516, and where a reservation keeps the capacity or a
        placement group or EFA keeps the machines together.
    Sources: https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-mixed-instances-groups.html
    """
    candidate, selection = _of(case)
    if not candidate.demand.user_facing or selection.role is not Role.MACHINE:
        return
    if selection.market.text != ON_DEMAND or _is_bound(selection):
        return
    name = candidate.instance.id
    yield from _of_one_pool(
        case,
        candidate,
        selection,
        lambda others: Remark(
            f"users wait for {name} in one zone, and nothing stands in for it",
            (_wider(others),),
            {"pools": 1, "alternatives": len(others), "instanceType": name},
        ),
    )


@rule("GPU517", "spot-max-price-below-market", Severity.ERROR, since="0.1", needs=Needs.RESOURCE)
def spot_max_price_below_market(case: Case) -> Iterator[Remark | Doubt]:
    """The maximum price of spot capacity is lower than AWS ever sells it.

    Why: spot capacity costs at least a tenth of the on-demand price, so a request below that waits
        for ever.
    Fix: leave the maximum price out: the on-demand price is the limit then.
    Limits: by the list price on demand alone. A price seen on some day is no limit, and a maximum
        below it is GPU521.
    Sources: https://aws.amazon.com/ec2/spot/
    """
    candidate, selection = _of(case)
    if selection.market.text != SPOT:
        return
    unknown = selection.doubts("max_price", "max_price_percent")
    if unknown:
        yield Doubt(unknown)
        return
    steady = _on_demand(candidate, selection)
    limit = _limit(selection, steady)
    floors = [price * (1 - MOST_DISCOUNT) for price in steady]
    if limit is None or not floors or limit >= min(floors):
        return
    yield Remark(
        f"the maximum spot price of {usd(limit)}/h is below a tenth of the on-demand price"
        f" ({usd(min(floors))}/h for {candidate.instance.id}): AWS never sells that low",
        ("leave out the maximum price",),
        {"maxPriceUsd": limit, "lowestUsd": round(min(floors), 4)},
    )


@rule("GPU521", "spot-max-price-doubtful", Severity.ADVICE, since="0.1", needs=Needs.RESOURCE)
def spot_max_price_doubtful(case: Case) -> Iterator[Remark | Doubt]:
    """The maximum price of spot capacity is below the last price seen, or above on-demand.

    Why: below the market nothing is launched until the price falls; at the on-demand price and
        above it changes nothing, for spot is never dearer and that is the limit anyway. It protects
        from no interruption.
    Fix: leave the maximum price out.
    Limits: spot prices of the catalog are of one day, which the finding names. Silent where GPU517
        fires, and where a price is not known.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html
    """
    candidate, selection = _of(case)
    steady = _on_demand(candidate, selection)
    limit = _limit(selection, steady)
    if selection.market.text != SPOT or limit is None or not steady:
        return
    if limit >= max(steady):
        yield Remark(
            f"a maximum spot price of {usd(limit)}/h changes nothing: on demand"
            f" {candidate.instance.id} costs {usd(max(steady))}/h, and spot is never dearer",
            ("leave out the maximum price",),
            {"maxPriceUsd": limit, "onDemandUsd": max(steady)},
        )
        return
    seen = _last_seen(candidate, selection)
    lowest = min((one.usd_per_hour or 0.0 for one in seen), default=0.0)
    if not min(steady) * (1 - MOST_DISCOUNT) <= limit < lowest:
        return
    yield Remark(
        f"the maximum spot price of {usd(limit)}/h is below {usd(lowest)}/h, the least that"
        f" {candidate.instance.id} cost in any zone on {seen[0].date}",
        ("leave out the maximum price",),
        {"maxPriceUsd": limit, "lowestSeenUsd": lowest, "priceDate": seen[0].date},
    )


def _limit(selection: Selection, steady: list[float]) -> float | None:
    """The least of the maximum prices, USD per hour; None where there is none, or none is known."""
    percent = selection.max_price_percent
    parts = [min(steady) * percent.value / PERCENT] if percent.says and steady else []
    if selection.max_price.says:
        parts.append(selection.max_price.value)
    return min(parts, default=None)


def _types(candidate: Candidate, selection: Selection) -> tuple[str, ...]:
    """The types that may be launched."""
    return (selection.types.value if selection.types.known else None) or (candidate.instance.id,)


def _on_demand(candidate: Candidate, selection: Selection) -> list[float]:
    """List prices of all types that may be launched, USD per hour; none where one is not known."""
    from gpusize.pricing import quote
    from gpusize_catalog.facts import PriceType

    catalog, today, region = candidate.catalog, candidate.study.today, candidate.placement.region
    kind = PriceType.ON_DEMAND
    names = _types(candidate, selection)
    found = [quote(catalog, name, region, kind, today=today).usd_per_hour for name in names]
    known = [price for price in found if price is not None]
    return known if len(known) == len(found) else []


def _last_seen(candidate: Candidate, selection: Selection) -> list[Quote]:
    """The least spot price of each of these types; none where one is not known."""
    from gpusize.pricing import least
    from gpusize_catalog.facts import PriceType

    catalog, today, region = candidate.catalog, candidate.study.today, candidate.placement.region
    names = _types(candidate, selection)
    found = [least(catalog, name, region, PriceType.SPOT, today=today) for name in names]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


def _of(case: Case) -> tuple[Candidate, Selection]:
    candidate, selection = case.candidate, case.selection
    assert candidate is not None
    assert selection is not None
    return candidate, selection
