"""gpusize as the harness sees it: an adapter like those of the other estimators.

Runs inside the harness' worker, where `adapters` is the harness' own package.
"""

from __future__ import annotations

from typing import Any

from adapters.base import Unsupported

from bench.estimators.answering import SUPPORTS, answer
from bench.measured.frame import Skip
from gpusize_catalog.problems import GpuSizeError

__all__ = ["SUPPORTS", "predict"]


def predict(case: dict[str, Any], ctx: object) -> dict[str, Any]:  # noqa: ARG001
    """What gpusize says of a case; raises `Unsupported` where that is nothing."""
    try:
        return answer(case)
    except (Skip, GpuSizeError) as reason:
        raise Unsupported(str(reason)) from reason
