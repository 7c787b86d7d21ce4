"""Verdicts, reasons and the figures that others read."""

from __future__ import annotations

import pytest

from gpusize.memory.result import Term, Verdict
from gpusize_catalog.units import GIB

LLAMA_8B = "meta-llama/Llama-3.1-8B"
LLAMA_70B = "meta-llama/Llama-3.1-70B"


def test_a_breakdown_adds_up(sized):
    fit = sized(LLAMA_8B, "g6e.xlarge")
    assert fit.verdict is Verdict.FITS
    assert fit.need == sum(size for _, size in fit.terms)
    assert fit.margin == fit.budget - fit.need
    assert fit.kv_pool == fit.budget - (fit.need - fit.term(Term.KV_CACHE))
    assert fit.term(Term.KV_CACHE) == 8192 * 131072
    assert fit.term(Term.COMMUNICATION) == 0
    assert fit.sequences == pytest.approx(fit.kv_pool / (8192 * 131072), rel=0.001)
    assert fit.sequences_at(8192) == int(fit.sequences)
    assert fit.sequences_at(16) > 400 * fit.sequences
    assert fit.longest_context == 131072
    assert 0 < fit.band < GIB


def test_ranks_that_share_experts_talk_like_those_that_share_tensors(sized):
    model = "Qwen/Qwen3-30B-A3B"
    spread = sized(model, "p5.48xlarge", layout={"dp": 8, "ep": 8})
    split = sized(model, "p5.48xlarge", layout={"tp": 4, "dp": 2})
    copies = sized(model, "p5.48xlarge", layout={"dp": 8})
    assert spread.term(Term.COMMUNICATION) == split.term(Term.COMMUNICATION) > GIB
    assert copies.term(Term.COMMUNICATION) == 0


def test_weights_that_bind_are_named(sized):
    fit = sized(LLAMA_70B, "g6e.xlarge")
    assert fit.verdict is Verdict.DOES_NOT_FIT
    assert fit.reasons[0].startswith("weights alone take 131")
    assert "vllm refuses to start" in fit.reasons[0]
    assert fit.kv_pool < 0
    assert fit.sequences == 0 and fit.longest_context == 0


def test_a_context_that_binds_is_named_with_the_longest_that_fits(sized):
    fit = sized(LLAMA_8B, "g5.xlarge", 131072)
    assert fit.verdict is Verdict.DOES_NOT_FIT
    assert "one sequence of 131072 tokens" in fit.reasons[0]
    assert 0 < fit.longest_context < 131072
    again = sized(LLAMA_8B, "g5.xlarge", fit.longest_context)
    assert again.verdict is not Verdict.DOES_NOT_FIT
    assert again.margin >= 0


def test_a_small_margin_is_tight(sized):
    longest = sized(LLAMA_8B, "g5.xlarge", 131072).longest_context
    fit = sized(LLAMA_8B, "g5.xlarge", longest)
    assert fit.verdict is Verdict.TIGHT
    assert fit.reasons


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm", "refuses to start"),
        ("sglang", "below one request"),
        ("llama.cpp", "moves layers to the host"),
    ],
)
def test_engines_fail_differently(sized, engine, words):
    form = {"weightsFormat": "gguf-q8_0"} if engine == "llama.cpp" else {}
    fit = sized(LLAMA_70B, "g6e.xlarge", engine=engine, **form)
    assert fit.verdict is Verdict.DOES_NOT_FIT
    assert words in fit.reasons[0]


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "lmdeploy"])
def test_weights_beyond_the_gpu_fit_no_engine(sized, engine):
    fit = sized(LLAMA_70B, "g6e.xlarge", engine=engine)
    assert fit.verdict is Verdict.DOES_NOT_FIT
    assert fit.reasons[0].startswith("weights alone take")
    assert fit.kv_pool < 0 and fit.margin < -80 * GIB


