"""Bytes that one rank keeps from step to step, and what a step adds for a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.formats import BITS_PER_BYTE
from gpusize.memory.training import recipe
from gpusize.memory.training.sharing import WHOLE, Shares, shares_of

if TYPE_CHECKING:
    from gpusize.memory.diffusion_training.trained import Trained
    from gpusize.workload import DiffusionTraining
    from gpusize_catalog.facts import DiffusionTrainerFacts, FormatFacts

GATHERED_BLOCKS = 2
"""Blocks that are whole at once where copies share weights: the one at hand and the next."""
UNET_BLOCKS = 4
"""Parts of a U-Net that are gathered one after the other: its levels."""
LARGEST_MATRIX = 5
"""The largest matrix of a block, in squares of its width: attention and MLP joined (Flux)."""
HALF_FORMATS = frozenset({"bf16", "fp16"})


class Held(NamedTuple):
    """Bytes of one rank; what is frozen and not shared is not among them."""

    weights: float
    gradients: float
    states: float
    gathered: float
    """Whole for a moment, beside everything else."""
    cast: float
    """16-bit copies of trained fp32 weights, from the forward pass until gradients take over."""
    step_copy: float
    """While the optimizer steps."""
    host: float


def held_of(
    workload: DiffusionTraining,
    row: DiffusionTrainerFacts,
    form: FormatFacts,
    trained: Trained,
    copies: int,
    mode: str,
) -> Held:
    """What a rank of so many copies holds in a mode of sharding."""
    shares = shares_of(mode, copies)
    adapted = trained.frozen > 0
    made = _recipe(workload, row, mode, adapted)
    own = trained.params
    weights = trained.frozen / shares.weights + own * made.weight / shares.weights
    gradients = own * made.gradient / shares.gradients
    states = own * made.states / shares.states
    mean = own * made.weight / shares.weights if workload.ema else 0.0
    copy = _step_copy(workload, row, made, own, mode, shares)
    host = 0.0
    if workload.optimizer.value == recipe.PAGED:
        host = own * made.moments / shares.states
        states -= host
    offload = workload.sharding.offload.value
    if offload != "none":
        host, states, copy = host + states, 0.0, 0.0
    swapped = trained.frozen / shares.weights * _swapped(workload, trained)
    host, weights = host + swapped, weights - swapped
    gathered = _gathered(workload, form, trained, mode, gradients)
    if offload == "all" and mode in WHOLE:
        host, weights, gradients = host + weights + gradients, 0.0, 0.0
    casts = not adapted and made.weight == recipe.WIDE and workload.compute_precision != "fp32"
    cast = own * recipe.HALF if casts and mode not in WHOLE else 0.0
    return Held(weights, gradients, states + mean, gathered, cast, copy, host)


def _swapped(workload: DiffusionTraining, trained: Trained) -> float:
    """Part of the frozen weights that waits in host memory."""
    many, blocks = workload.swapped_blocks or 0, trained.denoiser.blocks or 0
    return min(1.0, many / blocks) if blocks else 0.0


def _recipe(
    workload: DiffusionTraining, row: DiffusionTrainerFacts, mode: str, adapted: bool
) -> recipe.Recipe:
    """What a trained parameter keeps; weights declared in 16 bits are trained in them."""
    if adapted:
        return recipe.adapter_recipe(workload, row)
    name = recipe.name_of(row, mode)
    if workload.weights_format in HALF_FORMATS and name == "full":
        name = "pure"
    return recipe.named(workload, name)


def _step_copy(
    workload: DiffusionTraining,
    row: DiffusionTrainerFacts,
    made: recipe.Recipe,
    own: float,
    mode: str,
    shares: Shares,
) -> float:
    """What a step of the optimizer holds beside the states; 8-bit ones step in place."""
    if recipe.MOMENTS[workload.optimizer.value][1] is not None:
        return 0.0
    if mode.startswith("zero") and row.zero_recipe == "mixed":
        return own / shares.states * recipe.WIDE
    return own * made.moment if row.step_copy and shares.states == 1 else 0.0


def _gathered(
    workload: DiffusionTraining, form: FormatFacts, trained: Trained, mode: str, gradients: float
) -> float:
    """Weights and gradients that are whole for a moment."""
    part = trained.denoiser
    matrix = LARGEST_MATRIX * (part.hidden or 0) ** 2 * recipe.HALF
    gathered = gradients if mode == "ddp" else 0.0
    if mode in WHOLE:
        block = (part.params or 0) / (part.blocks or UNET_BLOCKS)
        gathered += GATHERED_BLOCKS * block * recipe.HALF
        gathered += 0.0 if trained.frozen else block * recipe.WIDE
    if workload.method.value == "dora":
        # The norm of weight and update is taken of their sum: both are whole for a moment.
        gathered += 2 * matrix
    if trained.frozen and form.linear_bits < BITS_PER_BYTE * recipe.HALF:
        gathered += matrix
    return gathered
