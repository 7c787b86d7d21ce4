"""A resolution as plain data for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize.explain_options import option_data
from gpusize.explain_storage import checkpoint_data, loading_data
from gpusize_catalog.units import GIB, MS

if TYPE_CHECKING:
    from gpusize.constraints.reason import Reason
    from gpusize.memory.result import Fit, Output
    from gpusize.pricing import Cost
    from gpusize.resolution import Plan, Rejection, Resolution
    from gpusize.timing import Pace, Timing

GIB_DIGITS = 3
USD_DIGITS = 4
MS_DIGITS = 2
SHARE_DIGITS = 4


def to_data(resolution: Resolution) -> dict[str, Any]:
    """Return everything that was decided, in camelCase and in a fixed order; unknown is null."""
    return {
        "workload": resolution.workload_name,
        "today": resolution.today.isoformat(),
        "gpusizeVersion": resolution.gpusize_version,
        "catalogVersion": resolution.catalog_version,
        "catalogDigest": resolution.catalog_digest,
        "plan": plan_data(resolution.plan) if resolution.plan else None,
        "purchaseOptions": [option_data(option) for option in resolution.options],
        "runnersUp": [plan_data(plan) for plan in resolution.runners_up],
        "remarks": [reason_data(reason) for reason in resolution.remarks],
        "rejections": [_rejection(rejection) for rejection in resolution.rejections],
        "wouldFit": list(resolution.would_fit),
        "assumptions": [item._asdict() for item in resolution.assumptions],
    }


def advice_data(resolution: Resolution) -> dict[str, Any]:
    """Return what would make the plan cheaper or faster, and a paragraph of it all.

    Apart from the decision: every change is one more resolve.
    """
    advice = [
        {
            "aim": item.aim,
            "change": item.change,
            "text": item.text,
            "numbers": dict(item.numbers),
        }
        for item in resolution.advice
    ]
    return {"advice": advice, "summary": resolution.summary}


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return one plan: what to launch, what it costs, what it holds, how fast it is, and why."""
    return {
        "instanceType": plan.instance_type,
        "gpu": plan.gpu,
        "gpus": plan.gpus,
        "nodes": plan.nodes,
        "ultraserver": plan.ultraserver,
        "layout": plan.layout.data(),
        "region": plan.region,
        "zones": list(plan.zones),
        "oneZone": plan.one_zone,
        "market": plan.market.value,
        "capacityReservation": plan.capacity_reservation,
        "scaling": plan.scaling,
        "replicas": plan.replicas,
        "reasons": list(plan.reasons),
        "cost": cost_data(plan.cost),
        "memory": fit_data(plan.fit),
        "timing": timing_data(plan.timing),
        "loading": loading_data(plan.loading),
        "checkpoint": checkpoint_data(plan.checkpoint) if plan.checkpoint else None,
    }


def cost_data(cost: Cost) -> dict[str, Any]:
    """Return money, USD."""
    return {
        "perHour": _round(cost.hourly, USD_DIGITS),
        "perMonth": _round(cost.monthly, USD_DIGITS),
        "perRun": _round(cost.per_run, USD_DIGITS),
        "total": _round(cost.total, USD_DIGITS),
        "priceDate": cost.price_date or None,
        "priceSource": cost.price_source or None,
        "computePerMonth": _round(cost.compute_monthly, USD_DIGITS),
        "storagePerMonth": _round(cost.storage_monthly, USD_DIGITS),
        "egressPerMonth": _round(cost.egress_monthly, USD_DIGITS),
        "rootVolumeGib": cost.volume_gib,
        "rootVolumeMbps": cost.volume_mbps,
        "idle": _round(cost.idle, USD_DIGITS),
        "commitments": [
            {
                "plan": item.plan,
                "years": item.years,
                "perHour": item.usd_per_hour,
                "priceDate": item.date,
                "priceSource": item.source,
                "months": item.months,
                "perMonth": _round(item.monthly, USD_DIGITS),
                "breakEvenMonths": _round(item.break_even_months, MS_DIGITS),
            }
            for item in cost.commitments
        ],
        "unknown": list(cost.unknowns),
    }


