"""What an engine takes beside weights and cache, each term by itself and counted by hand."""

from __future__ import annotations

import pytest

from gpusize.memory import runtime
from gpusize.memory.runtime import Batch, Device, Parts, Step
from gpusize_catalog.units import GIB, KIB, MIB
from tests.unit.memory.toys import DENSE, HIDDEN, LATENT, MOE

BATCH = Batch(tokens=1000, sequences=10)
STEP = Step(tp=1, batch=BATCH, number=2, context=500, sorts=False)
SWITCHED = Device(80 * GIB, (9, 0), True)
PAIRED = Device(80 * GIB, (8, 9), True)


@pytest.fixture
def row(engine):
    """A row of round numbers."""

    def build(**changes):
        plain = {
            "sampler_bytes": 0,
            "sampler_fallback_bytes": 0,
            "prefill_logits": False,
            "forward_intermediate": 3,
            "forward_hidden": 4,
            "tower_mib": 100,
            "patch_kib": 20,
            "graph_layer_kib": 400,
            "graph_sizes": 51,
            "block_tokens": 16,
            "latent_cache": True,
            "splits": "tensor",
        }
        return engine("vllm", "0.19.0")._replace(**{**plain, **changes})

    return build


@pytest.fixture
def needs(row):
    """Bytes of activations of a model; `step` and the rest are changes."""

    def build(model, step=None, **changes) -> int:
        return runtime.activation_bytes(row(**changes), model, STEP._replace(**(step or {})))

    return build


# Activations

FORWARD = 1000 * 2 * (3 * 512 + 4 * 256)


def test_the_forward_pass_keeps_its_widest_layer(needs):
    assert needs(DENSE) == FORWARD
    assert needs(DENSE, {"number": 4}) == 2 * FORWARD
    assert needs(DENSE, {"tp": 2}) == 1000 * 2 * (3 * 256 + 4 * 256)
    assert needs(DENSE._replace(intermediate=None)) == 1000 * 2 * 4 * 256


def test_experts_at_work_are_the_widest_layer_where_they_are_wider(needs):
    """Each token goes to 2 of 96: what goes in, and gate and up or what comes out."""
    moe = MOE._replace(intermediate=None)
    assert needs(moe) == 1000 * 2 * (2 * (96 + 256) + 4 * 256)
    wide = moe._replace(moe_intermediate=192)
    assert needs(wide) == 1000 * 2 * (2 * (192 + 384) + 4 * 256)
    assert needs(wide, {"tp": 2}) == 1000 * 2 * (2 * (96 + 256) + 4 * 256)
    both = moe._replace(intermediate=512)
    assert needs(both) == FORWARD, "three times the dense width is more"
    assert needs(moe._replace(experts_active=None)) == 1000 * 2 * 4 * 256
    assert needs(moe._replace(moe_intermediate=None)) == 1000 * 2 * 4 * 256


def test_the_sampler_keeps_logits_of_every_sequence_beside_hidden_states(needs):
    hidden = 2 * 1000 * HIDDEN * 2
    large = DENSE._replace(vocab=100_000)
    sampler = {"sampler_bytes": 12, "sampler_fallback_bytes": 36}
    assert needs(large, **sampler) == hidden + 10 * 100_000 * 14
    assert needs(large, {"sorts": True}, **sampler) == hidden + 10 * 100_000 * 38
    assert needs(DENSE, **sampler) == FORWARD, "whatever is larger"
    every = {**sampler, "prefill_logits": True}
    assert needs(large, **every) == hidden + 1000 * 100_000 * 14
    crowd = {"batch": Batch(1000, 5000)}
    assert needs(large, crowd, **sampler) == hidden + 1000 * 100_000 * 14
    assert needs(large, **{**sampler, "sampler_bytes": 0}) == FORWARD, "it keeps none"


