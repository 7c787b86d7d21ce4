"""Lists of what may be launched: overrides of a template, and specifications of a spot fleet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from gpusize_policies.reading.requirements import requirements_of
from gpusize_policies.reading.selection import BY_ATTRIBUTES, is_zone
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    ELSEWHERE,
    UNKNOWN,
    Props,
    Value,
    agreed,
    amount,
    shaped,
    text,
)

STRATEGIES = (
    "lowest-price",
    "diversified",
    "capacity-optimized",
    "capacity-optimized-prioritized",
    "price-capacity-optimized",
)
"""How AWS picks among spot pools; groups and fleets spell them with dashes or as one word."""
LOWEST_PRICE = STRATEGIES[0]
"""What AWS takes where no strategy is said (aws provider: Group, Fleet, SpotFleetRequest)."""
ONE = Value(1.0)


class Offered(NamedTuple):
    """What the entries of a list offer together."""

    instance_type: Value = DEFERRED
    """The first type that is listed."""
    types: Value = ABSENT
    more_types: Value = ABSENT
    requirements: Value = ABSENT
    weight: Value = ONE
    """Units of capacity that one instance counts for; unknown where they differ."""
    zones: Value = ABSENT
    subnets: Value = ABSENT
    max_price: Value = ABSENT
    """USD per unit and hour."""


def offered(entries: Sequence[Props], complete: bool, price: str = "") -> Offered:
    """Read a list; `price` names its property of the maximum price.

    An entry without a type, or no entry at all, takes the type of its template.
    """
    if not complete:
        return Offered(*(UNKNOWN for _ in Offered._fields))
    named = [text(entry.get("instanceType")) for entry in entries]
    asked = [requirements_of(entry) for entry in entries]
    requirements = _together(asked)
    listed = tuple(dict.fromkeys(one.text for one in named if one.text))
    is_open = any(not (one.says or need.says) for one, need in zip(named, asked, strict=True))
    types = UNKNOWN if not all(one.known for one in named) else Value(listed or None)
    return Offered(
        instance_type=_first_type(types, requirements),
        types=types,
        more_types=DEFERRED if is_open and (types.says or requirements.says) else ABSENT,
        requirements=requirements,
        weight=_weight(entries),
        zones=_zones(entries),
        subnets=_subnets(entries),
        max_price=_price(entries, price) if price else ABSENT,
    )


def _first_type(types: Value, requirements: Value) -> Value:
    if not types.known or not requirements.known:
        return UNKNOWN
    if types.says:
        return Value(types.value[0])
    return BY_ATTRIBUTES if requirements.says else DEFERRED


def _together(asked: Iterable[Value]) -> Value:
    """All requirements of a list, each once."""
    found = tuple(asked)
    if not all(one.known for one in found):
        return UNKNOWN
    return Value(tuple(dict.fromkeys(one.value for one in found if one.says)) or None)


def _weight(entries: Sequence[Props]) -> Value:
    weights = [amount(entry.get("weightedCapacity")) for entry in entries]
    return agreed(ONE if one == ABSENT else one for one in weights) if weights else ONE


def _zones(entries: Sequence[Props]) -> Value:
    found = [shaped(entry.get("availabilityZone"), is_zone) for entry in entries]
    if not all(one.known for one in found):
        return UNKNOWN
    # Without a zone in every entry the others may lie anywhere.
    texts = tuple(sorted({one.text for one in found if one.text}))
    return Value(texts) if texts and all(one.text for one in found) else ABSENT


def _subnets(entries: Sequence[Props]) -> Value:
    """Count the subnets; where their ids are not known yet the stack may hold them."""
    found = [text(entry.get("subnetId")) for entry in entries]
    if not all(one.known for one in found):
        return ELSEWHERE
    return Value(len({one.text for one in found if one.text}) or None)


def _price(entries: Sequence[Props], name: str) -> Value:
    """The highest of the maximum prices; none where an entry has none of its own."""
    prices = [amount(entry.get(name)) for entry in entries]
    if not prices or ABSENT in prices:
        return ABSENT
    if not all(one.known for one in prices):
        return UNKNOWN
    return Value(max(one.value for one in prices))


def instances_of(units: Value, weight: Value) -> Value:
    """Instances that so many units of capacity take."""
    if not units.says:
        return units
    if not weight.value:
        return UNKNOWN
    return Value(ceil(units.value / weight.value))


def price_of_one(price: Value, weight: Value) -> Value:
    """A maximum price per unit as one per instance."""
    if not price.says or not weight.known:
        return price if not price.says else UNKNOWN
    return Value(price.value * weight.value)


def strategy_of(found: Value) -> Value:
    """Read how spot pools are picked, in the words of groups."""
    if found == ABSENT:
        return Value(LOWEST_PRICE)
    spelt = re.sub("(?<=[a-z])(?=[A-Z])", "-", found.text).lower()
    return Value(spelt) if spelt in STRATEGIES else UNKNOWN
