"""From a workload to an instance type, a layout and a market: every type judged, then ranked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpusize.candidate import Candidate, Study
from gpusize.constraints.reason import Reason, Weight
from gpusize.reasoning import plan_of
from gpusize.resolution import Parts, Plan, Rejection, Resolution
from gpusize.search import Search, Trial, badness, rank_of, reasons_of
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize_catalog.units import usd

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence
    from pathlib import Path

    from gpusize.architecture import Architecture
    from gpusize.constraints.reason import Number
    from gpusize.memory.result import Assumption
    from gpusize.workload import Workload
    from gpusize_catalog.facts import InstanceType
    from gpusize_catalog.store import Catalog

__all__ = ["ResolveSettings", "resolve", "unpinned"]

PINS = ("instance_type", "market", "tp", "pp", "dp", "ep", "nodes_per_replica", "zone")
"""Fields that fix what gpusize would choose."""
SEVERITY = {Weight.ERROR: 0, Weight.WARN: 1, Weight.ADVICE: 2}


def resolve(
    workload: Workload,
    catalog: Catalog,
    *,
    today: datetime.date,
    name: str = "",
    settings: ResolveSettings = DEFAULTS,
    base_dir: Path | None = None,
    architecture: Architecture | None = None,
) -> Resolution:
    """Choose where and how a workload runs, honouring its pins.

    An open choice is never one that a constraint warns of. Pins are the user's: where they leave
    only poor placements, the least poor is planned, and one with an error is no plan but stays as
    `candidate` for the rules. Raises `GpuSizeError` when the model is not known.
    """
    study = Study(
        workload,
        catalog,
        today=today,
        settings=settings,
        architecture=architecture,
        base_dir=base_dir,
    )
    search = Search(study)
    trials = _sweep(search)
    ranked = sorted((trial for trial in trials if trial.key), key=lambda trial: trial.key or ())
    chosen = ranked[0].best if ranked else None
    candidate = chosen or _pinned_candidate(search, trials)
    accepted = chosen or (candidate if candidate and _is_acceptable(candidate) else None)
    plan = plan_of(accepted, ranked) if accepted else None
    return Resolution(
        workload_name=name,
        workload=workload,
        plan=plan,
        candidate=candidate,
        assumptions=_assumptions(study, candidate),
        catalog=catalog,
        gpusize_version=_version(),
        today=today,
        parts=Parts(
            partial(_runners_up, ranked, settings.runners_up),
            partial(_rejections, study, trials, ranked, accepted),
            partial(_would_fit, study, trials, plan),
        ),
    )


def unpinned(
    workload: Workload | Resolution,
    catalog: Catalog,
    *,
    today: datetime.date,
    name: str = "",
    settings: ResolveSettings = DEFAULTS,
    base_dir: Path | None = None,
) -> Resolution:
    """Resolve the same work without pins: where the cheapest fix comes from."""
    declared = workload.workload if isinstance(workload, Resolution) else workload
    return resolve(
        without_pins(declared),
        catalog,
        today=today,
        name=name,
        settings=settings,
        base_dir=base_dir,
    )


def without_pins(workload: Workload) -> Workload:
    """The same workload with every pin dropped; itself where there is none."""
    if not is_pinned(workload):
        return workload
    return workload.model_copy(update=dict.fromkeys(PINS))


def is_pinned(workload: Workload) -> bool:
    """Whether anything that gpusize would choose is fixed."""
    return any(getattr(workload, field) is not None for field in PINS)


def _sweep(search: Search) -> list[Trial]:
    """Try every type alone; only where none holds the work, several nodes of it."""
    types = search.types()
    trials = [search.trial(instance, search.nodes(instance)) for instance in types]
    if any(trial.best for trial in trials) or search.study.workload.nodes_per_replica:
        return trials
    wider = (trial for instance in types for trial in _wider(search, instance))
    found = {trial.instance.id: trial for trial in wider if trial.best}
    return [found.get(trial.instance.id, trial) for trial in trials]


def _wider(search: Search, instance: InstanceType) -> list[Trial]:
    """The type on several nodes, where their fabric is made for it; the fewest nodes that do."""
    if not instance.efa:
        return []
    least = search.nodes(instance) + 1
    for nodes in range(least, search.study.settings.max_nodes + 1):
        trial = search.trial(instance, nodes)
        if trial.best:
            return [trial]
    return []


def _pinned_candidate(search: Search, trials: Sequence[Trial]) -> Candidate | None:
    """The least poor of what the pins leave; None where nothing is pinned."""
    if not is_pinned(search.study.workload):
        return None
    tried = [candidate for trial in trials for candidate in trial.tried]
    if search.study.workload.instance_type is None:
        tried = [candidate for candidate in tried if candidate.gpu.cuda]
    return min(tried, key=badness, default=None)


def _is_acceptable(candidate: Candidate) -> bool:
    """Whether a pinned placement is poor at most: no error but one of the declaration itself."""
    from gpusize.constraints import DECLARATION

    return not any(
        reason.weight is Weight.ERROR and reason.name not in DECLARATION
        for reason in reasons_of(candidate)
    )


def _assumptions(study: Study, candidate: Candidate | None) -> tuple[Assumption, ...]:
    fit = candidate.fit.assumptions if candidate else tuple(study.sizing.assumptions)
    return (*fit, *study.demand.assumptions)


def _version() -> str:
    from gpusize import __version__

    return __version__


def _runners_up(ranked: Sequence[Trial], count: int) -> tuple[Plan, ...]:
    """The best of each other kind and number of GPUs."""
    return tuple(plan_of(trial.best, ranked) for trial in _others(ranked, count) if trial.best)


def _others(ranked: Sequence[Trial], count: int) -> list[Trial]:
    seen: set[tuple[object, ...]] = set()
    others = []
    for trial in ranked:
        assert trial.best is not None
        kind = (trial.best.gpu.id, trial.instance.partition, trial.best.placement.gpus)
        if kind not in seen:
            seen.add(kind)
            others.append(trial)
    return others[1 : count + 1]


def _rejections(
    study: Study, trials: Sequence[Trial], ranked: Sequence[Trial], chosen: Candidate | None
) -> tuple[Rejection, ...]:
    listed = {trial.instance.id for trial in _others(ranked, study.settings.runners_up)}
    if chosen is not None:
        listed.add(chosen.instance.id)
    found = [_rejection(trial, chosen) for trial in trials if trial.instance.id not in listed]
    wanted = study.workload.instance_type
    if wanted is not None and not trials:
        found.append(Rejection(wanted, None, study.workload.market, partial(_not_known, study)))
    return tuple(found)


def _rejection(trial: Trial, chosen: Candidate | None) -> Rejection:
    if trial.best is not None and chosen is not None:
        placement = trial.best.placement
        why = partial(_outranked, trial.best, chosen)
        return Rejection(trial.instance.id, placement.layout, placement.market, why)
    nearest = _Nearest(trial)
    first = trial.tried[0].placement if trial.tried else None
    return Rejection(trial.instance.id, None, first.market if first else None, nearest.reasons)


class _Nearest:
    """The least poor layout of a rejected type, found when its reasons are asked for."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    def reasons(self) -> tuple[Reason, ...]:
        candidate = min(self.trial.tried, key=badness, default=None)
        if candidate is None:
            return (_no_layout(self.trial),)
        found = [reason for reason in reasons_of(candidate) if _speaks_against(reason)]
        return tuple(sorted(found, key=lambda reason: SEVERITY[reason.weight])) or (
            _no_layout(self.trial),
        )


