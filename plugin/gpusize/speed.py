"""How near an engine comes to the peaks of a GPU, and which of its peaks a format computes at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpusize_catalog.facts import FormatFacts, Gpu, SpeedFacts
    from gpusize_catalog.store import Catalog

WIDTHS = ((5.5, "4-bit"), (9.0, "8-bit"), (33.0, "16-bit"))
"""Bits of a weight up to which the words of the speeds table reach."""
RATES = {
    "fp8": "fp8_flops",
    "fp8-block": "fp8_flops",
    "fp8-fp4-experts": "fp8_flops",
    "int8": "int8_ops",
    "nvfp4": "fp4_flops",
    "mxfp4": "fp4_flops",
}
"""Formats whose activations are narrow too; all others are widened to 16 bits before a product.
Source: the kernels of the engines (weight-only: AWQ, GPTQ, W4A16, bitsandbytes, GGUF)."""

USUAL_REACH = 0.8
"""Share of the peak of large products on a GPU that nobody measured: 0.74 to 0.86 on most that were
(catalog, `matmul_tflops`)."""


class Speed(NamedTuple):
    """What times depend on beside the placement."""

    facts: SpeedFacts | None
    """None: how near the engine comes to the peaks is not known."""
    rate: str
    """Field of a GPU: operations per second of the format, where the GPU has it."""

    def peak(self, gpu: Gpu) -> float:
        """Operations per second of one GPU; 0 where they are not known."""
        narrow: float | None = getattr(gpu, self.rate)
        return narrow or wide_flops(gpu)


def wide_flops(gpu: Gpu) -> float:
    """Operations per second of 16-bit products; 0 where they are not known."""
    return gpu.bf16_flops or gpu.fp16_flops or 0.0


def peak_of(gpu: Gpu, form: str) -> float:
    """Operations per second of products in a format or precision; 0 where they are not known."""
    return Speed(None, rate_of(form)).peak(gpu)


def rate_of(form: str) -> str:
    """Field of a GPU that has the rate of products in a format or precision."""
    return RATES.get(form, "bf16_flops")


def reached(gpu: Gpu) -> float:
    """Share of its peak that a GPU reaches in large products, as far as its power goes."""
    wide = wide_flops(gpu)
    if not gpu.matmul_flops or not wide:
        return USUAL_REACH
    return min(1.0, gpu.matmul_flops / wide)


def speed_of(catalog: Catalog, engine: str, form: FormatFacts) -> Speed:
    """The row of the format, else that of the width of its weights."""
    rows = {row.weights: row for row in catalog.speeds(engine)}
    bits = min(form.linear_bits, form.expert_bits)
    width = next(word for most, word in WIDTHS if bits <= most)
    return Speed(rows.get(form.id) or rows.get(width), rate_of(form.id))
