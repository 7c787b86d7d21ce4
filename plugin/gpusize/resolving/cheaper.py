"""Other instance types that would do the same work for less: what speaks against a pinned one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.resolving.ranking import rank_of
from gpusize.resolving.search import Search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpusize.resolving.candidate import Candidate
    from gpusize.resolving.ranking import Key
    from gpusize.resolving.study import Study


def others(study: Study) -> tuple[tuple[Key, Candidate], ...]:
    """Every type that works, as it would be chosen, whatever type is pinned."""
    search = Search(study.opened())
    trials = (search.trial(instance, search.nodes(instance)) for instance in search.types())
    return tuple((trial.key, trial.best) for trial in trials if trial.key and trial.best)


def dominating(candidate: Candidate) -> Candidate | None:
    """The cheapest type that is no worse in anything a choice is ranked by, and no slower."""
    mine, cost = rank_of(candidate), amount(candidate)
    if cost is None:
        return None
    found = [
        other
        for key, other in _hopeful(candidate)
        if _is_no_worse(key, mine) and _is_no_slower(other, candidate)
    ]
    return _cheapest(found, cost)


def _hopeful(candidate: Candidate) -> Iterator[tuple[Key, Candidate]]:
    """The types that may beat one: of no more GPUs, cheaper by the hour, and for work that ends the
    same GPU, for what another one needs to the end is an estimate."""
    study, mine = candidate.study, candidate.placement
    search = Search(study.opened())
    price, hosted = study.quote(mine).usd_per_hour, mine.instance
    for instance in search.types():
        if (instance.gpus or 0) > mine.gpus:
            continue
        theirs = study.till.quote(instance.id, mine.market.value, mine.zone).usd_per_hour
        dearer = theirs is None or price is None or theirs >= price * mine.nodes
        same = (instance.gpu_id, instance.partition) == (hosted.gpu_id, hosted.partition)
        if dearer or not (same or candidate.demand.is_service):
            continue
        trial = search.trial(instance, search.nodes(instance))
        if trial.key and trial.best:
            yield trial.key, trial.best


def _is_no_worse(theirs: Key, ours: Key) -> bool:
    """In how users are served, GPUs, nodes, and what moves between GPUs, each by itself."""
    return (
        theirs.service <= ours.service
        and theirs.gpus <= ours.gpus
        and theirs.nodes <= ours.nodes
        and theirs.moving <= ours.moving
    )


def successor(candidate: Candidate) -> Candidate | None:
    """The cheapest type of a newer GPU that is no worse in memory, bandwidth, number or price."""
    mine, price = candidate.placement, candidate.cost.hourly
    if price is None or mine.gpu.compute_capability is None:
        return None
    newer = (other for _, other in candidate.study.others if _succeeds(other, candidate))
    priced = [(cost, one) for one in newer if (cost := one.cost.hourly) is not None]
    best = min(priced, key=lambda pair: (pair[0], pair[1].instance.id), default=None)
    return best[1] if best is not None and best[0] <= price else None


def _succeeds(other: Candidate, mine: Candidate) -> bool:
    """Whether its GPUs are newer and it has no fewer, of no less memory and bandwidth each."""
    new, old = other.gpu, mine.gpu
    if new.compute_capability is None or old.compute_capability is None:
        return False
    bandwidth, least = new.memory_bandwidth, old.memory_bandwidth
    room, needed = other.placement.usable_bytes, mine.placement.usable_bytes
    return (
        new.compute_capability > old.compute_capability
        and other.placement.gpus >= mine.placement.gpus
        and other.placement.nodes <= mine.placement.nodes
        and None not in (bandwidth, least, room, needed)
        and (bandwidth or 0.0) * other.instance.partition
        >= (least or 0.0) * mine.instance.partition
        and (room or 0) >= (needed or 0)
    )


def whole_gpu(candidate: Candidate) -> Candidate | None:
    """The best type whose GPU is not shared with other hosts."""
    found = [pair for pair in candidate.study.others if pair[1].instance.partition == 1]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def cheaper_by_work(candidate: Candidate) -> Candidate | None:
    """The type that does a piece of the same work for the least, where it is less than here."""
    rank, cost = rank_of(candidate), work_cost(candidate)
    if cost is None:
        return None
    found = [
        (price, key, other)
        for key, other in candidate.study.others
        if (key.service, key.gpus) <= (rank.service, rank.gpus)
        and (price := work_cost(other)) is not None
    ]
    best = min(found, key=lambda item: item[:2], default=None)
    return best[2] if best is not None and best[0] < cost else None


def amount(candidate: Candidate) -> float | None:
    """USD for the declared duration, or for an hour where none is declared; None: not known."""
    cost = candidate.cost
    if cost.hourly is None:
        return None
    return cost.hourly if cost.total is None else cost.total


def work_cost(candidate: Candidate) -> float | None:
    """USD per hour for each token, picture or second of video per second; None: not known."""
    hourly, timing = candidate.cost.hourly, candidate.timing
    if hourly is None:
        return None
    if timing.pace is not None:
        return hourly * timing.pace.seconds / max(1, candidate.placement.gpus)
    return hourly / timing.tokens_per_second if timing.tokens_per_second else None


def _cheapest(found: Iterable[Candidate], cost: float) -> Candidate | None:
    priced = [(price, other) for other in found if (price := amount(other)) is not None]
    best = min(priced, key=lambda pair: (pair[0], pair[1].instance.id), default=None)
    return best[1] if best is not None and best[0] < cost else None


def _is_no_slower(other: Candidate, mine: Candidate) -> bool:
    """Whether its estimates are no worse; a target that is declared is met by rank already."""
    demand, theirs, ours = mine.demand, other.timing, mine.timing
    if theirs.pace is not None and ours.pace is not None:
        return theirs.pace.seconds <= ours.pace.seconds
    if not demand.is_service:
        return _is_within(ours.tokens_per_second, theirs.tokens_per_second)
    if demand.token_time is None and not _is_within(theirs.token_seconds, ours.token_seconds):
        return False
    in_time = _is_within(theirs.prefill_seconds, ours.prefill_seconds)
    return demand.first_token_time is not None or in_time


def _is_within(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value <= limit
