"""Whether an engine version runs a format on a compute capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.versions import in_range, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusize_catalog.facts import KernelSupport
    from gpusize_catalog.store import Catalog

NATIVE = "native"
EMULATED = "emulated"
REFUSED = "refused"
PLAIN = "fp16"
"""The format that every engine runs wherever it runs at all."""
GGUF = "gguf"
"""One row of the table stands for all GGUF types: engines read the file as a whole."""


def support(
    catalog: Catalog,
    format: str,
    engine: str,
    version: str | None,
    capability: tuple[int, int] | None,
) -> str | None:
    """`native`, `emulated` (memory is saved, compute is not) or `refused`; None: not known.

    Without a version the newest range counts. The KV cache's formats are asked as `kv:fp8`.
    """
    row = find(catalog, format, engine, version, capability)
    return row.support if row else None


def find(
    catalog: Catalog,
    format: str,
    engine: str,
    version: str | None,
    capability: tuple[int, int] | None,
) -> KernelSupport | None:
    """What is known of an engine version, a format and a compute capability, as for `support`."""
    if capability is None:
        return None
    family = GGUF if format.startswith(f"{GGUF}-") else format
    for row in _rows(catalog, family, engine, version):
        if capability < row.capability_from:
            continue
        if row.capability_before is None or capability < row.capability_before:
            return row
    return None


def least_capability(
    catalog: Catalog, engine: str, version: str | None, format: str = PLAIN
) -> tuple[int, int] | None:
    """The lowest compute capability on which an engine version runs a format; None: not known."""
    rows = _rows(catalog, format, engine, version)
    return min((row.capability_from for row in rows if row.support != REFUSED), default=None)


def _rows(
    catalog: Catalog, family: str, engine: str, version: str | None
) -> Iterator[KernelSupport]:
    """The rows of a version; without one, those of the newest range."""
    wanted = parse_version(version) if version else None
    for row in catalog.kernels(family, engine):
        if wanted is None:
            if not row.engine_before:
                yield row
        elif in_range(wanted, row.engine_from, row.engine_before):
            yield row
