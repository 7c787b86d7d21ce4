"""The catalog as a pod sees it that takes some of the GPUs of a node and leaves the others."""

from __future__ import annotations

from typing import TypeGuard

from gpusize_catalog import tables as t
from gpusize_catalog.facts import InstanceType, Interconnect, Price, PriceType
from gpusize_catalog.store import Catalog, Row
from gpusize_catalog.table import Table


class Shares(Catalog):
    """Instance types with as many GPUs as a pod asks for, at their part of the price.

    Types with as many or fewer stay as they are. Memory of the host is what the containers may
    take, where they have a limit; else that of the whole node, for nothing keeps them from it.
    """

    def __init__(self, whole: Catalog, gpus: int, memory_bytes: int | None = None) -> None:
        """Share each node of the whole catalog, whose rows are read once for both."""
        super().__init__(whole._groups, whole.digest, whole.version, whole._own)
        self._whole = whole
        self._gpus = gpus
        self._memory = memory_bytes
        self._types: dict[str, tuple[InstanceType, ...]] = {}
        self._paid: dict[tuple[str, str, PriceType], tuple[Price, ...]] = {}

    def prices(self, instance_type: str, region: str, price_type: PriceType) -> tuple[Price, ...]:
        """Return the pod's part of each price, by its part of the GPUs."""
        key = (instance_type, region, price_type)
        if key not in self._paid:
            whole = self._whole.find_instance(instance_type)
            part = min(1.0, self._gpus / whole.gpus) if whole and whole.gpus else 1.0
            prices = self._whole.prices(instance_type, region, price_type)
            self._paid[key] = tuple(one._replace(amount=one.amount * part) for one in prices)
        return self._paid[key]

    def _group(self, table: Table[Row], first: str) -> tuple[Row, ...]:
        rows = self._whole._group(table, first)
        if table.name != t.INSTANCES.name:
            return rows
        if first not in self._types:
            self._types[first] = tuple(self._shared(one) for one in rows if _is_type(one))
        return self._types[first]  # type: ignore[return-value]  # rows of this table are types

    def _every(self, table: Table[Row]) -> tuple[Row, ...]:
        is_shared = table.name == t.INSTANCES.name
        return super()._every(table) if is_shared else self._whole._every(table)

    def _shared(self, whole: InstanceType) -> InstanceType:
        found = whole
        if self._memory is not None and whole.memory_bytes is not None:
            found = found._replace(memory_bytes=min(whole.memory_bytes, self._memory))
        if whole.gpus is None or whole.gpus <= self._gpus:
            return found
        found = found._replace(gpus=self._gpus)
        if self._gpus > 1:
            return found
        return found._replace(interconnect=Interconnect.SINGLE, interconnect_bandwidth=None)


def _is_type(row: object) -> TypeGuard[InstanceType]:
    return isinstance(row, InstanceType)
