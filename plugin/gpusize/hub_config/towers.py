"""Parameters of the towers for images and sound beside a language model."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpusize.hub_config.reading import Config

GATED_ACTIVATIONS = ("silu", "swiglu")
MAX_WIDTH = 100_000
MAX_DEPTH = 200


class Tower(NamedTuple):
    """What is known of the towers."""

    params: int | None
    heads: int | None


def tower_of(config: Config, hidden: int) -> Tower:
    """Count the vision tower; params is None where there is none or it cannot be counted."""
    part = config.raw.get("vision_config")
    if not isinstance(part, dict):
        return Tower(None, None)
    heads = _size(part, "num_heads", "num_attention_heads")
    width = _size(part, "embed_dim", "hidden_size", "width", "vt_hidden_size")
    depth = _size(part, "depth", "num_hidden_layers", "layers", "vt_num_hidden_layers")
    if width is None or depth is None or depth > MAX_DEPTH:
        return Tower(None, heads)
    return Tower(_count(part, width, depth, hidden), heads)


def _count(part: dict[str, Any], width: int, depth: int, hidden: int) -> int:
    inner = _size(part, "intermediate_size", "vt_intermediate_size")
    if inner is None:
        ratio = part.get("mlp_ratio")
        inner = int(width * ratio) if isinstance(ratio, (int, float)) and ratio < 100 else 4 * width
    activation = part.get("hidden_act")
    matrices = 3 if activation in GATED_ACTIVATIONS else 2
    biases = 0 if part.get("attention_bias") is False and matrices == 3 else 5 * width + inner
    block = 4 * width * width + matrices * width * inner + biases + 4 * width
    return depth * block + _patches(part, width) + _projector(part, width, hidden)


def _patches(part: dict[str, Any], width: int) -> int:
    """Patch embedding and positions."""
    patch = _size(part, "patch_size", "spatial_patch_size") or 14
    channels = _size(part, "in_channels", "in_chans", "num_channels") or 3
    frames = _size(part, "temporal_patch_size") or 1
    image = _size(part, "image_size")
    positions = _size(part, "num_position_embeddings")
    if positions is None:
        positions = (image // patch) ** 2 + 1 if image is not None else 0
    return channels * frames * patch * patch * width + positions * width + width


def _projector(part: dict[str, Any], width: int, hidden: int) -> int:
    """Layers that bring patches to the width of the language model."""
    merge = (_size(part, "spatial_merge_size") or 1) ** 2
    out = _size(part, "out_hidden_size", "projection_dim") or hidden
    deep = part.get("deepstack_visual_indexes")
    mergers = 1 + (len(deep) if isinstance(deep, list) else 0)
    merged = merge * width
    return mergers * (merged * merged + merged * out + merged + out + 2 * merged)


def _size(part: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = part.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_WIDTH:
            return value
    return None
