"""Training memory against arithmetic done by hand and against published numbers."""

from __future__ import annotations

import pytest

from gpusize.architecture import architecture_of
from gpusize.checkpointing import trained_bytes
from gpusize.memory.fit import fit
from gpusize.memory.result import Term, Verdict
from gpusize.memory.training import activations, parts, recipe
from gpusize.memory.training.adapters import adapter_params
from gpusize.memory.training.setup import Resolver
from gpusize.memory.weights import Stage
from gpusize.placement import Layout, Placement
from gpusize.workload import AdapterTargets, Market, parse_workload

LLAMA = "meta-llama/Llama-3.1-8B"
GIB = 2**30


def run(catalog, instance_type="p4d.24xlarge", layout=None, nodes=1, **more):
    raw = {
        "kind": "fine-tuning",
        "method": "full",
        "model": LLAMA,
        "region": "us-east-1",
        "sequenceLength": 2048,
        "weightsFormat": "bf16",
        **more,
    }
    if raw["kind"] == "pre-training":
        del raw["method"]
    if raw.get("method") == "qlora":
        raw["weightsFormat"] = "nf4"
    instance = catalog.instance(instance_type)
    gpu = catalog.gpu(instance.gpu_id)
    where = Layout(**(layout or {}))
    placement = Placement(instance, gpu, nodes, where, "us-east-1", Market.ON_DEMAND)
    return fit(parse_workload(raw), placement, catalog)


def bytes_per_param(catalog, found, model=LLAMA):
    kept = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
    total = architecture_of(model, catalog).total_params
    return sum(found.term(term) for term in kept) / total


@pytest.mark.parametrize(
    ("trainer", "mode", "copies", "expected"),
    [
        ("hf", None, 1, 8),
        ("hf", "zero-1", 4, 2 + 2 + 12 / 4),
        ("hf", "zero-2", 4, 2 + (2 + 12) / 4),
        ("hf", "zero-3", 4, 16 / 4),
        ("torchtitan", "fsdp", 8, 16 / 8),
        ("megatron", "zero-1", 8, 6 + 12 / 8),
    ],
)
def test_bytes_of_a_trained_parameter(catalog, trainer, mode, copies, expected):
    """DeepSpeed's memory page and Megatron's theoretical_memory_usage.py."""
    sharding = {"sharding": mode} if mode else {}
    found = run(catalog, layout={"dp": copies}, trainer=trainer, **sharding)
    assert bytes_per_param(catalog, found) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("optimizer", "moments"),
    [("adamw", 4), ("adamw-8bit", 2.03), ("paged-adamw-8bit", 0), ("muon", 2), ("sgd", 0)],
)
def test_moments_of_optimizers(catalog, optimizer, moments):
    found = run(catalog, optimizer=optimizer)
    total = architecture_of(LLAMA, catalog).total_params
    assert found.term(Term.OPTIMIZER_STATES) / total == pytest.approx(moments, abs=0.01)


def test_paged_moments_lie_in_the_host(catalog):
    found = run(catalog, optimizer="paged-adamw-8bit")
    total = architecture_of(LLAMA, catalog).total_params
    assert found.host / total == pytest.approx(2.03, abs=0.01)


def test_declared_precisions_win(catalog):
    found = run(catalog, masterWeights=True, gradientPrecision="fp32", optimizerPrecision="fp32")
    assert bytes_per_param(catalog, found) == pytest.approx(2 + 4 + 4 + 8, rel=1e-3)
    made = parse_workload(
        {
            "kind": "pre-training",
            "model": LLAMA,
            "region": "us-east-1",
            "sequenceLength": 8,
            "masterWeights": False,
        }
    )
    row = catalog.trainers("megatron")[0]
    assert recipe.recipe_of(made, row, "zero-1").master == 0


def test_parameters_of_an_adapter(catalog):
    """Rank times inputs and outputs of each projection, by hand for 32 layers."""
    architecture = architecture_of(LLAMA, catalog)
    assert adapter_params(architecture, 16, AdapterTargets.ALL_LINEAR, 1) == (41_943_040, 0)
    assert adapter_params(architecture, 8, AdapterTargets.QUERY_VALUE, 1) == (3_407_872, 0)
    assert adapter_params(architecture, 16, AdapterTargets.ATTENTION, 1) == (13_631_488, 0)


