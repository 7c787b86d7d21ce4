"""One resource that launches GPUs, as team rules and sums over a stack see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.team import NO_RULES
from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.reading import DEFERRED, SENTINELS, UNKNOWN, Props, Role, Selection, Value
from gpusize_policies.reading.selection import KEEPING
from gpusize_policies.reading.tags import NO_TAGS, Tags, default_tags, tags_of
from gpusize_policies.reading.values import first

if TYPE_CHECKING:
    from gpusize_catalog.facts import InstanceType
    from gpusize_catalog.store import Catalog
    from gpusize_policies.machines import Seen
    from gpusize_policies.settings import Settings


MANAGED = "ml."
"""What SageMaker writes before an instance type."""


class Accelerators:
    """Tells types with accelerators from all others, by their families."""

    def __init__(self, settings: Settings, catalog: Callable[[], Catalog]) -> None:
        """Load no catalog before it is asked for."""
        self._catalog = catalog
        self.asks_all = (
            settings.require_declaration
            or settings.team != NO_RULES
            or settings.custom.asks("machine", "stack")
        )
        """Whether the settings ask something of machines that no workload owns."""

    def knows(self, name: str) -> bool:
        """Whether a text can be an instance type with accelerators."""
        return name.removeprefix(MANAGED).split(".", 1)[0] in self._families

    def may_be(self, name: str) -> bool:
        """Whether a property can be such a type; one that is not known yet may, where that counts.

        A catalog that is not readable knows none; that it is not is told elsewhere.
        """
        if name in SENTINELS:
            return self.asks_all
        try:
            return self.knows(name)
        except GpuSizeError:
            return False

    @cached_property
    def _families(self) -> frozenset[str]:
        """The families of the catalog, which has no others than those with accelerators."""
        return frozenset(one.id.split(".", 1)[0] for one in self._catalog().instances())


class Machine(NamedTuple):
    """What a resource of a stack launches or keeps."""

    name: str
    types: tuple[str, ...]
    """Types with accelerators that it may launch, all of them in the catalog."""
    instances: int | None
    """Instances that run, None where it is not known."""
    most: int | None
    """Instances that may run at most."""
    region: str
    """Where it lies, '' where nothing says it."""
    market: str
    """How it is bought, '' where that is not known."""
    tags: Tags = NO_TAGS
    role: Role = Role.MACHINE
    public: Value = Value()
    """Whether its instances get public addresses."""
    seller: str = ""
    """Service that bills it at prices of its own, '' for EC2."""
    workload: str = ""
    """Name of the workload that owns it, '' where none does."""

    is_inferred: bool = False
    """Whether its own texts say what runs there."""

    @property
    def is_owned(self) -> bool:
        """Whether a workload owns it: what it selects is judged with that."""
        return bool(self.workload)

    @property
    def runs(self) -> bool:
        """Whether it launches instances by itself: a template and a reservation do not."""
        return self.role is Role.MACHINE


def machine_of(
    seen: Seen,
    selection: Selection,
    chain: Iterable[Seen],
    region: str,
    catalog: Catalog,
) -> Machine | None:
    """Read what a resource launches; None where no accelerator is among it.

    `selection` is joined with the templates in `chain`.
    """
    types = tuple(one for one in named_types(selection) if catalog.find_instance(one))
    if not types:
        return None
    size, most = _sizes(selection)
    chained = [seen, *chain]
    return Machine(
        seen.name,
        types,
        size,
        most,
        region,
        selection.market.text,
        tags=_tags(seen, selection, chained),
        role=selection.role,
        seller=selection.seller,
        public=first(*(_public(one.props) for one in chained)),
    )


def named_types(selection: Selection) -> tuple[str, ...]:
    """Name the types that a resource may launch, those of no accelerator too."""
    listed = selection.types.value if selection.types.says else ()
    named = dict.fromkeys((selection.instance_type.text, *listed))
    return tuple(one for one in named if isinstance(one, str) and one)


def _tags(seen: Seen, selection: Selection, chained: Iterable[Seen]) -> Tags:
    """Tags of the resource, its templates and its provider; a template may lie elsewhere."""
    found = NO_TAGS.joined(
        *(tags_of(one.props) for one in chained), default_tags(seen.provider_tags)
    )
    return found._replace(is_whole=False) if selection.workload == DEFERRED else found


def _sizes(selection: Selection) -> tuple[int | None, int | None]:
    """Instances that run, and that may; one where the resource is one."""
    if selection.role in KEEPING:
        held = selection.reserved.value if selection.reserved.known else None
        return held, held
    bounds = (selection.least, selection.desired, selection.most)
    if not any(one.says or not one.known for one in bounds):
        return 1, 1
    size = next((one.value for one in (selection.desired, selection.least) if one.says), None)
    most = selection.most.value if selection.most.says else size
    return (most if size is None else size), most


def _public(props: Any) -> Value:
    """Tell whether instances get public addresses, as far as the resource says it."""
    reader = Props(props)
    own = reader.get("associatePublicIpAddress")
    listed, is_whole = reader.items("networkInterfaces")
    inner = [Props(one.value).get("associatePublicIpAddress") for one in listed if one.known]
    for one in (own, *inner):
        if one.known and str(one.value).lower() == "true":
            return Value(True)
    known = is_whole and all(one.known for one in (own, *inner))
    said = any(one.value is not None for one in (own, *inner))
    return (Value(False) if said else Value()) if known else UNKNOWN


def largest(machine: Machine, catalog: Catalog) -> InstanceType:
    """The type with most GPUs among those that a machine may launch."""
    found = [catalog.instance(name) for name in machine.types]
    return max(found, key=lambda one: (one.gpus or 0, one.id))
