"""A rank that generates tokens, every term of it counted by hand on a row of round numbers."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.architecture import AttentionGroup
from gpusize.memory import setup
from gpusize.memory.result import Term, Verdict
from gpusize.memory.runtime import Device
from gpusize.memory.serving import Serving
from gpusize.placement import Layout
from gpusize_catalog.units import GIB, KIB, MIB
from tests.unit.memory.toys import DENSE, EXPERTS, LATENT, LINEAR, MOE, OTHER, ROTARY

H100 = Device(80 * GIB, (9, 0), True)
TOKEN = 4 * 2 * 2 * 32 * 2
"""Bytes of one token of the dense model in the cache."""
ENDS = 2 * 2 * 128 * 256
WEIGHTS = ENDS + 2 * (LINEAR + OTHER) + ROTARY
FORWARD = 2048 * 2 * (3 * 512 + 4 * 256)
GRAPHS = 11 * 4 * 400 * KIB
"""Sizes 1, 2, 4 and eight more up to 64, of 4 layers."""
ROW: dict[str, Any] = {
    "version_from": "",
    "version_before": "",
    "memory_fraction": 0.9,
    "context_mib": 100,
    "runtime_mib": 200,
    "pcie_mib": 10,
    "nvlink_pair_mib": 20,
    "nvlink_group_mib": 30,
    "sampler_bytes": 0,
    "sampler_fallback_bytes": 36,
    "graph_layer_kib": 400,
    "uncertainty": 0.5,
}


class Rows:
    """The catalog with one engine's row in place of all, and no late buffers."""

    def __init__(self, catalog, row) -> None:
        self.catalog, self.row = catalog, row

    def engines(self, _name):
        return (self.row,)

    def __getattr__(self, name):
        return getattr(self.catalog, name)


@pytest.fixture
def serving(catalog, engine, declare):
    """The sizer of a model; `row` changes the engine's row, `declared` what is said of it."""

    def build(model=DENSE, row=None, declared=None, context=1000, **fields) -> Serving:
        known = engine("vllm", "0.19.0")._replace(**{**ROW, **(row or {})})
        own = {"name": "vllm", "maxBatchedTokens": 2048, "maxSequences": 32, **(declared or {})}
        workload = declare("meta-llama/Llama-3.1-8B", context, engine=own, **fields)
        return Serving(workload, model, Rows(catalog, known))

    return build


def terms(fit) -> dict[str, int]:
    return {term.value: size for term, size in fit.terms}


def test_one_rank_is_the_sum_of_its_terms(serving):
    fit = serving().measure(H100, Layout())
    cache = 1008 * TOKEN
    assert terms(fit) == {
        "weights": WEIGHTS,
        "kv-cache": cache,
        "activations": FORWARD,
        "runtime-overhead": 200 * MIB,
    }
    taken = WEIGHTS + FORWARD + 200 * MIB
    assert (fit.need, fit.budget) == (taken + cache, int(80 * GIB * 0.9))
    assert fit.kv_pool == fit.budget - taken
    squares = (WEIGHTS * 0.004) ** 2 + ((taken - WEIGHTS) * 0.5) ** 2 + (cache * 0.005) ** 2
    assert fit.band == round(squares**0.5)
    assert (fit.context_length, fit.limit, fit.running, fit.dp) == (1000, 1000, 32, 1)
    assert (fit.state_block, fit.host, fit.sharding, fit.output) == (0, 0, "", None)
    assert fit.verdict is Verdict.FITS


def test_the_longest_context_is_the_models_or_what_is_declared(serving):
    assert serving(context=500).measure(H100, Layout()).limit == 1000
    assert serving(context=2000).measure(H100, Layout()).limit == 2000
    bare = DENSE._replace(max_position=None)
    assert serving(bare, context=500).measure(H100, Layout()).limit == 500


def test_what_counts_in_the_budget_depends_on_the_engine(serving):
    within = serving(row={"graphs_in_budget": True}).measure(H100, Layout())
    assert terms(within)["cuda-graphs"] == GRAPHS
    assert within.need == serving().measure(H100, Layout()).need + GRAPHS
    eager = serving(row={"graphs_in_budget": True}, declared={"eager": True})
    assert "cuda-graphs" not in terms(eager.measure(H100, Layout()))
    outside = serving(row={"activations_in_budget": False}).measure(H100, Layout())
    assert "activations" not in terms(outside)


