"""What the network around a machine allows, put together from the resources of a stack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpusize_policies.reading import SUBNET, UNKNOWN, Props, Value
from gpusize_policies.reading.networks import (
    ASSOCIATION,
    ENDPOINT,
    ENDPOINT_ASSOCIATION,
    JOINING,
    ROUTE,
    ROUTE_TABLE,
    SECURITY_GROUP,
    Allowed,
    has_nat,
    inline_rules,
    is_s3_gateway,
    rules_of,
)

if TYPE_CHECKING:
    from gpusize_policies.machines import Seen

Stack = Mapping[str, "Seen"]

WAYS = {False: "inbound", True: "outbound"}
GROUP_KEY = "securityGroupId"
SOURCES = ("sourceSecurityGroupId", "referencedSecurityGroupId")
"""Properties by which a rule names the group at the other end."""


def joining(stack: Stack) -> dict[str, list[Seen]]:
    """Index what joins others by the URNs that it rests on."""
    found = joining_urns((one.urn, one.type, one.sources) for one in stack.values())
    return {urn: [stack[one] for one in ones] for urn, ones in found.items()}


def joining_urns(
    resources: Iterable[tuple[str, str, Mapping[str, Sequence[str]]]],
) -> dict[str, list[str]]:
    """Index the URNs of what joins others; of each resource its URN, type and what it rests on."""
    found: dict[str, list[str]] = {}
    for urn, kind, sources in resources:
        if kind in JOINING:
            for on in dict.fromkeys(on for urns in sources.values() for on in urns):
                found.setdefault(on, []).append(urn)
    return found


def closed_ways(chain: Iterable[Seen], stack: Stack, joins: Mapping[str, list[Seen]]) -> Value:
    """Name the directions in which no security group of a machine lets it talk to its own kind.

    '' where all are open; absent where the stack holds no group of it.
    """
    groups = list(behind(chain, SECURITY_GROUP, stack))
    if not groups:
        return Value()
    found = [_closed(group, joins.get(group.urn, ())) for group in groups]
    if Value("") in found:
        return Value("")
    return UNKNOWN if UNKNOWN in found else found[0]


def _closed(group: Seen, joins: Sequence[Seen]) -> Value:
    """Directions in which one group does not allow all traffic with itself."""
    rules, known = inline_rules(Props(group.props))
    found = [*rules, *(one for join in joins for one in _rules_on(group, join))]
    closed = []
    for outgoing, word in WAYS.items():
        answers = [_opens(one, outgoing) for one in found]
        if Value(True) in answers:
            continue
        if UNKNOWN in answers or not known:
            return UNKNOWN
        closed.append(word)
    return Value(" and ".join(closed))


def _rules_on(group: Seen, join: Seen) -> Iterator[Allowed]:
    """The rule that a resource adds to a group, with its other end as the stack tells it."""
    if group.urn not in join.sources.get(GROUP_KEY, ()):
        return
    ends = {urn for key in SOURCES for urn in join.sources.get(key, ())}
    for one in rules_of(join.type, Props(join.props)):
        yield one._replace(itself=Value(group.urn in ends)) if ends else one


def _opens(one: Allowed, outgoing: bool) -> Value:
    """Whether a rule lets a group talk to itself in one direction."""
    parts = (
        one.outgoing if not one.outgoing.known else Value(one.outgoing.value is outgoing),
        one.everything,
        one.itself,
    )
    if any(part.known and not part.value for part in parts):
        return Value(False)
    return Value(True) if all(part.known for part in parts) else UNKNOWN


def reaches_s3_by_nat(
    chain: Iterable[Seen], stack: Stack, joins: Mapping[str, list[Seen]]
) -> Value:
    """Whether what a machine fetches from S3 goes through a NAT gateway; absent: not told.

    Only the routes and endpoints of the stack are looked at.
    """
    tables = {
        table.urn: table
        for subnet in behind(chain, SUBNET, stack)
        for join in joins.get(subnet.urn, ())
        if join.type == ASSOCIATION
        for table in behind((join,), ROUTE_TABLE, stack)
    }
    answers = [_by_nat(table, joins.get(table.urn, ()), stack) for table in tables.values()]
    if Value(True) in answers:
        return Value(True)
    return UNKNOWN if UNKNOWN in answers else Value(False) if answers else Value()


def _by_nat(table: Seen, joins: Sequence[Seen], stack: Stack) -> Value:
    nats = [
        has_nat(Props(one.props)) for one in (table, *joins) if one.type in (ROUTE_TABLE, ROUTE)
    ]
    linked = [one for one in joins if one.type == ENDPOINT_ASSOCIATION]
    endpoints = [one for one in joins if one.type == ENDPOINT]
    endpoints += behind(linked, ENDPOINT, stack)
    gateways = [is_s3_gateway(Props(one.props)) for one in endpoints]
    if Value(True) in gateways or not any(nat.value or not nat.known for nat in nats):
        return Value(False)
    return UNKNOWN if UNKNOWN in gateways or Value(True) not in nats else Value(True)


def behind(chain: Iterable[Seen], kind: str, stack: Stack) -> Iterator[Seen]:
    """Yield the resources of a type that some others rest on, each once, by URN."""
    urns = {urn for one in chain for urns in one.sources.values() for urn in urns}
    return (stack[urn] for urn in sorted(urns) if urn in stack and stack[urn].type == kind)
