"""Does the link between GPUs carry the layout: computed from bytes and times, not from families."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight
from gpusize.memory.result import Verdict
from gpusize_catalog.units import GB, PERCENT

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate


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


def replicas_beat_tp(candidate: Candidate) -> Iterator[Reason]:
    """Ranks share each layer over PCIe though one GPU holds the model: copies give more tokens.

    Only where the ranks were declared, and where copies meet the declared times too.
    """
    layout, timing, demand = candidate.placement.layout, candidate.timing, candidate.demand
    if candidate.workload.tp is None or layout.tp == 1 or demand.trains or timing.link == "NVLink":
        return
    copies = layout.dp * layout.tp
    if candidate.study.whole or demand.concurrency < copies:
        return
    other = candidate.at(layout._replace(tp=1, dp=copies, ep=1))
    ours, theirs = timing.tokens_per_second, other.timing.tokens_per_second
    if other.fit.verdict is not Verdict.FITS or not ours or not theirs or theirs <= ours:
        return
    late = other.timing.token_seconds
    if demand.token_time is not None and (late is None or late > demand.token_time):
        return
    held = other.fit.sequences_at(demand.tokens_high)
    if held is None or held < demand.concurrency:
        return
    yield Reason(
        "replicas-beat-tp",
        Weight.ADVICE,
        f"one GPU of {candidate} holds the model and its share of the sequences: {copies} copies"
        f" give about {theirs:.0f} tokens/s, tp={layout.tp} over {timing.link} about {ours:.0f}",
        f"tp: 1, dp: {copies}",
        {
            "tp": layout.tp,
            "copies": copies,
            "tokensPerSecond": round(ours, 1),
            "otherTokensPerSecond": round(theirs, 1),
        },
    )
