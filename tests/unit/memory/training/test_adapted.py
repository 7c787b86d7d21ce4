"""What one rank keeps of frozen weights, and of what is trained beside them."""

from __future__ import annotations

import pytest

from gpusize.memory.weights import Stage
from gpusize.workload import Objective
from tests.unit.memory.training.small import (
    AGATE,
    BF16,
    FP32,
    GRAVEL,
    PACKED,
    is_kept,
    kept,
    setup,
)

ALL, ENDS = 91_080, 8_000
FOUR = {"dp": 4}
FIRST = Stage(3, first=True, last=False)
HALF = 4_000 + 41_280 + 260
"""Parameters of the first of two stages."""
GRAVEL_DENSE, EXPERTS = 59_000, 28_800


def test_an_adapter_stands_beside_frozen_weights():
    """Rank 16 by default: 16 x 3,744 parameters of 16 bytes; frozen ones take two."""
    own = 16 * 3_744
    found = kept(setup("lora"))
    is_kept(found, weights=2 * ALL + 4 * own, gradients=4 * own, states=8 * own, gathered=0)
    assert found.saved == pytest.approx((4 * own, 8 * own))
    narrow = kept(setup("lora", adapter_bytes=2), adapter={"rank": 3, "targets": "query-value"})
    is_kept(narrow, weights=2 * ALL + 2 * 2_592, states=4 * 2_592)
    halved = kept(setup("lora"), stage=FIRST, layout={"pp": 2})
    is_kept(halved, weights=2 * HALF + 4 * own / 2, gradients=4 * own / 2)


def test_adapters_of_experts_are_copied_as_experts_are():
    """All ranks share: dense 16 x 5 x 468 over four copies, experts over two of each."""
    known = setup("lora")
    dense, expert = 16 * 5 * 468, 16 * 3 * 4 * 180
    found = kept(known, "zero-1", GRAVEL, layout={"dp": 4, "ep": 2})
    is_kept(found, gradients=4 * (dense + expert / 2), states=8 * (dense / 4 + expert / 2 / 2))


def test_frozen_weights_are_shared_by_their_copies():
    """Experts over two ranks have two copies of four, the rest four."""
    is_kept(kept(setup("lora"), "ddp", layout=FOUR), weights=2 * ALL + 4 * 16 * 3_744)
    shared = kept(setup("lora"), "fsdp", layout=FOUR)
    is_kept(shared, weights=2 * ALL / 4 + 4 * 16 * 3_744 / 4)
    found = kept(setup("lora"), "fsdp", GRAVEL, layout={"dp": 4, "ep": 2})
    own = 16 * 5 * 468 / 4 + 16 * 3 * 4 * 180 / 2 / 2
    is_kept(found, weights=2 * (GRAVEL_DENSE / 4 + EXPERTS / 2 / 2) + 4 * own)


def test_quantized_weights_have_the_bits_of_their_part():
    """12 bits of the ends, 4 of matrices, 6 of experts, 20 of the rest."""
    frozen = (8_000 * 12 + 50_080 * 4 + 28_800 * 6 + 920 * 20) / 8
    known = setup("qlora", form=PACKED)
    own = 4 * 16 * (5 * 468 + 3 * 4 * 180)
    is_kept(kept(known, architecture=GRAVEL), weights=frozen + own)
    shared = kept(known, "fsdp", GRAVEL, layout={"dp": 4, "ep": 2})
    dense = (8_000 * 12 + 50_080 * 4 + 920 * 20) / 8 / 4
    experts = 14_400 * 6 / 8 / 2
    is_kept(shared, weights=dense + experts + 4 * 16 * (5 * 468 / 4 + 3 * 4 * 180 / 2 / 2))


def test_published_bytes_of_quantized_weights(catalog):
    """QLoRA, arXiv 2305.14314: with double quantization 0.373 bits less of each parameter."""
    plain, double = catalog.format("nf4"), catalog.format("nf4-double-quant")
    assert plain.linear_bits - double.linear_bits == pytest.approx(0.373, abs=0.001)
    spared = [kept(setup("qlora", form=form)).weights for form in (plain, double)]
    assert spared[0] - spared[1] == pytest.approx(82_560 * 0.373 / 8, rel=0.001)


def test_a_matrix_is_unpacked_at_a_time():
    """40 x 72 of two bytes, cut over tensor ranks; 16-bit weights need none."""
    is_kept(kept(setup("qlora", form=PACKED)), gathered=2 * 2_880)
    is_kept(kept(setup("qlora", form=PACKED), layout={"tp": 2}), gathered=2 * 2_880 / 2)
    is_kept(kept(setup("lora", form=PACKED)), gathered=2 * 2_880)
    is_kept(kept(setup("lora", form=BF16)), gathered=0)


def test_frozen_fp32_matrices_are_cast_until_their_backward_pass():
    is_kept(kept(setup("lora", form=FP32)), gathered=2 * 82_560)
    moe = kept(setup("lora", form=FP32), architecture=GRAVEL)
    is_kept(moe, gathered=2 * (50_080 + 28_800))
    is_kept(kept(setup(form=FP32)), gathered=0)