def fit_data(fit: Fit) -> dict[str, Any]:
    """Return memory of the worst GPU, GiB."""
    room = {
        "verdict": fit.verdict.value,
        "needGib": _gib(fit.need),
        "budgetGib": _gib(fit.budget),
        "marginGib": _gib(fit.margin),
        "bandGib": _gib(fit.band),
        "confidence": fit.confidence,
        **({"measured": fit.measured} if fit.measured else {}),
    }
    if fit.sharding:
        return {
            **room,
            "termsGib": {term.value: _gib(size) for term, size in fit.terms},
            **_most_trained(fit),
            "sharding": fit.sharding,
            "hostGib": _gib(fit.host),
            "reasons": list(fit.reasons),
            "constants": list(fit.constants),
        }
    return {
        **room,
        "kvPoolGib": _gib(fit.kv_pool),
        "termsGib": {term.value: _gib(size) for term, size in fit.terms},
        "contextLength": fit.context_length or (None if fit.output else 0),
        "sequences": _round(fit.sequences, MS_DIGITS),
        "longestContext": fit.longest_context,
        "reasons": list(fit.reasons),
        "constants": list(fit.constants),
        **(_output(fit.output) if fit.output else {}),
        **({"hostGib": _gib(fit.host)} if fit.host else {}),
    }


def _most_trained(fit: Fit) -> dict[str, Any]:
    """Return what a rank trains on at most: of pictures, or of sequences."""
    if fit.output is not None:
        return _output(fit.output)
    return {
        "sequenceLength": fit.context_length,
        "largestMicroBatch": None if fit.sequences is None else int(fit.sequences),
        "longestSequence": fit.longest_context,
    }


def _output(output: Output) -> dict[str, Any]:
    """Return what a fit says of a pipeline."""
    return {
        "stage": output.stage,
        "largestBatch": output.largest_batch,
        "largestWidth": output.largest_width or None,
        "largestHeight": output.largest_height or None,
        **({} if output.largest_seconds is None else {"largestSeconds": output.largest_seconds}),
    }


def timing_data(timing: Timing) -> dict[str, Any]:
    """Return times, milliseconds, each with its bound."""
    if timing.step_seconds is not None:
        return {
            "stepSeconds": _round(timing.step_seconds, SHARE_DIGITS),
            "stepBoundSeconds": _round(timing.step_bound, SHARE_DIGITS),
            "hoursToEnd": _round(timing.hours_to_end, MS_DIGITS),
            "hoursRange": [round(hours, MS_DIGITS) for hours in timing.hours_range or ()],
            "communicationShare": _round(timing.communication_share, SHARE_DIGITS),
            "link": timing.link or None,
            "linkBytesPerSecond": timing.link_bandwidth,
            "tokensPerSecond": _round(timing.tokens_per_second, MS_DIGITS),
            "unknown": list(timing.unknown),
        }
    return {
        "tokenMs": _ms(timing.token_seconds),
        "tokenBoundMs": _ms(timing.token_bound),
        "prefillMs": _ms(timing.prefill_seconds),
        "prefillBoundMs": _ms(timing.prefill_bound),
        "communicationShare": _round(timing.communication_share, SHARE_DIGITS),
        "link": timing.link or None,
        "linkBytesPerSecond": timing.link_bandwidth,
        "tokensPerSecond": _round(timing.tokens_per_second, MS_DIGITS),
        "unknown": list(timing.unknown),
        **(_pace(timing.pace) if timing.pace else {}),
        **(_hours(timing) if timing.hours_to_end is not None else {}),
    }


def _hours(timing: Timing) -> dict[str, Any]:
    """Return the hours of a run of samples."""
    return {
        "hoursToEnd": _round(timing.hours_to_end, MS_DIGITS),
        "hoursRange": [round(hours, MS_DIGITS) for hours in timing.hours_range or ()],
    }


def _pace(pace: Pace) -> dict[str, Any]:
    """Return seconds per image or per second of video."""
    return {
        "per": pace.what,
        "sampleSeconds": round(pace.seconds, MS_DIGITS),
        "sampleSecondsLow": round(pace.low, MS_DIGITS),
        "sampleSecondsHigh": round(pace.high, MS_DIGITS),
        "sampleBoundSeconds": round(pace.bound, MS_DIGITS),
    }


def reason_data(reason: Reason) -> dict[str, Any]:
    """Return one reason."""
    return {
        "name": reason.name,
        "weight": reason.weight.value,
        "text": reason.text,
        "fix": reason.fix,
        "numbers": dict(reason.numbers),
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {
        "instanceType": rejection.instance_type,
        "layout": rejection.layout.data() if rejection.layout else None,
        "market": rejection.market.value if rejection.market else None,
        "reasons": [reason_data(reason) for reason in rejection.reasons],
    }


def _round(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, GIB_DIGITS)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * MS, MS_DIGITS)
