"""Does the team allow it: types, regions, markets, models, formats, NVLink nodes, numbers of GPUs.

The settings file says what is allowed; a team that says nothing allows everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize.team import fits, within
from gpusize_catalog.facts import Interconnect
from gpusize_catalog.problems import printable

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize.team import TeamRules

NVLINK = (Interconnect.NVLINK, Interconnect.NVSWITCH)
SHOWN = 4
"""Entries of a list that a message shows."""
LONGEST = 60
"""Characters of one of them."""


def type_not_allowed(candidate: Candidate) -> Iterator[Reason]:
    """The team does not use that instance type."""
    team, name = candidate.settings.team, candidate.instance.id
    text = why_not_type(team, name)
    if text:
        yield Reason("type-not-allowed", Weight.ERROR, text, numbers={"instanceType": name})


def why_not_type(team: TeamRules, name: str) -> str:
    """Say why the team does not use an instance type; '' where it may."""
    if not team.allow_types and not team.deny_types:
        return ""
    denied = team.denied_by(name)
    if denied:
        return f"the team denies {name} ({shown((denied,))})"
    if fits(team.allow_types, name):
        return ""
    return f"{name} is not among the types that the team allows ({shown(team.allow_types)})"


def region_not_allowed(candidate: Candidate) -> Iterator[Reason]:
    """The team does not work in that region."""
    team, region = candidate.settings.team, candidate.placement.region
    text = why_not_region(team, region)
    if text:
        numbers = {"region": printable(region, LONGEST)}
        fix = f"region: one of {shown(team.allow_regions)}"
        yield Reason("region-not-allowed", Weight.ERROR, text, fix, numbers)


def why_not_region(team: TeamRules, region: str) -> str:
    """Say why the team does not work in a region; '' where it may."""
    if fits(team.allow_regions, region):
        return ""
    named = printable(region, LONGEST)
    return f"{named} is not among the regions that the team allows ({shown(team.allow_regions)})"


def market_not_allowed(candidate: Candidate) -> Iterator[Reason]:
    """The team does not buy capacity in that way."""
    team, market = candidate.settings.team, candidate.placement.market.value
    text = why_not_market(team, market)
    if text:
        fix = f"market: {' or '.join(team.allow_markets)}"
        yield Reason("market-not-allowed", Weight.ERROR, text, fix, {"market": market})


def why_not_market(team: TeamRules, market: str) -> str:
    """Say why the team does not buy in a market; '' where it may."""
    if fits(team.allow_markets, market):
        return ""
    allowed = ", ".join(team.allow_markets)
    return f"{market} is not among the ways to buy that the team allows ({allowed})"


def model_not_allowed(candidate: Candidate) -> Iterator[Reason]:
    """The team does not run that model."""
    team = candidate.settings.team
    if not team.allow_models and not team.deny_models:
        return
    declared, name = candidate.workload.model, candidate.architecture.name
    names = {name, declared} if isinstance(declared, str) else {name}
    if team.allows_model(names):
        return
    told = printable(declared if isinstance(declared, str) else name, LONGEST)
    allowed = team.allow_models
    text = (
        f"{told} is not among the models that the team allows ({shown(allowed)})"
        if allowed and not any(within(allowed, one.lower()) for one in names)
        else f"the team denies {told} ({shown(team.deny_models)})"
    )
    fix = f"model: one of {shown(allowed)}" if allowed else "take another model"
    yield Reason("model-not-allowed", Weight.ERROR, text, fix, {"model": told})


def format_not_allowed(candidate: Candidate) -> Iterator[Reason]:
    """The team does not load weights in that format."""
    allowed, form = candidate.settings.team.allow_formats, candidate.study.format
    if not allowed or not form or within(allowed, form.lower()):
        return
    yield Reason(
        "format-not-allowed",
        Weight.ERROR,
        f"weights in {form} are not among the formats that the team allows ({shown(allowed)})",
        f"weightsFormat: one of {shown(allowed)}",
        {"weightsFormat": form},
    )


def nvlink_approval_missing(candidate: Candidate) -> Iterator[Reason]:
    """A node whose GPUs NVLink joins, and nobody approved it for this workload."""
    team, instance = candidate.settings.team, candidate.instance
    if team.approve_nvlink is None or instance.interconnect not in NVLINK:
        return
    name = candidate.study.name
    if team.approval_of(name, candidate.study.today) is not None:
        return
    ended = team.ended_approval(name)
    why = "no approval in the settings" if ended is None else f"one that ended on {ended.until}"
    yield Reason(
        "nvlink-approval-missing",
        Weight.ERROR,
        f"{instance.id} is an NVLink node, which needs an approval, and there is {why}",
        "add {workload, by, until} to team.approveNvlink",
        {
            "instanceType": instance.id,
            **({} if ended is None else {"approvedUntil": ended.until.isoformat()}),
        },
    )


def gpu_count_ceiling(candidate: Candidate) -> Iterator[Reason]:
    """More GPUs than one workload may take, all replicas counted that may run."""
    team, demand = candidate.settings.team, candidate.demand
    limits = [one for one in (team.max_gpus, team.per_workload.max_gpus) if one is not None]
    if not limits:
        return
    replicas = max(demand.replicas, demand.replicas_max)
    gpus = candidate.placement.gpus * replicas
    limit = min(limits)
    if gpus <= limit:
        return
    of = f" in {replicas} replicas" if replicas > 1 else ""
    yield Reason(
        "gpu-count-ceiling",
        Weight.WARN,
        f"{candidate} takes {gpus} GPUs{of}, the team's ceiling is {limit}",
        "replicas.max: fewer" if replicas > 1 else "fewer GPUs, or a higher ceiling",
        {"gpus": gpus, "maxGpus": limit},
    )


def shown(entries: tuple[str, ...]) -> str:
    """Write the first entries of a list."""
    told = [printable(one, LONGEST) for one in entries[:SHOWN]]
    return ", ".join([*told, "…"] if len(entries) > SHOWN else told)
