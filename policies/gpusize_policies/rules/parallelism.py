"""Do the parallel sizes suit the model and the links between GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize_policies.case import Case


@rule("GPU301", "tp-not-dividing-heads", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def tp_not_dividing_heads(case: Case) -> Iterator[Remark]:
    """The tensor-parallel size does not divide the attention heads.

    Why: each rank takes the same number of heads; engines refuse anything else at start.
    Fix: take one of the sizes in the finding.
    Sources: https://github.com/vllm-project/vllm/issues/2652,
        https://github.com/vllm-project/vllm/issues/11797
    """
    return plain(case, "tp-not-dividing-heads")


@rule("GPU302", "kv-heads-replicated", Severity.ADVICE, since="0.1")
def kv_heads_replicated(case: Case) -> Iterator[Remark]:
    """The declared tensor ranks are more than the KV cache splits into.

    Why: a cache splits by its KV heads, and latent attention keeps one latent for all of them. Each
        rank beyond keeps a copy, so that more GPUs hold no more sequences.
    Fix: take the sizes that the finding names: `tp` that divides the KV heads, and `dp` for the
        rest (data-parallel attention for latent caches).
    Limits: only where `tp` is declared, the cache holds fewer sequences than `concurrency`, and
        the same GPUs hold more in other sizes.
    Sources: https://docs.vllm.ai/en/latest/serving/data_parallel_deployment/,
        https://docs.sglang.ai/references/multi_node_deployment/deploy_on_k8s.html
    """
    if case.workload is not None and case.workload.tp is not None:
        yield from plain(case, "kv-heads-replicated")


@rule("GPU303", "experts-not-divisible", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def experts_not_divisible(case: Case) -> Iterator[Remark]:
    """The expert-parallel size does not divide the experts.

    Why: most engines give each rank as many experts and refuse anything else at start.
    Fix: take one of the sizes in the finding.
    Limits: vLLM spreads a rest over the first ranks and is not blamed; its load balancer and some
        of its models refuse it too.
    Sources: https://github.com/vllm-project/vllm/pull/21497,
        https://github.com/vllm-project/vllm/issues/52435,
        https://docs.sglang.ai/advanced_features/expert_parallelism.html
    """
    return plain(case, "experts-not-divisible")


@rule("GPU304", "tp-over-pcie", Severity.WARN, since="0.1", parameters=("maxCommunicationShare",))
def tp_over_pcie(case: Case) -> Iterator[Remark]:
    """Tensor or expert parallelism spends too much of each step on a link without NVLink.

    Why: every layer ends in two all-reduce operations, or sends each token to its experts and
        back. Over PCIe, or through the host where GPUs cannot reach each other, that takes a large
        share of the step.
    Fix: take fewer and larger GPUs, an NVLink node, pipeline stages, or replicas.
    Limits: computed from the bytes moved, the link of the instance type and the step time, never
        from the name of a family. Silent where GPU305 fires.
    Sources: https://docs.vllm.ai/en/latest/serving/parallelism_scaling/
    """
    if not case.reasons("tp-across-nodes"):
        yield from wrapped(case, "tp-over-pcie")


@rule("GPU305", "tp-across-nodes", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def tp_across_nodes(case: Case) -> Iterator[Remark]:
    """Tensor parallelism of an engine spans nodes.

    Why: every layer ends in two all-reduce operations, and between nodes each takes ten to fifty
        times as long as over NVLink. Every token waits for all of them.
    Fix: keep `tp` inside a node and span nodes by `pp`, as the finding says, or take the placement
        that it names.
    Limits: silent for training, where GPU306 measures the time, and in UltraServers, whose nodes
        NVLink joins.
    Sources: https://docs.vllm.ai/en/latest/serving/parallelism_scaling/
    """
    return wrapped(case, "tp-across-nodes")


@rule(
    "GPU306", "nvlink-required", Severity.WARN, since="0.1", parameters=("maxCommunicationShare",)
)
def nvlink_required(case: Case) -> Iterator[Remark]:
    """A training run spends too much of each step moving weights and gradients without NVLink.

    Why: copies that share weights gather all of them twice in each micro batch. Over PCIe, or
        through the host where GPUs cannot reach each other, that takes longer than computing.
    Fix: train an adapter, accumulate more micro batches where each GPU holds a whole copy
        (`sharding: ddp` with a larger `globalBatch`), or take an NVLink node.
    Limits: computed from the bytes moved, the link of the instance type and the step time, never
        from the name of a family; adapters over PCIe pass. Nothing is taken to be hidden behind
        computing.
    Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
    """
    return wrapped(case, "nvlink-required")


@rule("GPU307", "idle-gpus-on-node", Severity.WARN, since="0.1")
def idle_gpus_on_node(case: Case) -> Iterator[Remark]:
    """The instance has more GPUs than the layout uses.

    Why: idle GPUs are paid for by the hour. UltraServers are sold whole: their instances without
        work are paid for with the others.
    Fix: take a smaller size of the same GPU, or fill the node with replicas (`dp`), the UltraServer
        with `replicas`.
    Limits: silent for instances of an UltraServer that are fewer than one more replica takes.
    Sources: AWS Well-Architected, generative AI lens, GENCOST02-BP02
    """
    return wrapped(case, "idle-gpus-on-node", "instance_type", "nodes_per_replica")


@rule("GPU310", "pipeline-bubbles", Severity.ADVICE, since="0.1")
def pipeline_bubbles(case: Case) -> Iterator[Remark]:
    """There is too little work at once to keep all pipeline stages busy.

    Why: a stage waits until work reaches it. A training step of m micro batches over p stages is
        idle for (p - 1) of its (m + p - 1) turns; an engine with fewer sequences than stages leaves
        stages without any.
    Fix: raise `globalBatch` or `concurrency` to the number in the finding, or take fewer stages.
    Limits: training is advised below 4 micro batches for each stage; silent where gpusize chose
        the stages.
    Sources: https://arxiv.org/abs/1811.06965 (GPipe, section 2.3)
    """
    if case.workload is not None and case.workload.pp is not None:
        yield from plain(case, "pipeline-bubbles")


@rule("GPU313", "several-nodes-undeclared", Severity.ADVICE, since="0.1")
def several_nodes_undeclared(case: Case) -> Iterator[Remark]:
    """A pinned instance type is taken several times for each replica, and nobody declared it.

    Why: where one instance does not hold the work, or the pinned sizes need more GPUs than it has,
        gpusize spans several of them, and each is paid for.
    Fix: set `nodesPerReplica` to the number in the finding where that is meant, or take the
        placement that it names.
    Limits: silent where the placement is no plan: what speaks against it comes first.
    Sources: https://docs.vllm.ai/en/latest/serving/parallelism_scaling/
    """
    declared = case.workload
    if declared is None or declared.nodes_per_replica is not None:
        return
    if declared.instance_type is not None and case.resolution and case.resolution.plan:
        yield from wrapped(case, "several-nodes-undeclared")


@rule("GPU308", "non-power-of-two-parallelism", Severity.ADVICE, since="0.1")
def non_power_of_two_parallelism(case: Case) -> Iterator[Remark]:
    """The declared tensor-parallel size is 3, 5, 6, 7 or another that engines are seldom run with.

    Why: nodes have 1, 2, 4 or 8 GPUs, so other sizes leave some of them over; and quick all-reduce
        kernels take certain numbers of ranks alone (vLLM 2, 4, 6 and 8, others 2, 4 and 8).
    Fix: take one of the sizes in the finding.
    Limits: only a size that the heads divide into; of others GPU301 speaks.
    Sources: vllm-project/vllm, vllm/distributed/device_communicators/custom_all_reduce.py,
        https://github.com/vllm-project/vllm/issues/4232
    """
    return plain(case, "non-power-of-two-parallelism")


@rule("GPU309", "replicas-beat-tp", Severity.ADVICE, since="0.1")
def replicas_beat_tp(case: Case) -> Iterator[Remark]:
    """Ranks share every layer over PCIe, though one GPU holds the model and copies would do more.

    Why: two all-reduce operations end each layer, and over PCIe the GPUs wait for them. A copy of
        the model on each GPU waits for nobody.
    Fix: take the `dp` of the finding in place of `tp`.
    Limits: only where `tp` is declared, where copies hold `concurrency` and meet the declared time
        per token; estimated rates are compared. Training is GPU306.
    Sources: https://github.com/vllm-project/vllm/issues/4232,
        https://docs.vllm.ai/en/latest/serving/data_parallel_deployment/
    """
    return plain(case, "replicas-beat-tp")


@rule(
    "GPU314",
    "container-gpus-too-few",
    Severity.ERROR,
    since="0.1",
    needs=Needs.RESOURCE,
    waivable=Waivable.EVIDENCE,
)
def container_gpus_too_few(case: Case) -> Iterator[Remark | Doubt]:
    """Containers ask for fewer GPUs than the work takes on an instance.

    Why: a container sees the GPUs that it asks for and no others. An engine that is to start more
        ranks than that ends at once, and so does one whose model the GPUs at hand do not hold.
    Fix: ask for as many GPUs as the finding says, or declare sizes that the container holds.
    Limits: parallel sizes that nobody declared may be any that the container holds. All containers
        of a task are counted together; of one that asks for none nothing is said, for a runtime may
        hand it all. GPUs of the instance that nobody uses are GPU307.
    Sources: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html,
        https://docs.aws.amazon.com/batch/latest/userguide/gpu-jobs.html,
        https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
    """
    candidate, selection = case.candidate, case.selection
    assert candidate is not None
    assert selection is not None
    if not selection.gpus.known:
        yield Doubt(selection.doubts("gpus"))
        return
    asked, nodes = selection.gpus.value or 0, candidate.placement.nodes
    if not asked or any(_may_run(candidate, asked * nodes)):
        return
    needed = min(_may_run(candidate, candidate.placement.gpus), default=_pinned_gpus(candidate))
    each = -(-needed // nodes)
    if each > asked:
        yield Remark(
            f"the work takes {each} GPUs of each {candidate.instance.id}, its containers ask for"
            f" {asked}: it cannot start",
            (f"ask for {each} GPUs by {selection.name_of('gpus')}",),
            {"containerGpus": asked, "neededGpus": each},
        )


def _may_run(candidate: Candidate, gpus: int) -> Iterator[int]:
    """Yield the GPUs of layouts on so many that may hold the work, the plainest first.

    Open sizes are tried with as few copies as may be, and with as many.
    """
    from gpusize.memory.result import Verdict
    from gpusize.placement import Pins, layouts

    workload, nodes = candidate.workload, candidate.placement.nodes
    pins = Pins(workload.tp, workload.pp, workload.dp, workload.ep, getattr(workload, "cp", None))
    shape = candidate.study.shape
    for sizes in (pins._replace(dp=pins.dp or 1), pins):
        for layout in layouts(gpus // nodes, nodes, shape, sizes):
            if layout.gpus > gpus:
                continue
            if candidate.at(layout).fit.verdict is not Verdict.DOES_NOT_FIT:
                yield layout.gpus


def _pinned_gpus(candidate: Candidate) -> int:
    """GPUs that the declared sizes take."""
    workload = candidate.workload
    sizes = (workload.tp, workload.pp, workload.dp, getattr(workload, "cp", None))
    return math.prod(size or 1 for size in sizes)
