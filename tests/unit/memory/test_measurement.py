"""What was measured, in place of the estimate: where it holds, and what follows from it."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from gpusize.explain_data import fit_data
from gpusize.memory.fit import Sizing
from gpusize.memory.measured import (
    OVERHEAD_ERROR,
    PEAK_ERROR,
    Software,
    Taken,
    rank_of,
    software_of,
)
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.memory.runtime import Parts
from gpusize.memory.serving_rank import Rank
from gpusize.resolve import resolve
from gpusize.resolving.changes import _changed
from gpusize.resolving.study import Study
from gpusize.workload import Workload, parse_workload
from gpusize_catalog.units import GIB

DAY = datetime.date(2026, 11, 30)
WHERE = {"date": "2026-11-01", "source": "log"}
ON_L4 = {"gpu": "L4", "engine": "vllm@0.20.1", "weightsGib": 14.99, "overheadGib": 1.5, **WHERE}
SERVING = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "engine": "vllm@0.20.3",
    "contextLength": 8192,
    "region": "us-east-1",
}
LORA = {
    "kind": "fine-tuning",
    "method": "lora",
    "model": "meta-llama/Llama-3.1-8B",
    "trainer": "hf",
    "sequenceLength": 2048,
    "recompute": "full",
    "region": "us-east-1",
}
PICTURES = {
    "kind": "serving",
    "modality": "image",
    "model": "black-forest-labs/FLUX.1-dev",
    "width": 1024,
    "height": 1024,
    "region": "us-east-1",
}
TEXTS = {
    "kind": "serving",
    "modality": "embedding",
    "model": "Qwen/Qwen3-Embedding-8B",
    "contextLength": 512,
    "batch": 16,
    "region": "us-east-1",
}


def declared(base: dict[str, Any], *measured: dict[str, Any], **more: Any) -> Workload:
    return parse_workload({**base, "measured": list(measured), **more})


@pytest.fixture
def study(catalog):
    def build(base: dict[str, Any], *measured: dict[str, Any], **more: Any) -> Study:
        return Study(declared(base, *measured, **more), catalog, today=DAY)

    return build


@pytest.fixture
def fit(study, place):
    def sized(
        base: dict[str, Any], *measured: dict[str, Any], on: str = "g6.xlarge", **layout: int
    ) -> Fit:
        found: Fit = study(base, *measured).sizing.fit(place(on, **layout))
        return found

    return sized


@pytest.fixture
def why(study, place):
    def told(
        base: dict[str, Any], *measured: dict[str, Any], on: str = "g6.xlarge", **layout: int
    ) -> tuple[str, ...]:
        found = study(base, *measured).sizing.measurement(place(on, **layout))
        assert found is not None
        differences: tuple[str, ...] = found.differences
        return differences

    return told


def test_terms_of_an_engine_are_as_measured_and_the_cache_is_computed(fit):
    """Of 22,563 MiB x 0.92 the cache gets what 14.99 and 1.5 GiB leave."""
    found, estimated = fit(SERVING, ON_L4), fit(SERVING)
    taken = round(14.99 * GIB) + round(1.5 * GIB)
    assert found.term(Term.WEIGHTS) == round(14.99 * GIB)
    assert found.budget == estimated.budget == int(22_563 * 2**20 * 0.92)
    assert found.kv_pool == found.budget - taken
    assert found.term(Term.KV_CACHE) == estimated.term(Term.KV_CACHE) == GIB
    assert found.need == taken + GIB == sum(size for _, size in found.terms)
    assert found.sequences == pytest.approx(found.kv_pool / GIB, abs=0.01)
    assert found.band <= estimated.band
    assert (found.measured, estimated.measured) == ("L4, 2026-11-01", "")


def test_the_doubt_of_a_measured_overhead_is_its_own_or_the_estimates(fit):
    """The cache of this model has no error; a large overhead is no surer than the estimate."""
    small = fit(SERVING, {**ON_L4, "overheadGib": 0.5})
    assert small.band == pytest.approx(OVERHEAD_ERROR * 0.5 * GIB, rel=0.001)
    large = fit(SERVING, {**ON_L4, "overheadGib": 3.0})
    assert large.band == fit(SERVING).band < OVERHEAD_ERROR * 3 * GIB


def test_the_doubt_of_the_cache_stays_beside_it(catalog):
    """300 of 1,000 bytes of overhead and 4 % of 10,000 of cache: 500, as 3 and 4 make 5."""
    (row,) = [one for one in catalog.engines("vllm") if one.version_from == "0.20.0"]
    parts = Parts(5_000, 100, 40, 200, 60, 0, graphs_in_budget=True)
    rank = Rank(parts, 5_400, SimpleNamespace(error=0.04), 10_000, (), 10**6)
    found = rank_of(rank, row, Taken(4_800, 1_000, 0), 2_000)
    assert found.error == 500
    assert found.taken == 5_800
    assert found.parts == Parts(4_800, 250, 100, 500, 150, 0, graphs_in_budget=True)
    assert dict(found.terms)[Term.KV_CACHE] == 8_000
    assert dict(found.terms)[Term.RECURRENT_STATE] == 2_000
    assert rank_of(rank._replace(error=499), row, Taken(4_800, 1_000, 0), 0).error == 499


def test_the_overhead_is_told_apart_as_the_estimate_tells_it(fit):
    parts = (Term.ACTIVATIONS, Term.CUDA_GRAPHS, Term.RUNTIME_OVERHEAD)
    found, estimated = fit(SERVING, ON_L4), fit(SERVING)
    whole = sum(estimated.term(term) for term in parts)
    for term in parts:
        share = estimated.term(term) / whole
        assert found.term(term) == pytest.approx(1.5 * GIB * share, abs=2)


@pytest.mark.parametrize("engine", ["vllm@0.20.3", "sglang@0.5.9", "lmdeploy@0.9.0", "llama.cpp"])
def test_what_lies_outside_an_engines_budget_stays_as_estimated(study, place, engine):
    """An engine that keeps activations outside has its weights and fixed parts measured alone."""
    sizing = study({**SERVING, "engine": engine, "weightsFormat": "fp8"}).sizing
    estimated = sizing.fit(place("g6e.xlarge"))
    if estimated.verdict is Verdict.UNKNOWN:
        pytest.skip("no kernels are known")
    cache = estimated.term(Term.KV_CACHE)
    name = engine if "@" in engine else f"{engine}@b9999"
    one = {
        "gpu": "L40S",
        "engine": name,
        "weightsGib": estimated.term(Term.WEIGHTS) / GIB,
        "overheadGib": (estimated.need - cache - estimated.term(Term.WEIGHTS)) / GIB,
        **WHERE,
    }
    same = study({**SERVING, "engine": engine, "weightsFormat": "fp8"}, one).sizing
    found = same.fit(place("g6e.xlarge"))
    assert found.measured == "L40S, 2026-11-01"
    assert found.terms == estimated.terms
    assert (found.need, found.budget, found.kv_pool) == (
        estimated.need,
        estimated.budget,
        estimated.kv_pool,
    )


@pytest.mark.parametrize(
    ("base", "on", "one"),
    [
        (LORA, "g6e.xlarge", {"gpu": "L40S", "trainer": "hf"}),
        (PICTURES, "g6e.xlarge", {"gpu": "L40S"}),
        (TEXTS, "g6.xlarge", {"gpu": "L4"}),
    ],
)
def test_a_peak_is_the_need_and_what_is_estimated_makes_up_for_it(fit, base, on, one):
    estimated = fit(base, on=on)
    for more in (-GIB // 2, 0, GIB):
        peak = estimated.need + more
        found = fit(base, {**one, "peakGib": peak / GIB, **WHERE}, on=on)
        assert found.need == peak == sum(size for _, size in found.terms)
        assert found.budget == estimated.budget
        assert found.margin == estimated.margin - more
        assert found.band == min(estimated.band, round(PEAK_ERROR * peak))
        for term in (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES):
            assert found.term(term) == estimated.term(term)
        if not more:
            assert found.terms == estimated.terms
            assert (found.kv_pool, found.output) == (estimated.kv_pool, estimated.output)


def test_what_a_gpu_holds_at_most_follows_from_the_measured_peak(fit):
    one = {"gpu": "L40S", "trainer": "hf", **WHERE}
    estimated = fit(LORA, on="g6e.xlarge")
    lengths = [
        fit(LORA, {**one, "peakGib": estimated.need / GIB + more}, on="g6e.xlarge").longest_context
        for more in (-1.0, 0.0, 4.0)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[1] == estimated.longest_context > lengths[2]


def test_a_peak_is_of_the_mode_of_sharding_that_is_estimated(fit):
    """On less memory copies would share their weights; what was measured ran as it is judged."""
    estimated = fit(LORA, on="g6e.12xlarge", dp=4)
    one = {"gpu": "L40S", "trainer": "hf", "dp": 4, "peakGib": 43, **WHERE}
    found = fit(LORA, one, on="g6e.12xlarge", dp=4)
    assert (found.sharding, found.need) == (estimated.sharding, 43 * GIB) == ("ddp", 43 * GIB)


def test_a_peak_that_exceeds_the_gpu_does_not_fit(fit):
    found = fit(LORA, {"gpu": "L4", "trainer": "hf", "peakGib": 24, **WHERE})
    assert found.verdict is Verdict.DOES_NOT_FIT
    assert found.reasons == ("the measured peak: 2.0 GiB more than the 22.0 GiB of the GPU",)


def test_a_peak_within_the_error_is_tight(fit):
    found = fit(LORA, {"gpu": "L4", "trainer": "hf", "peakGib": 22.1, **WHERE})
    assert found.verdict is Verdict.TIGHT


def test_a_peak_below_what_is_counted_leaves_no_term_negative(fit):
    """Within the error of the states: 15 GiB of bf16 weights, of which 88 % are certain."""
    found = fit(LORA, {"gpu": "L4", "trainer": "hf", "peakGib": 14.5, **WHERE})
    assert found.need == round(14.5 * GIB) == sum(size for _, size in found.terms)
    assert min(size for _, size in found.terms) > 0
    assert found.term(Term.WEIGHTS) < fit(LORA).term(Term.WEIGHTS)


@pytest.mark.parametrize(
    ("base", "one", "floor"),
    [
        (SERVING, {**ON_L4, "weightsGib": 6.0}, "8.5 GiB"),
        (LORA, {"gpu": "L4", "trainer": "hf", "peakGib": 8.0, **WHERE}, "8.0 GiB"),
    ],
)
def test_less_than_is_there_in_any_case_is_not_believed(fit, why, base, one, floor):
    (told,) = why(base, one)
    assert told.startswith(f"{floor} with it are less than the ")
    assert fit(base, one)._replace(cache=None) == fit(base)._replace(cache=None)


def test_where_a_measurement_holds(why):
    assert why(SERVING, ON_L4) == ()
    assert why(SERVING, {**ON_L4, "gpu": "l4", "engine": "VLLM@0.20"}) == ()
    assert why(SERVING, {**ON_L4, "tp": 2}, on="g6.12xlarge", tp=2) == ()
    assert why(SERVING, {**ON_L4, "dp": 4}) == (), "copies do not change a rank that serves"


def test_how_a_measurement_differs(why):
    assert why(SERVING, {**ON_L4, "gpu": "L40S"}) == ("it was measured on L40S, this is L4",)
    (versions,) = why(SERVING, {**ON_L4, "engine": "vllm@0.11.0"})
    assert versions == "it was measured with vllm@0.11.0, this is vllm from 0.20.0 before 0.28.0"
    (engine,) = why(SERVING, {**ON_L4, "engine": "sglang@0.20.1"})
    assert engine.startswith("it was measured with sglang@0.20.1, this is vllm")
    (layout,) = why(SERVING, {**ON_L4, "tp": 2})
    assert layout == "it was measured at tp=2, this is tp=1"
    for size in ("pp", "ep", "cp"):
        (told,) = why(SERVING, {**ON_L4, size: 2})
        assert told == f"it was measured at tp=1 {size}=2, this is tp=1"
    (part,) = why(SERVING, {**ON_L4, "weightsGib": 8.0}, on="g6f.xlarge")
    assert part == "it was measured on a whole GPU, this is 1/8 of one"
    assert len(why(SERVING, {**ON_L4, "engine": "vllm@0.8.0", "tp": 2}, on="g6e.xlarge")) == 3


def test_copies_count_where_they_share_what_is_trained(why):
    one = {"gpu": "L4", "trainer": "hf", "peakGib": 20, **WHERE}
    assert why(LORA, {**one, "dp": 4}, on="g6.12xlarge", dp=4) == ()
    (told,) = why(LORA, one, on="g6.12xlarge", dp=4)
    assert told == "it was measured at tp=1, this is tp=1 dp=4"
    (other,) = why(LORA, {**one, "trainer": "trl"})
    assert other == "it was measured with trl, this is hf"
    assert why(LORA, {**one, "trainer": "hf@4.57"}) == (), "versions of it are not told apart"
    assert why(LORA, {key: one[key] for key in one if key != "trainer"}) == ()


def test_the_nearest_measurement_is_taken_the_newest_of_equals(study, place):
    older = {**ON_L4, "date": "2026-05-01"}
    sizing = study(SERVING, older, {**ON_L4, "gpu": "L40S"}, ON_L4).sizing
    here = sizing.measurement(place("g6.xlarge"))
    assert (here.measurement.gpu, here.measurement.date) == ("L4", "2026-11-01")
    there = sizing.measurement(place("g6e.xlarge"))
    assert (there.measurement.gpu, there.differences) == ("L40S", ())
    assert study(SERVING).sizing.measurement(place("g6.xlarge")) is None


def test_slices_and_whole_gpus_are_kept_apart(study, place):
    """Fits are shared among GPUs of the same memory only where nothing was measured."""
    sizing = study(SERVING, ON_L4).sizing
    measured, other = (sizing.fit(place(name)) for name in ("g6.xlarge", "g5.xlarge"))
    assert (measured.measured, other.measured) == ("L4, 2026-11-01", "")


def test_software_is_a_range_of_versions_that_use_memory_alike():
    row = Software("vllm", "0.20.0", "0.28.0")
    assert row.holds("vllm@0.20.0")
    assert row.holds("vLLM@0.27.9")
    assert not row.holds("vllm@0.28.0")
    assert not row.holds("sglang@0.20.0")
    assert row.holds("vllm")
    assert row.holds(None)
    assert Software("").holds("anything@1")


def test_what_a_sizer_runs_is_its_row(catalog):
    def ran(base: dict[str, Any], **more: Any) -> Software:
        workload = declared(base, **more)
        from gpusize.architecture import architecture_for

        sizing = Sizing(workload, architecture_for(workload, catalog), catalog)
        return software_of(sizing.sizer)

    assert ran(SERVING) == Software("vllm", "0.20.0", "0.28.0")
    assert ran(LORA) == Software("hf")
    assert ran(PICTURES) == ran(TEXTS) == Software("")
    tuned = {**PICTURES, "kind": "fine-tuning", "method": "lora"}
    assert ran(tuned).name == "diffusers"


def test_a_changed_declaration_was_not_measured(study):
    """Where and how it is bought it may change; what it does, not."""
    one = study(SERVING, ON_L4)
    for kept in ({"region": "us-west-2"}, {"tp": 2}, {"instance_type": None}):
        assert _changed(one, one.settings, kept).workload.measured == one.workload.measured
    for gone in ({"weights_format": "fp8"}, {"context_length": 4096, "tp": 2}):
        assert _changed(one, one.settings, gone).workload.measured == ()


def test_an_answer_says_that_it_was_measured(catalog):
    workload = declared(SERVING, ON_L4, instanceType="g6.xlarge")
    resolution = resolve(workload, catalog, today=DAY)
    assert resolution.plan is not None
    first = resolution.plan.reasons[0]
    assert first.startswith("one L4 holds it: 17.5 GiB of 20.3 GiB usable")
    assert first.endswith(", as measured (L4, 2026-11-01)")
    assert fit_data(resolution.candidate.fit)["measured"] == "L4, 2026-11-01"
    plain = resolve(declared(SERVING, instanceType="g6.xlarge"), catalog, today=DAY)
    assert "measured" not in fit_data(plain.candidate.fit)
    assert "measured" not in plain.plan.reasons[0]


def test_a_search_takes_what_was_measured_on_the_gpu_at_hand(catalog):
    """6 GiB of overhead where 1.4 were estimated: the next GPU is as large, and not measured."""
    free = resolve(declared(SERVING), catalog, today=DAY)
    assert (free.plan.gpu, free.plan.instance_type) == ("L4", "g6.xlarge")
    full = resolve(declared(SERVING, {**ON_L4, "overheadGib": 6.0}), catalog, today=DAY)
    assert full.plan.gpu != "L4"
    assert full.candidate.fit.measured == ""


def test_a_measured_peak_opens_a_gpu_that_the_estimate_refuses(catalog):
    one = {"gpu": "L4", "trainer": "hf", "peakGib": 18, **WHERE}
    run = {key: LORA[key] for key in LORA if key != "recompute"} | {"samples": 2000}
    without = resolve(declared(run), catalog, today=DAY)
    assert "g6.xlarge" not in [plan.instance_type for plan in without.runners_up]
    found = resolve(declared(run, one), catalog, today=DAY)
    assert "g6.xlarge" in [plan.instance_type for plan in found.runners_up]
    assert resolve(declared(run, one, instanceType="g6.xlarge"), catalog, today=DAY).plan
    assert resolve(declared(run, instanceType="g6.xlarge"), catalog, today=DAY).plan is None
