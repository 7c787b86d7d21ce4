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


@rule("GPU402", "prefill-compute-bound", Severity.ADVICE, since="0.1")
def prefill_compute_bound(case: Case) -> Iterator[Remark]:
    """Computing a long prompt takes longer than the declared time to the first token.

    Why: a prompt costs two operations for each active weight and token, and more as it grows. When
        that alone, at the GPU's peak, takes longer than `latency.timeToFirstTokenMs`, no batching
        and no tuning helps.
    Fix: take a GPU with more operations per second or more of them, cache what prompts share, or
        declare the time that a prompt of that length may take.
    Limits: judged on the 95th percentile of `promptTokens`, without queueing and without a prefix
        cache.
    Sources: https://arxiv.org/abs/2211.05102 (roofline of prefill)
    """
    return wrapped(case, "prefill-compute-bound")
