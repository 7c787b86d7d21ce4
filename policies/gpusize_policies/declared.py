"""What a `GpuWorkload` of a run declares and what was decided for it, read from its properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from gpusize.lock import MAX_COUNT
from gpusize.placement import Layout
from gpusize_catalog.problems import GpuSizeError, Problem
from gpusize_policies.case import Decided
from gpusize_policies.reading import Props

if TYPE_CHECKING:
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog

NOT_DECLARED = ("decision", "createInstance", "allowMisfit")
"""Registered inputs of the component that are no fields of the declaration."""
UPDATE = "install the same gpusize for the program, the plugin and the pack"

Pins = dict[str, object]


class Declared(NamedTuple):
    """A workload of this run, with what was decided for it where a component did."""

    workload: Workload | None
    decided: Decided | None
    missing: Problem | None = None
    """Why there is none, and what would help."""
    key: str = ""
    """Equal for equal content: what answers are kept by."""


def read_component(whole: Mapping[str, Any], catalog: Catalog) -> Declared:
    """Read a component: its inputs are the declaration, its outputs hold one."""
    from gpusize.workload import parse_workload

    inner = whole.get("declaration")
    raw = inner if isinstance(inner, dict) else _without(whole, NOT_DECLARED)
    decision = whole if isinstance(inner, dict) else whole.get("decision")
    decided = _decided(decision) if isinstance(decision, dict) else None
    try:
        return Declared(parse_workload(raw, catalog=catalog), decided)
    except GpuSizeError as error:
        # A component of another version may know fields that are unknown here.
        first = error.problems[0]
        told = ": ".join(word for word in (first.path, first.message) if word)
        return Declared(None, None, Problem("", f"the declaration is not readable: {told}", UPDATE))


def _without(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _decided(decision: Mapping[str, Any]) -> Decided | None:
    """Read what the component decided; None where it found no type."""
    from gpusize.workload import Market

    versions = {"gpusize_version": str(decision.get("version", ""))}
    if not decision.get("locked"):
        # A locked decision keeps the catalog it was made with, which says nothing of the plugin.
        versions["catalog_version"] = str(decision.get("catalogVersion", ""))
        versions["catalog_digest"] = str(decision.get("catalogDigest", ""))
    instance_type = decision.get("instanceType")
    market, layout = decision.get("market"), decision.get("layout")
    sizes = layout if isinstance(layout, Mapping) else {}
    if not isinstance(instance_type, str):
        return Decided({}, **versions)
    pins: Pins = {"instance_type": instance_type}
    counts = {
        "nodes_per_replica": decision.get("nodes"),
        **{key: sizes.get(key) for key in Layout._fields},
    }
    pins.update((key, int(count)) for key, count in counts.items() if _is_count(count))
    if market in [one.value for one in Market]:
        pins["market"] = Market(market)
    return Decided(pins, **versions)


def _is_count(value: object) -> TypeGuard[float]:
    """Tell a count that Pulumi sends as a float from whatever a state file may hold."""
    return isinstance(value, (int, float)) and 1 <= value <= MAX_COUNT


def plain(value: Any) -> Any:
    """Copy proxies into plain data; what is not known is left out."""
    if isinstance(value, Mapping):
        reader = Props(value)
        pairs = ((key, reader.own(key)) for key in value)
        return {key: plain(found.value) for key, found in pairs if found.known}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = (Props(value).own(index) for index in range(len(value)))
        return [plain(item.value) for item in items if item.known]
    return value