def test_each_expert_has_an_adapter_of_its_own(catalog):
    """Qwen3-30B-A3B: 48 layers of 128 experts with three matrices of 2048 x 768."""
    architecture = architecture_of("Qwen/Qwen3-30B-A3B", catalog)
    whole = adapter_params(architecture, 8, AdapterTargets.ALL_LINEAR, 1)
    assert whole.expert == 48 * 128 * 3 * 8 * (2048 + 768)
    spread = adapter_params(architecture, 8, AdapterTargets.ALL_LINEAR, 1, ep=8)
    assert spread.expert == whole.expert / 8
    without = adapter_params(architecture, 8, AdapterTargets.DENSE_LINEAR, 1)
    assert without == (whole.dense, 0)


def test_adapter_weights_cost_sixteen_bytes_with_peft(catalog):
    found = run(catalog, method="lora")
    wide = architecture_of(LLAMA, catalog).total_params * 2
    kept = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)
    own = sum(found.term(term) for term in kept) - wide
    assert own == pytest.approx(41_943_040 * 16, rel=1e-3)


def test_qlora_of_8b_fits_a_24_gb_gpu_and_full_training_does_not(catalog):
    assert run(catalog, "g6.xlarge", method="qlora", recompute="full").verdict is Verdict.FITS
    assert run(catalog, "g6.xlarge", recompute="full").verdict is Verdict.DOES_NOT_FIT


def test_trained_ends_are_counted_beside_the_adapter(catalog):
    plain = run(catalog, method="lora")
    ends = run(catalog, method="lora", adapter={"trainEmbeddings": True})
    table = 2 * 128256 * 4096
    assert ends.term(Term.WEIGHTS) - plain.term(Term.WEIGHTS) == pytest.approx(2 * table, rel=1e-6)


def test_eager_attention_keeps_its_scores(catalog):
    """8 bytes for each score: 32 layers of 32 heads, 2048 x 2048."""
    flash = run(catalog, loss="fused", method="lora")
    eager = run(catalog, attention="eager", loss="fused", method="lora")
    scores = 8 * 32 * 32 * 2048**2
    more = eager.term(Term.ACTIVATIONS) - flash.term(Term.ACTIVATIONS)
    assert more == pytest.approx(scores, rel=1e-3)


def test_logits_of_a_plain_loss(catalog):
    found = run(catalog, method="lora", recompute="full")
    assert found.term(Term.LOGITS) == pytest.approx(2048 * 128256 * 10, rel=0.01)
    chunked = run(catalog, method="lora", recompute="full", loss="chunked")
    assert (chunked.need or 0) < (found.need or 0)


def test_layers_of_a_published_model(catalog):
    """28 values of 2 bytes per hidden width and layer of Llama-3-8B (stas00/ml-engineering)."""
    workload = parse_workload(
        {
            "kind": "fine-tuning",
            "method": "full",
            "model": LLAMA,
            "region": "us-east-1",
            "sequenceLength": 1024,
        }
    )
    architecture = architecture_of(LLAMA, catalog)
    share = activations.Share(1, 1, 1, 1, last=False)
    known = Resolver(workload, architecture, catalog).resolve()
    step = activations.step_of(workload, architecture, known, share, frozen=False, spare=0)
    assert step.kept / 4096 / 2 == pytest.approx(28, rel=0.05)


def test_frozen_layers_keep_less(catalog):
    some = run(catalog, method="lora", adapter={"targets": "query-value"}, loss="fused")
    every = run(catalog, method="lora", loss="fused")
    assert some.term(Term.ACTIVATIONS) < every.term(Term.ACTIVATIONS)


