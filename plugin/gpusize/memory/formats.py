"""Which format the weights and the cache are held in, and its bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize.architecture import Architecture, Stored
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


EXACT_ERROR = 0.005
"""Relative error of weights whose files told their bytes: padding and what kernels repack."""


def form_of(catalog: Catalog, declared: str, architecture: Architecture) -> FormatFacts | None:
    """The format that weights are held in; by the bytes of the files where these are told.

    None where no format is declared and the checkpoint's own is not in the catalog.
    """
    word = resolved_format(declared, architecture)
    form = find_format(catalog, word) if word else None
    stored = architecture.stored
    if stored is None or form is None or word != stored.form:
        return form
    return _exact(form, stored, architecture)


def _exact(form: FormatFacts, stored: Stored, architecture: Architecture) -> FormatFacts:
    """A format whose bits are such that every part has the bytes of the files."""
    if stored.total:
        share = stored.total / max(1, model_bytes(architecture, form))
        return form._replace(
            embedding_bits=form.embedding_bits * share,
            head_bits=form.head_bits * share,
            expert_bits=form.expert_bits * share,
            linear_bits=form.linear_bits * share,
            other_bits=form.other_bits * share,
            latent_bits=form.latent_bits * share,
            error=EXACT_ERROR,
        )
    embedding = _bits(stored.embedding, architecture.embedding_params, form.embedding_bits)
    linear = _bits(stored.linear, architecture.linear_params, form.linear_bits)
    return form._replace(
        embedding_bits=embedding,
        head_bits=_bits(stored.head, architecture.head_params, embedding),
        expert_bits=_bits(stored.expert, architecture.expert_params, form.expert_bits),
        linear_bits=linear,
        latent_bits=linear,
        other_bits=_bits(stored.other, architecture.other_params, form.other_bits),
        error=EXACT_ERROR,
    )


def _bits(size: int, params: int, otherwise: float) -> float:
    """Bits of one parameter of a part; `otherwise` for a part without any."""
    return size * BITS_PER_BYTE / params if params else otherwise


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
