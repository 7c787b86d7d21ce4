"""Does the GPU compute in the declared precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case

OTHER_TYPE = ("instance_type", "nodes_per_replica")
"""Pins that stand in the way of another GPU."""


@rule("GPU201", "bf16-unsupported", Severity.ERROR, since="0.1")
def bf16_unsupported(case: Case) -> Iterator[Remark]:
    """bf16 is asked for on a GPU without bf16 arithmetic.

    Why: engines refuse bf16 below compute capability 8.0 (T4, T4G, V100).
    Fix: set `computePrecision: fp16` (check for overflow), or take the placement that the finding
        names.
    Limits: only where bf16 is written down; `auto` falls back to fp16 on such GPUs.
    Sources: https://github.com/vllm-project/vllm/issues/1157,
        https://github.com/vllm-project/vllm/issues/946
    """
    return wrapped(case, "bf16-unsupported", *OTHER_TYPE)


@rule("GPU202", "fp8-compute-unsupported", Severity.WARN, since="0.1")
def fp8_compute_unsupported(case: Case) -> Iterator[Remark]:
    """fp8 is asked for on a GPU without fp8 arithmetic.

    Why: Ampere GPUs keep the weights in fp8 and compute in 16 bits: memory is saved, time is not.
        Older GPUs need a recent kernel or refuse.
    Fix: take an Ada or Hopper GPU, or an int8 or int4 checkpoint made for the GPU at hand.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/
    """
    return wrapped(case, "fp8-compute-unsupported", *OTHER_TYPE)


@rule("GPU203", "fp4-unsupported", Severity.ERROR, since="0.1")
def fp4_unsupported(case: Case) -> Iterator[Remark]:
    """The engine has no kernel for that 4-bit float format on that GPU.

    Why: NVFP4 and MXFP4 are arithmetic of Blackwell. Some engines unpack them on older GPUs, the
        others stop while they load, after the weights are downloaded.
    Fix: take the placement that the finding names, fp8 weights on Hopper or Ada, awq or gptq
        elsewhere.
    Limits: silent where the engine unpacks the format: memory is saved there, time is not.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/,
        https://docs.sglang.ai/advanced_features/quantization.html
    """
    return wrapped(case, "fp4-unsupported", *OTHER_TYPE)


@rule("GPU204", "int4-kernel-unsupported", Severity.ERROR, since="0.1")
def int4_kernel_unsupported(case: Case) -> Iterator[Remark]:
    """The engine has no kernel for that 4-bit integer format on that GPU.

    Why: kernels for packed integers are written for a compute capability and up: Marlin for 8.0 in
        most engines, others for 7.5. Below it the engine stops while it loads.
    Fix: take the placement that the finding names, or another 4-bit format that the engine runs on
        the GPU at hand.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/,
        https://docs.sglang.ai/advanced_features/quantization.html
    """
    return wrapped(case, "int4-kernel-unsupported", *OTHER_TYPE)


@rule("GPU205", "int8-on-blackwell-ultra", Severity.WARN, since="0.1")
def int8_on_blackwell_ultra(case: Case) -> Iterator[Remark]:
    """Products of 8-bit integers are slower on that GPU than those of 16-bit floats.

    Why: Blackwell Ultra gave up most of its integer arithmetic: 154 TOPS on a B300, against 2250
        TFLOPS in bf16. Prefill with int8 weights and activations is slower there than with none.
    Fix: take an fp8 checkpoint of the model, or a GPU whose int8 rate is above its bf16 rate.
    Limits: computed from both peaks of the GPU, never from its name; silent where the engine
        refuses int8 there, as vLLM does from compute capability 10.0 on (GPU211).
    Sources: https://github.com/ai-dynamo/aiconfigurator (b300_sxm.yaml),
        https://github.com/vllm-project/vllm/pull/25935
    """
    return wrapped(case, "int8-on-blackwell-ultra", *OTHER_TYPE)


@rule("GPU206", "fp8-kv-unsupported", Severity.ERROR, since="0.1")
def fp8_kv_unsupported(case: Case) -> Iterator[Remark]:
    """The engine keeps no KV cache in that format on that GPU.

    Why: attention kernels read the cache, and not all of them read 8 bits: engines stop at start
        where no kernel does.
    Fix: set `kvCacheFormat: auto`, which takes twice the memory per token, or take the placement
        that the finding names.
    Limits: silent where the cache is kept in 8 bits and computed in 16, as on Ampere.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/quantized_kvcache/
    """
    return wrapped(case, "fp8-kv-unsupported", *OTHER_TYPE)


@rule("GPU207", "checkpoint-precision-mismatch", Severity.WARN, since="0.1")
def checkpoint_precision_mismatch(case: Case) -> Iterator[Remark]:
    """More bits are declared for the weights than the published ones have.

    Why: an engine loads a packed checkpoint as it lies. Sizing it with 16 bits doubles or
        quadruples the weights, and with them the GPUs that are paid for.
    Fix: leave `weightsFormat` out, or name the checkpoint that you load: its config.json as
        `model`.
    Limits: only upwards, for packed formats of a published model are everywhere, and 16-bit
        weights may be packed while they load; silent with engines that widen packed weights
        (transformers) and where that is not known.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/fp8/,
        https://huggingface.co/docs/transformers/quantization/finegrained_fp8
    """
    return plain(case, "checkpoint-precision-mismatch")


@rule("GPU208", "cuda-required", Severity.ERROR, since="0.1")
def cuda_required(case: Case) -> Iterator[Remark]:
    """The accelerator of the instance type runs no CUDA, and the engine needs it.

    Why: AMD, Inferentia, Trainium, Gaudi and Qualcomm devices have stacks of their own, with
        engines and model builds of their own. A CUDA image finds no device there.
    Fix: take the placement with NVIDIA GPUs that the finding names.
    Limits: gpusize models CUDA engines alone; what runs on another stack it cannot judge.
    Sources: https://aws.amazon.com/ec2/instance-types/#Accelerated_Computing
    """
    return wrapped(case, "cuda-required", *OTHER_TYPE)


@rule("GPU209", "architecture-mismatch", Severity.ERROR, since="0.1")
def architecture_mismatch(case: Case) -> Iterator[Remark]:
    """The image is built for another processor than the host has.

    Why: G5g and the Grace Blackwell types have arm64 hosts. An x86_64 image does not boot there,
        and an arm64 image boots nowhere else.
    Fix: take the placement that the finding names, or build the image for the processor and declare
        `imageArchitecture`.
    Limits: needs `imageArchitecture`; without it a pinned type is taken to suit its image, and
        gpusize chooses no arm64 type. Whether an engine is built for arm64 is not in the catalog.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ComponentsAMIs.html
    """
    return wrapped(case, "architecture-mismatch", *OTHER_TYPE)


@rule("GPU210", "compute-capability-below-engine", Severity.ERROR, since="0.1")
def compute_capability_below_engine(case: Case) -> Iterator[Remark]:
    """The GPU is older than what the engine is built for.

    Why: engines are compiled from one compute capability on: vLLM from 7.0, SGLang from 7.5,
        TensorRT-LLM from 8.0. Below it they stop, or fail with "no kernel image".
    Fix: take the placement that the finding names, or an engine that is built for the GPU.
    Limits: by the rows of the kernels table for fp16, which every engine runs wherever it runs;
        FlashAttention (8.0 and above) is no reason, for engines fall back without it.
    Sources: https://docs.vllm.ai/en/latest/getting_started/installation/gpu/,
        https://github.com/opendatalab/MinerU/issues/3416 (SGLang),
        https://nvidia.github.io/TensorRT-LLM/reference/support-matrix.html
    """
    return wrapped(case, "compute-capability-below-engine", *OTHER_TYPE)


@rule("GPU211", "format-refused", Severity.ERROR, since="0.1")
def format_refused(case: Case) -> Iterator[Remark]:
    """The engine has no kernel for that weights format on that GPU.

    Why: fp8 below Turing, int8 from Blackwell on, anything but GGUF in llama.cpp: the engine stops
        while it loads, after the weights are downloaded.
    Fix: take the placement that the finding names, or a format that the engine runs there.
    Limits: 4-bit formats have rules of their own (GPU203, GPU204); a pair that the kernels table
        does not have is GPU113.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/,
        https://github.com/vllm-project/vllm/pull/25935
    """
    return wrapped(case, "format-refused", *OTHER_TYPE)
