"""Work that PyTorch runs by itself on each GPU: overhead, verdict, the most that fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats
from gpusize.memory.result import Assumption, Fit, Verdict
from gpusize.memory.verdict import headroom
from gpusize_catalog.units import MIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpusize.architecture import Architecture
    from gpusize.memory.result import Output, Term
    from gpusize.placement import Layout
    from gpusize.workload import Workload
    from gpusize_catalog.facts import FormatFacts
    from gpusize_catalog.store import Catalog

CONTEXT_BYTES = 600 * MIB
"""CUDA context and libraries of a PyTorch process (0.5 to 0.9 GiB, torch 2 on A100 and H100)."""
RESERVED_SHARE = 0.05
"""What PyTorch's allocator reserves beyond its peak, of the activations (3 to 6 % seen)."""
SCORE_TENSORS = 3
"""Attention scores alive at once where they are held whole: raw, masked, normalized. Counted in
transformers 5.24.0, modeling_bark.py and eager_attention_forward of modeling_xlm_roberta.py."""
QUANTIZED = frozenset(
    {
        "fp8",
        "int8",
        "int4",
        "nf4",
        "nf4-double-quant",
        "int8-bitsandbytes",
        "fp6-e3m2",
        "fp5-e2m2",
        "fp4-e2m1",
        "int8-int4",
        "int8-sparse",
        "autoquant",
    }
)
"""Formats that diffusers and transformers quantize to while they load. Source: the quantization
guides of diffusers 0.42 and transformers 5.24 (bitsandbytes, torchao, quanto)."""


def form_of(
    workload: Workload,
    architecture: Architecture,
    catalog: Catalog,
    name: str,
    quantized: frozenset[str] = QUANTIZED,
) -> tuple[FormatFacts | None, list[str], list[Assumption]]:
    """The format of a model's weights, what is not known of them, and what was assumed.

    `name` is the library that loads them, `quantized` what it quantizes to.
    """
    problems: list[str] = []
    assumptions: list[Assumption] = []
    if not architecture.known:
        problems.append(f"{architecture.name}: {architecture.unknown_reason}")
    form = formats.form_of(catalog, workload.weights_format, architecture)
    if form is None:
        problems.append(f"format of the weights of {architecture.name} is not known")
    elif form.id not in formats.COMPUTE_BYTES and form.id not in quantized:
        problems.append(f"whether {name} loads {form.id} weights is not known")
    elif workload.weights_format == formats.AUTO:
        why = "not declared: the checkpoint's own"
        assumptions.append(Assumption("weightsFormat", form.id, why))
    return form, problems, assumptions


class Peak(NamedTuple):
    """The stage that needs most, in bytes."""

    stage: str
    terms: tuple[tuple[Term, int], ...]
    need: int
    error: int


def overhead(activations: int) -> int:
    """Bytes beside weights and activations."""
    return CONTEXT_BYTES + round(activations * RESERVED_SHARE)


def judge(stage: str, usable: int, need: int, error: int) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict and its reasons, by the rules of every other kind of work."""
    margin = usable - need
    if margin < -error:
        told = f"{stage}: {gib(-margin)} more than the {gib(usable)} of the GPU"
        return Verdict.DOES_NOT_FIT, (told,)
    if margin < 0:
        told = f"needs {gib(-margin)} more, which lies within the error of {gib(error)}"
        return Verdict.TIGHT, (told,)
    if margin < headroom(usable, error):
        return Verdict.TIGHT, (f"only {gib(margin)} of {gib(usable)} are left",)
    return Verdict.FITS, ()


def fit_of(
    peak: Peak,
    usable: int,
    layout: Layout,
    assumptions: Iterable[Assumption],
    constants: tuple[str, ...],
    output: Output,
    *,
    context: int = 0,
    sharding: str = "",
    host: int = 0,
) -> Fit:
    """A fit of work that has no cache of sequences; `context` is the longest text, tokens."""
    verdict, reasons = judge(peak.stage, usable, peak.need, peak.error)
    return Fit(
        verdict=verdict,
        reasons=reasons,
        terms=peak.terms,
        need=peak.need,
        budget=usable,
        band=peak.error,
        kv_pool=None,
        context_length=context,
        limit=context,
        cache=None,
        dp=layout.dp,
        assumptions=tuple(assumptions),
        constants=constants,
        sharding=sharding,
        host=host,
        output=output,
    )


def most(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest count up to a limit that holds; 0 where not even one does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
