"""One decision as the Pulumi shells need it: a declaration resolved, as plain data.

The lock holds: where `gpusize.lock` has a decision for the same declaration, that one is taken, and
what a newer catalog would do instead is only told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from gpusize.constraints.reason import Reason
    from gpusize.lock import Entry
    from gpusize.resolution import Plan, Resolution
    from gpusize.surroundings import Surroundings
    from gpusize.workload import Workload
    from gpusize_catalog.facts import InstanceType

MOST_REASONS = 5
"""Reasons that are told where there is no plan: dozens of types may each have theirs."""


class Decision(NamedTuple):
    """A declaration with what was decided for it."""

    name: str
    workload: Workload
    resolution: Resolution
    plan: Plan | None
    """What to launch: also a pinned placement that speaks against itself, None without any."""
    objections: tuple[Reason, ...]
    """What speaks against it; the resolver takes no such placement of its own accord."""
    fits: bool
    """Whether it can run: in memory, precision and layout. Money and markets are for policies."""
    unpinned: Plan | None = None
    """What would be taken without the pins, where they leave no plan."""
    kept: Entry | None = None
    """The entry of the lock that gave the decision."""
    remarks: tuple[str, ...] = ()
    """How the lock differs from what would be decided now."""

    @property
    def substitutes(self) -> tuple[str, ...]:
        """Types that can stand in for the plan's: a lock keeps a type, it does not pin it."""
        candidate = self.resolution.candidate
        if self.kept is None or self.workload.instance_type is not None or candidate is None:
            return self.resolution.substitutes
        from gpusize.resolve import stand_ins

        return stand_ins(candidate)

    @property
    def declaration(self) -> dict[str, Any]:
        """Return what was declared, in camelCase, without defaults."""
        return self.workload.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @property
    def answers(self) -> dict[str, Any]:
        """Return what was decided, in camelCase; what is not known is absent."""
        resolution, kept = self.resolution, self.kept
        return {
            **(_plan_answers(self.plan, kept) if self.plan else {}),
            **(_host_answers(self) if self.plan else {}),
            "fits": self.fits,
            "locked": kept is not None,
            "reasons": self._reasons,
            "version": resolution.gpusize_version,
            "catalogVersion": kept.catalog_version if kept else resolution.catalog_version,
            "catalogDigest": kept.catalog_digest if kept else resolution.catalog_digest,
        }

    @property
    def instance(self) -> InstanceType | None:
        """Return the facts of the type to launch; None without a plan."""
        candidate = self.resolution.candidate
        return candidate.instance if candidate and self.plan else None

    @property
    def partition(self) -> str | None:
        """Return the AWS partition of the region, which its ARNs begin with, where it is known."""
        candidate = self.resolution.candidate
        region = candidate.study.region if candidate else None
        return region.partition if region else None

    @property
    def against(self) -> list[str]:
        """Return what speaks against it, a sentence each."""
        from gpusize.explain import in_words

        return list(dict.fromkeys(in_words(reason) for reason in self.objections))[:MOST_REASONS]

    @property
    def changes(self) -> list[str]:
        """Return what would fit, where there is no plan."""
        from gpusize.wording import plan_in_words

        found = list(self.resolution.would_fit)
        if self.unpinned is not None:
            found.insert(0, f"without the pins {plan_in_words(self.unpinned)}")
        return found

    @property
    def _reasons(self) -> list[str]:
        if self.resolution.plan is None or self.plan is None:
            return [*self.against, *(f"would fit: {change}" for change in self.changes)]
        if self.kept is not None:
            return [f"kept since {self.kept.date} by the lock, catalog {self.kept.catalog_version}"]
        return list(self.plan.reasons)


def decide(name: str, workload: Workload, around: Surroundings) -> Decision:
    """Take the locked decision of a workload, else resolve it by the catalog.

    Raises `GpuSizeError` for a model that is not known, an overlay or a lock that is not readable.
    """
    from gpusize.lock import drift, read_lock

    fresh = _resolve(name, workload, around)
    entry = read_lock(around.lock).get(name) if around.lock else None
    if entry is None:
        return _with_fix(_decision(name, workload, fresh), around)
    remarks = tuple(f"{reason.text} ({reason.fix})" for reason in drift(fresh, entry))
    if not entry.holds_for(workload):
        return _with_fix(_decision(name, workload, fresh), around)._replace(remarks=remarks)
    kept = _resolve(name, entry.applied_to(workload), around)
    return _decision(name, workload, kept)._replace(kept=entry, remarks=remarks)


