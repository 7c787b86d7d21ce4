"""Writes headers of weight files as their formats say, without any weights."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TYPES = {"F32": 0, "F16": 1, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14, "BF16": 30, "IQ4_KS": 144}

Listed = Sequence[tuple[str, tuple[int, ...], str]]


def text(value: str) -> bytes:
    """A GGUF string."""
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(told: Any) -> bytes:
    """A GGUF value with its type."""
    if isinstance(told, bool):
        return struct.pack("<I?", 7, told)
    if isinstance(told, int):
        return struct.pack("<II", 4, told)
    if isinstance(told, float):
        return struct.pack("<If", 6, told)
    if isinstance(told, str):
        return struct.pack("<I", 8) + text(told)
    if all(isinstance(one, str) for one in told):
        return struct.pack("<IIQ", 9, 8, len(told)) + b"".join(map(text, told))
    kind, form = (7, "?") if all(isinstance(one, bool) for one in told) else (4, "I")
    return struct.pack(f"<IIQ{len(told)}{form}", 9, kind, len(told), *told)


def gguf(values: Mapping[str, Any], tensors: Listed, sizes: Sequence[int] = ()) -> bytes:
    """A GGUF header; `sizes` place the tensors, else all lie at the start."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
    parts += [text(key) + value(told) for key, told in values.items()]
    place = 0
    for index, (name, shape, kind) in enumerate(tensors):
        parts.append(text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        parts.append(struct.pack("<IQ", TYPES[kind], place))
        place += sizes[index] if index < len(sizes) else 0
    return b"".join(parts)


def safetensors(tensors: Listed, widths: Mapping[str, int], file: Path) -> int:
    """A sparse safetensors file; returns the bytes of its tensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, shape, kind in tensors:
        size = widths[kind]
        for width in shape:
            size *= width
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, place + size]}
        place += size
    data = json.dumps(header).encode()
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", len(data)) + data)
        stream.truncate(8 + len(data) + place)
    return place


LLAMA = {
    "general.architecture": "llama",
    "general.name": "Llama 3.1 8B",
    "general.file_type": 15,
    "llama.block_count": 32,
    "llama.embedding_length": 4096,
    "llama.feed_forward_length": 14336,
    "llama.attention.head_count": 32,
    "llama.attention.head_count_kv": 8,
    "llama.context_length": 131072,
    "tokenizer.ggml.tokens": ["<s>", "a"],
}


def llama_tensors() -> list[tuple[str, tuple[int, ...], str]]:
    """Tensors of Llama-3.1-8B as `llama-quantize` makes Q4_K_M of it."""
    tensors: list[tuple[str, tuple[int, ...], str]] = [
        ("token_embd.weight", (4096, 128256), "Q4_K"),
        ("output.weight", (4096, 128256), "Q6_K"),
        ("output_norm.weight", (4096,), "F32"),
        ("rope_freqs.weight", (64,), "F32"),
    ]
    for layer in range(32):
        wide = "Q6_K" if layer < 4 or layer >= 28 or (layer - 4) % 3 == 2 else "Q4_K"
        block = f"blk.{layer}."
        tensors += [
            (block + "attn_q.weight", (4096, 4096), "Q4_K"),
            (block + "attn_k.weight", (4096, 1024), "Q4_K"),
            (block + "attn_v.weight", (4096, 1024), wide),
            (block + "attn_output.weight", (4096, 4096), "Q4_K"),
            (block + "ffn_gate.weight", (4096, 14336), "Q4_K"),
            (block + "ffn_up.weight", (4096, 14336), "Q4_K"),
            (block + "ffn_down.weight", (14336, 4096), wide),
            (block + "attn_norm.weight", (4096,), "F32"),
            (block + "ffn_norm.weight", (4096,), "F32"),
        ]
    return tensors
