"""Widths and counts of a language model that several parts of the arithmetic share."""

from __future__ import annotations

from typing import NamedTuple

from gpusize.hub_config import keys
from gpusize.hub_config.reading import MAX_LAYERS, Config

PLAIN_RATIO = 4
"""Width of the MLP over the residual stream where a family leaves it out."""


class Geometry(NamedTuple):
    """The frame of a language model."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    intermediate: int
    vocab: int
    encoder_layers: int
    matrices: int
    """Matrices of one MLP: 3 with a gate, 2 without."""


def geometry_of(config: Config) -> Geometry:
    """Read the frame; problems stay in `config`."""
    hidden = config.needed(*keys.HIDDEN)
    heads = config.needed(*keys.HEADS)
    encoder = config.whole(*keys.ENCODER_LAYERS, most=MAX_LAYERS) or 0
    layers = _layers(config)
    if config.flag("is_encoder_decoder"):
        encoder = encoder or layers
        layers = config.whole(*keys.DECODER_LAYERS, most=MAX_LAYERS) or layers
    head_dim = _head_dim(config, hidden, heads)
    return Geometry(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_kv_heads(config, heads),
        head_dim=head_dim,
        value_dim=config.whole(*keys.VALUE_DIM) or head_dim,
        intermediate=_intermediate(config, hidden),
        vocab=config.needed(*keys.VOCAB),
        encoder_layers=encoder,
        matrices=2 if _is_plain(config) else 3,
    )


def _layers(config: Config) -> int:
    """Number of layers; where only a list of them is there, its length."""
    if config.value(*keys.LAYERS) is None:
        for name in keys.LAYER_LISTS:
            value = config.value(name)
            if isinstance(value, (str, list)) and 0 < len(value) <= MAX_LAYERS:
                return len(value)
    return config.needed(*keys.LAYERS, most=MAX_LAYERS)


def _head_dim(config: Config, hidden: int, heads: int) -> int:
    latent = config.whole("qk_nope_head_dim")
    if latent is not None:
        return latent
    declared = config.whole(*keys.HEAD_DIM)
    if declared is None and not config.problems and hidden % heads:
        config.problem("num_attention_heads", f"does not divide the hidden size {hidden}")
    return declared or max(1, hidden // heads)


def _kv_heads(config: Config, heads: int) -> int:
    """Key/value heads: as declared, one for multi-query families, else as many as heads."""
    if config.flag("multi_query") and not config.flag("new_decoder_architecture"):
        return 1
    is_grouped = config.value("multi_query_attention") is not False
    declared = config.whole(*keys.KV_HEADS) if is_grouped else None
    if declared is None:
        declared = _nested_kv_heads(config, heads)
    if declared is not None and heads % declared:
        config.problem("num_key_value_heads", f"does not divide the {heads} heads")
    return declared or heads


def _nested_kv_heads(config: Config, heads: int) -> int | None:
    """Key/value heads from a group of their own, or from how many heads share them."""
    nested = config.group("attn_config").get("kv_n_heads")
    for block in config.listed("block_configs") or ():
        attention = block.get("attention") if isinstance(block, dict) else None
        shared = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
        if isinstance(shared, int) and shared > 0:
            nested = heads // shared
    return nested if isinstance(nested, int) and 0 < nested <= heads else None


def _intermediate(config: Config, hidden: int) -> int:
    ratio = config.whole("expansion_ratio") or PLAIN_RATIO
    width = config.whole(*keys.INTERMEDIATE) or ratio * hidden
    halves = config.is_family(frozenset({"qwen"}))
    return width // 2 if halves else width


def _is_plain(config: Config) -> bool:
    projection = config.word("feed_forward_proj")
    if projection:
        return not projection.startswith("gated")
    return config.is_family(keys.PLAIN_MLP)
