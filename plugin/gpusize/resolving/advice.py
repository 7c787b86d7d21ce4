"""What would make a plan cheaper or faster: changes of the declaration, each tried and priced.

The questions are those that people ask: smaller weights, a shorter context, an adapter in place of
full training, one GPU in place of several, a faster GPU, a larger batch. Nothing here is a rule:
what changes the answers of a model (formats, methods) is the user's to weigh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.memory.kernels import NATIVE
from gpusize.resolving.changes import plan_with
from gpusize.wording import plan_in_words
from gpusize.workload import Inference, Market, Method, Recompute, Training
from gpusize_catalog.units import GB, MS, figure, usd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpusize.constraints.reason import Number
    from gpusize.resolution import Plan
    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.study import Study
    from gpusize.timing import Timing

SMALLER_FORMATS = ("fp8", "awq")
"""8 bits first, which cost least quality, then 4."""
WORTH_SAVING = 0.05
"""Less than this part of the money is no reason to change a declaration."""
WORTH_HURRYING = 0.20
"""Less than this part of the time is within the error of the estimate."""
CONTEXT_PARTS = 2
WAYS_TO_BUY = frozenset({"market", "zone", "capacity_block"})
"""Pins that say how capacity is bought: no change of type or layout drops them."""
LARGEST_BATCH = 256
"""Sequences beyond which engines rarely gain: their own default of sequences at once."""


class Advice(NamedTuple):
    """One change that was tried, and what became of it."""

    aim: str
    """cheaper, faster, adapter or fewer-gpus."""
    change: str
    """The change of the declaration, as it is written there."""
    text: str
    """A sentence with the numbers."""
    numbers: Mapping[str, Number]


class Rivals(NamedTuple):
    """What a change is measured against."""

    others: Sequence[Plan]
    """The next best plans without any change."""
    open: Plan
    """The plan without pins where it costs less, else the plan itself: what a change saves is not
    what dropping a pin saves."""
    weighing: Callable[[str], Plan | None]
    """The plan with weights of a format on any type and layout, resolved once."""


def advice(study: Study, plan: Plan, others: Sequence[Plan]) -> tuple[Advice, ...]:
    """Try changes in a fixed order; `others` are the next best plans without any change.

    Each change is one more resolve; one that gives no better plan is left out.
    """
    weighing = cache(lambda word: _open(study, weights_format=word))
    rivals = Rivals(others, _unpinned(study, plan), weighing)
    return tuple(found for ask in QUESTIONS for found in ask(study, plan, rivals))


def _unpinned(study: Study, plan: Plan) -> Plan:
    """The plan on any type and layout where it costs less, else the plan itself."""
    other = _open(study) if _pins(study) else None
    return plan if other is None or _cheaper("", plan, other) is None else other


def _type(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:  # noqa: ARG001
    """Another type in place of a pinned one that costs more than the work needs."""
    if rivals.open is plan or rivals.open.instance_type == plan.instance_type:
        return
    found = _cheaper(f"instanceType: {rivals.open.instance_type}", plan, rivals.open)
    if found is not None:
        yield found


def _smaller_formats(study: Study) -> Iterator[str]:
    """Formats of fewer bits than the weights have now."""
    if study.setup is None or not isinstance(study.workload, Inference):
        return
    for word in SMALLER_FORMATS:
        form = study.catalog.format(word)
        if form is not None and form.linear_bits < study.setup.form.linear_bits:
            yield word


def _formats(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:
    """Smaller weights that the GPU computes with, for less money or in less time."""
    for word in _smaller_formats(study):
        other = rivals.weighing(word)
        if other is None or study.support(study.catalog.gpu(other.gpu), word) != NATIVE:
            continue
        change = f"weightsFormat: {word}"
        cheaper = _cheaper(change, rivals.open, other)
        if cheaper is None:
            cheaper = _faster(change, plan, other) if rivals.open is plan else None
        if cheaper is not None:
            yield cheaper
            return


def _context(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:  # noqa: ARG001
    """Half the context, where nobody declared that sequences are as long."""
    demand, workload = study.demand, study.workload
    if not isinstance(workload, Inference):
        return
    half = workload.context_length // CONTEXT_PARTS
    if demand.tokens_declared and demand.tokens_high > half:
        return
    found = _cheaper(f"contextLength: {half}", rivals.open, _open(study, context_length=half))
    if found is not None:
        yield found


def _spot(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:  # noqa: ARG001
    """Spot for bounded work that could keep or repeat its progress."""
    demand = study.demand
    if demand.is_service or demand.user_facing or plan.market is not Market.ON_DEMAND:
        return
    if demand.trains and not demand.saves_progress:
        change = "market: spot, with checkpoints"
    else:
        change = "market: spot"
    other = plan_with(study, market=Market.SPOT)
    if other is not None:
        found = _cheaper(change, plan, other)
        if found is not None:
            yield found


def _adapter(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:  # noqa: ARG001
    """An adapter in place of all weights."""
    method = getattr(study.workload, "method", None)
    if method is not Method.FULL or not isinstance(study.workload, Training):
        return
    other = _open(study, method=Method.LORA)
    found = _cheaper("method: lora", rivals.open, other)
    if found is not None:
        yield found._replace(aim="adapter")


def _fewer(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:
    """One GPU in place of several, with smaller weights or with activations computed again."""
    if rivals.open.gpus == 1:
        return
    if study.demand.trains:
        again = getattr(study.workload, "recompute", None)
        other = None if again is Recompute.FULL else _open(study, recompute=Recompute.FULL)
        if other is not None and other.gpus == 1:
            text = f"recompute full needs one GPU: {plan_in_words(other)}"
            yield Advice("fewer-gpus", "recompute: full", text, _numbers(plan, other))
        return
    for word in _smaller_formats(study):
        other = rivals.weighing(word)
        if other is not None and other.gpus == 1:
            text = f"weightsFormat {word} needs one GPU: {plan_in_words(other)}"
            yield Advice("fewer-gpus", f"weightsFormat: {word}", text, _numbers(plan, other))
            return


def _hardware(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:  # noqa: ARG001
    """The next best plan that is faster, for its price."""
    for other in rivals.others:
        found = _faster(f"instanceType: {other.instance_type}", plan, other)
        if found is not None:
            yield found
            return


def _batch(study: Study, plan: Plan, rivals: Rivals) -> Iterator[Advice]:  # noqa: ARG001
    """More sequences at once: the weights are read once for all of them."""
    demand, workload = study.demand, study.workload
    if not isinstance(workload, Inference) or demand.user_facing:
        return
    held = plan.fit.sequences_at(demand.tokens_high) or 0
    many = min(held, LARGEST_BATCH)
    if many <= demand.concurrency:
        return
    other = plan_with(study, concurrency=many, instance_type=plan.instance_type)
    before, after = plan.timing.tokens_per_second, other and other.timing.tokens_per_second
    if not before or not after or after <= before * (1 + WORTH_HURRYING):
        return
    text = (
        f"concurrency {many} makes {after:.0f} tokens per second on the same"
        f" {plan.instance_type}, {before:.0f} as declared"
    )
    numbers: dict[str, Number] = {"tokensPerSecond": round(after), "concurrency": many}
    yield Advice("faster", f"concurrency: {many}", text, numbers)


Question = Callable[["Study", "Plan", Rivals], Iterator[Advice]]
QUESTIONS: tuple[Question, ...] = (
    _type,
    _formats,
    _context,
    _spot,
    _adapter,
    _fewer,
    _hardware,
    _batch,
)


def _open(study: Study, **changes: object) -> Plan | None:
    """The plan of a changed declaration on any type and layout, where memory changes."""
    pinned: dict[str, Any] = dict.fromkeys(_pins(study))
    return plan_with(study, **{**pinned, **changes})


def _pins(study: Study) -> tuple[str, ...]:
    """The declared pins of type and layout."""
    from gpusize.resolve import PINS

    return tuple(
        pin
        for pin in PINS
        if pin not in WAYS_TO_BUY and getattr(study.workload, pin, None) is not None
    )


def _money(plan: Plan) -> tuple[float, str] | None:
    """What plans are compared by, and its unit."""
    cost = plan.cost
    for amount, unit in ((cost.per_run, "per run"), (cost.monthly, "per month")):
        if amount is not None:
            return amount, unit
    return None if cost.hourly is None else (cost.hourly, "per hour")


def _cheaper(change: str, plan: Plan, other: Plan | None) -> Advice | None:
    """Advice where the other plan costs less, in the same unit."""
    if other is None:
        return None
    mine, theirs = _money(plan), _money(other)
    if mine is None or theirs is None or mine[1] != theirs[1]:
        return None
    if theirs[0] > mine[0] * (1 - WORTH_SAVING):
        return None
    text = (
        f"{change} costs {usd(theirs[0])} {mine[1]} in place of {usd(mine[0])}:"
        f" {plan_in_words(other)}"
    )
    return Advice("cheaper", change, text, _numbers(plan, other))


def _faster(change: str, plan: Plan, other: Plan) -> Advice | None:
    """Advice where the other plan takes less time for what its users wait for."""
    before, after = plan.timing, other.timing
    pairs = (
        ("per token", before.token_seconds, after.token_seconds),
        ("per step", before.step_seconds, after.step_seconds),
        (f"per {before.pace.what}" if before.pace else "", _paced(before), _paced(after)),
    )
    for what, mine, theirs in pairs:
        if mine and theirs and theirs < mine * (1 - WORTH_HURRYING):
            text = (
                f"{change} takes {_duration(theirs)} {what} in place of {_duration(mine)}:"
                f" {plan_in_words(other)}"
            )
            return Advice("faster", change, text, _numbers(plan, other))
    return None


def _paced(timing: Timing) -> float | None:
    return None if timing.pace is None else timing.pace.seconds


def _duration(seconds: float) -> str:
    return f"{figure(seconds * MS, 2)} ms" if seconds < 1 else f"{figure(seconds)} s"


def _numbers(plan: Plan, other: Plan) -> dict[str, Number]:
    numbers: dict[str, Number] = {"instanceType": other.instance_type, "gpus": other.gpus}
    mine, theirs = _money(plan), _money(other)
    if mine is not None and theirs is not None and mine[1] == theirs[1]:
        numbers["usd"] = round(theirs[0], 2)
        numbers["savedPercent"] = round((1 - theirs[0] / mine[0]) * 100, 1)
    return numbers


def paragraph(candidate: Candidate, plan: Plan, found: Sequence[Advice]) -> str:
    """Say in one paragraph why this plan, what its speed hangs on, and what would change it."""
    sentences = [f"{plan_in_words(plan)}, because {plan.reasons[0]}"]
    limit = _limit(candidate)
    if limit:
        sentences.append(limit)
    by_aim = {"cheaper": "Cheaper", "adapter": "An adapter", "fewer-gpus": "One GPU"}
    sentences += [f"{by_aim.get(item.aim, 'Faster')}: {item.text}" for item in found]
    if not found:
        sentences.append("No change that was tried makes it cheaper or faster by much")
    return ". ".join(sentences) + "."


def _limit(candidate: Candidate) -> str:
    """What its speed hangs on."""
    timing, gpu = candidate.timing, candidate.gpu
    if timing.token_seconds is None or timing.bytes_per_step is None or not gpu.memory_bandwidth:
        return ""
    share = timing.communication_share or 0.0
    if share > candidate.settings.max_communication_share:
        return f"Its speed hangs on {timing.link}"
    return (
        f"Its speed hangs on the memory of the GPU: a step reads"
        f" {timing.bytes_per_step / GB:.1f} GB at {gpu.memory_bandwidth / GB:.0f} GB/s"
    )