def test_stages_keep_micro_batches_in_flight(catalog):
    model = {"trainer": "megatron", "recompute": "none", "loss": "fused"}
    deep = run(catalog, layout={"pp": 8}, globalBatch=64, **model)
    starved = run(catalog, layout={"pp": 8}, globalBatch=1, **model)
    assert deep.term(Term.ACTIVATIONS) > 4 * starved.term(Term.ACTIVATIONS)


def test_experts_are_spread_and_have_fewer_copies(catalog):
    architecture = architecture_of("Qwen/Qwen3-30B-A3B", catalog)
    whole = parts.of_rank(architecture, Layout(dp=8), Stage(48, True, True))
    cut = parts.of_rank(architecture, Layout(dp=8, ep=8), Stage(48, True, True))
    assert cut.expert == pytest.approx(whole.expert / 8)
    assert cut.linear == whole.linear
    run_ = {"model": "Qwen/Qwen3-30B-A3B", "trainer": "megatron", "sharding": "zero-1"}
    alone = run(catalog, layout={"dp": 8}, **run_)
    spread = run(catalog, layout={"dp": 8, "ep": 8}, **run_)
    assert spread.term(Term.OPTIMIZER_STATES) == pytest.approx(
        alone.term(Term.OPTIMIZER_STATES), rel=1e-6
    )
    assert spread.term(Term.WEIGHTS) < alone.term(Term.WEIGHTS) / 4


def test_the_mode_of_sharding_is_chosen_and_said(catalog):
    lora = run(catalog, layout={"dp": 8}, method="lora", recompute="full")
    full = run(catalog, layout={"dp": 8}, recompute="full")
    assert (lora.sharding, full.sharding) == ("ddp", "fsdp")
    assert "sharding.mode" in {item.field for item in full.assumptions}
    assert run(catalog, layout={"dp": 8}, sharding="zero-3").sharding == "zero-3"
    spread = {"trainer": "megatron", "layout": {"dp": 8}}
    assert run(catalog, model="microsoft/phi-1_5", **spread).sharding == "zero-1"
    assert run(catalog, recompute="full", **spread).sharding == "fsdp"


def test_between_stages_fsdp_keeps_weights_gathered(catalog):
    run_ = {"trainer": "torchtitan", "recompute": "full", "kind": "pre-training"}
    found = run(catalog, layout={"pp": 2, "dp": 4}, **run_)
    half = architecture_of(LLAMA, catalog).total_params / 2
    assert found.term(Term.GATHERED) == pytest.approx(half * 6, rel=0.2)


def test_frozen_weights_are_whole_while_they_load(catalog):
    """litgpt on two GPUs held as much as on one: 7B took 20.7 GiB each."""
    found = run(
        catalog,
        layout={"dp": 2},
        method="lora",
        trainer="litgpt",
        sharding="fsdp",
        recompute="full",
        loss="fused",
    )
    weights = architecture_of(LLAMA, catalog).total_params * 2
    seen = sum(size for term, size in found.terms if term is not Term.RUNTIME_OVERHEAD)
    assert seen > 1.5 * weights


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"weightsFormat": "awq"}, "cannot be trained"),
        ({"layout": {"tp": 2}}, "copies alone"),
        ({"layout": {"pp": 64}, "trainer": "megatron"}, "more than the model has layers"),
    ],
)
def test_what_is_not_known_is_said(catalog, more, reason):
    found = run(catalog, **more)
    assert found.verdict is Verdict.UNKNOWN
    assert reason in found.reasons[0]


def test_qlora_of_wide_weights_is_unknown(catalog):
    raw = {
        "kind": "fine-tuning",
        "method": "qlora",
        "model": LLAMA,
        "region": "us-east-1",
        "sequenceLength": 512,
        "weightsFormat": "bf16",
    }
    instance = catalog.instance("g6.xlarge")
    gpu = catalog.gpu(instance.gpu_id)
    placement = Placement(instance, gpu, 1, Layout(), "us-east-1", Market.ON_DEMAND)
    found = fit(parse_workload(raw), placement, catalog)
    assert found.verdict is Verdict.UNKNOWN
    assert "quantized" in found.reasons[0]


