"""What asks for labels of nodes mean, and which labels a node of an instance type has.

Sources: Kubernetes, "Assigning Pods to Nodes" (operators); Karpenter, "Well-Known Labels" and
`computeRequirements` of karpenter-provider-aws, pkg/providers/instancetype/types.go (values);
Amazon EKS user guide, "Create a Node Pool for EKS Auto Mode" (the same under a prefix of its own).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.units import MIB
from gpusize_policies.reading.requirements import PROCESSORS

if TYPE_CHECKING:
    from gpusize_catalog.facts import Gpu, InstanceType

IN, NOT_IN, EXISTS, ABSENT_LABEL = "In", "NotIn", "Exists", "DoesNotExist"
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "Gt": lambda own, bound: own > bound,
    "Lt": lambda own, bound: own < bound,
    "Gte": lambda own, bound: own >= bound,
    "Lte": lambda own, bound: own <= bound,
}
"""Operators that compare whole numbers; the last two are Karpenter's alone."""
OPERATORS = frozenset({IN, NOT_IN, EXISTS, ABSENT_LABEL, *COMPARED})

TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
NODE_GROUP = "eks.amazonaws.com/nodegroup"
NODE_POOL = "karpenter.sh/nodepool"
CAPACITY = "karpenter.sh/capacity-type"
GROUP_CAPACITY = "eks.amazonaws.com/capacityType"
OLDER = {
    "beta.kubernetes.io/instance-type": TYPE,
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
}
"""Deprecated names of labels (Kubernetes, "Well-Known Labels, Annotations and Taints")."""
PREFIXES = ("karpenter.k8s.aws/", "eks.amazonaws.com/")
ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
MBPS_OF_GBPS = 1000
GPU_MAKERS = frozenset({"NVIDIA", "AMD"})
"""Makers whose accelerators the EC2 API lists as GPUs."""
NEURON_MAKER = "AWS"
OLD_NEURON_NAME = "inferentia"
"""What Karpenter called the accelerators of trn1 too."""
_FAMILY = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+)")

Own = tuple[str, ...] | None


class Ask(NamedTuple):
    """What is asked of one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


def holds(ask: Ask, own: Own) -> bool | None:
    """Tell whether a node meets it; None where nobody can tell.

    `own` has the values that its label may have: none where it has no such label, None where that
    is not known.
    """
    if own is None:
        return None
    if ask.operator in (EXISTS, ABSENT_LABEL):
        return bool(own) is (ask.operator == EXISTS)
    if not own:
        return ask.operator == NOT_IN
    answers = {_holds(ask, value) for value in own}
    return answers.pop() if len(answers) == 1 else None


def _holds(ask: Ask, value: str) -> bool:
    if ask.operator in (IN, NOT_IN):
        return (value in ask.values) is (ask.operator == IN)
    own, bound = _number(value), _number(ask.values[0] if ask.values else "")
    return own is not None and bound is not None and COMPARED[ask.operator](own, bound)


def _number(text: str) -> float | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def meets(asks: Iterable[Ask], instance: InstanceType, gpu: Gpu | None) -> tuple[str, ...] | None:
    """Name the labels that nobody can tell of a type that may meet all asks; None: it does not.

    Asks for labels that no type decides count as met: where nodes lie, or what a team calls them.
    """
    doubts = []
    for ask in asks:
        read = TYPE_LABELS.get(ask.key)
        answer = holds(ask, read(instance, gpu)) if read else True
        if answer is False:
            return None
        if answer is None:
            doubts.append(ask.key)
    return tuple(doubts)


def _text(value: float | None) -> Own:
    return None if value is None else (str(int(value)),)


def _part(index: int) -> Callable[[InstanceType, Gpu | None], Own]:
    """Letters or digits of the family: `p4d` is of category p and generation 4."""

    def read(instance: InstanceType, _: Gpu | None) -> Own:
        found = _FAMILY.match(instance.family)
        return (found.group(index),) if found else None

    return read


def _of_gpu(
    read: Callable[[InstanceType, Gpu], Own],
) -> Callable[[InstanceType, Gpu | None], Own]:
    """A label that only nodes with GPUs have; whether others' devices count was not found."""

    def label(instance: InstanceType, gpu: Gpu | None) -> Own:
        if gpu is None or gpu.vendor == NEURON_MAKER:
            return ()
        return read(instance, gpu) if gpu.vendor in GPU_MAKERS else None

    return label