def test_dora_takes_norms_of_whole_matrices():
    is_kept(kept(setup("dora")), gathered=2 * 2 * 2_880)
    is_kept(kept(setup("dora"), layout={"tp": 2}), gathered=2 * 2 * 2_880 / 2)
    is_kept(kept(setup("dora", form=PACKED)), gathered=3 * 2 * 2_880)
    is_kept(kept(setup("dora"), "ddp", layout=FOUR), gathered=2 * 2 * 2_880 + 4 * 16 * 3_744)


def test_trained_ends_have_the_recipe_of_full_training():
    """Both ends in 16 bits beside an fp32 adapter, as on another stage one of them."""
    own = 16 * 3_744
    ends = {"adapter": {"trainEmbeddings": True}}
    found = kept(setup("lora"), **ends)
    is_kept(
        found,
        weights=2 * ALL + 4 * own + 2 * ENDS,
        gradients=4 * own + 2 * ENDS,
        states=8 * own + 4 * ENDS,
    )
    stage = kept(setup("lora"), stage=FIRST, layout={"pp": 2}, **ends)
    is_kept(stage, gradients=4 * own / 2 + 2 * 4_000)


def test_a_reference_is_a_second_copy():
    """Beside full training alone: with an adapter the frozen weights are one."""
    paired = setup(objective=Objective.PREFERENCE)
    is_kept(kept(paired), weights=4 * ALL, gradients=2 * ALL)
    is_kept(kept(paired, "fsdp", layout=FOUR), weights=(4 + 2) * ALL / 4)
    layout = {"dp": 4, "ep": 2}
    moe = kept(paired, "fsdp", GRAVEL, layout=layout)
    rank = GRAVEL_DENSE / 4 + EXPERTS / 2 / 2
    is_kept(moe, weights=(4 + 2) * rank)
    is_kept(kept(paired, "fsdp", GRAVEL, layout={"dp": 7}), weights=(4 + 2) * 87_800 / 7)
    is_kept(kept(paired, "zero-2", GRAVEL, layout=FOUR), weights=4 * 87_800)
    adapted = setup("lora", objective=Objective.PREFERENCE)
    is_kept(kept(adapted), weights=kept(setup("lora")).weights)
    assert kept(paired).saved == pytest.approx((2 * ALL, 4 * ALL))


def test_weights_that_are_whole_while_they_load():
    """Whole and its part at once, with FSDP and where the trainer loads so."""
    loads = setup("lora", loads_whole=True)
    is_kept(kept(loads, "fsdp", layout=FOUR), load=2 * ALL + 2 * ALL / 4)
    for mode in ("zero-3", "ddp"):
        is_kept(kept(loads, mode, layout=FOUR), load=0)
    is_kept(kept(loads), load=0)
    is_kept(kept(setup("lora"), "fsdp", layout=FOUR), load=0)
    is_kept(kept(setup(loads_whole=True), "fsdp", layout=FOUR), load=0)


LOOKING = {"modality": "vision-language", "model": "Qwen/Qwen3-VL-8B-Instruct"}
TOWER = 497_664


def test_a_frozen_tower_is_kept_in_16_bits():
    """A tenth of it projects into tokens, and is trained with the rest."""
    known = setup(plain_recipe="full")
    found = kept(known, architecture=AGATE, **LOOKING)
    trained = ALL + TOWER * 0.1
    is_kept(found, weights=4 * trained + 2 * 0.9 * TOWER, gradients=4 * trained)
    every = kept(known, architecture=AGATE, trainVision=True, **LOOKING)
    is_kept(every, weights=4 * (ALL + TOWER), gradients=4 * (ALL + TOWER))
    shared = kept(known, "fsdp", AGATE, layout=FOUR, **LOOKING)
    is_kept(shared, weights=(4 * trained + 2 * 0.9 * TOWER) / 4)
    words = kept(known, architecture=AGATE)
    is_kept(words, weights=4 * ALL + 2 * TOWER, gradients=4 * ALL)


def test_beside_an_adapter_the_projector_is_trained_in_full():
    """Its 16-bit weights lie among the frozen ones: two bytes more where it is fp32."""
    own, projector = 16 * 3_744, TOWER * 0.1
    found = kept(setup("lora"), architecture=AGATE, **LOOKING)
    is_kept(
        found,
        weights=2 * (ALL + TOWER) + 4 * own,
        gradients=4 * own + 2 * projector,
        states=8 * own + 4 * projector,
    )
    wide = kept(setup("lora", plain_recipe="full"), architecture=AGATE, **LOOKING)
    is_kept(wide, weights=2 * (ALL + TOWER) + 4 * own + 2 * projector)
    tower = kept(setup("lora"), architecture=AGATE, trainVision=True, **LOOKING)
    more = 18 * 16 * 144 * 2
    is_kept(tower, gradients=4 * (own + more) + 2 * projector)
    later = kept(setup("lora"), "none", AGATE, Stage(3, False, True), {"pp": 2}, **LOOKING)
    is_kept(later, gradients=4 * own / 2)
    words = kept(setup("lora"), architecture=AGATE)
    is_kept(words, gradients=4 * own)
