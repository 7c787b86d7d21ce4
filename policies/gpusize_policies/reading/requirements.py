"""Instance types by attribute: what AWS's instance requirements ask, and which types have it.

Source of names, defaults and meaning: Amazon EC2 API Reference, InstanceRequirements. What is left
out does not narrow, but for bare metal and burstable types, which are excluded. Price protection is
not counted: it moves with the prices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.facts import Status
from gpusize_catalog.units import MIB
from gpusize_policies.reading.values import ABSENT, UNKNOWN, Props, Value, amount

if TYPE_CHECKING:
    from gpusize_catalog.facts import Gpu, InstanceType
    from gpusize_catalog.store import Catalog

LONGEST_PATTERN = 30
"""Characters of an allowed or excluded instance type (EC2 API Reference)."""
MIB_OF_GIB = 1024
INCLUDED, EXCLUDED, REQUIRED = "included", "excluded", "required"
SWITCHES = {"bareMetal": EXCLUDED, "burstablePerformance": EXCLUDED, "localStorage": INCLUDED}
"""Properties that include, exclude or require something, and what holds where they are left out."""
ACCELERATED = ("acceleratorManufacturers", "acceleratorNames", "acceleratorTypes")
"""Lists that only a type with an accelerator meets."""
MANUFACTURERS = {
    "NVIDIA": "nvidia",
    "AMD": "amd",
    "AWS": "amazon-web-services",
    "Habana": "habana",
}
"""Makers of accelerators in the words of the API."""
KINDS = {"NVIDIA": ("gpu",), "AMD": ("gpu",)}
EITHER_KIND = ("gpu", "inference")
"""Accelerator types of what they make. Whether the API counts Gaudi, Trainium and AI100 as GPUs or
as inference accelerators was not found."""
PROCESSORS = {"arm64": ("amazon-web-services",), "x86_64": ("amd", "intel")}
"""Makers that the processor of an architecture may have; which of them the catalog does not say."""
MOST_MIB = 10**9
"""MiB above which a number is no memory of an instance."""

Range = tuple[str, float | None, float | None]
Words = tuple[str, tuple[str, ...]]


class Requirement(NamedTuple):
    """What one set of attributes asks of a type; nothing of what it leaves out."""

    ranges: tuple[Range, ...] = ()
    lists: tuple[Words, ...] = ()
    switches: tuple[tuple[str, str], ...] = ()
    hibernates: bool = False
    allowed: tuple[str, ...] = ()
    """Patterns, one of which the name must match; empty: any name."""
    excluded: tuple[str, ...] = ()

    @property
    def demands(self) -> bool:
        """Whether only types with accelerators meet it."""
        least = {name: low or 0 for name, low, _ in self.ranges}
        amounts = ("acceleratorCount", "acceleratorTotalMemoryMib")
        named = any(name in ACCELERATED for name, _ in self.lists)
        return named or any(least.get(name, 0) > 0 for name in amounts)


class Admitted(NamedTuple):
    """The types that have the attributes."""

    types: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    """Those of them of which the catalog cannot tell."""
    undecided: tuple[str, ...] = ()
    """The attributes of which it cannot."""
    bare: bool = False
    """Whether types without an accelerator have them too."""
    by_labels: bool = False
    """Whether what asks is labels of nodes, and not instance requirements."""


def requirements_of(props: Props) -> Value:
    """Read `instanceRequirements`: absent, unknown, or one `Requirement`."""
    block = props.get("instanceRequirements")
    if not block.known or block.value is None:
        return Value(known=block.known)
    if not _is_group(block):
        return UNKNOWN
    reader = Props({"block": block.value})
    ranges = [_range(reader, name) for name in AMOUNTS]
    lists = [_words(reader, name) for name in (*LISTS, "allowedInstanceTypes")]
    lists.append(_words(reader, "excludedInstanceTypes"))
    switches = [_switch(reader, name) for name in SWITCHES]
    hibernates = reader.get("block.requireHibernateSupport")
    if not all(one.known for one in (*ranges, *lists, *switches, hibernates)):
        return UNKNOWN
    named = {one.value[0]: one.value[1] for one in lists if one.says}
    return Value(
        Requirement(
            ranges=tuple(one.value for one in ranges if one.says),
            lists=tuple((name, words) for name, words in named.items() if name in LISTS),
            switches=tuple(one.value for one in switches),
            hibernates=hibernates.value is True,
            allowed=named.get("allowedInstanceTypes", ()),
            excluded=named.get("excludedInstanceTypes", ()),
        )
    )


def admitted(
    asked: Iterable[Requirement],
    catalog: Catalog,
    region: str = "",
    markets: Collection[str] = (),
) -> Admitted:
    """Return every type that meets one of some requirements, by name.

    What AWS no longer sells, or is known not to sell in the region or in any of the markets, is
    never launched. A type that the catalog knows too little of is admitted.
    """
    found: dict[str, tuple[str, ...]] = {}
    asked = tuple(asked)
    for instance in catalog.instances():
        if instance.status is Status.RETIRED or is_elsewhere(instance, catalog, region):
            continue
        if markets and instance.usage_classes and instance.usage_classes.isdisjoint(markets):
            continue
        gpu = catalog.gpu(instance.gpu_id) if instance.gpu_id else None
        answers = [_doubts(one, instance, gpu) for one in asked]
        met = [one for one in answers if one is not None]
        if met:
            found[instance.id] = min(met, key=len)
    names = sorted(found)
    classes = frozenset(_letters(instance.family) for instance in catalog.instances())
    return Admitted(
        types=tuple(names),
        doubtful=tuple(name for name in names if found[name]),
        undecided=tuple(sorted({doubt for doubts in found.values() for doubt in doubts})),
        bare=any(_is_bare(one, classes) for one in asked),
    )


def is_elsewhere(instance: InstanceType, catalog: Catalog, region: str) -> bool:
    """Tell a type that the listing of the region, by the API, does not have."""
    from gpusize_catalog.facts import Coverage

    known = catalog.region(region) if region else None
    if known is None or known.coverage is not Coverage.API:
        return False
    return catalog.offering(instance.id, region) is None


def _is_bare(asked: Requirement, classes: frozenset[str]) -> bool:
    """Tell whether types without accelerators meet it: their names decide where some are given."""
    most = {name: high for name, _, high in asked.ranges}
    if asked.demands or most.get("acceleratorCount") == 0:
        return not asked.demands
    return not asked.allowed or any(_letters(one) not in classes for one in asked.allowed)


def _letters(name: str) -> str:
    """The letters that a family begins with: what tells accelerated families from others."""
    found = re.match("[a-z]*", name)
    return found.group() if found else ""


def _doubts(asked: Requirement, instance: InstanceType, gpu: Gpu | None) -> tuple[str, ...] | None:
    """Name the attributes that nobody can tell of a type that may meet all; None: it does not."""
    doubts = []
    for name, answer in _answers(asked, instance, gpu):
        if answer is False:
            return None
        if answer is None:
            doubts.append(name)
    return tuple(doubts)


def _answers(
    asked: Requirement, instance: InstanceType, gpu: Gpu | None
) -> Iterator[tuple[str, bool | None]]:
    """Whether a type has each attribute that is asked; None where the catalog cannot tell."""
    if asked.allowed:
        yield "allowedInstanceTypes", _matches(instance.id, asked.allowed)
    yield "excludedInstanceTypes", not _matches(instance.id, asked.excluded)
    switches = {**SWITCHES, **dict(asked.switches)}
    storage = None if instance.nvme_gb is None else instance.nvme_gb > 0
    yield "bareMetal", _switched(switches["bareMetal"], instance.bare_metal)
    yield "burstablePerformance", _switched(switches["burstablePerformance"], False)
    yield "localStorage", _switched(switches["localStorage"], storage)
    if asked.hibernates:
        yield "requireHibernateSupport", instance.hibernation
    for name, low, high in asked.ranges:
        yield name, _within(AMOUNTS[name](instance), low, high)
    for name, words in asked.lists:
        yield name, _among(LISTS[name](instance, gpu), words)


def _switched(word: str, has: bool | None) -> bool | None:
    if word == INCLUDED:
        return True
    return has if has is None else has is (word == REQUIRED)


def _within(amounts: tuple[float, ...], low: float | None, high: float | None) -> bool | None:
    """Whether an amount lies between two; one of which several readings exist may be any."""
    if not amounts:
        return None
    fits = [(low is None or one >= low) and (high is None or one <= high) for one in amounts]
    return True if all(fits) else None if any(fits) else False


def _among(own: tuple[str, ...], words: tuple[str, ...]) -> bool | None:
    """Whether a word is among some; where it may be one of several, all of them must be."""
    if not own:
        return None
    met = [one in words for one in own]
    return True if all(met) else None if any(met) else False


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Match a name with patterns in which `*` stands for any characters."""
    return any(
        re.fullmatch(re.escape(one).replace(r"\*", ".*"), name) is not None for one in patterns
    )


