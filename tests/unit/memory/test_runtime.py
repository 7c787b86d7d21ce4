"""Engine constants against logs and against what the engines document."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gpusize.architecture import architecture_of
from gpusize.memory import runtime
from gpusize.memory.result import Term
from gpusize.memory.runtime import Batch, Device, Parts, Step
from gpusize_catalog.units import GIB, MIB

H100 = Device(81091 * MIB, (9, 0), True)
A100 = Device(81152 * MIB, (8, 0), True)
B200 = Device(182641 * MIB, (10, 0), True)
L4 = Device(22563 * MIB, (8, 9), False)


@pytest.mark.parametrize(
    ("version", "fraction"), [("0.6.6", 0.9), ("0.19.1", 0.9), ("0.20.0", 0.92), (None, 0.92)]
)
def test_default_memory_fraction_of_vllm(catalog, version, fraction):
    row = runtime.engine_row(catalog, "vllm", version)
    assert row is not None
    assert row.memory_fraction == fraction
    assert row.graphs_in_budget is (fraction > 0.9)


def test_an_unknown_engine_or_a_gap_in_versions_has_no_row(catalog):
    assert runtime.engine_row(catalog, "nothing", None) is None
    assert runtime.engine_row(catalog, "vllm", "not a version") is not None


def test_ranges_of_versions_leave_no_gap_and_do_not_overlap(catalog):
    for name in catalog.engine_names():
        rows = catalog.engines(name)
        assert rows[0].version_from == ""
        assert rows[-1].version_before == ""
        for earlier, later in pairwise(rows):
            assert earlier.version_before == later.version_from


@pytest.mark.parametrize(
    ("engine_name", "version", "device", "expected"),
    [
        ("vllm", "0.19.0", H100, Batch(8192, 1024)),
        ("vllm", "0.19.0", A100, Batch(2048, 256)),
        ("vllm", "0.19.0", L4, Batch(2048, 256)),
        ("vllm", "0.19.0", B200, Batch(8192, 1024)),
        ("vllm", "0.33.0", B200, Batch(16384, 1024)),
        ("vllm", "0.6.6", L4, Batch(4096, 256)),
        ("sglang", "0.5.23", H100, Batch(8192, 256)),
        ("sglang", "0.5.23", L4, Batch(4096, 48)),
        ("sglang", "0.5.10", L4, Batch(2048, 24)),
        ("sglang", "0.4.9", L4, Batch(2048, 8, 2867)),
    ],
)
def test_default_batch(engine, engine_name, version, device, expected):
    assert runtime.default_batch(engine(engine_name, version), device, 4096) == expected


def test_old_vllm_prefills_whole_prompts_until_chunking_sets_in(engine):
    row = engine("vllm", "0.6.6")
    sizes = [runtime.default_batch(row, L4, context).tokens for context in (20000, 29000, 45000)]
    assert sizes == [20000, 29000, 2048]


LOGGED_ACTIVATIONS = [
    # version, model, tp, GiB logged on H100 at 8192 tokens and 1024 sequences
    ("0.19.0", "meta-llama/Llama-3.1-8B", 1, 1.89),
    ("0.19.0", "meta-llama/Llama-3.1-8B", 4, 1.89),
    ("0.19.0", "Qwen/Qwen2.5-7B", 1, 2.21),
    ("0.19.0", "meta-llama/Llama-3.1-70B", 2, 1.96),
    ("0.19.0", "Qwen/Qwen2.5-72B", 4, 2.29),
    ("0.19.0", "google/gemma-2-2b", 1, 3.62),
    ("0.19.0", "openai/gpt-oss-20b", 1, 2.87),
    ("0.19.0", "deepseek-ai/DeepSeek-V2-Lite", 1, 1.93),
    ("0.11.0", "meta-llama/Llama-3.1-70B", 2, 4.84),
    ("0.11.0", "Qwen/Qwen3-0.6B", 1, 5.56),
    ("0.11.0", "openai/gpt-oss-20b", 1, 7.38),
    ("0.10.2", "Qwen/Qwen3-30B-A3B", 1, 5.58),
]


@pytest.mark.parametrize(("version", "model", "tp", "logged"), LOGGED_ACTIVATIONS)
def test_activation_peak_is_near_the_logged_one(catalog, engine, version, model, tp, logged):
    size = runtime.activation_bytes(
        engine("vllm", version),
        architecture_of(model, catalog),
        Step(tp, Batch(8192, 1024), 2, 8192, False),
    )
    assert size / GIB == pytest.approx(logged, rel=0.06)


def test_images_add_the_largest_that_the_processor_lets_through(catalog, engine):
    row = engine("vllm", "0.12.0")
    step = Step(1, Batch(8192, 64), 2, 65536, False)
    seeing = architecture_of("Qwen/Qwen3-VL-30B-A3B-Instruct", catalog)
    blind = seeing._replace(vision_params=None)
    more = runtime.activation_bytes(row, seeing, step) - runtime.activation_bytes(row, blind, step)
    # logged totals differ by 2.6 to 2.8 GiB from the text model of the same size
    assert more / GIB == pytest.approx(2.75, abs=0.2)
    usual = seeing._replace(image_patches=None)
    assert runtime.activation_bytes(row, usual, step) < runtime.activation_bytes(row, seeing, step)


def test_old_gpus_sort_while_sampling(catalog, engine):
    row = engine("vllm", "0.22.0")
    architecture = architecture_of("Qwen/Qwen3-8B", catalog)
    batch = Batch(2048, 256)
    sorting = runtime.activation_bytes(row, architecture, Step(2, batch, 2, 8192, True))
    other = runtime.activation_bytes(row, architecture, Step(2, batch, 2, 8192, False))
    # logged on two T4: 1.78 GiB beside weights and cache
    assert sorting / GIB == pytest.approx(1.4, abs=0.1)
    assert other < sorting / 2


def test_the_last_stage_alone_samples(sized):
    whole = sized("meta-llama/Llama-3.1-8B", "p5.48xlarge", engine="vllm@0.19.0")
    cut = sized("meta-llama/Llama-3.1-8B", "p5.48xlarge", layout={"pp": 2}, engine="vllm@0.19.0")
    assert whole.term(Term.ACTIVATIONS) == cut.term(Term.ACTIVATIONS)


def test_captured_sizes_follow_the_sequences(engine):
    row = engine("vllm", "0.22.0")
    counts = [runtime.captured_sizes(row, sequences) for sequences in (1, 32, 64, 256, 1024)]
    assert counts == [2, 11, 19, 51, 51]


def test_eager_execution_captures_nothing(engine):
    row = engine("vllm", "0.22.0")
    assert runtime.graph_bytes(row, 64, 256, True) == 0
    assert runtime.graph_bytes(row, 64, 256, False) / GIB == pytest.approx(1.0, abs=0.5)


def test_communication_depends_on_the_link(engine):
    row = engine("vllm", "0.12.0")
    assert runtime.communication_bytes(row, 1, H100) == 0
    pcie = runtime.communication_bytes(row, 4, L4)
    pair = runtime.communication_bytes(row, 2, H100)
    group = runtime.communication_bytes(row, 8, H100)
    assert 0 < pcie < pair < group
    assert runtime.communication_bytes(row, 8, A100) == pair


def test_sglang_computes_its_fraction(engine):
    row = engine("sglang", "0.5.23")
    small = runtime.default_fraction(row, L4, Batch(4096, 48), 1)
    large = runtime.default_fraction(row, H100, Batch(8192, 256), 1)
    assert small == pytest.approx(1 - (512 + 1.5 * 4096 + 2 * 48 + 128) / 22563)
    assert large == pytest.approx(1 - (512 + 1.5 * 8192 + 2 * 256 + 128) / 81091)
    old = engine("sglang", "0.4.9")
    tier = runtime.default_fraction(old, L4, runtime.default_batch(old, L4, 8192), 1)
    assert tier == pytest.approx(1 - (2867 + 102) / 22563)


def parts(**sizes: int) -> Parts:
    base = {
        "weights": 0,
        "activations": 0,
        "graphs": 0,
        "runtime": 0,
        "communication": 0,
        "context": 0,
        "graphs_in_budget": False,
    }
    return Parts(**{**base, **sizes})


def test_each_engine_has_its_own_denominator():
    known = parts(weights=40, activations=5, graphs=3, context=2)
    limits = {name: budget(100, 0.5, known).limit for name, budget in runtime.BUDGETS.items()}
    assert limits == {
        "total": 50,
        "free": 49,
        "free-after-weights": 40 + (100 - 2 - 40) // 2,
        "free-after-runtime": 45 + (100 - 2 - 45 - 3) // 2,
        "all": 49,
        "total-for-cache": 40 + 100 // 2,
    }


def test_graphs_outside_the_budget_lessen_what_is_left_beside_it():
    beside = runtime.BUDGETS["total"](100, 0.9, parts(graphs=8, context=4))
    within = runtime.BUDGETS["total"](100, 0.9, parts(graphs=8, context=4, graphs_in_budget=True))
    assert beside.slack == -2
    assert within.slack == 6


def test_tgi_before_3_warms_up_with_the_logits_of_every_token(catalog, engine):
    architecture = architecture_of("meta-llama/Llama-3.1-8B", catalog)
    step = Step(1, Batch(100_000, 128), 2, 100_000, False)
    old = runtime.activation_bytes(engine("tgi", "2.2.0"), architecture, step)
    new = runtime.activation_bytes(engine("tgi", "3.0.0"), architecture, step)
    logits = 25.6e9
    assert old > 2 * logits
    assert new < logits


def test_an_image_is_no_longer_than_the_context(catalog, engine):
    architecture = architecture_of("Qwen/Qwen2-VL-2B-Instruct", catalog)
    row = engine("vllm", "0.10.2")
    text = architecture._replace(vision_params=None)
    added = [
        runtime.activation_bytes(row, architecture, Step(1, Batch(2048, 256), 2, tokens, False))
        - runtime.activation_bytes(row, text, Step(1, Batch(2048, 256), 2, tokens, False))
        for tokens in (4096, 8192, 16384, 32768)
    ]
    assert added[0] < added[1] < added[2] == added[3]


@pytest.mark.parametrize(
    ("instance_type", "fraction", "verdict"),
    [("p5.4xlarge", 0.95, "tight"), ("p5.4xlarge", 0.9, "fits"), ("g6e.xlarge", 0.9, "fits")],
)
def test_what_kernels_take_late_must_have_room_beside_the_budget(
    sized, instance_type, fraction, verdict
):
    engine = {"name": "vllm", "version": "0.19.0", "memoryFraction": fraction}
    found = sized("openai/gpt-oss-20b", instance_type, engine=engine)
    assert found.verdict.value == verdict
    assert any("outside its budget" in reason for reason in found.reasons) is (verdict == "tight")
