"""Which format the weights and the cache are held in, and its bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize_catalog.facts import FormatFacts
    from gpusize_catalog.store import Catalog

AUTO = "auto"
DEFAULT_COMPUTE = "bf16"
COMPUTE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
BITS_PER_BYTE = 8


def find_format(catalog: Catalog, word: str) -> FormatFacts | None:
    """The format that an id or alias names, in any case; None where the catalog has none."""
    word = word.lower()
    for row in catalog.formats():
        if row.id == word or word in row.aliases:
            return row
    return None


def resolved_format(declared: str, architecture: Architecture) -> str | None:
    """The format that the engine loads: as declared, else the checkpoint's own.

    None where neither is known. Casting from bf16 to fp16 changes no bytes.
    """
    if declared != AUTO:
        return declared
    return architecture.native_format or None


def compute_bytes(compute_precision: str, weights_format: str) -> int:
    """Bytes of one number in activations and logits."""
    word = weights_format if compute_precision == AUTO else compute_precision
    return COMPUTE_BYTES.get(word, COMPUTE_BYTES[DEFAULT_COMPUTE])


def cache_bits(catalog: Catalog, declared: str, number_bytes: int) -> float | None:
    """Bits of one number in the KV cache; `auto` is the width of the activations."""
    if declared == AUTO:
        return float(number_bytes * BITS_PER_BYTE)
    row = find_format(catalog, declared)
    return None if row is None else row.kv_bits


def model_bytes(architecture: Architecture, form: FormatFacts) -> int:
    """Bytes of all weights of a model in a format."""
    bits = (
        architecture.embedding_params * form.embedding_bits
        + architecture.head_params * form.head_bits
        + architecture.expert_params * form.expert_bits
        + architecture.linear_params * form.linear_bits
        + architecture.other_params * form.other_bits
    )
    return round(bits / BITS_PER_BYTE)
