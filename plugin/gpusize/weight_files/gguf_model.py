"""The architecture that a GGUF file describes, its parameters and bytes counted tensor by tensor.

Kinds of layers follow from the tensors that a layer has; widths from the metadata. Sources: keys of
gguf-py 0.19 `constants.py`, patterns of windows of llama.cpp `llama-model.cpp`.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from gpusize.architecture import Architecture, AttentionGroup
from gpusize.hub_config.keys import EVERY_OTHER_SLIDING
from gpusize.weight_files.gguf_header import Header, Value, read_header
from gpusize.weight_files.opening import wrong
from gpusize.weight_files.parts import DRAFTS, PARTS, Tensor, sums_of

if TYPE_CHECKING:
    from pathlib import Path

MOST_LAYERS = 2_000
MOST_WIDTH = 10**9
MOST_PIECES = 1_000
NAME_LENGTH = 100
PIECE = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
BLOCK = re.compile(r"^blk\.(\d{1,4})\.([a-z0-9]+(?:_[a-z0-9]+)*)")
FILE_TYPES = {
    0: "fp32", 1: "gguf-f16", 2: "gguf-q4_0", 3: "gguf-q4_1", 7: "gguf-q8_0", 8: "gguf-q5_0",
    9: "gguf-q5_1", 10: "gguf-q2_k", 11: "gguf-q3_k_s", 12: "gguf-q3_k_m", 13: "gguf-q3_k_l",
    14: "gguf-q4_k_s", 15: "gguf-q4_k_m", 16: "gguf-q5_k_s", 17: "gguf-q5_k_m", 18: "gguf-q6_k",
    19: "gguf-iq2_xxs", 20: "gguf-iq2_xs", 21: "gguf-q2_k_s", 22: "gguf-iq3_xs",
    23: "gguf-iq3_xxs", 24: "gguf-iq1_s", 25: "gguf-iq4_nl", 26: "gguf-iq3_s", 27: "gguf-iq3_m",
    28: "gguf-iq2_s", 29: "gguf-iq2_m", 30: "gguf-iq4_xs", 31: "gguf-iq1_m", 32: "gguf-bf16",
    36: "gguf-tq1_0", 37: "gguf-tq2_0", 38: "gguf-mxfp4", 39: "gguf-nvfp4", 135: "gguf-q6_0",
    138: "gguf-iq2_k", 139: "gguf-iq3_k", 140: "gguf-iq4_k", 141: "gguf-iq5_k", 142: "gguf-iq6_k",
    145: "gguf-iq4_ks", 147: "gguf-iq2_ks", 148: "gguf-iq4_kss", 150: "gguf-iq5_ks",
    151: "gguf-iq2_kt", 152: "gguf-iq3_kt", 153: "gguf-iq4_kt", 154: "gguf-iq3_ks",
    155: "gguf-iq2_kl", 156: "gguf-iq1_kt", 338: "gguf-iq2_k", 339: "gguf-iq3_k",
    340: "gguf-iq4_k", 341: "gguf-iq5_k", 345: "gguf-iq4_ks", 350: "gguf-iq5_ks",
}  # fmt: skip
"""Catalog formats of `general.file_type` (gguf-py LlamaFileType, ik_llama.cpp from 135 on)."""
UNTOLD_TYPE = "gguf-q4_k_m"
"""What stands in for the name of a mixture that the file does not name; its bytes are exact."""
ALTERNATING = {**EVERY_OTHER_SLIDING, "gpt-oss": 2, "gemma3n": 5, "exaone4": 4, "olmo2": 4}
"""Every n-th layer is full where the file tells a window and no pattern (llama.cpp)."""
NO_STATE = "the state of its recurrent layers is not told by the file"


def read_gguf(path: str, base_dir: Path | None = None) -> Architecture:
    """The architecture of a GGUF file, all its pieces together; raises `GpuSizeError`."""
    header = read_header(path, base_dir)
    tensors = list(header.tensors)
    for piece in _other_pieces(header, path):
        tensors += read_header(piece, base_dir).tensors
    return _Model(Header(header.values, tuple(tensors)), path).architecture()


def _other_pieces(header: Header, path: str) -> list[str]:
    """Paths of the other pieces of a file that was split."""
    count = header.values.get("split.count")
    if not isinstance(count, int) or count <= 1:
        return []
    if count > MOST_PIECES or PIECE.search(path) is None:
        told = f"is one of {count} pieces and not named like one"
        raise wrong(path, told, "name pieces as llama.cpp does: model-00001-of-00003.gguf")
    stem = PIECE.sub("", path)
    whole = [f"{stem}-{index:05d}-of-{count:05d}.gguf" for index in range(1, count + 1)]
    return [piece for piece in whole if PurePath(piece) != PurePath(path)]


class _Model:
    """One file's metadata, by family."""

    def __init__(self, header: Header, path: str) -> None:
        self.path = path
        self.values = header.values
        family = header.values.get("general.architecture")
        if not isinstance(family, str) or not family:
            raise wrong(path, "does not say its architecture", "give a language model's file")
        self.family = family
        if family == "clip":
            raise wrong(path, "is a tower for images alone", "give the language model's file")
        drafts = self.whole("nextn_predict_layers", 0, least=0)
        self.layers = self.whole("block_count", most=MOST_LAYERS) - drafts
        if self.layers < 1:
            raise wrong(path, "has no layers")
        self.tensors = [one for one in header.tensors if not self._is_draft(one)]
        self.blocks = self._blocks()

    def _is_draft(self, tensor: Tensor) -> bool:
        found = BLOCK.match(tensor.name)
        is_beyond = found is not None and int(found[1]) >= self.layers
        return is_beyond or DRAFTS.search(tensor.name) is not None

    def _blocks(self) -> list[set[str]]:
        """The names of each layer's tensors."""
        blocks: list[set[str]] = [set() for _ in range(self.layers)]
        for tensor in self.tensors:
            found = BLOCK.match(tensor.name)
            if found is not None:
                blocks[int(found[1])].add(found[2])
        return blocks

    def raw(self, key: str) -> Value | None:
        """A value of the family."""
        return self.values.get(f"{self.family}.{key}")

    def whole(
        self, key: str, default: int | None = None, least: int = 1, most: int = MOST_WIDTH
    ) -> int:
        """A whole number in range; of a list the largest."""
        value = self.raw(key)
        if isinstance(value, list):
            value = max(value, default=None)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            told = "is missing" if value is None else f"is not between {least} and {most}"
            raise wrong(self.path, f"{self.family[:40]}.{key} of the GGUF header {told}")
        return value

    def of_layer(self, key: str, layer: int, default: int) -> int:
        """A number that may be told layer by layer."""
        value = self.raw(key)
        if isinstance(value, list):
            found = value[layer] if layer < len(value) else default
            return int(found) if 0 <= found <= MOST_WIDTH else default
        return self.whole(key, default, least=0)

    def optional(self, key: str) -> int | None:
        """A whole number from 1, None where there is none or 0."""
        return self.whole(key, 0, least=0) or None

    def architecture(self) -> Architecture:
        """Everything that sizing asks for."""
        sums = sums_of(self.tensors)
        hidden, heads = self.whole("embedding_length"), self.whole("attention.head_count")
        rank, rope = self.optional("attention.kv_lora_rank"), self.optional("rope.dimension_count")
        head_dim = self.optional("attention.key_length") or max(1, hidden // heads)
        if rank:
            head_dim = self.optional("attention.key_length_mla") or head_dim
            head_dim = max(1, head_dim - (rope or 0))
        groups, unknown = self._groups(heads, head_dim, rank is not None)
        counts = dict(zip(PARTS, sums.elements, strict=True))
        total, experts = sum(sums.elements), self.optional("expert_count")
        active = self.optional("expert_used_count")
        idle = counts["expert"] * (experts - active) // experts if experts and active else 0
        form = self._form()
        return Architecture(
            name=self._name(),
            total_params=total,
            active_params=total - max(0, idle),
            layers=self.layers,
            hidden=hidden,
            intermediate=self.optional("feed_forward_length"),
            heads=heads,
            kv_heads=max([1, *[group.kv_heads for group in groups]]),
            head_dim=head_dim,
            vocab=self._vocabulary(),
            tie_embeddings=counts["head"] == 0,
            max_position=self.optional("context_length"),
            native_format=form,
            attention=groups,
            embedding_params=counts["embedding"],
            head_params=counts["head"],
            expert_params=counts["expert"],
            linear_params=counts["linear"],
            other_params=counts["other"],
            kv_lora_rank=rank,
            qk_rope_head_dim=rope if rank else None,
            q_lora_rank=self.optional("attention.q_lora_rank"),
            experts_total=experts,
            experts_active=active,
            shared_experts=self.optional("expert_shared_count"),
            moe_intermediate=self.optional("expert_feed_forward_length"),
            first_dense_layers=self.whole("leading_dense_block_count", 0, least=0)
            if experts
            else None,
            mtp_layers=self.optional("nextn_predict_layers"),
            known=not unknown,
            unknown_reason=unknown,
            assumption="counted tensor by tensor from the GGUF header",
            stored=sums.stored(form),
        )

    def _name(self) -> str:
        """What the file calls itself, else its path; printable and short."""
        name = self.values.get("general.name")
        told = name if isinstance(name, str) else ""
        clean = "".join([sign for sign in told if sign.isprintable()])[:NAME_LENGTH].strip()
        return clean or self.path

    def _vocabulary(self) -> int:
        for tensor in self.tensors:
            if tensor.name == "token_embd.weight" and len(tensor.shape) > 1:
                return max(1, tensor.shape[1])
        return self.whole("vocab_size", 1)

    def _form(self) -> str:
        """The catalog's name of the mixture."""
        told = self.values.get("general.file_type")
        return FILE_TYPES.get(told, UNTOLD_TYPE) if isinstance(told, int) else UNTOLD_TYPE

    def _groups(
        self, heads: int, head_dim: int, is_latent: bool
    ) -> tuple[tuple[AttentionGroup, ...], str]:
        """State by layer, equal layers together, and why it is not known."""
        counts: dict[AttentionGroup, int] = {}
        unknown = ""
        for layer, names in enumerate(self.blocks):
            found = []
            if _has(names, "ssm_") or "shortconv_conv" in names:
                found.append(self._recurrent(names))
            if _has(names, "time_mix"):
                found.append(AttentionGroup("linear", 1))
            if "attn_kv_a_mqa" in names and is_latent:
                found.append(AttentionGroup("mla", 1, None, 1, head_dim))
            elif "attn_k" in names or ("attn_qkv" in names and not found):
                found.append(self._heads(layer, heads, head_dim))
            for group in found or [AttentionGroup("none", 1)]:
                counts[group] = counts.get(group, 0) + 1
                if group.kind == "linear" and group.state_elements is None:
                    unknown = NO_STATE
        if self.raw("ssm.inner_size") is None and any(_has(names, "ssm_") for names in self.blocks):
            unknown = NO_STATE
        return tuple([group._replace(layers=many) for group, many in counts.items()]), unknown

    def _heads(self, layer: int, heads: int, head_dim: int) -> AttentionGroup:
        """Keys and values of one layer, full or in a window."""
        kv_heads = self.of_layer("attention.head_count_kv", layer, heads) or heads
        value = self.optional("attention.value_length") or head_dim
        window = self.optional("attention.sliding_window")
        if window is None or not self._is_sliding(layer):
            return AttentionGroup(
                "full", 1, None, kv_heads, head_dim, value if value != head_dim else None
            )
        width = self.optional("attention.key_length_swa") or head_dim
        value = self.optional("attention.value_length_swa") or value
        return AttentionGroup(
            "sliding", 1, window, kv_heads, width, value if value != width else None
        )

    def _is_sliding(self, layer: int) -> bool:
        """Whether a layer looks back a window only."""
        pattern = self.raw("attention.sliding_window_pattern")
        if isinstance(pattern, list):
            return bool(pattern[layer % len(pattern)]) if pattern else False
        step = pattern if isinstance(pattern, int) else ALTERNATING.get(self.family)
        return bool(step) and (layer + 1) % int(step or 1) != 0

    def _recurrent(self, names: set[str]) -> AttentionGroup:
        """State-space, delta-rule and short-convolution layers."""
        if "shortconv_conv" in names:
            length = self.whole("shortconv.l_cache", 1)
            width = self.whole("embedding_length")
            return AttentionGroup("linear", 1, state_elements=0, conv_elements=width * (length - 1))
        inner, state = self.whole("ssm.inner_size", 1), self.whole("ssm.state_size", 1)
        mixed = inner + 2 * self.whole("ssm.group_count", 0, least=0) * state
        kernel = self.whole("ssm.conv_kernel", 1)
        return AttentionGroup(
            "mamba", 1, state_elements=inner * state, conv_elements=mixed * (kernel - 1)
        )


def _has(names: set[str], start: str) -> bool:
    return any(name.startswith(start) for name in names)
