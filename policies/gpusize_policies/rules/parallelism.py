"""Do the parallel sizes suit the model and the links between GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import Waivable, rule

if TYPE_CHECKING:
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


@rule("GPU304", "tp-over-pcie", Severity.WARN, since="0.1", parameters=("maxCommunicationShare",))
def tp_over_pcie(case: Case) -> Iterator[Remark]:
    """Tensor or expert parallelism spends too much of each step on a link without NVLink.

    Why: every layer ends in two all-reduce operations, or sends each token to its experts and
        back. Over PCIe, or through the host where GPUs cannot reach each other, that takes a large
        share of the step.
    Fix: take fewer and larger GPUs, an NVLink node, pipeline stages, or replicas.
    Limits: computed from the bytes moved, the link of the instance type and the step time, never
        from the name of a family.
    Sources: https://docs.vllm.ai/en/latest/serving/parallelism_scaling/
    """
    return wrapped(case, "tp-over-pcie")


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

    Why: idle GPUs are paid for by the hour.
    Fix: take a smaller size of the same GPU, or fill the node with replicas (`dp`).
    Sources: AWS Well-Architected, generative AI lens, GENCOST02-BP02
    """
    return wrapped(case, "idle-gpus-on-node", "instance_type", "nodes_per_replica")