def looking(catalog, layout=None, trainer="hf", **more):
    raw = {
        "kind": "fine-tuning",
        "modality": "vision-language",
        "method": "full",
        "model": "Qwen/Qwen3-VL-8B-Instruct",
        "region": "us-east-1",
        "sequenceLength": 2048,
        "trainer": trainer,
        **more,
    }
    instance = catalog.instance("p5en.48xlarge")
    gpu = catalog.gpu(instance.gpu_id)
    where = Layout(**(layout or {}))
    placement = Placement(instance, gpu, 1, where, "us-east-1", Market.ON_DEMAND)
    return fit(parse_workload(raw), placement, catalog)


def test_a_frozen_tower_keeps_its_weights_alone(catalog):
    """Of 576,388,336 parameters nine tenths are frozen: 2 bytes each instead of 8."""
    frozen, trained = looking(catalog), looking(catalog, trainVision=True)
    spared = 0.9 * 576_388_336
    kept = (Term.GRADIENTS, Term.OPTIMIZER_STATES)
    less = sum(trained.term(term) - frozen.term(term) for term in kept)
    assert less == pytest.approx(6 * spared, rel=1e-6)
    assert frozen.term(Term.WEIGHTS) == trained.term(Term.WEIGHTS)


def test_activations_of_images_count_where_the_tower_is_trained(catalog):
    """Two images of 1024 x 1024 are 2 * 74 * 74 patches, 34 bytes each of 1152 in 36 layers."""
    one = looking(catalog, trainVision=True, loss="fused", microBatch=2)
    two = looking(catalog, trainVision=True, loss="fused", microBatch=2, images={"perPrompt": 2})
    layers = 576_388_336 / (12 * 1152**2)
    more = two.term(Term.ACTIVATIONS) - one.term(Term.ACTIVATIONS)
    assert more == pytest.approx(2 * 74 * 74 * 1152 * layers * 34, rel=0.01)


def test_text_leaves_the_tower_of_a_model_for_images_frozen(catalog):
    text = run(catalog, model="Qwen/Qwen3-VL-8B-Instruct", weightsFormat="auto")
    images = looking(catalog)
    assert text.term(Term.OPTIMIZER_STATES) < images.term(Term.OPTIMIZER_STATES)


def test_images_stand_within_the_sequence_or_beside_it(catalog):
    said = {item.field: item.value for item in looking(catalog).assumptions}
    assert said["images"] == "within sequenceLength"
    crossing = looking(catalog, model="meta-llama/Llama-3.2-11B-Vision")
    assert ("images", "beside the sequence") in {item[:2] for item in crossing.assumptions}


def test_a_model_without_a_tower_takes_no_images(catalog):
    found = looking(catalog, model=LLAMA)
    assert found.verdict is Verdict.UNKNOWN
    assert "vision tower" in found.reasons[0]


def test_ranks_of_a_sequence_share_its_activations_and_not_its_weights(catalog):
    run_of = {"trainer": "torchtitan", "recompute": "full", "globalBatch": 8}
    alone = run(catalog, "p5en.48xlarge", {"dp": 1}, **run_of, sequenceLength=65536)
    shared = run(
        catalog, "p5en.48xlarge", {"cp": 4}, **run_of, sharding="ddp", sequenceLength=65536
    )
    assert shared.term(Term.WEIGHTS) == alone.term(Term.WEIGHTS)
    assert shared.term(Term.LOGITS) == pytest.approx(alone.term(Term.LOGITS) / 4, rel=1e-6)


def test_gradients_come_while_activations_go(catalog):
    """At the loss the gradients are not there yet: the larger of the two counts."""
    small = run(catalog, "p5en.48xlarge", sequenceLength=128)
    params = architecture_of(LLAMA, catalog).total_params
    assert small.term(Term.GRADIENTS) == pytest.approx(2 * params, rel=1e-6)
    again = run(catalog, "p5en.48xlarge", sequenceLength=8192)
    added = run(catalog, "p5en.48xlarge", sequenceLength=8192, globalBatch=4)
    assert added.term(Term.ACTIVATIONS) > again.term(Term.ACTIVATIONS)


