"""Why a plan was chosen, in sentences with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.checkpointing import checkpoint_of
from gpusize.interruptions import survives_spot
from gpusize.loading import loading_of
from gpusize.memory.result import Verdict
from gpusize.resolution import Plan
from gpusize.resolving.markets import declared_market
from gpusize.resolving.zones import is_local_zone, standard_zones
from gpusize.wording import counted, pays_off, price
from gpusize.workload import Kind, Market
from gpusize_catalog.units import MS, figure, gib, usd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.search import Trial
    from gpusize.timing import Timing

WHOLE_MS = 10
"""Milliseconds from which on decimals are within the error."""


def plan_of(candidate: Candidate, ranked: Sequence[Trial]) -> Plan:
    """The candidate as data, with the reasons for it."""
    placement, demand = candidate.placement, candidate.demand
    return Plan(
        instance_type=placement.instance.id,
        gpu=placement.gpu.id,
        nodes=placement.nodes,
        layout=placement.layout,
        region=placement.region,
        zones=_zones(candidate),
        market=placement.market,
        capacity_reservation=placement.capacity_reservation,
        scaling=demand.scaling,
        replicas=demand.replicas,
        cost=candidate.cost,
        fit=candidate.fit,
        timing=candidate.timing,
        reasons=tuple(_reasons(candidate, ranked)),
        loading=loading_of(candidate),
        checkpoint=checkpoint_of(candidate),
        ultraserver=placement.ultraserver.id if placement.ultraserver else None,
    )


def _zones(candidate: Candidate) -> tuple[str, ...]:
    placement, block = candidate.placement, candidate.workload.capacity_block
    if placement.zone is not None:
        return (placement.zone,)
    is_block = placement.market.value == "capacity-block"
    if is_block and block is not None and block.zone is not None:
        return (block.zone,)
    offering = candidate.catalog.offering(placement.instance.id, placement.region)
    if offering is None:
        return ()
    # Blocks of UltraServers are offered in a Local Zone alone.
    return standard_zones(offering.zones) or (tuple(sorted(offering.zones)) if is_block else ())


def _reasons(candidate: Candidate, ranked: Sequence[Trial]) -> Iterator[str]:
    yield _memory(candidate)
    yield from _speed(candidate)
    yield from _links(candidate)
    yield from _nodes(candidate)
    yield _choice(candidate, ranked)
    yield _market(candidate)
    yield from _scaling(candidate)
    yield from _discount(candidate)
    yield from _commitments(candidate)


def _memory(candidate: Candidate) -> str:
    fit, placement = candidate.fit, candidate.placement
    if fit.verdict is Verdict.UNKNOWN or fit.need is None or fit.budget is None:
        return "memory is not known: " + "; ".join(fit.reasons)
    gpus = placement.layout.gpus
    where = f"one {placement.gpu.id}" if gpus == 1 else f"each of {gpus} {placement.gpu.id}"
    word = {Verdict.FITS: "holds", Verdict.TIGHT: "barely holds"}.get(fit.verdict, "does not hold")
    held, demand = fit.sequences, candidate.demand
    asked = "" if demand.trains else f" (concurrency {demand.concurrency})"
    room = "" if held is None else f", room for {int(held)} of that length{asked}"
    at = f"with one sequence of {fit.context_length} tokens{room}"
    if fit.output is not None:
        at = f"at its fullest stage, {fit.output.stage}"
    how = f", as measured ({fit.measured})" if fit.measured else ""
    return f"{where} {word} it: {gib(fit.need)} of {gib(fit.budget)} usable {at}{how}"


def _speed(candidate: Candidate) -> Iterator[str]:
    demand, timing = candidate.demand, candidate.timing
    if demand.trains:
        yield from _training_speed(candidate)
        return
    if candidate.study.whole:
        yield _pace(timing)
        return
    pairs = (
        ("per token", timing.token_seconds, timing.token_bound, demand.token_time),
        (
            "to the first token",
            timing.prefill_seconds,
            timing.prefill_bound,
            demand.first_token_time,
        ),
    )
    for what, seconds, bound, target in pairs:
        if seconds is None or bound is None:
            if target is not None:
                yield f"time {what} is not known, target {_ms(target)}"
            continue
        text = f"about {_ms(seconds)} {what} (at best {_ms(bound)})"
        if target is not None:
            met = "meets" if seconds <= target else "may miss"
            text += f", {met} the target of {_ms(target)}"
        yield text
    if demand.samples is not None and timing.tokens_per_second is not None:
        yield f"about {timing.tokens_per_second * demand.replicas:.0f} tokens per second in all"
        yield from _hours(timing)


def _ms(seconds: float) -> str:
    """Milliseconds, with decimals where they say anything."""
    value = seconds * MS
    return f"{value:.0f} ms" if value >= WHOLE_MS else f"{figure(value, 2)} ms"


def _training_speed(candidate: Candidate) -> Iterator[str]:
    timing = candidate.timing
    if timing.step_seconds is None or timing.step_bound is None:
        yield "time of a step is not known: " + "; ".join(timing.unknown)
        return
    pace = timing.tokens_per_second
    tokens = "" if pace is None else f", {pace:.0f} tokens per second"
    yield (
        f"about {figure(timing.step_seconds, 2)} s per step"
        f" (at best {figure(timing.step_bound, 2)} s){tokens}"
    )
    yield from _hours(timing)
    yield from timing.unknown


def _hours(timing: Timing) -> Iterator[str]:
    if timing.hours_to_end is not None and timing.hours_range is not None:
        low, high = map(figure, timing.hours_range)
        yield f"about {figure(timing.hours_to_end)} h to the end ({low} to {high} h)"


def _pace(timing: Timing) -> str:
    """Seconds of one sample with the ends of their band; why they are not known else."""
    pace = timing.pace
    if pace is None:
        return f"time per sample is not known: {'; '.join(timing.unknown)}"
    return (
        f"about {figure(pace.seconds)} s per {pace.what} on each GPU ({figure(pace.low)} to"
        f" {figure(pace.high)} s, at best {figure(pace.bound)} s)"
    )


def _links(candidate: Candidate) -> Iterator[str]:
    timing, layout = candidate.timing, candidate.placement.layout
    if layout.gpus == 1 or timing.communication_share is None:
        return
    if candidate.demand.trains:
        share = timing.communication_share
        yield (
            f"{candidate.fit.sharding} at {layout} over {timing.link}: {share:.0%} of a step is"
            " spent between GPUs"
        )
    elif layout.cp > 1:
        yield f"{layout.cp} GPUs share each sample; what passes between them is not modelled"
    elif layout.tp == layout.pp == layout.ep == 1:
        yield f"{layout.dp} independent copies, nothing moves between GPUs"
    else:
        share = timing.communication_share
        yield f"{layout} over {timing.link}: {share:.0%} of the time is spent there"


def _nodes(candidate: Candidate) -> Iterator[str]:
    """What is bought with the instances, and where they have to lie."""
    placement, server = candidate.placement, candidate.placement.ultraserver
    replicas = candidate.demand.replicas
    if server is not None:
        bought, used = placement.bought(replicas), placement.nodes * replicas
        whole = counted(bought // server.instances, server.id)
        idle = f", {bought - used} idle" if bought > used else ""
        yield f"{whole}, sold whole: {used} of {bought} instances do the work{idle}"
    zones = _zones(candidate)
    if server is not None and any(is_local_zone(zone) for zone in zones):
        yield f"{', '.join(zones)} is a Local Zone: the account must opt in"
    if placement.nodes > 1:
        where = f": any of {', '.join(zones)}" if len(zones) > 1 else ""
        yield f"all {placement.nodes} nodes of a replica lie in one zone{where}"


def price_of(candidate: Candidate) -> str:
    """The price in words; where it is not known, what the type costs at most elsewhere."""
    cost, placement = candidate.cost, candidate.placement
    words = price(cost.hourly, cost.price_date)
    if cost.hourly is not None:
        return words
    dearest = candidate.study.till.elsewhere(placement.instance.id, placement.market.value)
    if dearest.usd_per_hour is None:
        return words
    return f"{words}, up to {usd(dearest.usd_per_hour)}/h in other regions"


def _choice(candidate: Candidate, ranked: Sequence[Trial]) -> str:
    dated = price_of(candidate)
    if candidate.workload.instance_type is not None:
        return f"{candidate.instance.id} is pinned ({dated})"
    gpus = candidate.placement.gpus
    rivals = [trial for trial in ranked if trial.best and trial.best.placement.gpus == gpus]
    plural = "s" if gpus > 1 else ""
    if len(rivals) <= 1:
        return f"the only type that does it with {gpus} GPU{plural} ({dated})"
    return f"best of {len(rivals)} types that do it with {gpus} GPU{plural} ({dated})"


def _market(candidate: Candidate) -> str:
    placement, demand, study = candidate.placement, candidate.demand, candidate.study
    market = placement.market.value
    if declared_market(candidate.workload) is not None:
        return _declared(candidate)
    if market == "spot":
        saving = study.spot_saving(placement, candidate.settings.spot_evidence_days)
        less = f", {saving.share:.0%} below on-demand (price of {saving.date})" if saving else ""
        return f"spot: the work may be interrupted{less}"
    if market == "capacity-block":
        named = ", and a reservation is named" if placement.capacity_reservation else ""
        if demand.kind is Kind.PRE_TRAINING and not candidate.instance.on_demand_statement:
            return "capacity block: a pre-training of this size needs capacity of its own"
        return f"capacity block: not sold on demand{named}"
    survives = survives_spot(demand, candidate.settings, candidate.instance.id, placement.nodes)
    if demand.trains and demand.interruptible and not survives:
        return "on-demand: spot interruptions would cost too much without frequent checkpoints"
    if not demand.interruptible:
        return "on-demand: " + ("users wait for it" if demand.user_facing else "not interruptible")
    if demand.trains or demand.deadline_hours is not None:
        from gpusize.constraints.purchase import deadline_not_met, long_training_on_spot

        spot = candidate.bought(Market.SPOT)
        if any(deadline_not_met(spot)):
            return "on-demand: interruptions of spot capacity would miss the deadline"
        if any(long_training_on_spot(spot)):
            return "on-demand: a long run on spot capacity of a type that is scarce"
    doubt = study.spot_doubt(placement, candidate.settings.spot_evidence_days)
    return f"on-demand: {doubt}" if doubt else "on-demand: spot is hardly cheaper there"


def _declared(candidate: Candidate) -> str:
    """The market that is named, or follows from what is bought besides."""
    if candidate.workload.market is not None:
        return f"market {candidate.placement.market.value} is pinned"
    if candidate.placement.market is Market.CAPACITY_BLOCK:
        return "capacity block: one is declared"
    if candidate.workload.reserve is not None:
        return "on-demand: capacity is reserved for it"
    return "on-demand: a commitment is declared, which covers nothing else"


def _scaling(candidate: Candidate) -> Iterator[str]:
    demand = candidate.demand
    if not demand.is_service:
        return
    hours = f"traffic in {demand.duty:.0%} of the week"
    if demand.scaling == "scale-to-zero":
        yield f"scale to zero: {hours}, billed by the second; a first request waits for a start"
    elif demand.scaling == "scheduled":
        yield f"up on a schedule: {hours}"


def _discount(candidate: Candidate) -> Iterator[str]:
    """Say that the price is the team's own, which nobody finds in a public list."""
    placement, prices = candidate.placement, candidate.settings.prices
    percent = prices.discount(candidate.instance.id, placement.market.value, placement.region)
    if percent and candidate.study.quote(placement).usd_per_hour is not None:
        market = placement.market.value
        yield f"{market} prices are {figure(percent, 6)}% below the list, by the settings file"


def _commitments(candidate: Candidate) -> Iterator[str]:
    months, cost = candidate.demand.months, candidate.cost
    if cost.covered_by:
        steady = candidate.study.quote(candidate.placement).usd_per_hour
        other = "" if steady is None else f", {usd(steady)}/h without"
        machines = candidate.placement.nodes * candidate.demand.replicas
        each = "" if machines == 1 or steady is None else " for each instance"
        yield f"a {cost.covered_by} covers the bill: {usd(cost.hourly or 0.0)}/h{other}{each}"
        return
    for commitment in candidate.cost.commitments:
        text = (
            f"{commitment.name} at {usd(commitment.usd_per_hour)}/h"
            f" {pays_off(commitment.break_even_months, commitment.months)}"
        )
        if months is not None:
            text += f"; declared horizon {figure(months, 6)} months"
        yield text
