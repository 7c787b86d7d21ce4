"""Which kind each layer of a configuration is, and which layers have routed experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpusize.hub_config import keys
from gpusize.hub_config.geometry import Geometry
from gpusize.hub_config.reading import Config

PATTERN_KEYS = ("sliding_window_pattern", "_sliding_window_pattern")


def layer_kinds(config: Config, frame: Geometry) -> list[str]:
    """The kind of each layer, in order; unknown words stay as they are."""
    kinds = _listed(config) or _ruled(config, frame) or ["full"] * frame.layers
    if len(kinds) != frame.layers:
        config.problem("layer_types", f"has {len(kinds)} entries for {frame.layers} layers")
    return kinds


def moe_layers(config: Config, kinds: Sequence[str]) -> list[bool]:
    """Whether each layer has routed experts."""
    layers = len(kinds)
    if config.whole(*keys.EXPERTS) is None or config.value("enable_moe_block") is False:
        return [False] * layers
    if "moe" in kinds:
        return [kind == "moe" for kind in kinds]
    frequency = config.value("moe_layer_freq")
    if isinstance(frequency, list) and len(frequency) == layers:
        return [bool(entry) for entry in frequency]
    listed = config.listed("moe_layers")
    if listed is not None:
        return [index in listed for index in range(layers)]
    return [_is_moe(config, index) for index in range(layers)]


def _is_moe(config: Config, index: int) -> bool:
    """Whether one layer has experts by the rules of its family."""
    if index in (config.listed("mlp_only_layers") or ()):
        return False
    if index < config.count(*keys.FIRST_DENSE):
        return False
    period = config.whole("expert_layer_period")
    if period is not None:
        return index % period == config.count("expert_layer_offset")
    step = config.whole("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")
    return (index + 1) % (step or 1) == 0


def _listed(config: Config) -> list[str] | None:
    """Kinds that the file lists layer by layer."""
    for name in keys.LAYER_LISTS:
        value = config.value(name)
        entries = list(value) if isinstance(value, str) else config.listed(name)
        if entries is not None:
            return [keys.LAYER_KINDS.get(str(entry), str(entry)[:40]) for entry in entries]
    ratios = config.listed("compress_ratios")
    if ratios is not None:
        return [_compressed(ratio) for ratio in ratios[: _depth(config, ratios)]]
    blocks = config.listed("block_configs")
    if blocks is not None:
        return ["none" if is_left_out(part_of(block, "attention")) else "full" for block in blocks]
    return None


def _depth(config: Config, entries: Sequence[Any]) -> int:
    """Layers among entries that may also speak of layers for drafts."""
    return config.whole(*keys.LAYERS) or len(entries)


def part_of(block: Any, name: str) -> dict[str, Any]:
    """One part (attention, ffn) of a searched block."""
    part = block.get(name) if isinstance(block, dict) else None
    return part if isinstance(part, dict) else {}


def is_left_out(part: dict[str, Any]) -> bool:
    """Whether the search left a part out, or put one matrix in its place."""
    return bool(part.get("no_op") or part.get("replace_with_linear"))


def _ruled(config: Config, frame: Geometry) -> list[str] | None:
    """Kinds that follow from a rule of the file or of its family."""
    for rule in (_sparse, _by_period, _by_index, _by_window):
        kinds = rule(config, frame)
        if kinds is not None:
            return kinds
    return None


def _sparse(config: Config, frame: Geometry) -> list[str] | None:
    sparse = config.group("sparse_attention_config").get("sparse_attention_freq")
    if isinstance(sparse, list) and len(sparse) == frame.layers:
        return ["indexed" if entry else "full" for entry in sparse]
    if config.whole("index_topk") is not None:
        return ["indexed"] * frame.layers
    hybrid = config.listed("hybrid_layer_pattern")
    if hybrid is not None:
        return ["sliding" if entry else "full" for entry in hybrid]
    mixed = config.listed("attn_type_list")
    if mixed is not None:
        return ["full" if entry else "linear" for entry in mixed]
    return None


def _by_period(config: Config, frame: Geometry) -> list[str] | None:
    period = config.whole("attn_layer_period")
    if period is not None:
        offset = config.count("attn_layer_offset")
        return ["full" if index % period == offset else "mamba" for index in range(frame.layers)]
    interval = config.whole("full_attention_interval")
    if interval is not None and config.value("linear_num_value_heads") is not None:
        return [
            "full" if (index + 1) % interval == 0 else "linear" for index in range(frame.layers)
        ]
    if config.value("attention_chunk_size") is not None and config.family.startswith("llama4"):
        return _chunked(config, frame)
    return None


def _chunked(config: Config, frame: Geometry) -> list[str]:
    """Every n-th layer sees all positions (and has no rotary ones), the others a chunk."""
    listed = config.listed("no_rope_layers")
    if listed is not None and len(listed) == frame.layers:
        return ["chunked" if entry else "full" for entry in listed]
    step = config.whole("no_rope_layer_interval") or 4
    return ["chunked" if (index + 1) % step else "full" for index in range(frame.layers)]


def _by_index(config: Config, frame: Geometry) -> list[str] | None:
    linear = config.group("linear_attn_config").get("kda_layers")
    if isinstance(linear, list):
        return ["linear" if index + 1 in linear else "full" for index in range(frame.layers)]
    cross = config.listed("cross_attention_layers")
    if cross is not None:
        return ["cross" if index in cross else "full" for index in range(frame.layers)]
    attention = config.listed("attn_layer_indices")
    if attention is not None:
        return ["full" if index in attention else "mamba" for index in range(frame.layers)]
    return None


def _by_window(config: Config, frame: Geometry) -> list[str] | None:
    window = config.whole("sliding_window", "sliding_window_size")
    if window is None or config.value("use_sliding_window") is False:
        return None
    pattern = config.value(*PATTERN_KEYS)
    if isinstance(pattern, str) and pattern:
        return [_letter(pattern, index) for index in range(frame.layers)]
    step = config.whole(*PATTERN_KEYS) or keys.EVERY_OTHER_SLIDING.get(config.family)
    if step:
        return ["sliding" if (index + 1) % step else "full" for index in range(frame.layers)]
    first = config.whole("max_window_layers", least=0)
    if config.flag("use_sliding_window") and first is not None:
        return ["full" if index < first else "sliding" for index in range(frame.layers)]
    if config.is_family(keys.ALL_SLIDING) or config.flag("use_sliding_window"):
        return ["sliding"] * frame.layers
    return None


def _letter(pattern: str, index: int) -> str:
    """Kind by a repeated pattern of letters: L is local, anything else global."""
    return "sliding" if pattern[index % len(pattern)] == "L" else "full"


def _compressed(ratio: object) -> str:
    """Kind by how many tokens one entry stands for; 0: a window alone."""
    return keys.COMPRESSED.get(ratio, "compressed") if isinstance(ratio, int) else "compressed"
