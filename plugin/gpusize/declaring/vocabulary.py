"""Words that a declaration may use for formats and engines: those the catalog has facts for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize_catalog.store import Catalog

AUTO = "auto"
COMPUTE = ("bf16", "fp16", "fp32", "fp8", "int8", "nvfp4")
"""Formats that activations and matrix products can have."""


class Words(NamedTuple):
    """The words that one field takes; stands in its annotation."""

    subject: str
    """What messages call one of them."""
    has_auto: bool = True


WEIGHTS_FORMATS = Words("weights format")
NATIVE_FORMATS = Words("weights format", has_auto=False)
COMPUTE_PRECISIONS = Words("compute precision")
KV_CACHE_FORMATS = Words("KV cache format")
ENGINES = Words("engine", has_auto=False)
TRAINERS = Words("trainer", has_auto=False)
DIFFUSION_TRAINERS = Words("trainer of pipelines", has_auto=False)


def words_of(words: Words, catalog: Catalog) -> dict[str, str]:
    """Every word of a field in lower case, with the id that it stands for."""
    key = (words, catalog.digest)
    known = _KNOWN.get(key)
    if known is None:
        known = {AUTO: AUTO} if words.has_auto else {}
        known.update(_SOURCES[words.subject](catalog))
        _KNOWN[key] = known
    return known


_KNOWN: dict[tuple[Words, str], dict[str, str]] = {}
"""Words by the digest of the catalog that has them: the same data give the same words."""


def _formats(catalog: Catalog) -> dict[str, str]:
    return _named(catalog, tuple(row.id for row in catalog.formats()))


def _cache_formats(catalog: Catalog) -> dict[str, str]:
    return _named(catalog, tuple(row.id for row in catalog.formats() if row.kv_bits is not None))


def _precisions(catalog: Catalog) -> dict[str, str]:
    return _named(catalog, COMPUTE)


def _engines(catalog: Catalog) -> dict[str, str]:
    return {name.lower(): name for name in catalog.engine_names()}


def _trainers(catalog: Catalog) -> dict[str, str]:
    return {name.lower(): name for name in catalog.trainer_names()}


def _diffusion_trainers(catalog: Catalog) -> dict[str, str]:
    return {name.lower(): name for name in catalog.diffusion_trainer_names()}


def _named(catalog: Catalog, ids: tuple[str, ...]) -> dict[str, str]:
    """Formats by id and alias; an id wins over another format's alias."""
    rows = [row for row in catalog.formats() if row.id in ids]
    known = {alias.lower(): row.id for row in rows for alias in row.aliases}
    return {**{row.id.lower(): row.id for row in rows}, **known, **{id_: id_ for id_ in ids}}


_SOURCES: dict[str, Callable[[Catalog], dict[str, str]]] = {
    "weights format": _formats,
    "KV cache format": _cache_formats,
    "compute precision": _precisions,
    "engine": _engines,
    "trainer": _trainers,
    "trainer of pipelines": _diffusion_trainers,
}
