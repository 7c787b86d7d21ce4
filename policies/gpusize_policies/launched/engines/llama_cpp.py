"""Options of llama.cpp's server: `llama-server`, and its environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.values import SILENT, model, one_of, unless, whole

CACHE = {
    "f32": "fp32",
    "f16": "fp16",
    "bf16": "bf16",
    "q8_0": "q8_0",
    "q4_0": "q4_0",
    "q4_1": "q4_1",
    "iq4_nl": "iq4_nl",
    "q5_0": "q5_0",
    "q5_1": "q5_1",
}
"""Types of the KV cache (common/arg.cpp, kv_cache_types)."""
CACHE_DEFAULT = "fp16"

USUAL = "q4_k_m"
"""What a repository is taken in where no format is named (common/arg.cpp, --hf-repo)."""
ALL_LAYERS = 99
"""Layers from which on every model of today lies on the GPU whole."""

_ENCODING = re.compile(r"(?:i?q\d|tq\d|f16|f32|bf16|mxfp4|nvfp4)\w{0,8}", re.IGNORECASE | re.ASCII)
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


def encoding(text: str) -> str | None:
    """Read the format of a GGUF file."""
    return f"gguf-{text.lower()}" if _ENCODING.fullmatch(text) else None


def repository(text: str) -> Mapping[str, str] | None:
    """Read `<user>/<model>[:quant]`."""
    name, colon, quant = text.partition(":")
    found, kind = model(name), encoding(quant if colon else USUAL)
    return {"model": found, "format": kind} if found and kind and "/" in name else None


def file(text: str) -> Mapping[str, str] | None:
    """Read a GGUF file's name: model, then encoding (ggml docs/gguf.md, naming convention)."""
    base = text.rpartition("/")[2]
    if not base.lower().endswith(".gguf"):
        return None
    stem = _SHARD.sub("", base[: -len(".gguf")])
    cut = max(stem.rfind("-"), stem.rfind("."))
    found, kind = model(stem[:cut]) if cut > 0 else None, encoding(stem[cut + 1 :])
    return {"model": found, "format": kind} if found and kind else None


def layers(text: str) -> object:
    """Read how many layers the GPU keeps: all of them, else it is not understood."""
    if text.lower() in ("all", "auto", "-1"):
        return SILENT
    number = whole(text)
    return SILENT if number is not None and number >= ALL_LAYERS else None


FLAGS = (
    Flag("_file", ("--model", "-m"), file, env=("LLAMA_ARG_MODEL",)),
    Flag("_repository", ("--hf-repo", "-hf", "-hfr"), repository, env=("LLAMA_ARG_HF_REPO",)),
    Flag(
        "_context",
        ("--ctx-size", "-c"),
        unless(("0",), whole),
        env=("LLAMA_ARG_CTX_SIZE",),
    ),
    Flag("_slots", ("--parallel", "-np"), unless(("-1",), whole), env=("LLAMA_ARG_N_PARALLEL",)),
    Flag(
        "gpuLayers",
        ("--n-gpu-layers", "--gpu-layers", "-ngl"),
        layers,
        env=("LLAMA_ARG_N_GPU_LAYERS",),
        note="that all layers lie on the GPU; else nothing is inferred",
    ),
    Flag("_keys", ("--cache-type-k", "-ctk"), one_of(CACHE), env=("LLAMA_ARG_CACHE_TYPE_K",)),
    Flag("_values", ("--cache-type-v", "-ctv"), one_of(CACHE), env=("LLAMA_ARG_CACHE_TYPE_V",)),
)
MEANS = {
    "_file": "model",
    "_repository": "model",
    "_context": "contextLength",
    "_slots": "concurrency",
    "_keys": "kvCacheFormat",
    "_values": "kvCacheFormat",
}


def finish(found: Said) -> None:
    """Put together the model with its format, the context of one slot, the types of the cache."""
    told = [term for term in (found.drop("_file"), found.drop("_repository")) if term is not None]
    for term in told:
        if isinstance(term.value, Mapping):
            found.terms["model"] = Term("model", term.value["model"], term.source)
            found.terms["weightsFormat"] = Term("weightsFormat", term.value["format"], term.source)
            found.unread.pop("model", None)
    _slots(found)
    keys, values = found.drop("_keys"), found.drop("_values")
    kinds = {one.value if one else CACHE_DEFAULT for one in (keys, values)}
    source = keys or values
    if source is not None and len(kinds) == 1:
        found.terms["kvCacheFormat"] = Term("kvCacheFormat", kinds.pop(), source.source)
    elif source is not None:
        found.unread["kvCacheFormat"] = source.source


def _slots(found: Said) -> None:
    """Share the whole context among the slots (tools/server/README.md, --ctx-size)."""
    whole_context, slots = found.drop("_context"), found.drop("_slots")
    count = slots.value if slots is not None and isinstance(slots.value, int) else 1
    if slots is not None:
        found.terms["concurrency"] = Term("concurrency", count, slots.source)
    if whole_context is not None and isinstance(whole_context.value, int):
        each = max(1, whole_context.value // count)
        found.terms["contextLength"] = Term("contextLength", each, whole_context.source)


TABLE = Table(
    name="llama.cpp",
    base={"kind": "serving", "engine.name": "llama.cpp"},
    flags=FLAGS,
    assumed=(
        Assumed("contextLength", None, "the model's own limit: llama.cpp's default"),
        Assumed("concurrency", 1, "nothing says how many slots there are"),
    ),
    sources="common/arg.cpp (common_params_parser_init) and tools/server/README.md of llama.cpp "
    "b4000 to b7800",
    finish=finish,
    means=MEANS,
)
