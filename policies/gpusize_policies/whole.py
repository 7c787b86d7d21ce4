"""A whole run: what all workloads and undeclared machines of it take together.

What is not known is counted beside a sum, never as zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize_policies.deployed import Machine, largest
from gpusize_policies.reading import Value

if TYPE_CHECKING:
    import datetime

    from gpusize.team_prices import TeamPrices
    from gpusize_catalog.store import Catalog
    from gpusize_policies.case import Case


class Share(NamedTuple):
    """What one workload or machine takes; None: not known."""

    name: str
    hourly: float | None
    """USD per hour while it runs."""
    monthly: float | None
    """USD per month: hours up of a service, runs of bounded work, all hours of a bare machine."""
    run: float | None
    """USD per run with expected interruptions; None also for what has no runs."""
    gpus: int | None
    """GPUs at most."""
    has_runs: bool = False
    team: str = ""
    """Team that the settings name, by the tag of the team."""
    is_owned: bool = True
    """Whether a workload stands behind it."""


class Total(NamedTuple):
    """A sum with what is not in it."""

    amount: float
    unknown: int
    """Shares without a figure."""
    most: str
    """Name of the largest share, '' where there is none."""
    largest: float
    parts: int
    """Shares that could be in it."""


class Whole(NamedTuple):
    """Everything of one run."""

    shares: tuple[Share, ...] = ()

    def of_team(self, team: str) -> Whole:
        """What is of one team."""
        return Whole(tuple(one for one in self.shares if one.team == team))

    def total(self, field: str) -> Total:
        """Sum up one figure: hourly, monthly, run or gpus."""
        concerned = [one for one in self.shares if field != "run" or one.has_runs]
        pairs = [(one.name, getattr(one, field)) for one in concerned]
        known = [(name, amount) for name, amount in pairs if amount is not None]
        most, amount = max(known, key=lambda pair: pair[1], default=("", 0))
        total = sum(amount for _, amount in known)
        return Total(total, len(pairs) - len(known), most, amount, len(pairs))


def share_in_run(case: Case, *, is_component: bool) -> Share | None:
    """What a case takes of the run's ceilings; None where there are none, or it runs nothing.

    Workloads by their components, and machines that run by themselves; what a component made is in
    its own share.
    """
    team, machine = case.settings.team, case.machine
    limits = (team.stack, *team.teams.values())
    is_asked = case.settings.custom.asks("stack")
    if not is_asked and all(limit is None for one in limits for limit in one):
        return None
    if is_component:
        return share_of(case)
    if machine is None or not machine.runs:
        return None
    if case.workload is not None:
        return share_of(case, machine, machine.tags.value(team.team_tag))
    return None if machine.is_owned else bare_share(machine, case)


def share_of(case: Case, machine: Machine | None = None, whose: Value | None = None) -> Share:
    """What a judged case takes; a machine of its own brings its number of instances.

    `whose` is the tag of the team, as declared where it is left out.
    """
    from gpusize.constraints.billing import month_of, run_of

    candidate = case.candidate
    workload = case.judged
    team = _team(
        case, Value(workload.tags.get(_tag(case))) if whose is None and workload else whose
    )
    if candidate is None or case.seller:
        return Share(case.name, None, None, None, None, team=team)
    has_runs = not candidate.demand.is_service
    hourly, monthly = candidate.cost.hourly, month_of(candidate)
    demand = candidate.demand
    gpus: int | None = candidate.placement.gpus * max(demand.replicas, demand.replicas_max)
    times: float | None = 1.0
    if machine is not None:
        each = candidate.instance.gpus or 0
        gpus = None if machine.most is None else machine.most * each
        times = _times(machine.instances, candidate.placement.nodes * demand.replicas)
    return Share(
        case.name,
        _product(hourly, times),
        _product(monthly, times),
        _product(run_of(candidate), times) if has_runs else None,
        gpus,
        has_runs,
        team,
    )


def bare_share(machine: Machine, case: Case) -> Share:
    """What a machine takes that no workload owns: it runs all month."""
    from gpusize_catalog.units import HOURS_PER_MONTH

    instance = largest(machine, case.catalog)
    price = _price(machine, instance.id, case.catalog, case.today, case.settings.prices)
    hourly = _product(price, machine.instances)
    return Share(
        machine.name,
        hourly,
        _product(hourly, HOURS_PER_MONTH),
        None,
        None if machine.most is None else machine.most * (instance.gpus or 0),
        team=_team(case, machine.tags.value(_tag(case))),
        is_owned=False,
    )


def _price(
    machine: Machine, name: str, catalog: Catalog, today: datetime.date, prices: TeamPrices
) -> float | None:
    """USD of one instance-hour; None where the market, the region or the price is not known."""
    from gpusize.pricing.quotes import as_paid, quote
    from gpusize_catalog.facts import PriceType

    if not machine.market or not machine.region or machine.seller:
        return None
    kind = PriceType(machine.market)
    listed = quote(catalog, name, machine.region, kind, today=today)
    return as_paid(listed, prices, name, machine.market, machine.region, today).usd_per_hour


def _tag(case: Case) -> str:
    return case.settings.team.team_tag


def _team(case: Case, tag: Value | None) -> str:
    """The team that a tag names, where the settings know it."""
    value = tag.text if tag is not None else ""
    return value if value in case.settings.team.teams else ""


def _times(instances: int | None, declared: int) -> float | None:
    return None if instances is None else instances / max(1, declared)


def _product(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    return 0.0 if not other else inf if one == inf else one * other


def whole_of(shares: Iterable[Share]) -> Whole:
    """Put the shares of a run together, in an order that does not depend on theirs."""
    return Whole(tuple(sorted(shares, key=lambda one: (one.name, repr(one)))))
