"""Laws of what an engine takes beside weights and cache, and of verdicts."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.memory import alone, runtime, weights
from gpusize.memory.result import Verdict
from gpusize.memory.runtime import Batch, Budget, Device, Parts
from gpusize.memory.verdict import band, headroom, judge
from gpusize_catalog.facts import EngineFacts
from gpusize_catalog.store import Catalog, load
from gpusize_catalog.units import GIB, MIB
from tests.unit.memory.toys import DENSE, MOE


@cache
def catalog() -> Catalog:
    return load()


ROWS = [row for name in catalog().engine_names() for row in catalog().engines(name)]
rows = st.sampled_from(ROWS)
sizes = st.integers(0, 100 * GIB)
shares = st.floats(0.01, 1)
devices = st.builds(
    Device,
    st.integers(8 * GIB, 300 * GIB),
    st.sampled_from([None, (7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 1)]),
    st.booleans(),
)
parts = st.builds(Parts, sizes, sizes, sizes, sizes, sizes, sizes, st.booleans(), sizes)
FEW = settings(max_examples=30, deadline=None)
RANK = [Verdict.DOES_NOT_FIT, Verdict.TIGHT, Verdict.FITS]


@pytest.mark.parametrize("name", [name for name in runtime.BUDGETS if name != "all"])
@FEW
@given(parts=parts, usable=sizes, fraction=shares)
def test_a_budget_and_what_lies_beside_it_are_all_of_the_gpu(
    name: str, parts: Parts, usable: int, fraction: float
) -> None:
    found = runtime.BUDGETS[name](usable, fraction, parts)
    outside = parts.context + found.beside
    if name == "free-after-runtime":
        outside += parts.graphs
    assert found.limit + found.slack + outside == usable


@pytest.mark.parametrize("name", list(runtime.BUDGETS))
@FEW
@given(parts=parts, usable=sizes, fraction=shares, more=st.floats(0, 1))
def test_a_larger_fraction_never_lowers_a_budget(
    name: str, parts: Parts, usable: int, fraction: float, more: float
) -> None:
    budget = runtime.BUDGETS[name]
    usable += parts.context + parts.communication
    low = budget(usable, fraction, parts).limit
    assert low <= budget(usable, min(1.0, fraction + more), parts).limit


@FEW
@given(rows, st.integers(1, 128), st.integers(1, 2048), st.integers(0, 64))
def test_more_layers_and_sequences_never_take_fewer_graphs(
    row: EngineFacts, layers: int, sequences: int, more: int
) -> None:
    least = runtime.graph_bytes(row, layers, sequences, False)
    assert least <= runtime.graph_bytes(row, layers + more, sequences, False)
    assert least <= runtime.graph_bytes(row, layers, sequences + more, False)
    assert runtime.captured_sizes(row, sequences) <= row.graph_sizes
    assert runtime.graph_bytes(row, layers, sequences, True) == 0


@FEW
@given(rows, devices, st.integers(1, 64))
def test_buffers_do_not_shrink_with_ranks_and_a_rank_alone_has_none(
    row: EngineFacts, device: Device, ranks: int
) -> None:
    assert runtime.communication_bytes(row, 1, device) == 0
    few = runtime.communication_bytes(row, ranks, device)
    assert few <= runtime.communication_bytes(row, ranks + 1, device)


@FEW
@given(rows, devices, st.integers(1, 200_000), st.integers(1, 64))
def test_a_fraction_of_the_engines_own_is_a_share(
    row: EngineFacts, device: Device, context: int, gpus: int
) -> None:
    batch = runtime.default_batch(row, device, context)
    assert batch.tokens > 0 and batch.sequences > 0
    fraction = runtime.default_fraction(row, device, batch, gpus)
    assert fraction is None or 0 <= fraction <= 1, "TGI before 2.0 took all that was free"
    more = runtime.default_fraction(row, device, batch, gpus + 1)
    assert (fraction is None) == (more is None)
    if fraction is not None and more is not None:
        assert more <= fraction


@FEW
@given(st.integers(1, 8), st.integers(1, 16), st.sampled_from([1, 2, 4, 8]))
def test_drafts_and_adapters_grow_with_their_number_and_shrink_over_ranks(
    layers: int, slots: int, tp: int
) -> None:
    form = catalog().format("bf16")
    assert form is not None

    def draft(count: int, ranks: int) -> int:
        return weights.draft_bytes(MOE._replace(mtp_layers=count), form, ranks)

    assert draft(layers, 2 * tp) <= draft(layers, tp) < draft(layers + 1, tp)
    once = weights.lora_bytes(DENSE, slots, tp)
    assert (
        weights.lora_bytes(DENSE, slots, 2 * tp) < once < weights.lora_bytes(DENSE, slots + 1, tp)
    )


@FEW
@given(rows, sizes, sizes, st.floats(0, 10 * GIB), st.integers(0, GIB))
def test_an_error_is_at_least_that_of_each_term_and_at_most_their_sum(
    row: EngineFacts, held: int, other: int, of_cache: float, more: int
) -> None:
    form = catalog().format("fp8")
    assert form is not None
    terms = (held * form.error, other * row.uncertainty, of_cache)
    found = band(row, form, held, other, of_cache)
    assert max(terms) - 1 <= found <= sum(terms) + 1
    assert found <= band(row, form, held + more, other, of_cache)


@FEW
@given(
    st.integers(-200 * GIB, 200 * GIB),
    st.integers(0, 50 * GIB),
    st.integers(GIB, 300 * GIB),
    st.integers(0, 50 * GIB),
)
def test_more_room_never_makes_a_verdict_worse(
    margin: int, error: int, usable: int, more: int
) -> None:
    row = ROWS[0]
    budget = Budget(usable, 0)

    def rank(room: int, wrong: int) -> int:
        return RANK.index(judge(row, usable, budget, room, wrong, "")[0])

    assert rank(margin, error) <= rank(margin + more, error)
    one = RANK.index(alone.judge("", usable, usable - margin, error)[0])
    assert one == rank(margin, error), "one rule for all kinds of work"
    assert rank(margin, error) == (2 if margin >= headroom(usable, error) else margin >= -error)


@FEW
@given(st.integers(0, 2000), st.integers(1, 2000))
def test_the_most_that_holds_is_the_last_that_does(largest: int, limit: int) -> None:
    assert alone.most(limit, lambda count: count <= largest) == min(largest, limit)


@FEW
@given(devices, st.integers(0, 400 * GIB), st.integers(0, 2000))
def test_a_reserve_in_place_of_all_columns_counts_alone(
    device: Device, usable: int, mib: int
) -> None:
    row = next(row for row in ROWS if row.reserve_mib is not None)._replace(
        reserve_gpu_mib=None, reserve_large_mib=None
    )
    where = device._replace(usable=usable + GIB)
    found = runtime.default_fraction(row, where, Batch(1, 1, float(mib)), 8)
    assert found is not None
    assert found == pytest.approx(max(0.0, 1 - mib * MIB / where.usable))
