"""The format of the published weights, in the catalog's words."""

from __future__ import annotations

from typing import Any

from gpusize.hub_config.reading import Config

TYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
PLAIN_METHODS = {"awq": "awq", "mxfp4": "mxfp4"}
ALGORITHMS = {"NVFP4": "nvfp4", "FP8": "fp8", "W4A16_AWQ": "awq"}
"""What ModelOpt calls its algorithms."""
GPTQ_BITS = {"4": "gptq", "8": "gptq-int8"}
BLOCK_STRATEGIES = ("block",)
MXFP4_GROUP = 32
"""Weights that share a scale in MXFP4; NVFP4 has 16."""
DEFAULT_TYPE = "bf16"


def native_format(config: Config) -> str | None:
    """The format of the weights; `None` for a quantization that is not known."""
    quantization = config.value("quantization_config", "compression_config")
    if not isinstance(quantization, dict):
        return TYPES.get(config.word("torch_dtype", "dtype"), DEFAULT_TYPE)
    algorithm = quantization.get("quant_algo")
    if isinstance(algorithm, str):
        return ALGORITHMS.get(algorithm)
    method = quantization.get("quant_method")
    if method == "fp8":
        is_block = bool(quantization.get("weight_block_size"))
        if config.word("expert_dtype") == "fp4":
            return "fp8-fp4-experts"
        return "fp8-block" if is_block else "fp8"
    if method == "gptq":
        return GPTQ_BITS.get(str(quantization.get("bits")))
    if method == "bitsandbytes":
        return _bitsandbytes(quantization)
    if method == "compressed-tensors":
        return _compressed(quantization)
    return PLAIN_METHODS.get(method) if isinstance(method, str) else None


def _bitsandbytes(quantization: dict[str, Any]) -> str | None:
    if quantization.get("load_in_8bit"):
        return "int8-bitsandbytes"
    if quantization.get("bnb_4bit_quant_type", "nf4") != "nf4":
        return None
    return "nf4-double-quant" if quantization.get("bnb_4bit_use_double_quant") else "nf4"


def _compressed(quantization: dict[str, Any]) -> str | None:
    """The format of the first group of weights; groups of several formats are not known."""
    groups = quantization.get("config_groups")
    weights = [
        group.get("weights")
        for group in (groups.values() if isinstance(groups, dict) else ())
        if isinstance(group, dict)
    ]
    if len(weights) != 1 or not isinstance(weights[0], dict):
        return None
    kind, bits, strategy = (weights[0].get(key) for key in ("type", "num_bits", "strategy"))
    if kind == "float":
        narrow = "mxfp4" if weights[0].get("group_size") == MXFP4_GROUP else "nvfp4"
        names = {8: "fp8-block" if strategy in BLOCK_STRATEGIES else "fp8", 4: narrow}
        return names.get(bits) if isinstance(bits, int) else None
    if kind != "int":
        return None
    spared = quantization.get("ignore")
    leaves_attention = isinstance(spared, list) and any("self_attn" in str(item) for item in spared)
    return {8: "int8", 4: "int4-experts" if leaves_attention else "int4"}.get(
        bits if isinstance(bits, int) else 0
    )
