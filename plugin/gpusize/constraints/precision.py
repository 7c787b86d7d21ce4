"""Does the GPU compute in the declared formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

BF16 = "bf16"
FP8_FORMATS = frozenset({"fp8", "fp8-block", "fp8-fp4-experts"})
FP4_FORMATS = frozenset({"nvfp4", "mxfp4"})
INT4_FORMATS = frozenset({"int4", "awq", "gptq", "int4-experts"})
WIDE_FORMATS = frozenset({"bf16", "fp16", "fp32"})
"""Formats that are computed in as they lie; `auto` takes fp16 where bf16 is refused."""
KV_FAMILIES = {"fp8": "kv:fp8", "fp8-e4m3": "kv:fp8", "fp8-e5m2": "kv:fp8"}
"""Rows of the kernels table for formats of the KV cache."""
REFUSED = "refused"
EMULATED = "emulated"


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
    if candidate.study.support(gpu, BF16) == EMULATED:
        return
    yield Reason(
        "bf16-unsupported",
        Weight.ERROR,
        f"bf16 needs compute capability 8.0, {candidate} has {_capability(candidate)}",
        "fp16, checked for overflow",
        _numbers(candidate),
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
        numbers=_numbers(candidate),
    )


def int4_kernel_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """The engine has no kernel for that 4-bit integer format on that GPU."""
    return _refused(candidate, INT4_FORMATS, "int4-kernel-unsupported")


def fp4_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """The engine has no kernel for that 4-bit float format on that GPU."""
    return _refused(candidate, FP4_FORMATS, "fp4-unsupported")


def format_refused(candidate: Candidate) -> Iterator[Reason]:
    """The engine refuses any other format there, or every precision that it may compute in."""
    form = candidate.study.format
    if form in INT4_FORMATS or form in FP4_FORMATS:
        return
    if form not in WIDE_FORMATS:
        yield from _refused(candidate, frozenset({form}), "format-refused")
        return
    study, gpu = candidate.study, candidate.gpu
    declared = candidate.workload.weights_format == form
    choices = ({form} if declared else {form, "fp16"}) - {BF16}
    if choices and all(study.support(gpu, choice) == REFUSED for choice in choices):
        yield from _refused(candidate, frozenset({form}), "format-refused")


def fp8_kv_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """The engine keeps no KV cache in that format on that GPU."""
    form = getattr(candidate.workload, "kv_cache_format", "auto")
    row = KV_FAMILIES.get(form, f"kv:{form}")
    if not candidate.gpu.cuda or candidate.study.support(candidate.gpu, row) != REFUSED:
        return
    yield Reason(
        "fp8-kv-unsupported",
        Weight.WARN,
        f"{candidate.study.engine} keeps no {form} KV cache on compute capability"
        f" {_capability(candidate)} ({candidate})",
        numbers=_numbers(candidate),
    )


def _refused(candidate: Candidate, formats: frozenset[str], name: str) -> Iterator[Reason]:
    study = candidate.study
    if study.format not in formats or not candidate.gpu.cuda:
        return
    if study.support(candidate.gpu, study.format) != REFUSED:
        return
    yield Reason(
        name,
        Weight.ERROR,
        f"{study.engine} has no {study.format} kernel for compute capability"
        f" {_capability(candidate)} ({candidate})",
        numbers=_numbers(candidate),
    )


def _numbers(candidate: Candidate) -> dict[str, Number]:
    return {
        "computeCapability": _capability(candidate),
        "instanceType": candidate.instance.id,
    }


def _capability(candidate: Candidate) -> str:
    capability = candidate.gpu.compute_capability
    return ".".join(map(str, capability)) if capability else "not known"
