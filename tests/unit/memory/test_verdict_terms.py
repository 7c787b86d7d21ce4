"""Where verdicts change, what neighbors leave, and which kernels run, at their bounds."""

from __future__ import annotations

import pytest

from gpusize.memory import kernels, neighbors
from gpusize.memory.result import Verdict
from gpusize.memory.runtime import Budget
from gpusize.memory.verdict import band, headroom, judge
from gpusize_catalog.units import GIB

# The verdict


def test_errors_of_terms_add_as_squares(engine, form):
    known, format = (
        engine("vllm", "0.19.0")._replace(uncertainty=0.5),
        form("bf16")._replace(error=0.01),
    )
    assert band(known, format, 400, 0, 0) == 4
    assert band(known, format, 0, 6, 0) == 3
    assert band(known, format, 0, 0, 7) == 7
    assert band(known, format, 400, 6, 12) == 13, "4, 3 and 12"


def test_headroom_is_one_gib_or_a_twentieth_or_the_error():
    assert headroom(10 * GIB, 5) == GIB
    assert headroom(40 * GIB, 5) == 2 * GIB
    assert headroom(40 * GIB, 3 * GIB) == 3 * GIB


def told(engine, margin: int, error=2 * GIB, slack=0, beside=0, usable=80 * GIB):
    known = engine("vllm", "0.19.0")._replace(uncertainty=0.5)
    return judge(known, usable, Budget(70 * GIB, slack, beside), margin, error, "weights")


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [
        (-2 * GIB - 1, Verdict.DOES_NOT_FIT),
        (-2 * GIB, Verdict.TIGHT),
        (-1, Verdict.TIGHT),
        (0, Verdict.TIGHT),
        (4 * GIB - 1, Verdict.TIGHT),
        (4 * GIB, Verdict.FITS),
    ],
)
def test_verdicts_change_at_the_error_and_the_headroom(engine, margin, verdict):
    found, reasons = told(engine, margin)
    assert found is verdict
    assert len(reasons) == (verdict is not Verdict.FITS)


def test_a_verdict_says_by_how_much(engine):
    assert told(engine, -3 * GIB)[1] == (
        "weights: 3.0 GiB more than the budget of 70.0 GiB; vllm refuses to start",
    )
    assert told(engine, -GIB)[1] == (
        "needs 1.0 GiB more than the budget of 70.0 GiB, which lies within the error of 2.0 GiB",
    )
    assert told(engine, GIB)[1] == ("only 1.0 GiB of 70.0 GiB are left",)
    assert "of 70.0 GiB are left" in told(engine, 0)[1][0]


def test_what_lives_beside_the_budget_may_be_wrong_by_the_uncertainty(engine):
    for slack, verdict in ((-GIB, Verdict.FITS), (-GIB - 1, Verdict.TIGHT)):
        found, reasons = told(engine, 40 * GIB, slack=slack, beside=2 * GIB)
        assert found is verdict
    assert "keeps 1.0 GiB more outside its budget" in reasons[0]
    both = told(engine, GIB, slack=-5 * GIB, beside=GIB)[1]
    assert len(both) == 2


# Neighbors


def test_neighbors_hold_what_they_say(declare):
    raw = [{"name": "a", "memoryGib": 2}, {"name": "b", "memoryFraction": 0.25}]
    declared = declare("meta-llama/Llama-3.1-8B", neighbors=raw)
    assert neighbors.held(declared.neighbors, 8 * GIB) == 4 * GIB
    assert neighbors.held(declared.neighbors[:1], 8 * GIB) == 2 * GIB
    assert neighbors.held(declared.neighbors[1:], 8 * GIB) == 2 * GIB
    assert neighbors.held((), 8 * GIB) == 0


@pytest.mark.parametrize(
    ("usable", "theirs", "outside", "left"),
    [(1000, 0, 0, 1), (1000, 100, 105, 0.79), (1000, 100, 110, 0.79), (1000, 900, 101, 0)],
)
def test_the_fraction_left_is_in_whole_hundredths(usable, theirs, outside, left):
    assert neighbors.fraction_left(usable, theirs, outside) == left


def test_only_a_share_of_all_memory_ignores_neighbors(engine):
    assert neighbors.is_share_of_all(engine("vllm", "0.19.0"))
    assert not neighbors.is_share_of_all(engine("sglang", "0.5.5"))


# Kernels


def test_ranges_of_capabilities_end_before_their_end(catalog):
    rows = catalog.kernels("fp8", "vllm")
    for row in rows:
        if row.capability_before is None:
            continue
        version = row.engine_from or "0.0.1"
        at = kernels.find(catalog, "fp8", "vllm", version, row.capability_from)
        after = kernels.find(catalog, "fp8", "vllm", version, row.capability_before)
        assert at == row
        assert after != row


def test_the_least_capability_is_that_of_a_row_that_runs(catalog):
    assert kernels.least_capability(catalog, "vllm", None, "bf16") == (8, 0)
    assert kernels.least_capability(catalog, "vllm", None) == (7, 0)
    assert kernels.least_capability(catalog, "vllm", "0.19.0", "fp8") == min(
        row.capability_from for row in catalog.kernels("fp8", "vllm") if row.support != "refused"
    )
    assert kernels.least_capability(catalog, "no-engine", None) is None


def test_gguf_types_are_one_family(catalog):
    one, other = (
        kernels.find(catalog, word, "llama.cpp", None, (8, 9)) for word in ("gguf-q2_k", "gguf")
    )
    assert one == other is not None
