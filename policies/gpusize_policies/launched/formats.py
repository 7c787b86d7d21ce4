"""Words of engines for formats, in ours."""

from __future__ import annotations

from gpusize_policies.launched.values import SILENT

COMPUTE: dict[str, object] = {
    "auto": SILENT,
    "half": "fp16",
    "float16": "fp16",
    "fp16": "fp16",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "fp32": "fp32",
}
"""PyTorch's names, as vLLM, SGLang, TGI and LMI take them (`dtype`)."""

KV_CACHE: dict[str, object] = {
    "auto": SILENT,
    "fp8": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e4m3fn": "fp8",
    "fp8_e5m2": "fp8",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float16": "fp16",
}

QUANTIZATION: dict[str, object] = {
    "awq": "awq",
    "awq_marlin": "awq",
    "gptq": "gptq",
    "gptq_marlin": "gptq",
    "marlin": "gptq",
    "fp8": "fp8",
    "modelopt": "fp8",
    "modelopt_fp8": "fp8",
    "w8a8_fp8": "fp8",
    "w8a8_int8": "int8",
    "modelopt_fp4": "nvfp4",
    "mxfp4": "mxfp4",
    "bitsandbytes": "nf4",
    "compressed-tensors": SILENT,
    "gguf": SILENT,
    "none": SILENT,
}
"""Methods of vLLM and SGLang (sglang/srt/server_args.py, QUANTIZATION_CHOICES; vLLM's have the
same names); those that only name how a checkpoint is packed say nothing of their own."""