def test_profiling_expands_latents_of_four_blocks_a_sequence_or_eight_contexts(needs):
    """Keys and values of 8 heads of 32."""
    width = 8 * 2 * 32 * 2
    forward = FORWARD
    assert needs(LATENT) == forward + 4000 * width
    assert needs(LATENT, {"context": 20}) == forward + 4 * 10 * 16 * width
    assert needs(LATENT, {"context": 10**6}) == forward + 65_536 * width
    shared = {"context": 20, "tp": 4}
    assert needs(LATENT, shared) == 1000 * 2 * (3 * 128 + 1024) + 640 * 2 * 2 * 32 * 2
    many = needs(LATENT, {"tp": 64}) - needs(DENSE, {"tp": 64})
    assert many == 4000 * 1 * 2 * 32 * 2, "a head at least"
    assert needs(LATENT, latent_cache=False) == forward
    assert needs(LATENT, splits="layers") == forward


def test_a_tower_adds_the_patches_of_the_largest_image(needs):
    seeing = DENSE._replace(vision_params=1, image_patches=1500)
    assert needs(seeing) == FORWARD + 100 * MIB + 1500 * 20 * KIB
    short = {"context": 300}
    assert needs(seeing, short) == FORWARD + 100 * MIB + 1200 * 20 * KIB
    unknown = seeing._replace(image_patches=None)
    assert needs(unknown, {"context": 5000}) == FORWARD + 100 * MIB + 4096 * 20 * KIB
    assert needs(unknown) == FORWARD + 100 * MIB + 2000 * 20 * KIB


# Graphs


@pytest.mark.parametrize(
    ("sequences", "sizes"),
    [
        (0, 0),
        (1, 2),  # 1, 2
        (2, 3),  # 1, 2, 4
        (3, 3),
        (4, 4),  # 8 too
        (12, 6),
        (127, 3 + 31),
        (128, 3 + 32),
        (136, 3 + 32 + 1),
        (256, 3 + 32 + 16),
        (1000, 51),
    ],
)
def test_sizes_are_captured_up_to_twice_the_sequences(row, sequences, sizes):
    assert runtime.captured_sizes(row(), sequences) == sizes


def test_a_graph_of_every_size_has_every_layer(row):
    assert runtime.graph_bytes(row(), 4, 4, False) == 4 * 4 * 400 * KIB
    assert runtime.graph_bytes(row(), 4, 4, True) == 0
    assert runtime.captured_sizes(row(graph_sizes=3), 1000) == 3
    assert runtime.captured_sizes(row(graph_sizes=99), 143) == 3 + 32 + 1
    assert runtime.captured_sizes(row(graph_sizes=99), 1000) == 3 + 32 + 16


# Communication


def test_buffers_depend_on_the_link_and_the_number_of_ranks(row):
    known = row(pcie_mib=100, nvlink_pair_mib=300, nvlink_group_mib=900)

    def of(ranks: int, device: Device) -> float:
        return runtime.communication_bytes(known, ranks, device) / MIB

    assert [of(ranks, SWITCHED) for ranks in (1, 2, 3, 8)] == [0, 300, 900, 900]
    assert [of(ranks, PAIRED) for ranks in (1, 2, 3, 8)] == [0, 300, 300, 300]
    assert of(8, SWITCHED._replace(capability=(10, 0))) == 900
    assert of(8, SWITCHED._replace(capability=None)) == 300
    assert [of(ranks, SWITCHED._replace(nvlink=False)) for ranks in (1, 2, 8)] == [0, 100, 100]


# The fraction and what it is of