def test_a_frozen_copy_and_two_answers_make_a_preference(catalog):
    plain = run(catalog, "p5en.48xlarge", microBatch=2)
    paired = run(catalog, "p5en.48xlarge", objective="preference")
    params = architecture_of(LLAMA, catalog).total_params
    assert paired.term(Term.WEIGHTS) - plain.term(Term.WEIGHTS) == pytest.approx(
        2 * params, rel=1e-6
    )
    assert paired.term(Term.LOGITS) == plain.term(Term.LOGITS)
    adapted = run(catalog, method="lora", objective="preference")
    assert adapted.term(Term.WEIGHTS) == run(catalog, method="lora").term(Term.WEIGHTS)


def test_classes_have_no_logits_over_the_vocabulary(catalog):
    found = run(catalog, method="lora", objective="classification")
    assert found.term(Term.LOGITS) == 0
    head = 128256 * 4096 * 2
    whole = run(catalog, method="lora")
    assert whole.term(Term.WEIGHTS) - found.term(Term.WEIGHTS) == pytest.approx(head, rel=1e-6)


TUNED = ("meta-llama/Llama-3.2-3B", {"microBatch": 2, "sequenceLength": 4096})
TUNED_8B = ("meta-llama/Llama-3.1-8B", {"microBatch": 2, "sequenceLength": 2048})
STEPPED = {"optimizerInBackward": True}
MOVED = {"optimizerInBackward": True, "offloadActivations": True}


@pytest.mark.parametrize(
    ("run_of", "more", "peak"),
    [
        (TUNED, {"recompute": "none", "loss": "plain"}, 60.0),
        (TUNED, {"recompute": "none"}, 42.9),
        (TUNED, {}, 24.9),
        (TUNED, STEPPED, 23.1),
        (TUNED, MOVED, 21.8),
        (TUNED, {**MOVED, "optimizer": "adamw-8bit"}, 17.6),
        (TUNED, {"method": "lora", "offloadActivations": True}, 8.5),
        (TUNED, {"method": "qlora", "offloadActivations": True}, 4.6),
        (TUNED_8B, {**MOVED, "optimizer": "paged-adamw-8bit"}, 18.9),
        (TUNED_8B, {**STEPPED, "optimizer": "adamw-8bit"}, 37.4),
        (TUNED_8B, {"method": "lora", "offloadActivations": True}, 16.2),
        (TUNED_8B, {"method": "qlora", "offloadActivations": True}, 7.4),
    ],
)
def test_peaks_that_torchtune_publishes(catalog, run_of, more, peak):
    """Allocated memory by the README of pytorch/torchtune 0.7.0, packed sequences."""
    model, batch = run_of
    found = run(catalog, "p4de.24xlarge", model=model, trainer="torchtune", **batch, **more)
    outside = (Term.ALLOCATOR_SLACK, Term.RUNTIME_OVERHEAD)
    seen = (found.need or 0) - sum(map(found.term, outside))
    assert seen / GIB == pytest.approx(peak, rel=0.15)


def test_a_step_in_the_backward_pass_only_where_the_trainer_has_it(catalog):
    found = run(catalog, trainer="hf", optimizerInBackward=True)
    assert found.verdict is Verdict.UNKNOWN
    assert "backward pass" in found.reasons[0]


def test_what_is_not_declared_is_as_the_trainer_does(catalog):
    said = {item.field: item.value for item in run(catalog, trainer="torchtune").assumptions}
    assert (said["recompute"], said["loss"]) == ("full", "chunked")
    plain = {item.field: item.value for item in run(catalog).assumptions}
    assert (plain["recompute"], plain["loss"]) == ("none", "plain")


def test_quantized_products_keep_quantized_inputs(catalog):
    wide = run(catalog, trainer="megatron")
    narrow = run(catalog, trainer="megatron", computePrecision="fp8")
    less = wide.term(Term.ACTIVATIONS) - narrow.term(Term.ACTIVATIONS)
    assert less == pytest.approx(2048 * 32 * (2 * 4096 + 14336), rel=0.01)