def _counts(instance: InstanceType) -> tuple[float, ...]:
    """Accelerators; the API counts none on types with a part of one."""
    counts = (instance.gpus, instance.api_gpu_count)
    return tuple({float(one) for one in counts if one is not None})


def _memory(instance: InstanceType) -> tuple[float, ...]:
    """Memory of all accelerators, MiB, as the API prints it."""
    if instance.gpu_memory_bytes is None or instance.gpus is None:
        return ()
    return (instance.gpu_memory_bytes * instance.gpus / MIB,)


def _known(value: float | None) -> tuple[float, ...]:
    return () if value is None else (value,)


def _per_vcpu(instance: InstanceType) -> tuple[float, ...]:
    if instance.memory_bytes is None or not instance.vcpus:
        return ()
    return (instance.memory_bytes / MIB / MIB_OF_GIB / instance.vcpus,)


AMOUNTS: dict[str, Callable[[InstanceType], tuple[float, ...]]] = {
    "acceleratorCount": _counts,
    "acceleratorTotalMemoryMib": _memory,
    "baselineEbsBandwidthMbps": lambda one: _known(one.ebs_baseline_mbps),
    "memoryGibPerVcpu": _per_vcpu,
    "memoryMib": lambda one: _known(one.memory_bytes and one.memory_bytes / MIB),
    "networkBandwidthGbps": lambda one: _known(one.network_gbps),
    "networkInterfaceCount": lambda _: (),
    "totalLocalStorageGb": lambda one: _known(one.nvme_gb),
    "vcpuCount": lambda one: _known(one.vcpus),
}
"""What a type has of each attribute that is asked within bounds; nothing: not known."""


