"""Columns held against each other: what a JSON Schema of single cells cannot say.

One function per table; each yields (column, message) for what does not agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpusize_catalog.facts import Gpu, ModelFacts

Disagreements = Iterator[tuple[str, str]]

USABLE_ROUNDING = 1.001
"""Logs round to 0.01 GiB, so a usable figure may lie a little above the driver's."""


def gpu(row: Gpu) -> Disagreements:
    """Usable memory comes out of the driver's; CUDA devices have a compute capability."""
    limit = row.driver_bytes and row.driver_bytes * USABLE_ROUNDING
    if row.usable_bytes and limit and row.usable_bytes > limit:
        yield "usable_mib", "is more than driver_mib"
    if row.cuda and row.compute_capability is None:
        yield "compute_capability", "is empty for a CUDA device"


def model(row: ModelFacts) -> Disagreements:
    """Counts of parts stay within the whole."""
    if row.layer_pattern and pattern_layers(row.layer_pattern) != row.layers:
        yield "layer_pattern", f"does not add up to {row.layers} layers"
    if row.heads % row.kv_heads:
        yield "kv_heads", f"does not divide {row.heads} heads"
    if (row.experts_active or 0) > (row.experts_total or 0):
        yield "experts_active", "is more than experts_total"
    if (row.active_params or 0) > row.total_params:
        yield "active_params", "is more than total_params"
    if (row.vision_params or 0) >= row.total_params:
        yield "vision_params", "leaves nothing of total_params"


def pattern_layers(pattern: str) -> int:
    """Return the blocks that a layer pattern counts."""
    return sum(int(part.partition(":")[2]) for part in pattern.split("; "))


CHECKS: dict[str, Callable[[Any], Disagreements]] = {"gpus": gpu, "models": model}
