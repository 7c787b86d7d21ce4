"""What would help, in words: the cheapest plan without the pins that stand in the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.wording import plan_in_words
from gpusize_policies.message import Remark

if TYPE_CHECKING:
    from gpusize.constraints.reason import Reason
    from gpusize.resolution import Plan, Resolution
    from gpusize_policies.case import Case
    from gpusize_policies.finding import Number


def wrapped(case: Case, name: str, *drop: str) -> Iterator[Remark]:
    """Turn what a constraint says into remarks.

    `drop` are the pins that the first alternative does without; none drops them all.
    """
    for reason in case.reasons(name):
        plan = _cured(case.without(*drop), name) if drop else None
        yield remark(reason, plan or case.cheapest, case)


def plain(case: Case, name: str, otherwise: str = "") -> Iterator[Remark]:
    """Turn what a constraint says into remarks where another placement would not help.

    `otherwise` is the fix where the constraint names none.
    """
    for reason in case.reasons(name):
        yield Remark(reason.text, (reason.fix or otherwise,), dict(reason.numbers))


def remark(reason: Reason, plan: Plan | None, case: Case) -> Remark:
    """Join one reason with the cheapest plan that does without the pins."""
    numbers: dict[str, Number] = dict(reason.numbers)
    if plan is None:
        return Remark(reason.text, (reason.fix, *_nothing(case)), numbers)
    if _is_judged(plan, case):
        return Remark(reason.text, (reason.fix,), numbers)
    if _only_market_differs(plan, case) and reason.fix:
        return Remark(reason.text, (f"{reason.fix} ({plan_in_words(plan)})",), numbers)
    numbers["alternativeInstanceType"] = plan.instance_type
    if plan.cost.hourly is not None:
        numbers["alternativeUsdPerHour"] = round(plan.cost.hourly, 4)
    fix = "" if reason.fix == f"instanceType: {plan.instance_type}" else reason.fix
    return Remark(reason.text, (plan_in_words(plan), fix), numbers)


def _cured(resolution: Resolution | None, name: str) -> Plan | None:
    """The plan, where the constraint has nothing to say about it."""
    from gpusize.constraints import CONSTRAINTS

    candidate = resolution.candidate if resolution else None
    if resolution is None or candidate is None or any(CONSTRAINTS[name](candidate)):
        return None
    return resolution.plan


def _nothing(case: Case) -> tuple[str, ...]:
    workload = case.workload
    return (f"no type in {workload.region} holds it as declared",) if workload else ()


def _is_judged(plan: Plan, case: Case) -> bool:
    candidate = case.candidate
    same_market = candidate is not None and plan.market is candidate.placement.market
    return same_market and _is_same_hardware(plan, case)


def _only_market_differs(plan: Plan, case: Case) -> bool:
    return _is_same_hardware(plan, case) and not _is_judged(plan, case)


def _is_same_hardware(plan: Plan, case: Case) -> bool:
    if case.candidate is None:
        return False
    placement = case.candidate.placement
    judged = (placement.instance.id, placement.nodes, placement.layout)
    return (plan.instance_type, plan.nodes, plan.layout) == judged