def _speaks_against(reason: Reason) -> bool:
    return reason.weight is not Weight.ADVICE or reason.name in (
        "estimate-not-supported",
        "availability-unknown",
    )


def _no_layout(trial: Trial) -> Reason:
    return Reason(
        "no-layout",
        Weight.WARN,
        f"no layout fills the {trial.instance.gpus or 0} GPUs of {trial.instance.id}",
        numbers={"instanceType": trial.instance.id, "gpus": trial.instance.gpus or 0},
    )


def _not_known(study: Study) -> tuple[Reason, ...]:
    close = study.catalog.suggest("instances", study.workload.instance_type or "")
    fix = f"did you mean {' or '.join(close)}?" if close else ""
    text = "the instance type is not in the catalog"
    return (Reason("unknown-instance-type", Weight.ERROR, text, fix),)


def _outranked(other: Candidate, chosen: Candidate) -> tuple[Reason, ...]:
    """It works, and another works as well with less."""
    mine, best = other.placement, chosen.placement
    ours, theirs = rank_of(other), rank_of(chosen)
    prices = [_price(candidate) for candidate in (other, chosen)]
    if ours[0] > theirs[0]:
        text = f"{other} serves worse than {chosen}: {_pace(other)} against {_pace(chosen)}"
    elif mine.gpus > best.gpus:
        text = f"{other} takes {mine.gpus} GPUs at {prices[0]}, {chosen} {best.gpus} at {prices[1]}"
    elif ours[2] > theirs[2]:
        text = f"{other} spends {_share(other)} of the time between GPUs, {chosen} {_share(chosen)}"
    else:
        text = f"{other} costs {prices[0]}, {chosen} {prices[1]}"
    numbers: dict[str, Number] = {"gpus": mine.gpus, "instanceType": mine.instance.id}
    return (Reason("outranked", Weight.ADVICE, text, numbers=numbers),)


def _price(candidate: Candidate) -> str:
    hourly = candidate.cost.hourly
    return "an unknown price" if hourly is None else f"{usd(hourly)}/h"


def _share(candidate: Candidate) -> str:
    share = candidate.timing.communication_share
    return "an unknown part" if share is None else f"{share:.0%}"


def _pace(candidate: Candidate) -> str:
    seconds = candidate.timing.token_seconds
    return "an unknown pace" if seconds is None else f"{seconds * 1e3:.0f} ms per token"


def _would_fit(study: Study, trials: Sequence[Trial], plan: Plan | None) -> tuple[str, ...]:
    if plan is not None or study.sizing.problems:
        return ()
    from gpusize.would_fit import would_fit

    return would_fit(study, [candidate for trial in trials for candidate in trial.tried])
