"""Parameters of one layer's attention, and the state that it keeps."""

from __future__ import annotations

from typing import NamedTuple

from gpusize.architecture import COMPRESSED_KINDS, UNBUILT_KINDS, AttentionGroup
from gpusize.hub_config import keys
from gpusize.hub_config.geometry import Geometry
from gpusize.hub_config.reading import Config


class Block(NamedTuple):
    """One layer's attention: its group (of one layer) and its parameters."""

    group: AttentionGroup
    linear: int
    """Projections."""
    other: int = 0
    """Norms, biases, convolutions."""
    is_latent: bool = False
    unknown: str = ""


def block_of(kind: str, config: Config, frame: Geometry) -> Block:
    """The attention of a layer of one kind."""
    if kind in ("none", "moe", "mlp"):
        return Block(AttentionGroup("none", 1), 0)
    if kind == "linear":
        return _linear(config, frame)
    if kind == "mamba":
        return _mamba(config, frame)
    if kind in ("full", "indexed") and config.whole("kv_lora_rank") is not None:
        return _latent(kind, config, frame)
    if kind in ("full", "sliding", "chunked", "indexed", "cross"):
        return _heads(kind, config, frame)
    named = "compressed" if kind in COMPRESSED_KINDS else kind
    unknown = UNBUILT_KINDS.get(named, f"layers of kind {kind} are not known")
    return Block(AttentionGroup(kind, 1), 0, unknown=unknown)


def _heads(kind: str, config: Config, frame: Geometry) -> Block:
    """Attention with heads of its own keys and values."""
    heads, kv_heads, width, value = _widths(kind, config, frame)
    gates = 2 if config.flag("attn_output_gate", "attention_output_gate") else 1
    shares_values = kind == "full" and config.flag("attention_k_eq_v")
    query = frame.hidden * heads * width * gates
    key = frame.hidden * kv_heads * width
    values = 0 if shares_values else frame.hidden * kv_heads * value
    output = heads * value * frame.hidden
    window = _window(kind, config)
    positions = config.whole("max_source_positions") if kind == "cross" else None
    index_dim, index = _index(kind, config, frame)
    group = AttentionGroup(
        kind,
        1,
        window,
        kv_heads,
        width,
        value if value != width else None,
        index_dim,
        positions=positions,
    )
    other = _biases(config, frame, heads, kv_heads, width) + _head_norms(config, width)
    unknown = ""
    if kind in ("sliding", "chunked") and window is None:
        unknown = f"the window of {kind} layers is not declared"
    return Block(group, query + key + values + output + index, other, unknown=unknown)


def _widths(kind: str, config: Config, frame: Geometry) -> tuple[int, int, int, int]:
    """Heads, key/value heads, key width and value width of one kind of layer."""
    if kind == "full":
        width = config.whole("global_head_dim") or frame.head_dim
        kv_heads = config.whole("num_global_key_value_heads") or frame.kv_heads
        value = frame.value_dim if width == frame.head_dim else width
        return frame.heads, kv_heads, width, value
    if kind == "sliding":
        width = config.whole("swa_head_dim") or frame.head_dim
        value = config.whole("swa_v_head_dim") or frame.value_dim
        heads = config.whole("swa_num_attention_heads") or frame.heads
        return heads, config.whole("swa_num_key_value_heads") or frame.kv_heads, width, value
    return frame.heads, frame.kv_heads, frame.head_dim, frame.value_dim


def _window(kind: str, config: Config) -> int | None:
    if kind == "sliding":
        return config.whole("sliding_window", "sliding_window_size", "local_attention")
    return config.whole("attention_chunk_size") if kind == "chunked" else None


def _index(kind: str, config: Config, frame: Geometry) -> tuple[int | None, int]:
    """Width of the extra key of a sparse layer, and the parameters that choose by it."""
    if kind != "indexed":
        return None, 0
    sparse = config.group("sparse_attention_config")
    if sparse:
        dim, heads = sparse.get("sparse_index_dim"), sparse.get("sparse_num_index_heads")
        if not isinstance(dim, int) or not isinstance(heads, int):
            return None, 0
        return dim, frame.hidden * dim * (heads + 1)
    dim, heads = config.count("index_head_dim"), config.count("index_n_heads")
    rank = config.whole("q_lora_rank") or frame.hidden
    return dim or None, rank * heads * dim + frame.hidden * (dim + heads)


def _biases(config: Config, frame: Geometry, heads: int, kv_heads: int, width: int) -> int:
    has_all = config.flag("attention_bias", "use_bias", "bias")
    if not has_all and not config.is_family(keys.QUERY_BIAS) and not config.flag("qkv_bias"):
        return 0
    return (heads + 2 * kv_heads) * width + (frame.hidden if has_all else 0)


