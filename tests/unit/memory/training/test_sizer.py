"""The need of a run, its error, its verdict and the bounds below it."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.memory.result import Term, Verdict
from gpusize.memory.training import sizer
from gpusize.memory.training.sizer import Training
from gpusize.placement import Layout
from tests.unit.memory.training.small import GRAVEL, PEBBLE, ROW, declared, measured, training

MIB, GIB = 2**20, 2**30
ALL = 91_080
CONTEXT, NCCL = 700 * MIB, 300 * MIB


def test_the_need_of_one_gpu_is_the_sum_of_its_terms(catalog):
    """128 tokens: 10,080 of six layers, the first walked again: 448, logits 1,152 a token.

    Gradients of 2 bytes come while activations go.
    """
    found = measured(training(catalog))
    activations = 128 * (10_080 + 1_152) - 2 * ALL
    held = 8 * ALL
    assert dict(found.terms) == {
        Term.WEIGHTS: 2 * ALL,
        Term.GRADIENTS: 2 * ALL,
        Term.OPTIMIZER_STATES: 4 * ALL,
        Term.ACTIVATIONS: activations - 128 * 1_152,
        Term.LOGITS: 128 * 1_152,
        Term.ALLOCATOR_SLACK: round((held + activations) * 0.05),
        Term.RUNTIME_OVERHEAD: CONTEXT,
    }
    assert found.need == round((held + activations) * 1.05) + CONTEXT
    assert found.need == pytest.approx(sum(size for _, size in found.terms), abs=4)
    assert (found.sharding, found.host, found.host_activations, found.dp) == ("none", 0, 0, 1)
    assert (found.context_length, found.limit, found.budget) == (128, 4_096, 8 * GIB)
    assert found.saved == (2 * ALL, 4 * ALL)
    assert found.constants == ("hf (any version)",)


def test_several_gpus_keep_buffers_of_collectives(catalog):
    run = training(catalog)
    assert measured(run, dp=2).term(Term.COMMUNICATION) == NCCL
    assert measured(run, tp=2).term(Term.COMMUNICATION) == NCCL
    assert measured(run).term(Term.COMMUNICATION) == 0


def test_the_error_is_6_percent_of_what_is_kept_and_the_trainers_own_of_the_rest(catalog):
    found = measured(training(catalog))
    states = 8 * ALL
    expected = ((0.06 * states) ** 2 + (0.3 * (found.need - states)) ** 2) ** 0.5
    assert found.band == round(expected)


@pytest.mark.parametrize(("mode", "own", "more"), [("zero-3", 0.3, 0.3), ("zero-3", 0.8, 0)])
def test_what_zero_3_gathers_is_known_within_60_percent(mode, own, more):
    row = ROW._replace(uncertainty=own)
    error = sizer._error(1_000, 500, 3_000, row, mode)
    assert error == round(((0.06 * 1_000) ** 2 + (own * 2_000 + more * 500) ** 2) ** 0.5)
    alone = sizer._error(1_000, 500, 3_000, row, "fsdp")
    assert alone == round(((0.06 * 1_000) ** 2 + (own * 2_000) ** 2) ** 0.5)


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [
        (-51, Verdict.DOES_NOT_FIT),
        (-50, Verdict.TIGHT),
        (-1, Verdict.TIGHT),
        (0, Verdict.TIGHT),
        (GIB - 1, Verdict.TIGHT),
        (GIB, Verdict.FITS),
    ],
)
def test_the_verdict_has_the_error_and_a_headroom(margin, verdict):
    """A GiB is left, where neither the error nor a twentieth of the GPU is more."""
    found, reasons = sizer._judge(4 * GIB, margin, 50)
    assert found is verdict
    assert len(reasons) == (verdict is not Verdict.FITS)


def test_the_verdict_says_its_figures():
    beyond = sizer._judge(4 * GIB, -3 * GIB, GIB)[1][0]
    assert beyond.startswith("needs 3.0 GiB more than the 4.0 GiB")
    within = sizer._judge(4 * GIB, -GIB, 2 * GIB)[1][0]
    assert within.startswith("needs 1.0 GiB more than there is, within the error of 2.0 GiB")
    assert sizer._judge(4 * GIB, GIB, 2 * GIB)[1][0] == "only 1.0 GiB of 4.0 GiB are left"


def test_bounds_below_a_run_are_12_percent_under_what_it_keeps(catalog):
    """Twice the error of 6 %; of the leanest mode: FSDP shares 16 bytes of each parameter."""
    run = training(catalog)
    assert run.states(Layout()) == 8 * ALL
    assert run.floor(Layout()) == int(0.88 * 8 * ALL)
    assert run.states(Layout(dp=4)) == 16 * ALL / 4
    assert run.floor(Layout(dp=4)) == int(0.88 * 4 * ALL)
    assert run.states(Layout(dp=4)) == 16 * ALL / 4
    assert run.least() == pytest.approx(0.88 * 8 * ALL)


def test_the_bound_of_all_gpus_is_of_the_leanest_mode(catalog):
    """Whole copies keep 16 bytes where a trainer has no narrow weights; a declared mode its own."""
    wide = training(catalog, row={"plain_recipe": "full", "fsdp_recipe": "pure"})
    assert wide.least() == pytest.approx(0.88 * 8 * ALL)
    zero = training(catalog, sharding="zero-1")
    assert zero.least() == pytest.approx(0.88 * 16 * ALL)
    adapted = training(catalog, method="lora")
    assert adapted.least() == pytest.approx(0.88 * (2 * ALL + 16 * 16 * 3_744))


def test_bounds_of_stages(catalog):
    """The first of two stages has half of the layers and the table; seven are one too many."""
    run = training(catalog)
    assert run.states(Layout(pp=2)) == 8 * (4_000 + 41_280 + 260)
    assert run.floor(Layout(pp=6)) == int(0.88 * 8 * (4_000 + 13_760 + 520 / 6))
    assert run.states(Layout(pp=7)) == run.floor(Layout(pp=7)) == 0


def test_what_is_not_known_has_no_bounds(catalog):
    unknown = PEBBLE._replace(known=False, unknown_reason="")
    run = Training(declared(), unknown, catalog)
    assert run.setup is None
    assert (run.states(Layout()), run.floor(Layout()), run.least()) == (0, 0, 0)
    found = measured(run)
    assert (found.verdict, found.need) == (Verdict.UNKNOWN, None)
    assert found.reasons == ("architecture of pebble: its layers are not known",)


@pytest.mark.parametrize("layout", [{"tp": 2}, {"pp": 2}, {"dp": 2, "ep": 2}])
def test_trainers_of_copies_alone_cut_nothing(catalog, layout):
    run = training(catalog, row={"splits": "data"})
    found = measured(run, **layout)
    assert found.verdict is Verdict.UNKNOWN
    assert found.reasons[0].startswith("small is sized with copies alone, not at ")
    assert measured(training(catalog), **layout).verdict is Verdict.FITS
    assert measured(run, dp=2).verdict is Verdict.FITS


def test_sequences_are_shared_where_the_trainer_can(catalog):
    alone = training(catalog, row={"shares_sequences": False})
    assert measured(alone, cp=2).reasons == (
        "small shares no sequences among ranks, as tp=1 cp=2 does",
    )
    assert measured(alone, cp=1).verdict is Verdict.FITS
    assert measured(training(catalog), cp=2).verdict is Verdict.FITS


def test_there_are_no_more_stages_than_layers(catalog):
    run = training(catalog)
    assert measured(run, pp=6).verdict is Verdict.FITS
    assert measured(run, pp=7).reasons == ("7 stages are more than the model has layers",)


def test_modes_are_tried_from_the_one_that_moves_least(catalog):
    run = training(catalog)
    assert run.modes(Layout()) == ("none",)
    assert run.modes(Layout(dp=2)) == run.modes(Layout(cp=2)) == ("ddp", "fsdp")
    assert run.modes(Layout(pp=2)) == ("none",)
    assert training(catalog, sharding="zero-2").modes(Layout()) == ("zero-2",)
    spread = training(catalog, row={"zero_recipe": "mixed-fp32-gradients"})
    assert spread.modes(Layout(dp=2)) == ("zero-1", "fsdp")
    assert spread.modes(Layout(dp=2, pp=2)) == ("zero-1",)
    assert spread.modes(Layout(pp=2)) == ("none",)
    spread.setup = None
    assert spread.modes(Layout(dp=2)) == ("ddp", "fsdp")


def large(catalog: Any, **more: Any) -> Training:
    """A billion times the parameters: 3.6 GB with two 16-bit moments on one GPU."""
    body, ends = 400_000_000, 20_000_000
    return training(
        catalog,
        PEBBLE._replace(
            linear_params=body, embedding_params=ends, head_params=ends, other_params=10_000_000
        ),
        row={"fsdp_recipe": "pure"},
        **more,
    )


def test_the_first_mode_that_fits_is_taken(catalog):
    """450 M parameters of 8 bytes and 2 of a bucket: 4.5 GB whole, a quarter of 3.6 GB shared."""
    run = large(catalog)
    assert measured(run, 16 * GIB, dp=4).sharding == "ddp"
    assert measured(run, 5 * GIB, dp=4).sharding == "fsdp"
    assert measured(run, 3 * GIB, dp=4).sharding == "fsdp"
    assert measured(run, 1 * GIB, dp=4).verdict is Verdict.DOES_NOT_FIT
    said = {item.field: item for item in measured(run, 16 * GIB, dp=4).assumptions}
    assert said["sharding.mode"].value == "ddp"
    assert said["sharding.mode"].why == "not declared: ddp where a whole copy fits, else fsdp"
    assert "sharding.mode" not in {item.field for item in measured(run, 16 * GIB).assumptions}
    named = measured(large(catalog, sharding="ddp"), 16 * GIB, dp=4)
    assert "sharding.mode" not in {item.field for item in named.assumptions}


def test_a_mode_whose_states_are_as_large_as_the_gpu_is_looked_at(catalog):
    """Only what is larger is left out at once; both are worded by the last mode."""
    run = large(catalog)
    states = 8 * 450_000_000
    for usable in (states - 1, states):
        assert measured(run, usable, dp=4).sharding == "fsdp"


def test_experts_fit_beside_the_rest(catalog):
    """Mixed precision of a dense part and experts: each by its own copies."""
    run = training(catalog, GRAVEL, row={"zero_recipe": "mixed-fp32-gradients"})
    found = measured(run, dp=4, ep=2)
    assert found.sharding == "zero-1"
    expected = 12 * (59_000 / 4 + 14_400 / 2)
    assert found.term(Term.OPTIMIZER_STATES) == pytest.approx(expected, abs=1)


def test_a_sequence_may_be_longer_than_the_model_reads(catalog):
    found = measured(training(catalog, sequenceLength=9_000))
    assert found.limit == 9_000
    silent = measured(training(catalog, PEBBLE._replace(max_position=None)))
    assert silent.limit == 128
