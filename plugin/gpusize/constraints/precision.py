"""Does the GPU compute in the declared formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.memory.formats import AUTO, find_format
from gpusize.memory.kernels import EMULATED, GGUF, REFUSED, least_capability

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

BF16 = "bf16"
FP16 = "fp16"
FP32 = "fp32"
FP8_FORMATS = frozenset({"fp8", "fp8-block", "fp8-fp4-experts"})
FP4_FORMATS = frozenset({"nvfp4", "mxfp4"})
INT4_FORMATS = frozenset({"int4", "awq", "gptq", "int4-experts"})
INT8_FORMATS = frozenset({"int8"})
"""Formats whose products are 8-bit integers; others with 8-bit weights compute in 16 bits."""
WIDE_FORMATS = frozenset({"bf16", "fp16", "fp32"})
"""Formats that are computed in as they lie; what is not written down falls back to fp16."""
KV_FAMILIES = {"fp8": "kv:fp8", "fp8-e4m3": "kv:fp8", "fp8-e5m2": "kv:fp8"}
"""Rows of the kernels table for formats of the KV cache."""
TERA = 1e12


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
    if not asked or not gpu.cuda or gpu.native_bf16 or _below_engine(candidate):
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
    """fp8 is asked for and the GPU computes it in 16 bits: memory is saved, time is not.

    Silent where the engine refuses it altogether.
    """
    gpu = candidate.gpu
    asked = candidate.study.format in FP8_FORMATS or candidate.workload.compute_precision == "fp8"
    if not asked or not gpu.cuda or gpu.native_fp8 or _below_engine(candidate):
        return
    if candidate.study.support(gpu, candidate.study.format) == REFUSED:
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
    """The engine refuses any other format there."""
    form = candidate.study.format
    if form in INT4_FORMATS or form in FP4_FORMATS:
        return
    if form in WIDE_FORMATS and (form != FP32 or candidate.workload.weights_format != form):
        return
    yield from _refused(candidate, frozenset({form}), "format-refused")


def compute_capability_below_engine(candidate: Candidate) -> Iterator[Reason]:
    """The engine runs on no GPU of so low a compute capability, whatever the format."""
    if not _below_engine(candidate):
        return
    study, setup = candidate.study, candidate.study.setup
    least = setup and least_capability(candidate.catalog, setup.engine.engine, setup.version)
    needed = ".".join(map(str, least)) if least else "more"
    yield Reason(
        "compute-capability-below-engine",
        Weight.ERROR,
        f"{study.engine} needs compute capability {needed}, {candidate} has"
        f" {_capability(candidate)}",
        numbers={"neededCapability": needed, **_numbers(candidate)},
    )


def int8_on_blackwell_ultra(candidate: Candidate) -> Iterator[Reason]:
    """Products of 8-bit integers are slower there than those of 16-bit floats."""
    gpu, study = candidate.gpu, candidate.study
    if study.setup is None or study.format not in INT8_FORMATS:
        return
    if not gpu.int8_ops or not gpu.bf16_flops:
        return
    if gpu.int8_ops >= gpu.bf16_flops or study.support(gpu, study.format) == REFUSED:
        return
    yield Reason(
        "int8-on-blackwell-ultra",
        Weight.WARN,
        f"{candidate} computes {gpu.int8_ops / TERA:.0f} int8 TOPS and"
        f" {gpu.bf16_flops / TERA:.0f} bf16 TFLOPS: int8 is the slow way there",
        "weightsFormat: fp8",
        {
            "int8Tops": round(gpu.int8_ops / TERA),
            "bf16Tflops": round(gpu.bf16_flops / TERA),
            **_numbers(candidate),
        },
    )


def checkpoint_precision_mismatch(candidate: Candidate) -> Iterator[Reason]:
    """More bits are declared than the published weights have, and the engine adds none."""
    study, native = candidate.study, candidate.architecture.native_format
    setup, declared = study.setup, candidate.workload.weights_format
    if setup is None or declared == AUTO or setup.engine.widens_weights is not False:
        return
    published = find_format(candidate.catalog, native) if native else None
    if published is None or published.id in WIDE_FORMATS or setup.form.id.startswith(GGUF):
        return
    packed = min(published.linear_bits, published.expert_bits)
    wanted = min(setup.form.linear_bits, setup.form.expert_bits)
    if wanted <= packed:
        return
    yield Reason(
        "checkpoint-precision-mismatch",
        Weight.WARN,
        f"the published weights of {candidate.architecture.name} are {published.id}"
        f" ({packed:.3g} bits), and {study.engine} loads them so: {setup.form.id}"
        f" ({wanted:.3g} bits) counts {wanted / packed:.2g} times the bytes",
        f"weightsFormat: {published.id}, or the config.json of the checkpoint you load as model",
        {"publishedBits": round(packed, 2), "declaredBits": round(wanted, 2)},
    )


def fp8_kv_unsupported(candidate: Candidate) -> Iterator[Reason]:
    """The engine keeps no KV cache in that format on that GPU."""
    form = getattr(candidate.workload, "kv_cache_format", "")
    if not form:
        return
    row = KV_FAMILIES.get(form, f"kv:{form}")
    if _below_engine(candidate):
        return
    if not candidate.gpu.cuda or candidate.study.support(candidate.gpu, row) != REFUSED:
        return
    yield Reason(
        "fp8-kv-unsupported",
        Weight.ERROR,
        f"{candidate.study.engine} keeps no {form} KV cache on compute capability"
        f" {_capability(candidate)} ({candidate})",
        "kvCacheFormat: auto",
        _numbers(candidate),
    )


def _below_engine(candidate: Candidate) -> bool:
    """Whether the engine refuses 16-bit floats, which all run that run at all."""
    gpu = candidate.gpu
    return gpu.cuda and candidate.study.support(gpu, FP16) == REFUSED


def _refused(candidate: Candidate, formats: frozenset[str], name: str) -> Iterator[Reason]:
    study = candidate.study
    if study.format not in formats or not candidate.gpu.cuda or _below_engine(candidate):
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