def test_zero_3_gathers_layers_twice_beside_the_table(catalog):
    """Fetched layers: the flat buffer and its parts; a matrix at the ends alone, in place."""
    found = run(catalog, layout={"dp": 4}, trainer="hf", sharding="zero-3")
    table = 128256 * 4096
    assert found.term(Term.GATHERED) == pytest.approx(2 * (2 * 1e9 + table) + 3 * 2 * 5e8, rel=1e-9)


WIDE_LORA = {
    "model": "Qwen/Qwen-72B",
    "method": "lora",
    "trainer": "hf",
    "recompute": "full",
    "sharding": "zero-3",
    "adapter": {"rank": 64},
}


@pytest.mark.parametrize(("length", "peak"), [(256, 53.85), (1024, 55.65), (8192, 72.3)])
def test_peaks_of_adapters_under_zero_3(catalog, length, peak):
    """QwenLM/Qwen README: 72B on four A100, rank 64, the sum of its GPUs divided by four."""
    found = run(catalog, "p4de.24xlarge", {"dp": 4}, **WIDE_LORA, sequenceLength=length)
    assert (found.need or 0) / GIB == pytest.approx(peak, rel=0.1)


def test_trained_embeddings_under_zero_3_do_not_just_fit(catalog):
    """The same page: with embeddings and head trained four A100 ran out of memory."""
    adapter = {"rank": 64, "trainEmbeddings": True}
    more = {**WIDE_LORA, "adapter": adapter, "sequenceLength": 256}
    assert run(catalog, "p4de.24xlarge", {"dp": 4}, **more).verdict is not Verdict.FITS


@pytest.mark.parametrize(("precision", "copy"), [("bf16", 2), ("fp8", 1)])
def test_an_expert_keeps_its_input_alone_in_megatron(catalog, precision, copy):
    """Megatron Core since 0.13 weighs in the activation: outputs of experts are not kept."""
    model = architecture_of("Qwen/Qwen3-30B-A3B", catalog)
    row = catalog.trainers("megatron")[0]
    saved = activations.SAVED_BYTES.get(precision, activations.NUMBER)
    none = model._replace(experts_active=0)
    layer = activations._layer(model, row, saved, frozen=False)
    rest = activations._layer(none, row, saved, frozen=False)
    # The width of the experts: what the activation reads (16-bit), and what it gives.
    width = model.moe_intermediate * (4 + copy)
    dense = model.intermediate or 0
    per_expert = (layer - rest + dense * (4 + copy)) / model.experts_active
    assert per_expert == pytest.approx(copy * model.hidden + width)


@pytest.mark.parametrize("sharding", ["none", "all"])
def test_a_checkpoint_has_the_weights_wherever_gradients_are(catalog, sharding):
    """Llama 8B in torchtune: 16-bit weights and two 16-bit moments, of whatever run."""
    more = {"trainer": "torchtune", "optimizerInBackward": sharding == "none"}
    mode = {"mode": "fsdp", "offload": sharding}
    found = run(catalog, layout={"dp": 8}, sharding=mode, **more)
    total = architecture_of(LLAMA, catalog).total_params
    assert trained_bytes(found, Layout(dp=8)) == pytest.approx(6 * total, rel=1e-3)


@pytest.mark.parametrize(
    ("objective", "sequences", "copies"),
    [("unpaired", 1, 1), ("contrast", 2, 0), ("preference", 2, 1), ("embedding", 2, 0)],
)
def test_sequences_and_frozen_copies_of_objectives(catalog, objective, sequences, copies):
    """KTO and DPO of huggingface/trl have a reference model; SimPO and ORPO have none."""
    plain = run(catalog, recompute="none")
    found = run(catalog, recompute="none", objective=objective)
    total = architecture_of(LLAMA, catalog).total_params
    more = found.term(Term.WEIGHTS) - plain.term(Term.WEIGHTS)
    head = 128256 * 4096 if objective == "embedding" else 0
    assert more == pytest.approx((copies * total - head) * 2, rel=1e-6)
    assert found.cache.many == sequences
