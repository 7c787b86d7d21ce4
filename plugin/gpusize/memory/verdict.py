"""From figures to a verdict.

`does-not-fit`: even the low end of the error band is beyond the budget. `tight`: the margin lies
inside the band, or below the headroom that an upgrade of the engine may eat, or the engine keeps
more outside its budget, beyond the error, than the GPU has left. `fits`: everything else.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from gpusize.memory.result import Verdict
from gpusize_catalog.units import GIB, gib

if TYPE_CHECKING:
    from gpusize.memory.runtime import Budget
    from gpusize_catalog.facts import EngineFacts, FormatFacts

HEADROOM_BYTES = GIB
HEADROOM_SHARE = 0.05
"""Margin below max(1 GiB, 5 % of the memory) is tight: estimates miss by 2 to 10 % (GPU104)."""
OUTCOMES = {
    "total": "refuses to start",
    "total-for-cache": "fails while it lays out the cache",
    "free": "starts with a pool below one request, or fails while loading",
    "free-after-weights": "cuts the context or fails while loading",
    "free-after-runtime": "refuses to start",
    "all": "moves layers to the host or runs out of memory",
}
"""What an engine does when it does not fit, by how it takes its memory."""


def band(engine: EngineFacts, form: FormatFacts, held: int, runtime: int, cache: float) -> int:
    """One-sided error of the need, bytes: root of the sum of squares of the terms' errors.

    `held` are the weights, `runtime` is everything else that counts in the budget but the cache,
    `cache` is the error of the cache itself.
    """
    return round(sqrt((held * form.error) ** 2 + (runtime * engine.uncertainty) ** 2 + cache**2))


def headroom(usable: int, error: int) -> int:
    """Margin below which a fit is tight, bytes."""
    return max(error, HEADROOM_BYTES, round(HEADROOM_SHARE * usable))


def judge(
    engine: EngineFacts,
    usable: int,
    budget: Budget,
    margin: int,
    error: int,
    binding: str,
) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict and its reasons; `binding` names what is too large where it does not fit."""
    if margin < -error:
        outcome = OUTCOMES[engine.budget_of]
        told = f"{binding}: {_missing(margin, budget)}; {engine.engine} {outcome}"
        return Verdict.DOES_NOT_FIT, (told,)
    reasons = []
    if margin < 0:
        missing = _missing(margin, budget)
        reasons.append(f"needs {missing}, which lies within the error of {gib(error)}")
    elif margin < headroom(usable, error):
        reasons.append(f"only {gib(margin)} of {gib(budget.limit)} are left")
    if budget.slack < -engine.uncertainty * budget.beside:
        reasons.append(
            f"{engine.engine} keeps {gib(-budget.slack)} more outside its budget than the GPU has "
            "left: it may start and run out of memory later"
        )
    return (Verdict.TIGHT if reasons else Verdict.FITS), tuple(reasons)


def at_most_tight(
    judged: Verdict, reasons: tuple[str, ...], why: str
) -> tuple[Verdict, tuple[str, ...]]:
    """A verdict that one more reason keeps from `fits`."""
    return (Verdict.TIGHT if judged is Verdict.FITS else judged), (*reasons, why)


def _missing(margin: int, budget: Budget) -> str:
    return f"{gib(-margin)} more than the budget of {gib(budget.limit)}"