def _head_norms(config: Config, width: int) -> int:
    """Norms of queries and keys, at most one number for each of their dimensions."""
    return 2 * width if config.flag("use_qk_norm", "qk_norm") else 0


def _latent(kind: str, config: Config, frame: Geometry) -> Block:
    """Attention over a compressed latent state (MLA)."""
    rank = config.needed("kv_lora_rank")
    rope = config.needed("qk_rope_head_dim")
    query_rank = config.whole("q_lora_rank")
    width = frame.head_dim + rope
    value = config.whole("v_head_dim") or frame.head_dim
    if query_rank is None:
        query, norms = frame.hidden * frame.heads * width, rank
    else:
        query = query_rank * (frame.hidden + frame.heads * width)
        norms = rank + query_rank
    compressed = frame.hidden * (rank + rope) + rank * frame.heads * (frame.head_dim + value)
    output = frame.heads * value * frame.hidden
    index_dim, index = _index(kind, config, frame)
    name = "indexed" if kind == "indexed" else "mla"
    group = AttentionGroup(name, 1, None, frame.kv_heads, frame.head_dim, value, index_dim)
    return Block(group, query + compressed + output + index, norms, is_latent=True)


def _linear(config: Config, frame: Geometry) -> Block:
    """Linear attention: a delta rule with gates, or KDA."""
    nested = config.group("linear_attn_config")
    if nested:
        return _kda(nested, frame)
    key_heads = config.whole("linear_num_key_heads")
    value_heads = config.whole("linear_num_value_heads")
    key_dim, value_dim = config.whole("linear_key_head_dim"), config.whole("linear_value_head_dim")
    if not (key_heads and value_heads and key_dim and value_dim):
        return Block(AttentionGroup("linear", 1), 0, unknown=_NO_STATE)
    kernel = config.whole("linear_conv_kernel_dim") or 1
    keys_width, values_width = key_heads * key_dim, value_heads * value_dim
    mixed = 2 * keys_width + values_width
    projections = frame.hidden * (mixed + values_width + 2 * value_heads)
    group = AttentionGroup(
        "linear",
        1,
        state_elements=value_heads * key_dim * value_dim,
        conv_elements=mixed * (kernel - 1),
    )
    other = mixed * kernel + 2 * value_heads + value_dim
    return Block(group, projections + values_width * frame.hidden, other)


def _kda(nested: dict[str, object], frame: Geometry) -> Block:
    heads, dim = nested.get("num_heads"), nested.get("head_dim")
    kernel = nested.get("short_conv_kernel_size")
    if not (isinstance(heads, int) and isinstance(dim, int) and isinstance(kernel, int)):
        return Block(AttentionGroup("linear", 1), 0, unknown=_NO_STATE)
    width = heads * dim
    gates = 2 * (frame.hidden * dim + dim * width)
    linear = 4 * frame.hidden * width + gates + frame.hidden * heads
    group = AttentionGroup(
        "linear", 1, state_elements=width * dim, conv_elements=3 * width * (kernel - 1)
    )
    return Block(group, linear, 3 * width * kernel + heads + width + dim)


_NO_STATE = "the state of recurrent layers is not declared"


def _mamba(config: Config, frame: Geometry) -> Block:
    """State-space layers of the second kind where heads are declared, else of the first."""
    heads, dim = (
        config.whole("mamba_num_heads", "mamba_n_heads"),
        config.whole("mamba_head_dim", "mamba_d_head"),
    )
    state = config.whole("ssm_state_size", "mamba_d_state", "state_size")
    kernel = config.whole("conv_kernel", "mamba_d_conv") or 1
    if state is None:
        return Block(AttentionGroup("mamba", 1), 0, unknown=_NO_STATE)
    if heads is None or dim is None:
        return _mamba_first(config, frame, state, kernel)
    groups = config.whole("n_groups", "mamba_n_groups") or 1
    inner = heads * dim
    mixed = inner + 2 * groups * state
    linear = frame.hidden * (inner + mixed + heads) + inner * frame.hidden
    group = AttentionGroup(
        "mamba", 1, state_elements=inner * state, conv_elements=mixed * (kernel - 1)
    )
    return Block(group, linear, mixed * (kernel + 1) + 3 * heads + inner)


def _mamba_first(config: Config, frame: Geometry, state: int, kernel: int) -> Block:
    inner = (config.whole("mamba_expand", "expand") or 2) * frame.hidden
    rank = config.whole("mamba_dt_rank") or -(-frame.hidden // 16)
    linear = frame.hidden * 2 * inner + inner * (rank + 2 * state) + rank * inner
    linear += inner * frame.hidden
    group = AttentionGroup(
        "mamba", 1, state_elements=inner * state, conv_elements=inner * (kernel - 1)
    )
    return Block(group, linear, inner * (kernel + 1) + inner * (state + 2) + rank + 2 * state)
