"""Does the link between GPUs carry the layout: computed from bytes and times, not from families."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize_catalog.units import GB

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

PERCENT = 100


def interconnect_unknown(candidate: Candidate) -> Iterator[Reason]:
    """Ranks that talk over a link of unknown speed: nothing says that it suffices."""
    if candidate.placement.layout.gpus == 1 or candidate.fit.need is None:
        return
    timing = candidate.timing
    if timing.communication_share is not None:
        return
    yield Reason(
        "interconnect-unknown",
        Weight.WARN,
        f"time between the GPUs of {candidate} is not known: {'; '.join(timing.unknown)}",
        numbers={"instanceType": candidate.instance.id},
    )


def tp_over_pcie(candidate: Candidate) -> Iterator[Reason]:
    """Ranks that share each layer spend too much of the engine's time on a link without NVLink.

    Spread experts exchange as much as split tensors reduce: both wait for the link in every layer.
    """
    layout, timing = candidate.placement.layout, candidate.timing
    if candidate.demand.trains:
        return
    if layout.tp == layout.ep == 1 or timing.link == "NVLink" or timing.communication_share is None:
        return
    limit = candidate.settings.max_communication_share
    share, bandwidth = timing.communication_share, timing.link_bandwidth or 0.0
    if share <= limit:
        return
    what = "all-reduces" if layout.ep == 1 else "moving tokens between experts"
    yield Reason(
        "tp-over-pcie",
        Weight.WARN,
        f"{share:.0%} of the engine's time goes into {what} over {timing.link}"
        f" ({bandwidth / GB:.0f} GB/s) at {layout} on {candidate}, limit {limit:.0%}",
        numbers={
            "communicationPercent": round(share * PERCENT, 1),
            "linkGBps": round(bandwidth / GB, 1),
            "tp": layout.tp,
            "ep": layout.ep,
        },
    )