def test_a_computed_fraction_leaves_its_reserve(row):
    known = row(
        memory_fraction=None,
        reserve_mib=512,
        reserve_token_mib=1.5,
        reserve_graph_mib=2,
        reserve_gpu_mib=64,
        reserve_large_mib=None,
    )
    device = Device(50_000 * MIB, (9, 0), True)

    def of(batch: Batch, gpus=1, where=device, line=known) -> float:
        found = runtime.default_fraction(line, where, batch, gpus)
        assert found is not None
        return round((1 - found) * where.usable / MIB, 3)

    assert of(Batch(4096, 10)) == 512 + 6144 + 20 + 64
    assert of(Batch(100, 10)) == 512 + 3072 + 20 + 64, "2048 tokens at least"
    assert of(Batch(4096, 10), gpus=8) == 512 + 6144 + 20 + 512
    assert of(Batch(4096, 10, reserve_mib=2867)) == 2867 + 64, "the tier names it"
    bare = known._replace(reserve_token_mib=None, reserve_graph_mib=None, reserve_gpu_mib=None)
    assert of(Batch(4096, 10), line=bare) == 512
    large = known._replace(reserve_large_mib=20_000)
    assert of(Batch(4096, 10), line=large) == 6740
    above = Device(60 * GIB + 1, (9, 0), True)
    assert of(Batch(4096, 10), where=above, line=large) == pytest.approx(20_000)
    assert of(Batch(4096, 10), where=Device(60 * GIB, None, True), line=large) == 6740
    assert of(Batch(4096, 10), where=above) == pytest.approx(6740)
    assert runtime.default_fraction(known, Device(GIB, None, True), BATCH, 1) == 0


def test_a_fixed_fraction_is_taken_and_none_is_said(row):
    assert runtime.default_fraction(row(memory_fraction=0.9), SWITCHED, BATCH, 1) == 0.9
    none = row(memory_fraction=None, reserve_mib=None)
    assert runtime.default_fraction(none, SWITCHED, BATCH, 1) is None


PARTS = Parts(
    weights=300,
    activations=50,
    graphs=30,
    runtime=20,
    communication=10,
    context=40,
    graphs_in_budget=False,
    late=7,
)


def budget(name: str, usable=1000, fraction=0.5, **changes) -> tuple[int, ...]:
    return tuple(runtime.BUDGETS[name](usable, fraction, PARTS._replace(**changes)))


def test_a_share_of_all_memory_has_graphs_and_late_buffers_beside_it():
    """Limit, what is left beside it, and what is known to live there."""
    assert budget("total") == (500, 500 - 40 - 37, 37)
    assert budget("total", graphs_in_budget=True) == (500, 500 - 40 - 7, 7)


