"""Parameters of a configuration, part by part, and the architecture that they make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from gpusize.architecture import Architecture, AttentionGroup
from gpusize.hub_config import keys
from gpusize.hub_config.attention import Block, block_of
from gpusize.hub_config.geometry import Geometry, geometry_of
from gpusize.hub_config.layers import is_left_out, layer_kinds, moe_layers, part_of
from gpusize.hub_config.quantized import native_format
from gpusize.hub_config.reading import Config
from gpusize.hub_config.towers import Tower, tower_of


class Experts(NamedTuple):
    """Routed experts of one layer."""

    total: int
    active: int
    shared: int
    width: int
    shared_width: int
    acts_on: int
    """Width that routed experts read and write: the residual stream, or a latent one."""


class Parts(NamedTuple):
    """Parameters by part."""

    embedding: int
    head: int
    expert: int
    linear: int
    other: int
    latent: int

    @property
    def total(self) -> int:
        """Everything."""
        return self.embedding + self.head + self.expert + self.linear + self.other


def build(config: Config) -> Architecture:
    """The architecture that a configuration describes; raises what is wrong with it."""
    frame = geometry_of(config)
    kinds = layer_kinds(config, frame)
    with_experts = moe_layers(config, kinds)
    experts = _experts(config, frame) if any(with_experts) else None
    blocks = [block_of(kind, config, frame) for kind in _with_cross(config, frame, kinds)]
    tower = tower_of(config, frame.hidden)
    config.check()
    parts = _parts(config, frame, kinds, with_experts, experts, blocks, tower)
    return _architecture(config, frame, with_experts, experts, blocks, tower, parts)


def _with_cross(config: Config, frame: Geometry, kinds: Sequence[str]) -> list[str]:
    """Layers of a decoder beside an encoder look at both."""
    if frame.encoder_layers and config.flag("is_encoder_decoder"):
        return [*kinds, *["cross"] * frame.layers]
    return list(kinds)


def _experts(config: Config, frame: Geometry) -> Experts:
    width = config.whole(*keys.EXPERT_WIDTH) or config.whole("intermediate_size")
    width = width or frame.intermediate
    shared = config.count(*keys.SHARED)
    shared_width = config.count(*keys.SHARED_WIDTH)
    if shared_width and not shared:
        shared = 1
    if not shared and config.family.startswith("llama4"):
        shared = 1
    total = config.needed(*keys.EXPERTS)
    active = config.needed(*keys.EXPERTS_ACTIVE)
    if active > total:
        config.problem("num_experts_per_tok", f"is above the {total} experts")
    latent = config.whole("moe_latent_size", "latent_moe_dim", "routed_expert_hidden_size")
    return Experts(
        total, active, shared, width, shared_width or shared * width, latent or frame.hidden
    )


def _parts(
    config: Config,
    frame: Geometry,
    kinds: Sequence[str],
    with_experts: Sequence[bool],
    experts: Experts | None,
    blocks: Sequence[Block],
    tower: Tower,
) -> Parts:
    table = frame.vocab * frame.hidden
    is_tied = config.flag(*keys.TIED, default=config.is_family(keys.TIED_BY_DEFAULT))
    has_head = not is_tied and not _is_headless(config)
    linear = sum(block.linear for block in blocks)
    latent = sum(block.linear for block in blocks if block.is_latent)
    other = sum(block.other for block in blocks) + _norms(config, frame)
    other += _positions(config, frame) + _front(config, frame) + (tower.params or 0)
    routed = 0
    for kind, is_moe in zip(kinds, with_experts, strict=True):
        if is_moe and experts is not None:
            routed += experts.total * frame.matrices * experts.acts_on * experts.width
            linear += frame.matrices * frame.hidden * experts.shared_width
            other += frame.hidden * experts.total
            if experts.acts_on != frame.hidden:
                linear += 2 * frame.hidden * experts.acts_on
        if _has_dense(config, kind, kinds, is_moe):
            linear += frame.matrices * frame.hidden * frame.intermediate
    linear += _encoder(frame) + _searched(config, frame)
    return Parts(table, table if has_head else 0, routed, linear, other, latent)


MULTIPLE = 256
"""Widths of searched MLPs are rounded up to this. Source: configuration of nemotron-nas."""


def _searched(config: Config, frame: Geometry) -> int:
    """MLPs and single matrices of layers whose shape was searched block by block."""
    linear = 0
    for block in config.listed("block_configs") or ():
        mlp, attention = part_of(block, "ffn"), part_of(block, "attention")
        ratio = mlp.get("ffn_mult")
        if is_left_out(mlp):
            linear += frame.hidden**2 if mlp.get("replace_with_linear") else 0
        elif isinstance(ratio, (int, float)) and 0 < ratio <= MULTIPLE:
            width = -(-int(2 * ratio * frame.hidden / 3) // MULTIPLE) * MULTIPLE
            linear += frame.matrices * frame.hidden * width
        linear += frame.hidden**2 if attention.get("replace_with_linear") else 0
    return linear


def _has_dense(config: Config, kind: str, kinds: Sequence[str], is_moe: bool) -> bool:
    """Whether a layer has an MLP without experts."""
    if "moe" in kinds or "mlp" in kinds:
        return kind == "mlp"
    if config.listed("block_configs") is not None:
        return False
    return not is_moe or config.flag("enable_moe_block")


def _is_headless(config: Config) -> bool:
    """Whether the file describes a model without an output head."""
    names = config.raw.get("architectures")
    if not isinstance(names, list) or not names:
        return False
    return all(isinstance(name, str) and name.endswith("Model") for name in names)


def _norms(config: Config, frame: Geometry) -> int:
    """Norms of all layers and the last one, and the biases of norms and MLPs."""
    layers = frame.layers + frame.encoder_layers
    norms = (2 * layers + 1) * frame.hidden
    if not config.is_family(keys.BIASED):
        return norms
    return 2 * norms + layers * (frame.intermediate + frame.hidden)


def _front(config: Config, frame: Geometry) -> int:
    """The two convolutions of width 3 that bring a spectrum to the width of the model."""
    bins = config.count("num_mel_bins")
    return 3 * frame.hidden * (bins + frame.hidden) if bins else 0


def _positions(config: Config, frame: Geometry) -> int:
    if not config.is_family(keys.LEARNED_POSITIONS):
        return 0
    names = (*keys.MAX_POSITION, "max_source_positions")
    return sum(config.count(name) for name in names) * frame.hidden


def _encoder(frame: Geometry) -> int:
    """Projections of an encoder beside the decoder."""
    if not frame.encoder_layers:
        return 0
    attention = 4 * frame.hidden * frame.heads * frame.head_dim
    mlp = frame.matrices * frame.hidden * frame.intermediate
    return frame.encoder_layers * (attention + mlp)


def _architecture(
    config: Config,
    frame: Geometry,
    with_experts: Sequence[bool],
    experts: Experts | None,
    blocks: Sequence[Block],
    tower: Tower,
    parts: Parts,
) -> Architecture:
    latent_rank = config.whole("kv_lora_rank")
    unknown = next((block.unknown for block in blocks if block.unknown), "")
    idle = parts.expert * (experts.total - experts.active) // experts.total if experts else 0
    return Architecture(
        name=config.word("_name_or_path") or config.path,
        total_params=parts.total,
        active_params=parts.total - (tower.params or 0) - idle,
        layers=frame.layers,
        hidden=frame.hidden,
        intermediate=frame.intermediate,
        heads=frame.heads,
        kv_heads=frame.kv_heads,
        head_dim=frame.head_dim,
        vocab=frame.vocab,
        tie_embeddings=parts.head == 0,
        max_position=config.whole(*keys.MAX_POSITION),
        native_format=native_format(config),
        attention=_groups(blocks, config),
        embedding_params=parts.embedding,
        head_params=parts.head,
        expert_params=parts.expert,
        linear_params=parts.linear,
        other_params=parts.other,
        latent_params=parts.latent,
        kv_lora_rank=latent_rank,
        qk_rope_head_dim=config.whole("qk_rope_head_dim") if latent_rank else None,
        experts_total=experts.total if experts else None,
        experts_active=experts.active if experts else None,
        shared_experts=experts.shared if experts else None,
        moe_intermediate=experts.width if experts else None,
        first_dense_layers=_first_dense(with_experts) if experts else None,
        mtp_layers=config.whole(*keys.DRAFT_LAYERS, least=0),
        encoder_layers=frame.encoder_layers or None,
        vision_params=tower.params,
        vision_heads=tower.heads,
        known=not unknown,
        unknown_reason=unknown,
        assumption=_assumption(config),
    )


def _groups(blocks: Sequence[Block], config: Config) -> tuple[AttentionGroup, ...]:
    """Equal layers together, in the order in which their kinds first appear."""
    if config.is_family(keys.ENCODERS):
        return (AttentionGroup("none", len(blocks)),)
    counts: dict[AttentionGroup, int] = {}
    for group, same in groupby(block.group for block in blocks):
        counts[group] = counts.get(group, 0) + len(list(same))
    return tuple(group._replace(layers=layers) for group, layers in counts.items())


def _first_dense(with_experts: Sequence[bool]) -> int:
    return next((index for index, is_moe in enumerate(with_experts) if is_moe), 0)


def _assumption(config: Config) -> str:
    if config.family in keys.BUILT:
        return ""
    name = config.family[:40] or "none"
    return f"model_type {name} is not known; counted as a decoder with gated MLPs"
