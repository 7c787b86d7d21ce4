"""From families of instance types, as Batch lists them, to the types of the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_policies.reading.selection import Selection
from gpusize_policies.reading.values import ABSENT, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpusize_catalog.facts import InstanceType
    from gpusize_catalog.store import Catalog

SIZE = "."
"""What stands between family and size in the name of a type: a word without it is a family."""


def is_several(selection: Selection) -> bool:
    """Tell whether more than one type may be launched."""
    words = selection.types.value if selection.types.says else ()
    return len(words) > 1 or names_family(selection)


def names_family(selection: Selection) -> bool:
    """Tell whether what is listed has to be written out."""
    words = selection.types.value if selection.types.says else ()
    return any(SIZE not in word for word in words)


def expanded(selection: Selection, catalog: Catalog) -> Selection:
    """Write out families, leave out types that lack the GPUs asked for, and count instances."""
    found = selection
    if names_family(found):
        types = tuple(dict.fromkeys(_written_out(found.types.value, catalog)))
        found = found._replace(types=Value(types), instance_type=Value(types[0]))
    return _counted(_large_enough(found, catalog), catalog)


def _written_out(words: Iterable[str], catalog: Catalog) -> Iterator[str]:
    """Each type as it is, each family as its types; without an accelerator the word stays."""
    instances = catalog.instances()
    by_family: dict[str, list[InstanceType]] = {}
    for one in instances:
        by_family.setdefault(one.family, []).append(one)
    named = tuple(words)
    # Families without accelerators, `optimal` among them, never get work that asks for one.
    accelerated = [word for word in named if SIZE in word or word in by_family]
    for word in accelerated or named:
        if SIZE in word or word not in by_family:
            yield word
        else:
            yield from (one.id for one in sorted(by_family[word], key=_by_size))


def _by_size(instance: InstanceType) -> tuple[int, int, str]:
    return (instance.gpus or 0, instance.vcpus or 0, instance.id)


def _large_enough(selection: Selection, catalog: Catalog) -> Selection:
    """Where types are picked by what runs, only those with the GPUs that it asks for are."""
    asked, types = selection.gpus, selection.types
    if not selection.is_pool or not asked.says or not types.says:
        return selection
    found = [(name, catalog.find_instance(name)) for name in types.value]
    kept = tuple(name for name, one in found if one is None or (one.gpus or 0) >= asked.value)
    if not kept or kept == types.value:
        return selection
    given = selection.admitted
    if given.says:  # the attributes decide, so no type is named
        own = tuple(name for name in given.value.types if name in kept)
        return selection._replace(
            types=Value(kept), admitted=Value(given.value._replace(types=own))
        )
    return selection._replace(types=Value(kept), instance_type=Value(kept[0]))


def _counted(selection: Selection, catalog: Catalog) -> Selection:
    """Turn sizes in vCPUs into instances of the type."""
    vcpus = (selection.least_vcpus, selection.desired_vcpus, selection.most_vcpus)
    if all(value == ABSENT for value in vcpus):
        return selection
    instance = catalog.find_instance(selection.instance_type.text)
    each = instance.vcpus if instance else None
    if not each:
        return selection
    least, desired, most = (
        Value(-(-value.value // each)) if value.says else value for value in vcpus
    )
    return selection._replace(least=least, desired=desired, most=most)
