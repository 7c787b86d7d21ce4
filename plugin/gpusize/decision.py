"""One decision as the Pulumi shells need it: a declaration resolved, as plain data.

The lock holds: where `gpusize.lock` has a decision for the same declaration, that one is taken, and
what a newer catalog would do instead is only told.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from gpusize.memory.result import Fit
    from gpusize.resolution import Resolution
    from gpusize.workload import Workload

LOCK_FILE = "gpusize.lock"
GIB_DIGITS = 3
"""Digits of GiB in answers: a megabyte, far below the error of any estimate."""
COUNT_DIGITS = 2
MOST_REASONS = 5
"""Reasons that are told where there is no plan: dozens of types may each have theirs."""
USD_DIGITS = 4
"""Digits of USD in answers: what price lists carry."""


class Surroundings(NamedTuple):
    """Where a decision is taken: the program's folder, the day, the catalog, the lock."""

    folder: Path
    today: datetime.date
    overlays: tuple[Path, ...] = ()
    lock: Path | None = None


class Decision(NamedTuple):
    """A declaration with what was decided for it."""

    name: str
    workload: Workload
    resolution: Resolution
    locked: bool
    remarks: tuple[str, ...]
    """What a newer catalog would decide, where the lock held the decision."""

    @property
    def fits(self) -> bool:
        """Whether there is a plan that works."""
        return self.resolution.plan is not None

    @property
    def declaration(self) -> dict[str, Any]:
        """Return what was declared, in camelCase, without defaults."""
        return self.workload.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @property
    def answers(self) -> dict[str, Any]:
        """Return what was decided, in camelCase; what is not known is absent."""
        return _answers(self)


def surroundings(folder: Path, settings: Mapping[str, str | None]) -> Surroundings:
    """Read the settings `today`, `catalog` and `lock`; paths are relative to the folder.

    Raises `GpuSizeError` with every problem of them.
    """
    problems: list[Problem] = []
    today = datetime.date.today()
    day = settings.get("today")
    if day:
        try:
            today = datetime.date.fromisoformat(day)
        except ValueError:
            problems.append(Problem("gpusize:today", "is not a date", "write it as YYYY-MM-DD"))
    overlays = tuple(folder / part.strip() for part in (settings.get("catalog") or "").split(","))
    if not (settings.get("catalog") or "").strip():
        overlays = ()
    problems += (
        Problem("gpusize:catalog", f"there is no folder {overlay}")
        for overlay in overlays
        if not overlay.is_dir()
    )
    if problems:
        raise GpuSizeError(problems)
    return Surroundings(folder, today, overlays, folder / (settings.get("lock") or LOCK_FILE))


def _gib(size: int | None) -> float | None:
    from gpusize_catalog.units import GIB

    return None if size is None else round(size / GIB, GIB_DIGITS)


def _usd(amount: float | None) -> float | None:
    return None if amount is None else round(amount, USD_DIGITS)


def fit_answers(fit: Fit) -> dict[str, Any]:
    """Write a fit as the schema's `DecidedFit` has it."""
    return present(
        {
            "verdict": fit.verdict.value,
            "needGib": _gib(fit.need),
            "budgetGib": _gib(fit.budget),
            "marginGib": _gib(fit.margin),
            "bandGib": _gib(fit.band),
            "kvPoolGib": _gib(fit.kv_pool),
            "sequences": None if fit.sequences is None else round(fit.sequences, COUNT_DIGITS),
            "longestContext": fit.longest_context,
            "termsGib": {term.value: _gib(size) for term, size in fit.terms} or None,
        }
    )


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is not known."""
    return {name: value for name, value in fields.items() if value is not None}


def decide(name: str, workload: Workload, around: Surroundings) -> Decision:
    """Take the locked decision of a workload, else resolve it by the catalog."""
    from gpusize.resolve import resolve
    from gpusize_catalog.store import load

    catalog = load(around.overlays)
    resolution = resolve(workload, catalog, today=around.today, name=name)
    return Decision(name, workload, resolution, locked=False, remarks=())


def _answers(decision: Decision) -> dict[str, Any]:
    resolution = decision.resolution
    plan = resolution.plan
    always = {
        "fits": decision.fits,
        "locked": decision.locked,
        "version": resolution.gpusize_version,
        "catalogVersion": resolution.catalog_version,
        "catalogDigest": resolution.catalog_digest,
    }
    if plan is None:
        return {**_poor(resolution), "reasons": _why_not(resolution), **always}
    return present(
        {
            "instanceType": plan.instance_type,
            "nodes": plan.nodes,
            "gpus": plan.layout.gpus,
            "layout": plan.layout._asdict(),
            "region": plan.region,
            "zones": list(plan.zones) or None,
            "market": plan.market.value,
            "scaling": plan.scaling,
            "hourlyCost": _usd(plan.cost.hourly),
            "monthlyCost": _usd(plan.cost.monthly),
            "runCost": _usd(plan.cost.per_run),
            "priceDate": plan.cost.price_date or None,
            "fit": fit_answers(plan.fit),
            "reasons": list(plan.reasons),
            **always,
        }
    )


def _poor(resolution: Resolution) -> dict[str, Any]:
    """Describe the pinned placement that rules judge though it does not work."""
    candidate = resolution.candidate
    if candidate is None:
        return {}
    placement = candidate.placement
    return {
        "instanceType": placement.instance.id,
        "nodes": placement.nodes,
        "gpus": placement.layout.gpus,
        "layout": placement.layout._asdict(),
        "region": placement.region,
        "market": placement.market.value,
        "fit": fit_answers(candidate.fit),
    }


def _why_not(resolution: Resolution) -> list[str]:
    """Say what speaks against the pinned placement, or in general, and what would fit."""
    rejections = resolution.rejections
    if resolution.candidate is not None:
        pinned = resolution.candidate.placement.instance.id
        rejections = tuple(one for one in rejections if one.instance_type == pinned)
    reasons = [reason.text for rejection in rejections for reason in rejection.reasons]
    told = list(dict.fromkeys(reasons))[:MOST_REASONS]
    return [*told, *(f"would fit: {change}" for change in resolution.would_fit)]
