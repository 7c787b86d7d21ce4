"""Models and a trainer that are small enough to be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.architecture import Architecture, AttentionGroup
from gpusize.memory.result import Fit
from gpusize.memory.runtime import Device
from gpusize.memory.training.kept import Keeper, Kept
from gpusize.memory.training.setup import Habits, Setup
from gpusize.memory.training.sizer import Training as Sizer
from gpusize.memory.weights import Stage
from gpusize.placement import Layout
from gpusize.workload import Objective, Training, parse_workload
from gpusize_catalog.facts import FormatFacts, TrainerFacts
from gpusize_catalog.units import GIB

PEBBLE = Architecture(
    name="pebble",
    total_params=91_080,
    active_params=91_080,
    layers=6,
    hidden=40,
    intermediate=72,
    heads=6,
    kv_heads=2,
    head_dim=8,
    vocab=100,
    tie_embeddings=False,
    max_position=4096,
    native_format="bf16",
    attention=(AttentionGroup("full", 6, kv_heads=2, head_dim=8),),
    embedding_params=4_000,
    head_params=4_000,
    expert_params=0,
    linear_params=82_560,
    other_params=520,
)
"""Six gated layers: 5,120 of attention (40 x 128) and 8,640 of an MLP (3 x 40 x 72) each; 13 norms
of 40; a table and a head of 100 x 40."""
PLAIN_PEBBLE = PEBBLE._replace(linear_params=65_280, total_params=73_800)
"""The same with two matrices of an MLP: 6 x (5,120 + 2 x 40 x 72)."""
GRAVEL = PEBBLE._replace(
    name="gravel",
    total_params=87_800,
    layers=5,
    attention=(AttentionGroup("full", 5, kv_heads=2, head_dim=8),),
    expert_params=28_800,
    linear_params=50_080,
    other_params=920,
    experts_total=4,
    experts_active=2,
    shared_experts=1,
    moe_intermediate=20,
    first_dense_layers=2,
)
"""Five layers, three of them with four experts of 3 x 40 x 20 and a shared one: 25,600 of attention
and 2 x 8,640 and 3 x 2,400 dense; routers 3 x 160 and 11 norms."""
AGATE = PEBBLE._replace(
    name="agate",
    total_params=588_744,
    other_params=498_184,
    vision_params=497_664,
    vision_heads=2,
    image_patches=1_000,
)
"""Pebble with a tower of two heads of 72: two layers of 12 x 144 x 144."""

BF16 = FormatFacts("bf16", (), "", 16, 16, 16, 16, 16, 16, 16, 1, 1, 0.004, "")
FP32 = FormatFacts("fp32", (), "", 32, 32, 32, 32, 32, 32, 32, 1, 1, 0.004, "")
PACKED = FormatFacts("packed", (), "", 4, 6, 12, 9, 20, 3, None, 1, 1, 0.03, "")
"""Each part with bits of its own."""

ROW = TrainerFacts(
    trainer="small",
    version_from="",
    version_before="",
    newest="1.0",
    plain_recipe="pure",
    zero_recipe="mixed",
    fsdp_recipe="full",
    splits="tensor",
    shares_sequences=True,
    recompute="none",
    loss="plain",
    offloads_activations=False,
    steps_in_backward=True,
    keeps_gradients=False,
    adapter_bytes=4,
    loads_whole=False,
    norm_hidden=10,
    gated_copies=4,
    attention_copies=3,
    routed_copies=2,
    loss_bytes=9,
    selective_share=0.4,
    step_copy=False,
    live_params=0,
    bucket_params=0,
    slack=0.05,
    context_mib=700,
    nccl_mib=300,
    uncertainty=0.3,
    source="",
)
PLAIN_HABITS = Habits("none", "plain", offloads_activations=False)


def setup(
    method: str = "full",
    objective: Objective = Objective.LANGUAGE,
    form: FormatFacts = BF16,
    habits: Habits = PLAIN_HABITS,
    **row: Any,
) -> Setup:
    """What is trained, by a trainer whose constants are `ROW` but for those that are given."""
    return Setup(ROW._replace(**row), form, method, habits, objective)


def declared(**more: Any) -> Training:
    """A declaration; what is asked of the model is asked of the small one beside it."""
    raw = {
        "kind": "fine-tuning",
        "method": "full",
        "model": "meta-llama/Llama-3.1-8B",
        "region": "us-east-1",
        "sequenceLength": 128,
        **more,
    }
    workload = parse_workload(raw)
    assert isinstance(workload, Training)
    return workload


def kept(
    known: Setup,
    mode: str = "none",
    architecture: Architecture = PEBBLE,
    stage: Stage | None = None,
    layout: dict[str, int] | None = None,
    **more: Any,
) -> Kept:
    """What one rank of a stage keeps, by default of the whole model on one GPU."""
    whole = Stage(architecture.layers, first=True, last=True)
    asked = {"method": known.method, **more}
    if known.method == "qlora":
        asked["weightsFormat"] = "nf4"
    where = Layout(**(layout or {}))
    keeper = Keeper(declared(**asked), architecture, known, where, stage or whole, mode)
    return keeper.kept()


def is_kept(found: Kept, **expected: Any) -> None:
    """Hold fields of what is kept against what is expected of them."""
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)


def training(
    catalog: Any,
    architecture: Any = PEBBLE,
    method: str = "full",
    objective: Objective = Objective.LANGUAGE,
    row: dict[str, Any] | None = None,
    **more: Any,
) -> Sizer:
    """A run of a small model by the small trainer."""
    found = Sizer(declared(method=method, **more), architecture, catalog)
    assert not found.problems
    found.setup = setup(method, objective, **(row or {}))
    return found


def measured(run: Sizer, usable: int = 8 * GIB, **layout: int) -> Fit:
    return run.measure(Device(usable, (9, 0), nvlink=True), Layout(**layout))
