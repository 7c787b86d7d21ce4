"""What a trained parameter keeps, and how the copies of a run share it."""

from __future__ import annotations

import pytest

from gpusize.memory.training import recipe
from gpusize.memory.training.sharing import WHOLE, Shares, shared_in, shares_of
from tests.unit.memory.training.small import ROW, declared


@pytest.mark.parametrize(
    ("name", "weight", "master", "gradient", "moment", "total"),
    [
        ("pure", 2, 0, 2, 2, 8),
        ("mixed", 2, 4, 2, 4, 16),
        ("mixed-fp32-gradients", 2, 4, 4, 4, 18),
        ("full", 4, 0, 4, 4, 16),
    ],
)
def test_bytes_of_a_parameter_by_recipe(name, weight, master, gradient, moment, total):
    """18 of mixed precision with fp32 gradients, 16 in fp32: model_memory_anatomy of transformers.

    16 with 16-bit gradients: arXiv 1910.02054 (ZeRO), which counts 2 + 2 + 12.
    """
    made = recipe.named(declared(), name)
    assert made == (weight, master, gradient, 2 * moment, moment)
    assert made.states == master + 2 * moment
    assert made.total == total


@pytest.mark.parametrize(
    ("optimizer", "moments", "moment"),
    [
        ("adamw", 8, 4),
        ("adamw-8bit", 2 * (1 + 4 / 256), 1 + 4 / 256),
        ("paged-adamw-8bit", 2 * (1 + 4 / 256), 1 + 4 / 256),
        ("adafactor", 0.04, 0),
        ("muon", 4, 4),
        ("sgd", 0, 0),
    ],
)
def test_bytes_of_moments_by_optimizer(optimizer, moments, moment):
    """Two moments of Adam, one of Muon; an 8-bit one has an fp32 scale for 256 (bitsandbytes)."""
    made = recipe.named(declared(optimizer=optimizer), "full")
    assert made == pytest.approx((4, 0, 4, moments, moment))


def test_eight_bits_are_two_bytes_of_moments():
    """2 bytes a parameter: the table of optimizers in the documentation of transformers."""
    made = recipe.named(declared(optimizer="adamw-8bit"), "mixed")
    assert made.moments == pytest.approx(2, rel=0.02)


def test_what_is_declared_stands_before_the_recipe():
    wide = declared(masterWeights=True, gradientPrecision="fp32", optimizerPrecision="fp32")
    assert recipe.named(wide, "pure") == (2, 4, 4, 8, 4)
    assert recipe.named(wide, "full") == (2, 4, 4, 8, 4)
    narrow = declared(masterWeights=False, gradientPrecision="bf16", optimizerPrecision="bf16")
    assert recipe.named(narrow, "mixed-fp32-gradients") == (2, 0, 2, 4, 2)
    assert recipe.named(narrow, "full") == (4, 0, 2, 4, 2)


def test_adapters_are_trained_in_their_own_bytes():
    """PEFT keeps adapters in fp32: 16 bytes a parameter; bf16 ones take 8."""
    assert recipe.adapter_recipe(declared(), ROW) == (4, 0, 4, 8, 4)
    assert recipe.adapter_recipe(declared(), ROW).total == 16
    narrow = ROW._replace(adapter_bytes=2)
    assert recipe.adapter_recipe(declared(), narrow) == (2, 0, 2, 4, 2)


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("none", "pure"),
        ("ddp", "pure"),
        ("zero-1", "mixed"),
        ("zero-2", "mixed"),
        ("zero-3", "mixed"),
        ("fsdp", "full"),
    ],
)
def test_the_recipe_of_a_mode_is_its_column(mode, name):
    assert recipe.name_of(ROW, mode) == name
    workload = declared()
    assert recipe.recipe_of(workload, ROW, mode) == recipe.named(workload, name)


@pytest.mark.parametrize(
    ("mode", "shares"),
    [
        ("none", (1, 1, 1)),
        ("ddp", (1, 1, 1)),
        ("zero-1", (1, 1, 8)),
        ("zero-2", (1, 8, 8)),
        ("zero-3", (8, 8, 8)),
        ("fsdp", (8, 8, 8)),
    ],
)
def test_what_copies_share(mode, shares):
    """The three stages of ZeRO: states, gradients too, weights too (arXiv 1910.02054)."""
    assert shares_of(mode, 8) == Shares(*shares)
    assert shared_in(mode) == tuple(ways > 1 for ways in shares)
    assert (mode in WHOLE) == (shares[0] > 1)
