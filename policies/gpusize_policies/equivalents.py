"""Allowed types in place of one of which nobody knows what it holds: as many GPUs, as much each."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize_catalog.facts import InstanceType
    from gpusize_policies.case import Case

MOST = 2
"""Types that one message names."""


def equivalents(name: str, region: str, case: Case) -> tuple[str, ...]:
    """Name allowed types with as many GPUs of as much memory, the cheapest on demand first."""
    catalog, team = case.catalog, case.settings.team
    wanted = catalog.instance(name)
    needed = _usable(wanted, case)
    if needed is None or not wanted.gpus:
        return ()
    offered = catalog.offerings(region) if region else {}
    found = [
        one
        for one in catalog.instances()
        if team.allows_type(one.id)
        and one.id != name
        and (not offered or one.id in offered)
        and (one.gpus or 0) >= (wanted.gpus or 0)
        and (_usable(one, case) or 0) >= needed
    ]
    return tuple(one.id for one in sorted(found, key=lambda one: _order(one, region, case))[:MOST])


def _usable(instance: InstanceType, case: Case) -> float | None:
    """Bytes of one GPU, of a slice its part; None where it is not known."""
    if instance.gpu_id is None:
        return None
    usable = case.catalog.gpu(instance.gpu_id).usable_bytes
    return None if usable is None else usable * instance.partition


def _order(instance: InstanceType, region: str, case: Case) -> tuple[float, int, str]:
    from gpusize.pricing.quotes import quote
    from gpusize_catalog.facts import PriceType

    price = quote(case.catalog, instance.id, region, PriceType.ON_DEMAND, today=case.today)
    usd = inf if price.usd_per_hour is None else price.usd_per_hour
    return usd, instance.gpus or 0, instance.id