def test_a_share_of_free_memory_has_activations_in_the_rest():
    free = 1000 - 40 - 10
    assert budget("free") == (free // 2 + 10, 1000 - 40 - free // 2 - 10 - 80, 80)


def test_a_share_of_what_weights_leave_is_all_cache():
    free = 1000 - 40 - 330
    assert budget("free-after-weights") == (330 + free // 2, free - free // 2 - 80, 80)


def test_a_share_of_what_the_workspace_leaves_is_all_cache():
    free = 1000 - 40 - 380 - 30
    assert budget("free-after-runtime") == (380 + free // 2, free - free // 2, 0)


@pytest.mark.parametrize(
    ("name", "taken"), [("free-after-weights", 330), ("free-after-runtime", 380)]
)
def test_where_nothing_is_left_there_is_no_share_of_it(name, taken):
    less = 100 - 40 - taken - (30 if name == "free-after-runtime" else 0)
    assert budget(name, usable=100)[0] == taken + less
    exact = 40 + taken + (30 if name == "free-after-runtime" else 0)
    assert budget(name, usable=exact)[0] == taken


def test_all_memory_is_what_the_context_leaves():
    assert budget("all", fraction=1.0) == (960, 0, 0)
    assert budget("all") == (480, 0, 0)


def test_what_is_fixed_is_weights_and_what_the_engine_counts():
    assert PARTS.fixed == 330


# Tiers of default batches


def test_tiers_of_batches_are_read_in_order(row):
    known = row(batch_defaults="70 !8.0 !12.1=8192/1024; 20=context/64@1000; 0=chunked/256")

    def of(gibibytes: float, capability, context=5000) -> Batch:
        return runtime.default_batch(
            known, Device(round(gibibytes * GIB), capability, True), context
        )

    assert of(70, (9, 0)) == Batch(8192, 1024)
    assert of(70, None) == Batch(8192, 1024)
    assert of(70, (8, 0)) == of(69.9, (9, 0)) == of(20, (12, 1)) == Batch(5000, 64, 1000)
    assert of(19, (9, 0)) == Batch(5000, 256)
    assert of(19, (9, 0), 32_768) == Batch(32_768, 256)
    assert of(19, (9, 0), 32_769) == Batch(2048, 256)
    nothing = row(batch_defaults="70=1/1")
    assert runtime.default_batch(nothing, Device(GIB, None, True), 9) == Batch(2048, 256)


def test_a_row_is_cited_by_its_versions(row):
    assert runtime.row_name(row()) == "vllm 0.17.0..0.20.0"
    open_end = row(version_from="", version_before="0.2")
    assert runtime.row_name(open_end) == "vllm 0..0.2"
    assert runtime.row_name(row(version_before="")) == "vllm 0.17.0.."
    every = row(version_from="", version_before="")
    assert runtime.row_name(every) == "vllm (any version)"


# Kernels that sum copies of their output


def test_copies_of_the_widest_output_are_alive_in_the_forward_pass(needs):
    """Gate and up of one layer, 512 wide, for 1000 tokens of two bytes."""
    assert needs(DENSE, {"copies": 8}) == FORWARD + 8 * 1000 * 2 * 2 * 512
    assert needs(DENSE, {"copies": 8, "tp": 2}) == 1000 * 2 * (3 * 256 + 4 * 256 + 8 * 512)


def test_awq_of_tgi_sums_eight_copies_before_marlin(catalog):
    """text-generation-inference 1.1 to 2.2: gemm_forward_cuda with 8 splits."""
    rows = [row for row in catalog.kernels("awq", "tgi") if row.support == "native"]
    assert [(row.engine_before, row.output_copies) for row in rows] == [("2.3.0", 8), ("", None)]


# Fractions and reserves of versions


@pytest.mark.parametrize(
    ("gpus", "fraction"), [(1, 0.88), (2, 0.87), (3, 0.87), (4, 0.85), (8, 0.81), (16, 0.79)]
)
def test_old_sglang_takes_its_fraction_by_the_gpus(engine, gpus, fraction):
    """SGLang 0.4.7, server_args."""
    row = engine("sglang", "0.4.7")
    assert runtime.default_fraction(row, SWITCHED, Batch(8192, 160), gpus) == fraction


@pytest.mark.parametrize(
    ("version", "budget", "fraction"),
    [
        ("0.9.3", "all", None),
        ("1.1.0", "free-after-runtime", 1.0),
        ("2.2.0", "free-after-runtime", 0.95),
        ("2.4.1", "free-after-runtime", 0.9),
        ("3.0.1", "total", 0.95),
        ("3.2.0", "total", 0.93),
        ("3.3.7", "total", 0.9),
    ],
)
def test_shares_of_tgi_by_version(engine, version, budget, fraction):
    """text-generation-inference, flash_causal_lm.py and globals.py of each release."""
    row = engine("tgi", version)
    assert (row.budget_of, row.memory_fraction) == (budget, fraction)


@pytest.mark.parametrize(
    ("version", "budget", "fraction"),
    [("0.2.1", "total-for-cache", 0.5), ("0.2.2", "free-after-weights", 0.8)],
)
def test_shares_of_lmdeploy_by_version(engine, version, budget, fraction):
    """LMDeploy, BlockManager.cc and messages.py of each release."""
    row = engine("lmdeploy", version)
    assert (row.budget_of, row.memory_fraction) == (budget, fraction)


@pytest.mark.parametrize(
    ("version", "layout", "latent"),
    [
        ("0.5.7", "preallocated-whole", False),
        ("0.6.0", "preallocated", False),
        ("0.12.0", "preallocated", True),
    ],
)
def test_caches_of_ollama_by_version(engine, version, layout, latent):
    """Ollama, kvcache and llama.cpp as it ships it."""
    row = engine("ollama", version)
    assert (row.cache_layout, row.latent_cache) == (layout, latent)


def test_a_share_of_all_memory_is_cache_beside_everything_else():
    parts = Parts(10, 3, 2, 1, 0, 4, graphs_in_budget=False)
    budget = runtime.BUDGETS["total-for-cache"](100, 0.5, parts)
    assert budget.limit == 10 + 1 + 50
    assert budget.slack == 100 - 4 - (10 + 1 + 50) - (3 + 2)
    assert budget.beside == 3 + 2
