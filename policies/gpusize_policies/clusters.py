"""The nodes of a stack on which pods may be put, and those that the sidecar describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpusize_policies.machines import Seen, Stack, joined
from gpusize_policies.reading import Props, Role, Selection, select
from gpusize_policies.reading.kubernetes import NODE_GROUP, NODE_POOLS
from gpusize_policies.reading.kubernetes.nodes import Nodes, of_group, of_machines, of_pool
from gpusize_policies.scheduling import assigned, hosts, placed

if TYPE_CHECKING:
    from gpusize.declaring.sidecar import Machines

CLUSTER_NAME = "clusterName"


class Clusters:
    """The nodes of one run, read when the first pod asks for them."""

    def __init__(
        self, stack: Stack, joins: Mapping[str, list[Seen]], machines: Mapping[str, Machines]
    ) -> None:
        """Read nothing yet."""
        self._stack = stack
        self._joins = joins
        self._elsewhere = tuple(of_machines(name, one) for name, one in machines.items())
        self._nodes: Sequence[Nodes] | None = None
        self.used: set[str] = set()
        """Resources whose nodes pods may be put on of which it is known what they do, by URN."""

    def joined(self, seen: Seen, part: Selection) -> Selection:
        """Fill in what a resource does not say itself: from its nodes, or the rest of the stack."""
        if part.role is Role.TASK:
            return assigned(joined(seen, part, self._stack, self._joins), self._elsewhere)
        if part.role is not Role.POD:
            return joined(seen, part, self._stack, self._joins)
        if self._nodes is None:
            self._nodes = (*self._read(), *self._elsewhere)
        found = hosts(part, self._nodes)
        if part.workload.text or part.launches.says:
            self.used.update(one.urn for one in found)
        return placed(part, found)

    def _read(self) -> Iterator[Nodes]:
        for seen in self._stack.values():
            props = Props(seen.props)
            if seen.type in NODE_POOLS:
                yield of_pool(props)
            elif seen.type == NODE_GROUP:
                own = select(seen.type, seen.props)
                assert own is not None
                cluster = "".join(seen.sources.get(CLUSTER_NAME, ())[:1])
                launched = joined(seen, own, self._stack, self._joins)
                yield of_group(props, launched, cluster)._replace(urn=seen.urn)
