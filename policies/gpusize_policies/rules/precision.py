"""Does the GPU compute in the declared precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule("GPU201", "bf16-unsupported", Severity.ERROR, since="0.1")
def bf16_unsupported(case: Case) -> Iterator[Remark]:
    """bf16 is asked for on a GPU without bf16 arithmetic.

    Why: engines refuse bf16 below compute capability 8.0 (T4, T4G, V100).
    Fix: set `computePrecision: fp16` (check for overflow), or take the placement that the finding
        names.
    Limits: only where bf16 is written down; `auto` falls back to fp16 on such GPUs.
    Sources: https://github.com/vllm-project/vllm/issues/1157,
        https://github.com/vllm-project/vllm/issues/946
    """
    return wrapped(case, "bf16-unsupported", "instance_type", "nodes_per_replica")


@rule("GPU202", "fp8-compute-unsupported", Severity.WARN, since="0.1")
def fp8_compute_unsupported(case: Case) -> Iterator[Remark]:
    """fp8 is asked for on a GPU without fp8 arithmetic.

    Why: Ampere GPUs keep the weights in fp8 and compute in 16 bits: memory is saved, time is not.
        Older GPUs need a recent kernel or refuse.
    Fix: take an Ada or Hopper GPU, or an int8 or int4 checkpoint made for the GPU at hand.
    Sources: https://docs.vllm.ai/en/latest/features/quantization/
    """
    return wrapped(case, "fp8-compute-unsupported", "instance_type", "nodes_per_replica")
