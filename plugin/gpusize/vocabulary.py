"""Words that a declaration may use for formats and engines.

The facts behind a word (bits, kernels, constants of an engine version) are the catalog's. A test
holds both lists together.
"""

from __future__ import annotations

from typing import NamedTuple

AUTO = "auto"


class Words(NamedTuple):
    """The words that one field takes; stands in its annotation."""

    subject: str
    words: tuple[str, ...]


_GGUF_TYPES = (
    "q2_k",
    "q3_k_s",
    "q3_k_m",
    "q3_k_l",
    "q4_0",
    "q4_1",
    "q4_k_s",
    "q4_k_m",
    "q5_0",
    "q5_1",
    "q5_k_s",
    "q5_k_m",
    "q6_k",
    "q8_0",
    "iq1_s",
    "iq1_m",
    "iq2_xxs",
    "iq2_xs",
    "iq2_s",
    "iq3_xxs",
    "iq3_s",
    "iq4_xs",
    "iq4_nl",
)

WEIGHTS_FORMATS = Words(
    "weights format",
    (
        AUTO,
        "bf16",
        "fp16",
        "fp32",
        "fp8",
        "fp8-block",
        "int8",
        "int4",
        "awq",
        "gptq",
        "nf4",
        "nf4-double-quant",
        "nvfp4",
        "mxfp4",
        *(f"gguf-{name}" for name in _GGUF_TYPES),
    ),
)
COMPUTE_PRECISIONS = Words("compute precision", (AUTO, "bf16", "fp16", "fp32", "fp8", "int8"))
KV_CACHE_FORMATS = Words(
    "KV cache format",
    (AUTO, "bf16", "fp16", "fp32", "fp8", "fp8-e4m3", "fp8-e5m2", "int8", "q8_0", "q4_0"),
)
ENGINES = Words(
    "engine",
    ("vllm", "sglang", "tgi", "tensorrt-llm", "lmdeploy", "llama.cpp", "ollama", "transformers"),
)
