"""What is loaded and by what: engine row, formats, draft; resolved once for a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.architecture import COMPRESSED_KINDS
from gpusize.memory import formats, kv_cache, runtime
from gpusize.memory.result import Assumption

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Inference
    from gpusize_catalog.facts import EngineFacts, FormatFacts
    from gpusize_catalog.store import Catalog

OWN_DRAFT = "mtp"
"""Speculation by the checkpoint's own draft layers."""
FREE_DRAFTS = frozenset({"ngram", "none"})
"""Ways of speculation that hold no weights."""
GROUPED = "grouped"
"""Layout of the engines table whose packing of compressed entries is known."""
FULL_NAMES = {8: "8-bit", 16: "16-bit", 32: "32-bit"}


class Setup(NamedTuple):
    """Everything about the engine and the formats that does not depend on the GPU."""

    engine: EngineFacts
    version: str
    form: FormatFacts
    number: int
    """Bytes of one number in activations."""
    cache_bits: float
    """Bits of one number in the cache."""
    draft_params: int
    """Parameters of a separate draft model."""


class Resolved(NamedTuple):
    """A setup, or why there is none; what was taken for granted either way."""

    setup: Setup | None
    problems: list[str]
    assumptions: list[Assumption]
    constants: tuple[str, ...]


def resolve(workload: Inference, architecture: Architecture, catalog: Catalog) -> Resolved:
    """Find rows for what is declared, and defaults for what is not."""
    problems = _architecture_problems(architecture)
    assumptions: list[Assumption] = []
    engine = _engine(workload, catalog, problems, assumptions)
    form = _form(workload, architecture, catalog, problems, assumptions)
    if engine is not None and engine.cache_layout != GROUPED and _is_compressed(architecture):
        problems.append(f"how {engine.engine} packs a compressed cache is not known")
    draft = _draft_params(workload, catalog, problems)
    constants = () if engine is None else (runtime.row_name(engine),)
    if engine is None or form is None:
        return Resolved(None, problems, assumptions, constants)
    number = formats.compute_bytes(workload.compute_precision, form.id)
    bits = formats.cache_bits(catalog, workload.kv_cache_format, number)
    if bits is None:
        problems.append(f"KV cache format {workload.kv_cache_format} is not known")
        return Resolved(None, problems, assumptions, constants)
    if workload.kv_cache_format == formats.AUTO:
        name = FULL_NAMES[number * formats.BITS_PER_BYTE]
        assumptions.append(Assumption("kvCacheFormat", name, "not declared: as computed"))
    version = workload.engine.version or engine.newest
    setup = Setup(engine, version, form, number, bits, draft)
    return Resolved(setup, problems, assumptions, constants)


def _architecture_problems(architecture: Architecture) -> list[str]:
    """Why the architecture cannot be sized; empty when it can."""
    reason = kv_cache.unbuilt_kind(architecture)
    if not architecture.known:
        reason = architecture.unknown_reason or "its layers are not known"
    return [f"architecture of {architecture.name}: {reason}"] if reason else []


def _is_compressed(architecture: Architecture) -> bool:
    """Whether entries of its cache stand for several tokens."""
    return any(group.kind in COMPRESSED_KINDS for group in architecture.attention)


def _engine(
    workload: Inference, catalog: Catalog, problems: list[str], assumptions: list[Assumption]
) -> EngineFacts | None:
    """The row of the declared engine."""
    declared = workload.engine
    row = runtime.engine_row(catalog, declared.name, declared.version)
    if row is None:
        version = f" {declared.version}" if declared.version else ""
        problems.append(f"no memory constants for engine {declared.name}{version}")
    elif declared.version is None:
        why = "not declared: the newest version known"
        assumptions.append(Assumption("engine.version", row.newest, why))
    return row


def _form(
    workload: Inference,
    architecture: Architecture,
    catalog: Catalog,
    problems: list[str],
    assumptions: list[Assumption],
) -> FormatFacts | None:
    """The format of the weights."""
    word = formats.resolved_format(workload.weights_format, architecture)
    if word is None:
        problems.append(f"format of the weights of {architecture.name} is not known")
        return None
    form = formats.form_of(catalog, workload.weights_format, architecture)
    if form is None:
        problems.append(f"weights format {word} is not in the catalog")
    elif workload.weights_format == formats.AUTO:
        why = "not declared: the checkpoint's own"
        assumptions.append(Assumption("weightsFormat", form.id, why))
    return form


def _draft_params(workload: Inference, catalog: Catalog, problems: list[str]) -> int:
    """Parameters of a draft model that is loaded beside the model."""
    draft = workload.engine.speculative
    if not draft or draft == OWN_DRAFT or draft in FREE_DRAFTS:
        return 0
    model = catalog.find_model(draft)
    if model is None:
        problems.append(f"draft model {draft} is not in the catalog")
        return 0
    return model.total_params
