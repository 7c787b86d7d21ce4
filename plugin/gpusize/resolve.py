"""From a workload to an instance type, a layout and a market: every type judged, then ranked."""

from __future__ import annotations

from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize.declaring.defaults import defaulted
from gpusize.resolution import Parts, Plan, Rejection, Resolution
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.ranking import SEVERAL, Key, badness, rank_of
from gpusize.resolving.reasoning import plan_of, price_of
from gpusize.resolving.search import Search, Trial
from gpusize.resolving.study import Study
from gpusize.resolving.weighing import reasons_against, reasons_of
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize.wording import price
from gpusize_catalog.problems import printable

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from gpusize.architecture import Architecture
    from gpusize.constraints.reason import Number
    from gpusize.memory.result import Assumption
    from gpusize.pricing.options import Option
    from gpusize.resolving.advice import Advice
    from gpusize.workload import Workload
    from gpusize_catalog.facts import InstanceType
    from gpusize_catalog.store import Catalog

__all__ = ["ResolveSettings", "resolve", "unpinned"]

PINS = (
    "instance_type",
    "market",
    "capacity_block",
    "tp",
    "pp",
    "dp",
    "ep",
    "cp",
    "nodes_per_replica",
    "zone",
)
"""Fields that fix what gpusize would choose."""
LONGEST_TYPE_NAME = 32
"""Characters of an unknown instance type that a reason repeats."""
RIVALS = 2
"""Plans on several nodes have at most so many times the GPUs of the one that has fewest: a GPU
generation halves what memory and time ask for, and a search ends somewhere."""
BEST_SERVICE = (0, 0)
"""Nobody queues and every target is met: see `service_of`."""


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
    return decide(study, name)