def test_defaults_are_echoed(sized):
    fit = sized(LLAMA_8B, "p5.4xlarge")
    taken = {assumption.field: assumption.value for assumption in fit.assumptions}
    assert taken == {
        "engine.version": "0.33.0",
        "weightsFormat": "bf16",
        "kvCacheFormat": "16-bit",
        "engine.memoryFraction": "0.92",
        "engine.maxBatchedTokens": "8192",
        "engine.maxSequences": "1024",
    }
    assert fit.constants == ("vllm 0.28.0..",)


def test_what_an_engine_keeps_outside_its_budget_must_have_room_too(sized):
    engine = {"name": "vllm", "version": "0.19.0", "memoryFraction": 0.99}
    fit = sized("Qwen/Qwen2.5-0.5B", "g6.xlarge", 2048, engine=engine)
    assert fit.verdict is Verdict.TIGHT
    assert "outside its budget" in fit.reasons[-1]
    eager = sized("Qwen/Qwen2.5-0.5B", "p5.4xlarge", 2048, engine={**engine, "eager": True})
    assert eager.verdict is Verdict.FITS


def test_what_is_declared_is_not_assumed(sized):
    engine = {
        "name": "vllm",
        "version": "0.19.0",
        "memoryFraction": 0.95,
        "maxBatchedTokens": 4096,
        "maxSequences": 64,
    }
    fit = sized(LLAMA_8B, "p5.4xlarge", engine=engine, weightsFormat="bf16", kvCacheFormat="fp8")
    assert fit.assumptions == ()
    assert fit.constants == ("vllm 0.17.0..0.20.0",)


@pytest.mark.parametrize(
    ("model", "instance_type", "more", "words"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", "p5.48xlarge", {"engine": "sglang"}, "compressed"),
        (LLAMA_8B, "g4ad.xlarge", {}, "not CUDA"),
        (LLAMA_8B, "g6e.xlarge", {"engine": {"speculative": "no/such-model"}}, "draft model"),
        (LLAMA_8B, "g6e.xlarge", {"engine": "tgi", "weightsFormat": "gguf-q4_0"}, "whether tgi"),
    ],
)
def test_unknown_is_said(sized, model, instance_type, more, words):
    fit = sized(model, instance_type, **more)
    assert fit.verdict is Verdict.UNKNOWN
    assert any(words in reason for reason in fit.reasons), fit.reasons
    assert fit.need is None and fit.margin is None and fit.budget is None
    assert fit.sequences is None and fit.longest_context is None
    assert fit.sequences_at(100) is None


def test_a_gpu_of_unknown_memory_is_unknown(catalog, declare, place):
    from gpusize.memory.fit import fit

    placement = place("g6e.xlarge")
    blank = placement._replace(gpu=placement.gpu._replace(usable_bytes=None))
    found = fit(declare(LLAMA_8B), blank, catalog)
    assert found.verdict is Verdict.UNKNOWN
    assert "usable memory" in found.reasons[0]


def test_an_engine_version_without_a_row_is_unknown(catalog, declare, place):
    from gpusize.architecture import architecture_of
    from gpusize.memory.fit import Sizing

    class Gap:
        """A catalog whose engine table starts at a later version."""

        def engines(self, name):
            return tuple(row for row in catalog.engines(name) if row.version_from)

        def __getattr__(self, name):
            return getattr(catalog, name)

    workload = declare(LLAMA_8B, engine="vllm@0.3.0")
    fit = Sizing(workload, architecture_of(LLAMA_8B, catalog), Gap()).fit(place("g6e.xlarge"))
    assert fit.verdict is Verdict.UNKNOWN
    assert "vllm 0.3.0" in fit.reasons[0]


def test_a_slice_has_its_own_memory(sized):
    whole = sized("Qwen/Qwen2.5-0.5B", "g6.xlarge", 2048)
    part = sized("Qwen/Qwen2.5-0.5B", "g6f.2xlarge", 2048)
    assert part.budget == pytest.approx(whole.budget / 4, rel=0.15)


def test_data_parallel_copies_multiply_the_sequences(sized):
    one = sized(LLAMA_8B, "p5.48xlarge")
    four = sized(LLAMA_8B, "p5.48xlarge", layout={"dp": 4})
    assert four.sequences == pytest.approx(4 * one.sequences)
    assert four.need == one.need
    assert four.dp == 4


