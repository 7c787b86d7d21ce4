"""How plans and prices are put into words, the same in reasons, findings, pages and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.units import figure, usd

if TYPE_CHECKING:
    from gpusize.pricing import Cost
    from gpusize.resolution import Plan


def counted(nodes: int, instance: str) -> str:
    """Write several nodes as `2 x p5.48xlarge`, one as its type alone."""
    return f"{nodes} x {instance}" if nodes > 1 else instance


def price(hourly: float | None, date: str = "") -> str:
    """Write USD per hour, with the date of the price where it has one: `$0.80/h, price of …`."""
    if hourly is None:
        return "an unknown price"
    return f"{usd(hourly)}/h, price of {date}" if date else f"{usd(hourly)}/h"


def monthly(cost: Cost, per: str) -> str:
    """Write USD per month with the storage that is in it; '' where the amount is not known."""
    if cost.monthly is None:
        return ""
    stored = f" (storage {usd(cost.storage_monthly)})" if cost.storage_monthly else ""
    return f"{usd(cost.monthly)} {per}{stored}"


def bought(plan: Plan) -> str:
    """Write the market of a plan with the commitment that covers its bill."""
    market = plan.market.value
    return f"{market} by a {plan.cost.covered_by}" if plan.cost.covered_by else market


def plan_in_words(plan: Plan) -> str:
    """Name a plan with its size, market and dated price, a training run with its length too."""
    hours = plan.timing.hours_to_end
    long = "" if hours is None else f", {figure(hours)} h to the end"
    what = f"{counted(plan.nodes, plan.instance_type)} ({plan.layout}) {bought(plan)}"
    return f"{what} at {price(plan.cost.hourly, plan.cost.price_date)}{long}"


def pays_off(months: float, term: int) -> str:
    """Say after how many months of its term a commitment has cost less than paying on demand."""
    if months > term:
        return f"never pays off in its {term} months"
    return f"pays off after {months:.1f} of {term} months"
