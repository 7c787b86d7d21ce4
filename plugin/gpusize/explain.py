"""A resolution as a page for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.explain_options import option_lines
from gpusize.explain_storage import storage_lines
from gpusize.wording import bought, counted, monthly, price
from gpusize_catalog.units import gib, usd

if TYPE_CHECKING:
    from gpusize.constraints.reason import Reason
    from gpusize.memory.result import Fit
    from gpusize.pricing import Cost
    from gpusize.resolution import Plan, Rejection, Resolution

SHOWN_REJECTIONS = 16
"""Reasons for rejected types that a page shows; the data has all types."""
RANKED = "latency first, then fewer GPUs on one node, then price"
"""What plans are compared by, in the order of `rank_of`."""
BY_NAME = frozenset({"cuda-required", "architecture-mismatch", "estimate-not-supported"})
"""Reasons that stand in one line whatever their numbers."""
APART = frozenset({"instanceType", "usdPerHour"})
"""Numbers that differ between hosts of the same GPUs."""
WIDTH = 12
"""Width of a label on the page."""


def to_text(resolution: Resolution) -> str:
    """Return a page for a terminal: decision, why, memory, money, what is next, what is not."""
    name = resolution.workload_name or "workload"
    lines = list(_plan_lines(name, resolution))
    lines += option_lines(resolution)
    lines += [f"  {in_words(reason)}" for reason in resolution.remarks]
    lines += [f"  {item.aim + ':':{WIDTH}}{item.text}" for item in resolution.advice]
    if resolution.summary:
        lines.append(f"  {'in short:':{WIDTH}}{resolution.summary}")
    if resolution.runners_up:
        lines.append(f"  next best ({RANKED}):")
        lines += [f"    {_headline(plan)}" for plan in resolution.runners_up]
    against = [*_pinned_memory(resolution), *rejection_lines(resolution)]
    if against:
        what = "as pinned" if _is_refused(resolution) else "not taken"
        lines += [f"  {what}:", *(f"    {line}" for line in against)]
    if resolution.assumptions:
        taken = ", ".join(f"{item.field} {item.value}" for item in resolution.assumptions)
        lines.append(f"  taken for granted: {taken}")
    lines.append(
        f"  catalog {resolution.catalog_version} ({resolution.catalog_digest}),"
        f" as of {resolution.today.isoformat()}"
    )
    return "\n".join(lines) + "\n"


def _plan_lines(name: str, resolution: Resolution) -> Iterator[str]:
    plan = resolution.plan
    if plan is None:
        yield f"{name}: no plan"
        for text in resolution.would_fit:
            yield f"  would fit: {text}"
        return
    yield f"{name}: {_headline(plan)}"
    for reason in plan.reasons:
        yield f"  {reason}"
    yield from _memory_lines(plan.fit)
    for label, text in storage_lines(plan.loading, plan.checkpoint):
        yield f"  {label:{WIDTH}}{text}"
    yield from _money_lines(plan.cost)


def _headline(plan: Plan) -> str:
    what = counted(plan.nodes, plan.instance_type)
    gpus = f"{plan.gpus} x {plan.gpu}"
    return f"{what} ({gpus}, {plan.layout}) {bought(plan)}, {price(plan.cost.hourly)}"


def _memory_lines(fit: Fit) -> Iterator[str]:
    if not fit.terms or fit.budget is None or fit.margin is None:
        return
    terms = ", ".join(f"{term.value} {gib(size)}" for term, size in fit.terms)
    yield f"  {'memory:':{WIDTH}}{terms}"
    yield f"  {'':{WIDTH}}{gib(fit.margin)} of {gib(fit.budget)} free (+-{gib(fit.band)}) per GPU"
    if fit.output is not None and fit.output.largest_batch:
        output = fit.output
        largest = f", or {output.largest_width}x{output.largest_height} pixels"
        told = largest if output.largest_width else ""
        told = f", or {output.largest_seconds:g} seconds" if output.largest_seconds else told
        yield f"  {'':{WIDTH}}at most batch {output.largest_batch}{told}"
    if fit.output is not None and fit.host and not fit.sharding:
        yield f"  {'':{WIDTH}}{gib(fit.host)} of weights wait in host memory"


def _money_lines(cost: Cost) -> Iterator[str]:
    known = [
        "" if cost.hourly is None else f"{usd(cost.hourly)} per hour",
        monthly(cost, "per month"),
        "" if cost.per_run is None else f"{usd(cost.per_run)} per run",
    ]
    known = [part for part in known if part]
    if known:
        dated = f" (price of {cost.price_date})" if cost.price_date else ""
        yield f"  {'cost:':{WIDTH}}{', '.join(known)}{dated}"
    for missing in cost.unknowns:
        yield f"  {'not in it:':{WIDTH}}{missing}"


def in_words(reason: Reason) -> str:
    """Write what speaks against something, with what would help."""
    return f"{reason.text} ({reason.fix})" if reason.fix else reason.text


def rejection_lines(resolution: Resolution) -> list[str]:
    """Return a line per reason: types of the same GPUs are rejected for the same numbers.

    A type that is pinned stands alone, with everything that speaks against it.
    """
    if _is_refused(resolution):
        return [in_words(reason) for one in resolution.rejections for reason in one.reasons]
    grouped: dict[tuple[object, ...], list[Rejection]] = {}
    for rejection in resolution.rejections:
        grouped.setdefault(_alike(rejection), []).append(rejection)
    lines = []
    for alike in list(grouped.values())[:SHOWN_REJECTIONS]:
        shown = min(alike, key=lambda item: (len(item.instance_type), item.instance_type))
        more = f" (and {len(alike) - 1} more)" if len(alike) > 1 else ""
        lines.append(f"{shown.instance_type}{more}: {shown.reasons[0].text}")
    hidden = sum(map(len, list(grouped.values())[SHOWN_REJECTIONS:]))
    if hidden:
        lines.append(f"and {hidden} more types, in the JSON output")
    return lines


def _is_refused(resolution: Resolution) -> bool:
    """Whether a type is pinned that gives no plan."""
    return resolution.plan is None and resolution.workload.instance_type is not None


def _pinned_memory(resolution: Resolution) -> Iterator[str]:
    """What the memory of a refused type is made of."""
    candidate = resolution.candidate
    if candidate is None or not _is_refused(resolution):
        return
    fit = candidate.fit
    if fit.terms and fit.budget is not None:
        terms = ", ".join(f"{term.value} {gib(size)}" for term, size in fit.terms)
        yield f"memory of one GPU: {terms}; {gib(fit.budget)} usable"


def _alike(rejection: Rejection) -> tuple[object, ...]:
    """What makes two rejections one line."""
    reason = rejection.reasons[0]
    if reason.name in BY_NAME:
        return (reason.name,)
    numbers = {key: value for key, value in reason.numbers.items() if key not in APART}
    return (reason.name, *sorted(numbers.items()))