def _of_neuron(
    read: Callable[[InstanceType, Gpu], Own],
) -> Callable[[InstanceType, Gpu | None], Own]:
    """A label that only nodes with Inferentia or Trainium have."""

    def label(instance: InstanceType, gpu: Gpu | None) -> Own:
        if gpu is None or gpu.vendor in GPU_MAKERS:
            return ()
        return read(instance, gpu) if gpu.vendor == NEURON_MAKER else None

    return label


def _name(instance: InstanceType, gpu: Gpu) -> Own:
    return ((instance.api_name or gpu.id).lower().replace(" ", "-"),)


def _counts(instance: InstanceType, _: Gpu) -> Own:
    """Devices; the API counts none on types with a part of one."""
    counts = {one for one in (instance.gpus, instance.api_gpu_count) if one is not None}
    return tuple(str(one) for one in sorted(counts)) or None


def _neuron_names(instance: InstanceType, gpu: Gpu) -> Own:
    own = _name(instance, gpu) or ()
    return tuple(sorted({*own, OLD_NEURON_NAME}))


def _disks(instance: InstanceType, _: Gpu | None) -> Own:
    return _text(instance.nvme_gb) if instance.nvme_gb != 0 else ()


def _processor(instance: InstanceType, _: Gpu | None) -> Own:
    makers = PROCESSORS.get(instance.arch)
    return makers and tuple("aws" if one.startswith("amazon") else one for one in makers)


def _arch(instance: InstanceType, _: Gpu | None) -> Own:
    word = ARCHITECTURES.get(instance.arch)
    return (word,) if word else None


_OF_AWS: dict[str, Callable[[InstanceType, Gpu | None], Own]] = {
    "instance-category": _part(1),
    "instance-generation": _part(2),
    "instance-family": lambda one, _: (one.family,),
    "instance-size": lambda one, _: (one.id.partition(".")[2],),
    "instance-cpu": lambda one, _: _text(one.vcpus),
    "instance-cpu-manufacturer": _processor,
    "instance-memory": lambda one, _: _text(one.memory_bytes and one.memory_bytes / MIB),
    "instance-ebs-bandwidth": lambda one, _: _text(one.ebs_max_mbps),
    "instance-network-bandwidth": lambda one, _: _text(
        one.network_baseline_gbps and one.network_baseline_gbps * MBPS_OF_GBPS
    ),
    "instance-local-nvme": _disks,
    "instance-gpu-name": _of_gpu(_name),
    "instance-gpu-manufacturer": _of_gpu(lambda _, gpu: (gpu.vendor.lower(),)),
    "instance-gpu-count": _of_gpu(_counts),
    "instance-gpu-memory": _of_gpu(
        lambda one, _: _text(one.gpu_memory_bytes and one.gpu_memory_bytes / MIB)
    ),
    "instance-accelerator-name": _of_neuron(_neuron_names),
    "instance-accelerator-manufacturer": _of_neuron(lambda _, gpu: (gpu.vendor.lower(),)),
    "instance-accelerator-count": _of_neuron(_counts),
    "instance-hypervisor": lambda _one, _gpu: None,
    "instance-encryption-in-transit-supported": lambda _one, _gpu: None,
}
TYPE_LABELS: dict[str, Callable[[InstanceType, Gpu | None], Own]] = {
    TYPE: lambda one, _: (one.id,),
    "kubernetes.io/arch": _arch,
    **{prefix + name: read for prefix in PREFIXES for name, read in _OF_AWS.items()},
}
"""Labels that the type of a node decides, each with the values that a type may give it."""

_TELLING = ("instance-family", "instance-gpu-name", "instance-accelerator-name")
TELLING = frozenset({TYPE, *(prefix + name for prefix in PREFIXES for name in _TELLING)})
"""Labels one of which has to be asked for where nothing but the pod says what its nodes are."""