def model_problems(declaration: Mapping[str, Any], around: Surroundings) -> tuple[Problem, ...]:
    """Say what is wrong with the model of a declaration that has other problems already."""
    from gpusize.architecture import architecture_of
    from gpusize_catalog.store import load

    model = declaration.get("model")
    if not isinstance(model, str):
        return ()
    try:
        architecture_of(model, load(around.overlays), around.folder)
    except GpuSizeError as error:
        return _at_model(error.problems)
    return ()


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is not known."""
    return {name: value for name, value in fields.items() if value is not None}


def _resolve(name: str, workload: Workload, around: Surroundings) -> Resolution:
    from gpusize.resolve import resolve
    from gpusize_catalog.store import load

    catalog = load(around.overlays)
    try:
        return resolve(
            workload,
            catalog,
            today=around.today,
            name=name,
            settings=around.settings,
            base_dir=around.folder,
        )
    except GpuSizeError as error:
        raise GpuSizeError(_at_model(error.problems)) from None


def _at_model(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Give the field to problems that have neither a field nor a file: the model is looked up."""
    return tuple(
        problem
        if problem.path or problem.file
        else Problem("model", problem.message, problem.fix, problem.file)
        for problem in problems
    )


def _decision(name: str, workload: Workload, resolution: Resolution) -> Decision:
    """Take the plan, or the pinned placement that is none, with what speaks against it."""
    candidate = resolution.candidate
    if resolution.plan is not None:
        return Decision(name, workload, resolution, resolution.plan, (), fits=True)
    if candidate is None:
        reasons = [reason for one in resolution.rejections for reason in one.reasons]
        return Decision(name, workload, resolution, None, tuple(reasons), fits=False)
    from gpusize.constraints import CONSTRAINTS, SILICON, Weight
    from gpusize.resolving.reasoning import plan_of

    found = [reason for constraint in CONSTRAINTS.values() for reason in constraint(candidate)]
    errors = tuple(reason for reason in found if reason.weight is Weight.ERROR)
    fits = not any(reason.name in SILICON for reason in errors)
    return Decision(name, workload, resolution, plan_of(candidate, ()), errors, fits)


def _with_fix(decision: Decision, around: Surroundings) -> Decision:
    """Add what would be taken without the pins, where the pins leave no plan."""
    from gpusize.resolve import is_pinned, without_pins

    if decision.resolution.plan is not None or not is_pinned(decision.workload):
        return decision
    free = _resolve(decision.name, without_pins(decision.workload), around)
    return decision._replace(unpinned=free.plan)


def _plan_answers(plan: Plan, kept: Entry | None) -> dict[str, Any]:
    from gpusize.explain_data import plan_data

    data = plan_data(plan)
    cost = data["cost"] if kept is None else _kept_cost(data["cost"], kept)
    return present(
        {
            "instanceType": data["instanceType"],
            "nodes": data["nodes"],
            "ultraserver": data["ultraserver"],
            "gpus": data["gpus"],
            "layout": data["layout"],
            "region": data["region"],
            "zones": data["zones"] or None,
            "market": data["market"],
            "scaling": data["scaling"],
            "hourlyCost": cost["perHour"],
            "monthlyCost": cost["perMonth"],
            "runCost": cost["perRun"],
            "priceDate": cost["priceDate"],
            "rootVolumeGib": cost["rootVolumeGib"] or None,
            "rootVolumeThroughputMbps": cost["rootVolumeMbps"],
            "loadSeconds": (data["loading"]["loadSeconds"] or {}).get("usual"),
            "fit": present(data["memory"]),
        }
    )


def _host_answers(decision: Decision) -> dict[str, Any]:
    """Return what the type brings that is used by who launches it."""
    from gpusize.launch.network import efa_interfaces
    from gpusize_catalog.units import GB, GIB

    instance = decision.instance
    local = instance.nvme_gb if instance else None
    return present(
        {
            "instanceStoreGib": int(local * GB / GIB) if local else None,
            "efaInterfaces": efa_interfaces(decision),
        }
    )


def _kept_cost(cost: Mapping[str, Any], kept: Entry) -> dict[str, Any]:
    """Return the cost at the price that was locked; other sums are unknown at another price."""
    if cost["perHour"] == kept.usd_per_hour:
        return {**cost, "priceDate": kept.price_date or None}
    return {
        **cost,
        "perHour": kept.usd_per_hour,
        "perMonth": None,
        "perRun": None,
        "priceDate": kept.price_date or None,
    }
