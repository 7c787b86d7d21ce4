"""Does the GPU compute in the declared formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Reason, Weight

if TYPE_CHECKING:
    from gpusize.candidate import Candidate

BF16 = "bf16"
FP8_FORMATS = frozenset({"fp8", "fp8-block"})
FP4_FORMATS = frozenset({"nvfp4", "mxfp4"})
INT4_FORMATS = frozenset({"int4", "awq", "gptq"})
REFUSED = "refused"


def cuda_required(candidate: Candidate) -> Iterator[Reason]:
    """The engines here need CUDA."""
    if not candidate.gpu.cuda:
        engine = candidate.study.engine
        yield Reason(
            "cuda-required",
            Weight.ERROR,
            f"{candidate.gpu.display_name} of {candidate.instance.id} runs no CUDA,"
            f" {engine} needs it",
            numbers={"instanceType": candidate.instance.id},
        )


def bf16_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """bf16 is written down and the GPU has none; `auto` falls back to fp16."""
    workload, gpu = candidate.workload, candidate.gpu
    asked = BF16 in (workload.weights_format, workload.compute_precision)
    if not asked or not gpu.cuda or gpu.native_bf16:
        return
    yield Reason(
        "bf16-unsupported",
        Weight.ERROR,
        f"bf16 needs compute capability 8.0, {candidate} has {_capability(candidate)}",
        "fp16, checked for overflow",
        {"computeCapability": _capability(candidate), "instanceType": candidate.instance.id},
    )


def fp8_compute_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """fp8 is asked for and the GPU computes it in 16 bits: memory is saved, time is not."""
    gpu = candidate.gpu
    asked = candidate.study.format in FP8_FORMATS or candidate.workload.compute_precision == "fp8"
    if not asked or not gpu.cuda or gpu.native_fp8:
        return
    yield Reason(
        "fp8-compute-unsupported",
        Weight.WARN,
        f"{candidate} (compute capability {_capability(candidate)}) has no fp8 arithmetic:"
        " fp8 weights save memory there, not time",
        numbers={
            "computeCapability": _capability(candidate),
            "instanceType": candidate.instance.id,
        },
    )


def int4_kernel_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """The engine has no kernel for that 4-bit integer format on that GPU."""
    yield from _refused(candidate, INT4_FORMATS, "int4-kernel-unsupported")


def fp4_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """The engine has no kernel for that 4-bit float format on that GPU."""
    yield from _refused(candidate, FP4_FORMATS, "fp4-unsupported")


def format_refused(candidate: Candidate) -> Iterator[Reason]:
    """The engine refuses any other format on that GPU."""
    if candidate.study.format not in (*INT4_FORMATS, *FP4_FORMATS):
        yield from _refused(candidate, frozenset({candidate.study.format}), "format-refused")


def _refused(candidate: Candidate, formats: frozenset[str], name: str) -> Iterator[Reason]:
    study = candidate.study
    if study.format not in formats or not candidate.gpu.cuda:
        return
    if study.support(candidate.gpu) != REFUSED:
        return
    yield Reason(
        name,
        Weight.ERROR,
        f"{study.engine} has no {study.format} kernel for compute capability"
        f" {_capability(candidate)} ({candidate})",
        numbers={
            "computeCapability": _capability(candidate),
            "instanceType": candidate.instance.id,
        },
    )


def _capability(candidate: Candidate) -> str:
    capability = candidate.gpu.compute_capability
    return ".".join(map(str, capability)) if capability else "not known"
