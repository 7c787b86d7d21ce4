"""What runs on Kubernetes, and the nodes that it may run on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpusize_policies.reading.kubernetes.objects import SHAPES, selections_of
from gpusize_policies.reading.selection import Selection
from gpusize_policies.reading.values import Props

PACKAGE = "kubernetes:"
PODS: dict[str, Callable[[Props], tuple[Selection, ...]]] = {
    f"{PACKAGE}{kind}": partial(selections_of, shape) for kind, shape in SHAPES.items()
}
"""How to read the objects that carry pods, by type token."""
NODE_POOLS = frozenset(f"{PACKAGE}karpenter.sh/{version}:NodePool" for version in ("v1", "v1beta1"))
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
NODES = NODE_POOLS | {NODE_GROUP}
"""Types that make nodes for pods."""
