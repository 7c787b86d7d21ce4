"""Is the GPU fast enough for what users are promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
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


@rule(
    "GPU403",
    "oversized-gpu-for-work",
    Severity.ADVICE,
    since="0.1",
    parameters=("oversizedMemory",),
)
def oversized_gpu_for_work(case: Case) -> Iterator[Remark]:
    """Batch work or an evaluation runs on a GPU of many times the memory it needs.

    Why: nobody waits for a token of it, so the least money for each piece of work counts, and a
        large GPU is seldom that at the declared concurrency.
    Fix: take the type that the finding names, or raise `concurrency` until the GPU is full.
    Limits: only where the other type does each piece of the work for less, by estimated rates;
        silent where GPU307 or GPU805 fires, and on what gpusize chose.
    Sources: AWS Well-Architected, generative AI lens, GENCOST02-BP02
    """
    if case.is_own_choice or not _has_plan(case):
        return
    if not case.reasons("idle-gpus-on-node") and not case.reasons("price-dominated-choice"):
        yield from plain(case, "oversized-gpu-for-work")


@rule("GPU405", "fractional-gpu-for-latency", Severity.ADVICE, since="0.1")
def fractional_gpu_for_latency(case: Case) -> Iterator[Remark]:
    """A service that users wait for runs on a slice of a GPU.

    Why: slices of G6f and Gr6f share one L4 with other hosts, an eighth to a half of it each. How
        fast a slice answers depends on what the others do, and it needs the GRID driver.
    Fix: take the whole GPU that the finding names, or declare `userFacing: false` where nobody
        waits.
    Limits: silent on what gpusize chose.
    Sources: https://aws.amazon.com/ec2/instance-types/g6/,
        https://github.com/aws/karpenter-provider-aws/issues/8324
    """
    if not case.is_own_choice:
        yield from plain(case, "fractional-gpu-for-latency", "an instance type with a whole GPU")


def _has_plan(case: Case) -> bool:
    """Whether what is pinned works at all; what does not is told of that first."""
    return case.resolution is not None and case.resolution.plan is not None