def decide(study: Study, name: str = "") -> Resolution:
    """Choose for a workload that was read into a study; see `resolve`."""
    workload = study.workload
    sweep = Sweep(study)
    ranked = sweep.decided()
    chosen = ranked[0].best if ranked else None
    candidate = chosen or _pinned_candidate(sweep)
    # Without pins nothing speaks against what was chosen, and there is no need to ask.
    free = not is_pinned(workload)
    accepted = candidate if candidate and (free or _is_acceptable(candidate)) else None
    plan = plan_of(accepted, ranked) if accepted else None
    return Resolution(
        workload_name=name,
        workload=workload,
        plan=plan,
        candidate=candidate,
        assumptions=_assumptions(study, candidate),
        catalog=study.catalog,
        gpusize_version=_version(),
        today=study.today,
        parts=Parts(
            partial(_remarks, sweep, candidate),
            partial(_runners_up, sweep, accepted),
            partial(_rejections, sweep, accepted),
            partial(_would_fit, sweep, plan),
            partial(_options, accepted),
            partial(_substitutes, sweep, accepted),
            partial(_advice, sweep, plan, accepted),
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
    return workload.pinned(dict.fromkeys(PINS))


def is_pinned(workload: Workload) -> bool:
    """Whether anything that gpusize would choose is fixed."""
    return any(getattr(workload, field, None) is not None for field in PINS)


class Sweep:
    """All types of one study, those of few GPUs first: a decision seldom needs to see them all."""

    def __init__(self, study: Study) -> None:
        """Order the types; nothing is tried yet."""
        self.study = study
        self.search = Search(study)
        self.types = sorted(self.search.types(), key=lambda item: (item.gpus or 0, item.id))

    def decided(self) -> list[Trial]:
        """The types that work, best first, as far as the best of all is certain.

        Types of more GPUs cannot come first once one of fewer serves as well as can be.
        """
        found: list[Trial] = []
        best: Key | None = None
        for instance in self.types:
            if (
                best is not None
                and best.service == BEST_SERVICE
                and (instance.gpus or 0) > best.gpus
            ):
                break
            trial = self.search.trial(instance, self.search.nodes(instance))
            if trial.key is not None:
                found.append(trial)
                best = trial.key if best is None else min(best, trial.key)
        if found and not self._is_late(best):
            return _sorted(found)
        return _sorted(found + [trial for trial in self._wider() if trial.best])

    @cached_property
    def trials(self) -> list[Trial]:
        """Every type, tried alone; on several nodes where none works alone."""
        trials = [
            self.search.trial(instance, self.search.nodes(instance)) for instance in self.types
        ]
        best = min((trial.key for trial in trials if trial.key), default=None)
        if best is None or self._is_late(best):
            wider = {trial.instance.id: trial for trial in self._wider()}
            trials = [_better(trial, wider.get(trial.instance.id, trial)) for trial in trials]
        return sorted(trials, key=lambda trial: trial.instance.id)

    @cached_property
    def ranked(self) -> list[Trial]:
        """Every type that works, best first."""
        return _sorted([trial for trial in self.trials if trial.best])

    def tried(self) -> list[Candidate]:
        """Every layout of every type."""
        return [candidate for trial in self.trials for candidate in self.search.tried(trial)]

    def _is_late(self, key: Key | None) -> bool:
        """Whether a training run ends after its limit: more nodes may end it sooner."""
        return key is not None and self.study.demand.trains and key.service != BEST_SERVICE

    def _wider(self) -> list[Trial]:
        """Types whose node is too small, on as few nodes as do, where the fabric is made for it.

        Fewest GPUs come first, up to twice those of the first that works. Where none does,
        each type stands with the most nodes that were tried, but for a pinned one.
        """
        if self.study.workload.nodes_per_replica is not None:
            return []
        found: dict[str, Trial] = {}
        tried: dict[str, Trial] = {}
        limit = inf
        for gpus, nodes, instance in self._spread:
            if gpus > limit:
                break
            if instance.id in found:
                continue
            trial = tried[instance.id] = self.search.trial(instance, nodes)
            if trial.best and not self._is_late(trial.key):
                found[instance.id] = trial
                limit = min(limit, RIVALS * gpus)
        if self.study.workload.instance_type is not None:
            return list(found.values())
        return list((found or tried).values())

    def _nodes_in_time(self, alone: Trial) -> float:
        """Nodes below which a run cannot end in time, were nothing lost between them."""
        hours = alone.best.timing.hours_to_end if alone.best else None
        limit = self.study.demand.time_limit
        return alone.nodes * hours / limit if hours and limit else 0.0

    @cached_property
    def _spread(self) -> list[tuple[int, int, InstanceType]]:
        """GPUs, nodes and type of what may be tried on several nodes, fewest first."""
        search, demand = self.search, self.study.demand
        hurries = demand.trains and demand.deadline_hours is not None
        found = []
        for instance in self.types:
            if not self.study.spans(instance):
                continue
            fewest = search.nodes(instance)
            alone = search.trial(instance, fewest)
            late = self._is_late(alone.key) or (hurries and alone.best is None)
            # More of an UltraServer costs no more, so that memory is not all that asks for it.
            one_holds = not self.study.ultraservers(instance) and search.holds(alone)
            if not search.may_span(instance) or (not late and one_holds):
                continue
            least = self._nodes_in_time(alone) if late else 0.0
            for nodes in search.numbers_of_nodes(instance):
                if nodes < least:
                    continue
                found.append((nodes * (instance.gpus or 0), nodes, instance))
        return sorted(found, key=lambda item: (item[0], item[1], item[2].id))


def _better(alone: Trial, wide: Trial) -> Trial:
    """The one that works; the better one where both do."""
    if alone.key is None or wide.key is None:
        return wide if alone.key is None else alone
    return min(alone, wide, key=lambda trial: trial.key or ())


def _sorted(trials: list[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial.key or ())


def _pinned_candidate(sweep: Sweep) -> Candidate | None:
    """The least poor of what the pins leave; None where nothing is pinned."""
    workload = sweep.study.workload
    if not is_pinned(workload):
        return None
    tried = sweep.tried()
    if workload.instance_type is None:
        tried = [one for one in tried if one.gpu.cuda and one.placement.usable_bytes is not None]
    return min(tried, key=badness, default=None)


def _is_acceptable(candidate: Candidate) -> bool:
    """Whether a pinned placement is poor at most: no error but one of the declaration itself."""
    from gpusize.constraints import DECLARATION

    return not any(
        reason.weight is Weight.ERROR and reason.name not in DECLARATION
        for reason in reasons_of(candidate)
    )


def _assumptions(study: Study, candidate: Candidate | None) -> tuple[Assumption, ...]:
    """What was taken for what nobody declared: for memory, for speed, then the vocabulary's own."""
    fit = candidate.fit.assumptions if candidate else tuple(study.resolved.assumptions)
    return (*_model(study), *fit, *study.demand.assumptions, *defaulted(study.workload))


def _model(study: Study) -> tuple[Assumption, ...]:
    """The model that was taken for a name that the catalog has not."""
    from gpusize.memory.result import Assumption

    found = study.architecture
    return (Assumption("model", found.name, found.assumption),) if found.assumption else ()


def _version() -> str:
    from gpusize import __version__

    return __version__


def _remarks(sweep: Sweep, candidate: Candidate | None) -> tuple[Reason, ...]:
    """What is wrong with the declaration; without a placement, any that was tried tells it."""
    from gpusize.constraints import DECLARATION

    shown = candidate or next(iter(sweep.tried()), None)
    if shown is None:
        return ()
    return tuple(reason for rule in DECLARATION.values() for reason in rule(shown))


def _runners_up(sweep: Sweep, chosen: Candidate | None) -> tuple[Plan, ...]:
    """The best of each other kind and number of GPUs."""
    return tuple(
        plan_of(trial.best, sweep.ranked) for trial in _others(sweep, chosen) if trial.best
    )


def _others(sweep: Sweep, chosen: Candidate | None) -> list[Trial]:
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


def _rejections(sweep: Sweep, chosen: Candidate | None) -> tuple[Rejection, ...]:
    listed = {trial.instance.id for trial in _others(sweep, chosen)}
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


def _options(chosen: Candidate | None) -> tuple[Option, ...]:
    if chosen is None:
        return ()
    from gpusize.resolving.options import options_of

    return options_of(chosen)


def _would_fit(sweep: Sweep, plan: Plan | None) -> tuple[str, ...]:
    if plan is not None or sweep.study.resolved.problems:
        return ()
    from gpusize.resolving.would_fit import would_fit

    return would_fit(sweep.study, sweep.tried())


def _substitutes(sweep: Sweep, chosen: Candidate | None) -> tuple[str, ...]:
    if chosen is None:
        return ()
    from gpusize.resolving.substitutes import substitutes

    return substitutes(sweep.search, sweep.trials, chosen)


def _advice(sweep: Sweep, plan: Plan | None, accepted: Candidate | None) -> tuple[Advice, ...]:
    if plan is None:
        return ()
    from gpusize.resolving.advice import advice

    return advice(sweep.study, plan, _runners_up(sweep, accepted))