@pytest.mark.parametrize(
    ("layout", "mib"),
    [
        (Layout(tp=2), 20),
        (Layout(tp=4), 30),
        (Layout(dp=4), 0),
        (Layout(dp=2, ep=2), 20),
        (Layout(tp=2, dp=2, ep=4), 30),
    ],
)
def test_ranks_that_share_layers_or_experts_hold_buffers(serving, layout, mib):
    fit = serving(MOE).measure(H100, layout)
    assert terms(fit).get("communication", 0) == mib * MIB


def test_the_worst_stage_is_the_one_with_least_room(serving):
    """Of two stages the last samples; the first alone has a tower."""
    sampling = {"sampler_bytes": 12}
    wide = DENSE._replace(vocab=100_000)
    last = serving(wide, row=sampling).measure(H100, Layout(pp=2))
    hidden = 2 * 2048 * 256 * 2
    assert terms(last)["activations"] == hidden + 32 * 100_000 * 14
    assert terms(last)["kv-cache"] == 1008 * TOKEN // 2
    seeing = DENSE._replace(vision_params=8_000, vision_heads=1)
    first = serving(seeing).measure(H100, Layout(pp=2))
    tower = 16_000
    assert terms(first)["weights"] == ENDS // 2 + LINEAR + 1000 + tower + ROTARY


def test_more_stages_than_layers_are_no_layout(serving):
    whole = serving().measure(H100, Layout(pp=4))
    assert whole.verdict is Verdict.FITS
    fit = serving().measure(H100, Layout(pp=5))
    assert fit.verdict is Verdict.UNKNOWN
    assert fit.reasons == ("5 stages are more than the model has layers",)


def test_engines_that_give_each_gpu_whole_layers_have_stages(serving):
    layers = serving(row={"splits": "layers"}).measure(H100, Layout(tp=2, pp=2))
    assert layers.terms == serving().measure(H100, Layout(pp=4)).terms


def test_a_stage_without_a_sampler_has_no_sequences(serving):
    wide = DENSE._replace(vocab=100_000, vision_params=10**8, other_params=10**8 + 9000)
    row = {"sampler_bytes": 12, "tower_mib": 0, "patch_kib": 0}
    fit = serving(wide, row=row).measure(H100, Layout(pp=4))
    assert terms(fit)["activations"] == FORWARD, "the first stage is the worst, for its tower"


def test_gpus_without_the_kernels_sort_to_sample(serving):
    wide = DENSE._replace(vocab=100_000)
    row = {"sampler_bytes": 12}
    hidden = 2 * 2048 * 256 * 2
    sizes = [
        terms(
            serving(wide, row=row, weightsFormat="fp16").measure(
                H100._replace(capability=capability), Layout()
            )
        )["activations"]
        for capability in ((7, 5), (8, 0), None)
    ]
    assert sizes == [hidden + 32 * 100_000 * each for each in (38, 14, 14)]


# What is loaded beside the model


def weights_of(sizer: Serving, **layout: int) -> int:
    return terms(sizer.measure(H100, Layout(**layout)))["weights"]


