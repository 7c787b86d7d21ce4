"""Whether an engine version runs a format on a compute capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.versions import in_range, parse_version

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

NATIVE = "native"
EMULATED = "emulated"
REFUSED = "refused"
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
    if capability is None:
        return None
    wanted = parse_version(version) if version else None
    family = GGUF if format.startswith(f"{GGUF}-") else format
    for row in catalog.kernels(family, engine):
        if capability < row.capability_from:
            continue
        if row.capability_before is not None and capability >= row.capability_before:
            continue
        if wanted is None:
            if not row.engine_before:
                return row.support
        elif in_range(wanted, row.engine_from, row.engine_before):
            return row.support
    return None