def test_latent_attention_does_not_shrink_over_tp(sized):
    two = sized("deepseek-ai/DeepSeek-V2-Lite", "p5.48xlarge", layout={"tp": 2})
    eight = sized("deepseek-ai/DeepSeek-V2-Lite", "p5.48xlarge", layout={"tp": 8})
    assert two.term(Term.KV_CACHE) == eight.term(Term.KV_CACHE)


def test_recurrent_state_is_a_term_of_its_own(sized):
    fit = sized("Qwen/Qwen3.6-35B-A3B", "p5.48xlarge", layout={"tp": 2})
    assert fit.term(Term.RECURRENT_STATE) == 30 * (32 * 128 * 128 * 4 + 8192 * 3 * 2) // 2


def test_the_worst_stage_of_a_pipeline_counts(sized):
    fit = sized(LLAMA_8B, "p5.48xlarge", layout={"pp": 2}, engine="vllm@0.19.0")
    tokens = fit.sequences * 8192
    # logged: 1,075,312 tokens at fraction 0.95, where the last rank's sampler binds
    logged = sized(
        LLAMA_8B,
        "p5.48xlarge",
        layout={"pp": 2},
        engine={"name": "vllm", "version": "0.19.0", "memoryFraction": 0.95},
    )
    assert logged.sequences * 8192 == pytest.approx(1_075_312, rel=0.01)
    assert tokens < logged.sequences * 8192


def test_old_engines_lay_out_the_cache_for_all_sequences(sized):
    engine = {"name": "tensorrt-llm", "version": "0.5", "maxSequences": 192}
    whole = sized("meta-llama/Llama-2-7b-hf", "p4d.24xlarge", 4096, engine=engine)
    paged = sized(
        "meta-llama/Llama-2-7b-hf", "p4d.24xlarge", 4096, engine={**engine, "memoryFraction": 0.9}
    )
    assert whole.verdict is Verdict.DOES_NOT_FIT
    assert paged.verdict is Verdict.FITS


def test_kinds_without_a_sizing_are_unknown(catalog, place):
    from types import SimpleNamespace

    from gpusize.architecture import architecture_of
    from gpusize.memory.fit import Sizing

    training = SimpleNamespace(
        kind=SimpleNamespace(value="post-training"),
        modality=SimpleNamespace(value="text"),
        neighbors=(),
        measured=(),
    )
    fit = Sizing(training, architecture_of(LLAMA_8B, catalog), catalog).fit(place("g6e.xlarge"))
    assert fit.verdict is Verdict.UNKNOWN
    assert "post-training" in fit.reasons[0]


def test_sizing_many_placements_gives_the_same_as_one_by_one(catalog, declare, place):
    from gpusize.architecture import architecture_of
    from gpusize.memory.fit import Sizing, fit

    workload = declare(LLAMA_70B, weightsFormat="fp8")
    sizing = Sizing(workload, architecture_of(LLAMA_70B, catalog), catalog)
    for instance_type, tp in (("p5.48xlarge", 8), ("g6e.48xlarge", 8), ("p4d.24xlarge", 4)):
        placement = place(instance_type, tp=tp)
        assert sizing.fit(placement)[:9] == fit(workload, placement, catalog)[:9]
        assert sizing.fit(placement) is sizing.fit(placement)


@pytest.mark.parametrize(
    ("engine", "word"),
    [
        ({"name": "vllm", "version": "0.19.0"}, "high"),
        ({"name": "vllm", "version": "0.11.0"}, "medium"),
        ({"name": "sglang", "version": "0.5.5"}, "high"),
        ({"name": "tgi", "version": "2.2.0"}, "low"),
    ],
)
def test_confidence_follows_the_error_against_the_budget(sized, engine, word):
    found = sized("meta-llama/Llama-3.1-8B", "p5.4xlarge", engine=engine)
    assert found.confidence == word
    assert found.constants


def test_what_is_unknown_has_no_confidence(sized):
    found = sized("deepseek-ai/DeepSeek-V4-Pro", "p5.48xlarge", engine={"name": "sglang"})
    assert found.confidence is None
