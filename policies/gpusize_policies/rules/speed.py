"""Is the GPU fast enough for what users are promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule("GPU401", "bandwidth-bound-decode", Severity.WARN, since="0.1")
def bandwidth_bound_decode(case: Case) -> Iterator[Remark]:
    """Reading the weights once per token takes longer than the declared time per token.

    Why: a decode step reads every active weight from GPU memory. When that alone takes longer
        than `latency.timePerOutputTokenMs`, no batch size and no tuning helps.
    Fix: take a GPU with more memory bandwidth, spread the model over more GPUs, or use a smaller
        weights format.
    Limits: mixtures of experts read the experts that the batch activates; with speculative
        decoding the answer is not known, and the rule is silent.
    Sources: https://arxiv.org/abs/2211.05102 (roofline of decoding)
    """
    return wrapped(case, "bandwidth-bound-decode")
