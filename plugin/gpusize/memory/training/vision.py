"""The tower that turns images into tokens: its geometry, and what a step keeps of it.

The catalog holds its parameters and, for some models, its heads and patches; width and depth follow
from them. The tower is small beside the language model, and so is what is wrong here.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.result import Assumption

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Images

CROSS = "cross"
"""Kind of layers that attend to images beside the sequence."""
HEAD_DIM = 72
"""Width of one head: 64 (CLIP), 72 (SigLIP, Qwen3-VL), 80 (Qwen2.5-VL, Llama 3.2) or 128
(InternViT-6B) in the configurations of transformers 5.24."""
USUAL_WIDTH = 1152
"""Width where the heads are not known: of SigLIP, and of the towers of Gemma 3 and Qwen3-VL."""
PARAMS_PER_SQUARE = 12
"""Parameters of a layer by its width squared: four matrices of attention, an MLP of four widths."""
ADAPTED_WIDTHS = 18
"""Rows and columns of these matrices by the width: what one rank of adapters on them adds."""
PATCH = 14
"""Side of one patch, pixels: 14 in CLIP, SigLIP, Qwen2.5-VL and Pixtral, 16 in Qwen3-VL."""
LAYER_BYTES = 34
"""Bytes that a layer keeps for each patch and width, without dropout and scores: norms 4, inputs of
both halves 4, attention 10, MLP 16. Source: the count of Korthikanti et al., arXiv 2205.05198, for
a plain MLP of four widths."""
BORDER_BYTES = 2
"""The same where layers are computed again: their input."""
FORWARD_BYTES = 30
"""Bytes of the widest point of one layer forwards: the MLP twice, attention, the stream."""
PROJECTOR_SHARE = 0.1
"""Part of the tower's parameters that projects its output into tokens. Counted in transformers: 7 %
in LLaVA-1.5 and Qwen2.5-VL, up to 28 % in Qwen3-VL, whose deeper layers have projectors too."""


class Tower(NamedTuple):
    """Geometry of a tower."""

    params: int
    width: int
    depth: float
    """Layers, such as give the parameters."""


class Pictures(NamedTuple):
    """Bytes that the images of one sequence take on a rank that has the tower."""

    kept: float
    """Until the tower's backward pass; 0 where it is frozen."""
    forward: float
    """For a moment, before the language model begins."""


NO_PICTURES = Pictures(0.0, 0.0)


def tower_of(architecture: Architecture) -> Tower | None:
    """The tower of a model; None where it has none that is known."""
    params = architecture.vision_params
    if not params:
        return None
    heads = architecture.vision_heads
    width = heads * HEAD_DIM if heads else USUAL_WIDTH
    return Tower(params, width, params / (PARAMS_PER_SQUARE * width**2))


def where_images_count(architecture: Architecture, field: str) -> Assumption:
    """Say whether the tokens of images are among those that a field declares."""
    beside = any(group.kind == CROSS for group in architecture.attention)
    where = "beside the sequence" if beside else f"within {field}"
    why = "its layers cross to them" if beside else "the model reads them as tokens"
    return Assumption("images", where, why)


def patches(architecture: Architecture, images: Images) -> int:
    """Patches of the images of one sequence; a model's own limit bounds those of each."""
    each = ceil(images.width / PATCH) * ceil(images.height / PATCH)
    return images.per_prompt * min(each, architecture.image_patches or each)


def pictures(
    architecture: Architecture, images: Images, *, trained: bool, recompute: str
) -> Pictures:
    """What the images of one sequence take; a frozen tower keeps nothing."""
    tower = tower_of(architecture)
    if tower is None:
        return NO_PICTURES
    count = patches(architecture, images)
    forward = count * tower.width * FORWARD_BYTES
    per_layer = BORDER_BYTES if recompute == "full" else LAYER_BYTES
    kept = count * tower.width * tower.depth * per_layer if trained else 0.0
    return Pictures(kept, forward)


def adapter_params(architecture: Architecture, rank: int) -> float:
    """Parameters of adapters on the matrices of the tower."""
    tower = tower_of(architecture)
    return 0.0 if tower is None else ADAPTED_WIDTHS * rank * tower.width * tower.depth
