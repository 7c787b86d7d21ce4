"""Why each type that was not chosen was not: what speaks against it, or which one comes first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize.resolution import Rejection
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.ranking import SEVERAL, rank_of
from gpusize.resolving.reasoning import price_of
from gpusize.resolving.search import Search, Trial
from gpusize.resolving.study import Study
from gpusize.resolving.weighing import reasons_against
from gpusize.wording import price
from gpusize_catalog.problems import printable

if TYPE_CHECKING:
    from gpusize.constraints.reason import Number
    from gpusize.resolving.sweep import Sweep

LONGEST_TYPE_NAME = 32
"""Characters of an unknown instance type that a reason repeats."""


def runners_up(sweep: Sweep, chosen: Candidate | None) -> list[Trial]:
    """The best of each other kind and number of GPUs."""
    if chosen is None:
        return []
    seen = {_kind(chosen)}
    others = []
    for trial in sweep.ranked:
        if trial.best is not None and _kind(trial.best) not in seen:
            seen.add(_kind(trial.best))
            others.append(trial)
    return others[: sweep.study.settings.runners_up]


def _kind(candidate: Candidate) -> tuple[str, float, int]:
    placement = candidate.placement
    return placement.gpu.id, placement.instance.partition, placement.gpus


def rejections(sweep: Sweep, chosen: Candidate | None) -> tuple[Rejection, ...]:
    """Every type that is neither chosen nor a runner-up; its reasons are worked out when read."""
    listed = {trial.instance.id for trial in runners_up(sweep, chosen)}
    if chosen is not None:
        listed.add(chosen.instance.id)
    trials = sweep.trials
    found = [
        _rejection(sweep.search, trial, chosen)
        for trial in trials
        if trial.instance.id not in listed
    ]
    workload = sweep.study.workload
    if workload.instance_type is not None and not trials:
        why = partial(_not_known, sweep.study)
        found.append(Rejection(workload.instance_type, None, workload.market, why))
    return tuple(found)


def _rejection(search: Search, trial: Trial, chosen: Candidate | None) -> Rejection:
    if trial.best is not None and chosen is not None:
        placement = trial.best.placement
        why = partial(_outranked, trial.best, chosen)
        return Rejection(trial.instance.id, placement.layout, placement.market, why)
    nearest = search.nearest(trial)
    if nearest is None:
        return Rejection(trial.instance.id, None, None, partial(_no_layout, trial))
    placement = nearest.placement
    why = partial(_against, trial, nearest)
    return Rejection(trial.instance.id, placement.layout, placement.market, why)


def _against(trial: Trial, nearest: Candidate) -> tuple[Reason, ...]:
    return reasons_against(nearest) or _no_layout(trial)


def _no_layout(trial: Trial) -> tuple[Reason, ...]:
    reason = Reason(
        "no-layout",
        Weight.WARN,
        f"no layout fills the {trial.instance.gpus or 0} GPUs of {trial.instance.id}",
        numbers={"instanceType": trial.instance.id, "gpus": trial.instance.gpus or 0},
    )
    return (reason,)


def _not_known(study: Study) -> tuple[Reason, ...]:
    wanted = study.workload.instance_type or ""
    close = study.catalog.suggest("instances", wanted)
    fix = f"did you mean {' or '.join(close)}?" if close else ""
    text = f"{printable(wanted, LONGEST_TYPE_NAME)} is no instance type of the catalog"
    return (Reason("unknown-instance-type", Weight.ERROR, text, fix),)


def _outranked(other: Candidate, chosen: Candidate) -> tuple[Reason, ...]:
    """It works, and another works as well with less."""
    mine, best = other.placement, chosen.placement
    ours, theirs = rank_of(other), rank_of(chosen)
    prices = [
        price(one.cost.hourly) if one.cost.hourly is not None else price_of(one)
        for one in (other, chosen)
    ]
    are_spread = ours.gpus == theirs.gpus == SEVERAL
    if ours.service > theirs.service:
        text = f"{other} serves worse than {chosen}: {_pace(other)} against {_pace(chosen)}"
    elif mine.gpus > best.gpus and not are_spread:
        text = f"{other} takes {mine.gpus} GPUs at {prices[0]}, {chosen} {best.gpus} at {prices[1]}"
    elif mine.nodes > best.nodes and not are_spread:
        text = f"{other} takes {mine.nodes} nodes, {chosen} {best.nodes}"
    elif ours.moving > theirs.moving:
        text = f"{other} spends {_share(other)} of the time between GPUs, {chosen} {_share(chosen)}"
    else:
        text = f"{other} costs {prices[0]}, {chosen} {prices[1]}"
    numbers: dict[str, Number] = {
        "gpu": mine.gpu.id,
        "gpus": mine.gpus,
        "instanceType": mine.instance.id,
    }
    if other.cost.hourly is not None:
        numbers["usdPerHour"] = round(other.cost.hourly, 4)
    return (Reason("outranked", Weight.ADVICE, text, numbers=numbers),)


def _share(candidate: Candidate) -> str:
    share = candidate.timing.communication_share
    return "an unknown part" if share is None else f"{share:.0%}"


def _pace(candidate: Candidate) -> str:
    seconds = candidate.timing.token_seconds
    return "an unknown pace" if seconds is None else f"{seconds * 1e3:.0f} ms per token"
