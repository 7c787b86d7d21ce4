"""From a workload to an instance type, a layout and a market: every type judged, then ranked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize.declaring.defaults import defaulted
from gpusize.resolution import Parts, Plan, Resolution
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.ranking import badness
from gpusize.resolving.reasoning import plan_of
from gpusize.resolving.rejecting import rejections, runners_up
from gpusize.resolving.study import Study
from gpusize.resolving.sweep import Sweep
from gpusize.resolving.weighing import reasons_of
from gpusize.settings import DEFAULTS, ResolveSettings

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from gpusize.architecture import Architecture
    from gpusize.memory.result import Assumption
    from gpusize.pricing.options import Option
    from gpusize.resolving.advice import Advice
    from gpusize.workload import Workload
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
        name=name,
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
            partial(rejections, sweep, accepted),
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
        plan_of(trial.best, sweep.ranked) for trial in runners_up(sweep, chosen) if trial.best
    )


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


def stand_ins(candidate: Candidate) -> tuple[str, ...]:
    """Name the types that can stand in for a candidate's, though its own is fixed."""
    sweep = Sweep(candidate.study.opened())
    return _substitutes(sweep, candidate)


def _advice(sweep: Sweep, plan: Plan | None, accepted: Candidate | None) -> tuple[Advice, ...]:
    if plan is None:
        return ()
    from gpusize.resolving.advice import advice

    return advice(sweep.study, plan, _runners_up(sweep, accepted))