def test_adapters_and_drafts_are_loaded_too(serving):
    whole, cut = 7 * 256, 2 * 256 + 128 + 3 * 512
    slots = serving(declared={"loraAdapters": 2})
    assert weights_of(slots) == WEIGHTS + 2 * 16 * (whole + cut) * 4 * 2
    assert weights_of(slots, tp=2) == weights_of(serving(), tp=2) + 2 * 16 * (whole + cut // 2) * 8
    own = serving(MOE._replace(mtp_layers=2), declared={"speculative": "mtp"})
    draft = 2 * (EXPERTS + LINEAR) // 4 * 2
    assert weights_of(own) == weights_of(serving(MOE)) + draft
    assert weights_of(serving(MOE._replace(mtp_layers=2))) == weights_of(serving(MOE))


def test_own_draft_layers_are_on_the_last_stage(serving):
    model = MOE._replace(mtp_layers=2)
    drafts = serving(model, declared={"speculative": "mtp"})
    draft = 2 * (EXPERTS + LINEAR) // 4 * 2
    assert weights_of(drafts, pp=4) == weights_of(serving(model), pp=4) + draft


def test_a_separate_draft_is_shared_by_the_ranks(serving, catalog):
    name = "Qwen/Qwen2.5-0.5B"
    params = catalog.find_model(name).total_params
    for tp in (1, 2, 4):
        plain = weights_of(serving(), tp=tp)
        assert weights_of(serving(declared={"speculative": name}), tp=tp) == (
            plain + params * 2 // tp
        )
    for word in ("ngram", "none"):
        assert weights_of(serving(declared={"speculative": word})) == WEIGHTS


def test_offload_leaves_nothing_or_more(serving):
    part = 4 * MIB / GIB
    assert weights_of(serving(declared={"cpuOffloadGib": part})) == WEIGHTS - 4 * MIB
    assert weights_of(serving(declared={"cpuOffloadGib": 100})) == 0


# The fraction


def test_a_declared_fraction_counts_and_then_the_engines_own(serving):
    assert serving().measure(H100, Layout()).budget == int(80 * GIB * 0.9)
    half = serving(declared={"memoryFraction": 0.5}).measure(H100, Layout())
    assert half.budget == 40 * GIB
    reserved = {"memory_fraction": None, "reserve_mib": 8192, "reserve_gpu_mib": 1024}
    assert serving(row=reserved).measure(H100, Layout(tp=2)).budget == 70 * GIB
    all_of_it = {"memory_fraction": None, "reserve_mib": None, "budget_of": "all"}
    assert serving(row=all_of_it).measure(H100, Layout()).budget == 80 * GIB - 100 * MIB


NEIGHBORS = {"neighbors": [{"name": "one", "memoryGib": 20}]}


def test_neighbors_lower_a_fraction_that_is_not_declared(serving):
    found = serving(**NEIGHBORS).measure(H100, Layout())
    assert found.budget == int(80 * GIB * 0.74), "60 GiB less 100 MiB, in hundredths"
    small = serving(neighbors=[{"name": "one", "memoryGib": 1}]).measure(H100, Layout())
    assert small.budget == int(80 * GIB * 0.9)
    told = serving(declared={"memoryFraction": 0.9}, **NEIGHBORS).measure(H100, Layout())
    assert told.budget == int(80 * GIB * 0.9)


@pytest.mark.parametrize(
    ("budget_of", "budget"),
    [("free", 54.0), ("all", 60.0)],
)
def test_neighbors_lessen_what_is_free(serving, budget_of, budget):
    fraction = {} if budget_of == "free" else {"memory_fraction": None, "reserve_mib": None}
    row = {"budget_of": budget_of, "context_mib": 0, **fraction}
    found = serving(row=row, **NEIGHBORS).measure(H100, Layout())
    assert found.budget == budget * GIB
    crowd = serving(row=row, neighbors=[{"name": "one", "memoryGib": 90}])
    assert crowd.measure(H100, Layout()).budget == 0


def assumed(fit, field: str) -> tuple[str, str] | None:
    return next(((one.value, one.why) for one in fit.assumptions if one.field == field), None)


def test_what_was_taken_for_granted_is_said_with_its_reason(serving):
    fit = serving(declared={"version": "0.19.0"}).measure(H100, Layout())
    why = "not declared: the default of vllm 0.19.0"
    assert assumed(fit, "engine.memoryFraction") == ("0.9", why)
    assert assumed(fit, "engine.maxSequences") is None
    less = serving(**NEIGHBORS).measure(H100, Layout())
    assert assumed(less, "engine.memoryFraction") == (
        "0.74",
        "not declared: what the neighbors leave",
    )
    same = serving(neighbors=[{"name": "one", "memoryGib": 1}]).measure(H100, Layout())
    assert "the default of" in assumed(same, "engine.memoryFraction")[1]
    all_of_it = {"memory_fraction": None, "reserve_mib": None, "budget_of": "all"}
    assert assumed(serving(row=all_of_it).measure(H100, Layout()), "engine.memoryFraction") is None


# How many sequences the cache is laid out for


@pytest.mark.parametrize(
    ("reserves", "declared", "sequences"),
    [
        ("one", {}, 1),
        ("all", {}, 32),
        ("all", {"memoryFraction": 0.9}, 32),
        ("all-unless-fraction", {}, 32),
        ("all-unless-fraction", {"memoryFraction": 0.9}, 1),
    ],
)
def test_some_engines_lay_out_the_cache_of_all_sequences(serving, reserves, declared, sequences):
    fit = serving(row={"reserves": reserves}, declared=declared).measure(H100, Layout())
    assert fit.term(Term.KV_CACHE) == sequences * 1008 * TOKEN


STATE = AttentionGroup("mamba", 2, state_elements=1000, conv_elements=300)
HYBRID = DENSE._replace(attention=(DENSE.attention[0]._replace(layers=2), STATE))


def test_a_state_is_apart_from_the_cache(serving):
    row = {"cache_layout": "preallocated", "reserves": "all"}
    fit = serving(HYBRID, row=row).measure(H100, Layout())
    assert fit.term(Term.RECURRENT_STATE) == 32 * 2 * 4600
    assert fit.term(Term.KV_CACHE) == 32 * 1008 * TOKEN // 2
    assert fit.need == sum(size for _, size in fit.terms)


@pytest.mark.parametrize(
    ("model", "row", "declared", "asked"),
    [
        (HYBRID, {"state_blocks": True}, {}, True),
        (HYBRID, {"state_blocks": True}, {"eager": True}, False),
        (HYBRID, {"state_blocks": None}, {}, False),
        (HYBRID, {"state_blocks": False}, {}, False),
        (DENSE, {"state_blocks": True}, {}, False),
    ],
)
def test_an_engine_may_ask_for_a_block_of_state_each(serving, model, row, declared, asked):
    fit = serving(model, row=row, declared=declared).measure(H100, Layout())
    assert fit.state_block == (fit.cache.unit if asked else 0)


# Below what no GPU can be


def test_the_floor_is_weights_and_one_sequence_less_their_error(serving):
    cache = 1008 * TOKEN
    error = round(((WEIGHTS * 0.004) ** 2 + (cache * 0.005) ** 2) ** 0.5)
    sizer = serving()
    assert sizer.floor(Layout()) == WEIGHTS + cache - error
    assert sizer.least() == 0.8 * sizer.floor(Layout())
    assert serving(declared={"cpuOffloadGib": 0.001}).least() == 0


def test_the_floor_of_stages_is_that_of_the_largest(serving):
    seeing = DENSE._replace(vision_params=8_000, vision_heads=1)
    first = ENDS // 2 + LINEAR + 1000 + 16_000 + ROTARY
    cache = 1008 * TOKEN // 2
    error = round(((first * 0.004) ** 2 + (cache * 0.005) ** 2) ** 0.5)
    assert serving(seeing).floor(Layout(pp=2)) == first + cache - error
    assert serving(seeing, row={"splits": "layers"}).floor(Layout(tp=2)) == first + cache - error
    assert serving().floor(Layout(pp=5)) == 0
    assert serving().floor(Layout(pp=4)) > 0


def test_what_is_not_known_has_no_floor(serving):
    sizer = serving(DENSE._replace(native_format=None))
    assert (sizer.floor(Layout()), sizer.least()) == (0, 0)
    assert sizer.measure(H100, Layout()).verdict is Verdict.UNKNOWN


# What kernels take late


def test_late_buffers_must_have_room_beside_the_budget(serving, catalog):
    late = next(
        row.late_mib for row in catalog.kernels("mxfp4", "vllm") if row.late_mib is not None
    )
    assert late > 0
    sizer = serving(MOE, weightsFormat="mxfp4", declared={"version": "0.19.0"})
    known = sizer.setup
    assert known is not None
    assert sizer._extra(known, (9, 0)) == (round(late * MIB), 0)
    assert sizer._extra(known, None) == (0, 0)
    plain = serving()
    assert plain._extra(plain.setup, (9, 0)) == (0, 0)


def test_a_kernel_that_is_not_tabled_is_a_question(serving):
    sizer = serving(weightsFormat="gguf-q4_0", row={"engine": "tgi"})
    found = sizer.measure(H100, Layout())
    assert found.verdict is Verdict.UNKNOWN
    (reason,) = found.reasons
    assert reason.startswith("whether tgi ")
    assert reason.endswith("runs gguf-q4_0 weights on compute capability 9.0 is not known")


# What is resolved once


def test_a_setup_says_what_it_took(serving):
    sizer = serving(weightsFormat="fp32")
    known = sizer.setup
    assert known is not None
    assert (known.number, known.cache_bits, known.draft_params) == (4, 32, 0)
    assert ("kvCacheFormat", "32-bit", "not declared: as computed") in sizer.assumptions
    assert not any(one.field == "weightsFormat" for one in sizer.assumptions)
    narrow = serving(kvCacheFormat="fp8")
    assert narrow.setup is not None and narrow.setup.cache_bits == 8
    assert not any(one.field == "kvCacheFormat" for one in narrow.assumptions)
    assert ("weightsFormat", "bf16", "not declared: the checkpoint's own") in narrow.assumptions
    assert sizer.constants == ("vllm (any version)",)


@pytest.mark.parametrize(
    ("model", "fields", "problem"),
    [
        (DENSE._replace(native_format=None), {}, "format of the weights of toy is not known"),
        (DENSE._replace(known=False), {}, "architecture of toy: its layers are not known"),
        (
            DENSE._replace(known=False, unknown_reason="odd"),
            {},
            "architecture of toy: odd",
        ),
        (
            DENSE._replace(attention=(AttentionGroup("csa", 4, 128, 1, 512),)),
            {"row": {"cache_layout": "paged"}},
            "how vllm packs a compressed cache is not known",
        ),
        (LATENT._replace(attention=(AttentionGroup("odd", 4),)), {}, "kind odd is not modelled"),
    ],
)
def test_problems_are_named(serving, model, fields, problem):
    found = serving(model, **fields)
    assert any(problem in each for each in found.problems), found.problems


def test_a_known_model_has_no_problems(serving):
    for model in (DENSE, MOE, LATENT, HYBRID):
        assert serving(model).problems == []
    grouped = DENSE._replace(attention=(AttentionGroup("csa", 4, 128, 1, 512),))
    assert serving(grouped, row={"cache_layout": "grouped"}).problems == []


def test_names_of_widths_are_those_of_numbers():
    assert setup.FULL_NAMES == {8: "8-bit", 16: "16-bit", 32: "32-bit"}


# What an engine lays out at start, and what neighbors leave


def test_a_cache_is_as_long_as_what_the_engine_reserves(serving):
    short = serving(row={"reserved_tokens": 4000}).measure(H100, Layout())
    assert dict(short.terms)[Term.KV_CACHE] == 4000 * TOKEN
    long = serving(row={"reserved_tokens": 160}).measure(H100, Layout())
    assert dict(long.terms)[Term.KV_CACHE] == 63 * 16 * TOKEN


@pytest.mark.parametrize(
    ("fraction", "held", "verdict"),
    [(0.9, 0, Verdict.FITS), (0.9, 7.9, Verdict.FITS), (0.9, 7.91, Verdict.TIGHT)],
)
def test_a_declared_share_must_be_free_beside_neighbors(serving, fraction, held, verdict):
    """A tenth of 80 GiB is 8 GiB, of which the engine's context takes 100 MiB."""
    around = [{"name": "others", "memoryGib": held}] if held else []
    sizer = serving(declared={"memoryFraction": fraction, "eager": True}, neighbors=around)
    found = sizer.measure(H100, Layout())
    assert found.verdict is verdict
    told = any("neighbors leave" in reason for reason in found.reasons)
    assert told is (verdict is Verdict.TIGHT)


def test_a_share_that_is_not_declared_is_what_neighbors_leave(serving):
    around = [{"name": "others", "memoryGib": 20}]
    found = serving(neighbors=around).measure(H100, Layout())
    assert not any("neighbors leave" in reason for reason in found.reasons)