def _makers(_: InstanceType, gpu: Gpu | None) -> tuple[str, ...]:
    return (MANUFACTURERS.get(gpu.vendor, gpu.vendor.lower()),) if gpu else ()


def _names(instance: InstanceType, gpu: Gpu | None) -> tuple[str, ...]:
    """The name of the accelerator as the API spells it in requirements: `radeon-pro-v520`."""
    found = instance.api_name or (gpu.id if gpu else "")
    return (found.lower().replace(" ", "-"),) if found else ()


def _kinds(_: InstanceType, gpu: Gpu | None) -> tuple[str, ...]:
    return KINDS.get(gpu.vendor, EITHER_KIND) if gpu else ()


def _processors(instance: InstanceType, _: Gpu | None) -> tuple[str, ...]:
    return PROCESSORS.get(instance.arch, ())


def _generation(instance: InstanceType, _: Gpu | None) -> tuple[str, ...]:
    if instance.current_generation is None:
        return ()
    return ("current" if instance.current_generation else "previous",)


def _disks(instance: InstanceType, _: Gpu | None) -> tuple[str, ...]:
    """Kinds of local disks: accelerated types have NVMe or none."""
    return ("ssd",) if instance.nvme_gb else ()


LISTS: dict[str, Callable[[InstanceType, Gpu | None], tuple[str, ...]]] = {
    "acceleratorManufacturers": _makers,
    "acceleratorNames": _names,
    "acceleratorTypes": _kinds,
    "cpuManufacturers": _processors,
    "instanceGenerations": _generation,
    "localStorageTypes": _disks,
}
"""The words of a type for each attribute of which some are asked, or those that it may have;
nothing: not known."""


def _is_group(block: Value) -> bool:
    """Tell whether there is nothing, or what may have properties of its own."""
    found = block.value
    return found is None or (not isinstance(found, str) and isinstance(found, (Mapping, Sequence)))


def _range(reader: Props, name: str) -> Value:
    block = reader.get(f"block.{name}")
    low, high = (amount(reader.get(f"block.{name}.{end}"), MOST_MIB) for end in ("min", "max"))
    if not all(one.known for one in (block, low, high)) or not _is_group(block):
        return UNKNOWN
    return Value((name, low.value, high.value)) if low.says or high.says else ABSENT


def _words(reader: Props, name: str) -> Value:
    items, complete = reader.items(f"block.{name}")
    texts = tuple(one.text.lower() for one in items if one.text)
    if not complete or len(texts) != len(items):
        return UNKNOWN
    if any(len(text) > LONGEST_PATTERN for text in texts):
        return UNKNOWN
    return Value((name, texts)) if texts else ABSENT


def _switch(reader: Props, name: str) -> Value:
    found = reader.get(f"block.{name}")
    if not found.known or (found.value and found.text not in (INCLUDED, EXCLUDED, REQUIRED)):
        return UNKNOWN
    return Value((name, found.text or SWITCHES[name]))
