"""Does it cost and take no more than it may: one workload, one team, the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.problems import printable
from gpusize_catalog.units import PERCENT, usd
from gpusize_policies.finding import Severity
from gpusize_policies.fixes import wrapped
from gpusize_policies.message import LONGEST_NAME, Gap, Remark
from gpusize_policies.rule import Needs, rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.whole import Total, Whole

STACK = (Needs.STACK,)


class _Bound(NamedTuple):
    """One ceiling with what stands under it."""

    whole: Whole
    limit: float
    whose: str
    """What the ceiling is of, in words."""
    key: str
    """Where the settings have it."""


def _bounds(case: Case, field: str) -> Iterator[_Bound]:
    """The ceilings of a whole run and of its teams."""
    if case.whole is None:
        return
    team = case.settings.team
    limit = getattr(team, field)
    name = {"max_hourly": "maxHourly", "max_monthly": "maxMonthly", "max_run": "maxRun"}
    key = name.get(field, "maxGpus")
    if limit is not None:
        yield _Bound(case.whole, limit, "all", f"team.{key}")
    for one, limits in sorted(team.teams.items()):
        limit = getattr(limits, field)
        if limit is not None:
            told = printable(one, LONGEST_NAME)
            yield _Bound(
                case.whole.of_team(one), limit, f"team '{told}'", f"team.teams.{told}.{key}"
            )


def _sums(case: Case, field: str, figure: str, unit: str) -> Iterator[Remark | Gap]:
    """What is above its ceiling together; of what is not known it is said."""
    for bound in _bounds(case, field):
        total = bound.whole.total(figure)
        if total.amount > bound.limit:
            if total.parts > 1 or bound.whose != "all":
                yield _exceeded(total, bound, unit)
        elif total.unknown:
            yield _gap(total, bound, unit)


def _exceeded(total: Total, bound: _Bound, unit: str) -> Remark:
    least = "at least " if total.unknown else ""
    beside = f"; {_without(total.unknown)}" if total.unknown else ""
    most = f"'{printable(total.most, LONGEST_NAME)}'"
    amount = "more than can be said" if total.amount == inf else usd(total.amount)
    return Remark(
        f"{_who(bound, total)} {least}{amount} per {unit}, the ceiling is {usd(bound.limit)};"
        f" most of it is {most} with {_money(total.largest)}{beside}",
        (f"a cheaper plan for {most}, or a higher {bound.key}",),
        {**_numbers(total, bound), "largestShare": printable(total.most, LONGEST_NAME)},
    )


def _gap(total: Total, bound: _Bound, unit: str) -> Gap:
    return Gap(
        f"{_who(bound, total)} at least {usd(total.amount)} per {unit} of {usd(bound.limit)}:"
        f" {_without(total.unknown)}",
        "give the price in the settings, or what its cost depends on in the declaration",
        _numbers(total, bound),
    )


def _who(bound: _Bound, total: Total) -> str:
    things = "1 workload" if total.parts == 1 else f"{total.parts} workloads and machines"
    verb = "costs" if total.parts == 1 else "cost"
    return f"{things} {verb}" if bound.whose == "all" else f"{things} of {bound.whose} {verb}"


def _numbers(total: Total, bound: _Bound) -> dict[str, float | int | str]:
    return {
        **({} if total.amount == inf else {"costUsd": round(total.amount, 4)}),
        "budgetUsd": bound.limit,
        "workloads": total.parts,
        "withoutPrice": total.unknown,
    }


def _without(unknown: int) -> str:
    return f"{unknown} of them {'has' if unknown == 1 else 'have'} no known cost"


def _money(amount: float) -> str:
    return "an endless run" if amount == inf else usd(amount)


@rule("GPU908", "hourly-budget-exceeded", Severity.ERROR, since="0.1", beside=STACK)
def hourly_budget_exceeded(case: Case) -> Iterator[Remark | Gap]:
    """An hour costs more than the workload, its team or the whole run may.

    Why: what runs by mistake costs its hourly price until somebody sees it.
    Fix: take the cheaper plan that the finding names, or raise the ceiling that it names. Where
        the type is open gpusize takes none above the ceiling of one workload.
    Limits: instances alone, all replicas that run at least, at the prices of the catalog or of the
        settings; what has no price is counted and said.
    Sources: `budget.perHour` of the declaration, `team.maxHourly`, `team.perWorkload` and
        `team.teams` of the settings file.
    """
    yield from wrapped(case, "hourly-budget-exceeded")
    yield from _sums(case, "max_hourly", "hourly", "hour")


@rule("GPU909", "monthly-budget-exceeded", Severity.ERROR, since="0.1", beside=STACK)
def monthly_budget_exceeded(case: Case) -> Iterator[Remark | Gap]:
    """A month costs more than the workload, its team or the whole run may.

    Why: a budget is per month, and its end comes before the invoice.
    Fix: take the cheaper plan that the finding names, fewer hours, or raise the ceiling.
    Limits: a service by the hours of the month that it is up, with its storage; bounded work by
        its runs, by one where it does not say how often; a machine that no workload owns by all
        730 hours.
    Sources: `budget.perMonth` of the declaration, `team.maxMonthly`, `team.perWorkload` and
        `team.teams` of the settings file.
    """
    yield from wrapped(case, "monthly-budget-exceeded")
    yield from _sums(case, "max_monthly", "monthly", "month")


@rule("GPU910", "run-budget-exceeded", Severity.ERROR, since="0.1", beside=STACK)
def run_budget_exceeded(case: Case) -> Iterator[Remark | Gap]:
    """A run costs more than the workload, its team or the whole run may.

    Why: the cost of bounded work is its hours times its instances, and on spot the hours are more
        than the work takes: what interruptions throw away is paid for again.
    Fix: take the cheaper plan that the finding names, checkpoints that are closer together, or
        raise the ceiling.
    Limits: on spot by the expected hours, at the rate of interruptions of the settings or the one
        that is assumed; waiting for capacity costs nothing and is not in it.
    Sources: `budget.perRun` of the declaration, `team.maxRun`, `team.perWorkload` and `team.teams`
        of the settings file; https://doi.org/10.1016/j.future.2004.11.016
    """
    yield from wrapped(case, "run-budget-exceeded")
    yield from _sums(case, "max_run", "run", "run")


@rule("GPU911", "gpu-count-ceiling", Severity.WARN, since="0.1", beside=STACK)
def gpu_count_ceiling(case: Case) -> Iterator[Remark | Gap]:
    """More GPUs may run than the team lets a workload, a team or a stack have.

    Why: quota is shared: what one stack takes at its peak is missing elsewhere.
    Fix: fewer replicas, or a higher ceiling.
    Limits: counted are all that may run, `replicas.max` and a group's `maxSize`.
    Sources: `team.maxGpus`, `team.perWorkload` and `team.teams` of the settings file.
    """
    yield from wrapped(case, "gpu-count-ceiling")
    for bound in _bounds(case, "max_gpus"):
        total = bound.whole.total("gpus")
        numbers = {"gpus": int(total.amount), "maxGpus": int(bound.limit)}
        who = _who(bound, total).rsplit(" ", 1)[0]
        if total.amount > bound.limit and (total.parts > 1 or bound.whose != "all"):
            most = f"'{printable(total.most, LONGEST_NAME)}'"
            yield Remark(
                f"{who} may take {int(total.amount)} GPUs, the ceiling is {int(bound.limit)};"
                f" most of them are of {most} ({int(total.largest)})",
                (f"fewer replicas of {most}, or a higher {bound.key}",),
                {**numbers, "unknown": total.unknown},
            )
        elif total.unknown:
            yield Gap(
                f"{who} may take at least {int(total.amount)} GPUs of {int(bound.limit)}:"
                f" of {total.unknown} the number is not known",
                "give the size of the group as a plain value",
                {**numbers, "unknown": total.unknown},
            )


@rule(
    "GPU920",
    "budget-nearly-used",
    Severity.WARN,
    since="0.1",
    needs=Needs.STACK,
    parameters=("budgetWarnShare",),
)
def budget_nearly_used(case: Case) -> Iterator[Remark]:
    """The month of a team or of the whole run comes near its budget.

    Why: what is left must hold what nobody declared: traffic, storage that grows, one more run.
    Fix: plan less, or have the budget raised before it is needed.
    Limits: silent where GPU909 speaks.
    Sources: `team.maxMonthly` and `team.teams` of the settings file.
    """
    near = case.settings.resolving.budget_warn_share
    for bound in _bounds(case, "max_monthly"):
        total = bound.whole.total("monthly")
        if not bound.limit * near <= total.amount <= bound.limit or not bound.limit:
            continue
        share = total.amount / bound.limit
        least = "at least " if total.unknown else ""
        yield Remark(
            f"{_who(bound, total)} {least}{usd(total.amount)} per month, {share:.0%} of the ceiling"
            f" of {usd(bound.limit)}",
            (f"plan less, or a higher {bound.key}",),
            {**_numbers(total, bound), "usedPercent": round(share * PERCENT, 1)},
        )
