"""What a resource does otherwise than its workload says: type, market, region, numbers, and what
it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.problems import printable

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.reading import Selection

WORDS = {
    "instance_type": ("instanceType", "runs on"),
    "market": ("market", "is bought"),
    "region": ("region", "lies in"),
}
"""Fields with their key and the verb of a resource."""
LONGEST = 40
"""Characters of a value."""


class Difference(NamedTuple):
    """One field that differs."""

    key: str
    deployed: str
    text: str


def differences(
    case: Case, selection: Selection, deployed: Mapping[str, object]
) -> Iterator[Difference]:
    """Compare what a resource decides with what was declared or decided for its workload."""
    for field, (key, verb) in WORDS.items():
        wanted, found = _said(case, field), deployed.get(field)
        if wanted is None or found is None or wanted == found or _lists(selection, field, wanted):
            continue
        yield Difference(
            key, _word(found), f"{verb} {_word(found)}, {_source(case, field)} {_word(wanted)}"
        )
    yield from _numbers(case, deployed)
    yield from _started(case)


def _started(case: Case) -> Iterator[Difference]:
    """Compare what a machine starts with its declaration; where it starts several, none is it."""
    if case.workload is None or case.provenance.text or len(case.launched) != 1:
        return
    from gpusize_policies.launched import contradictions

    for one in contradictions(case.workload, case.launched[0], case.catalog):
        shown = _word(one.launched)
        text = f"starts {one.field} {shown} ({one.source}), declared is {_word(one.declared)}"
        yield Difference(one.field, shown, text)


def _said(case: Case, field: str) -> object:
    """What a component or the lock decided, else what is declared."""
    found = case.expected.get(field)
    return getattr(case.workload, field, None) if found is None else found


def _source(case: Case, field: str) -> str:
    return "decided is" if field in case.expected else "declared is"


def _lists(selection: Selection, field: str, wanted: object) -> bool:
    """Whether a group launches the wanted type beside others."""
    return field == "instance_type" and selection.types.says and wanted in selection.types.value


def _numbers(case: Case, deployed: Mapping[str, object]) -> Iterator[Difference]:
    """A group must be able to hold the declared replicas, and not have to hold more."""
    replicas = deployed.get("replicas")
    declared = getattr(case.workload, "replicas", None)
    if replicas is None or not says_replicas(case):
        return
    least, most = getattr(replicas, "min", None) or 0, getattr(replicas, "max", 1)
    if declared is None or ((declared.min or 0) <= most and least <= declared.max):
        return
    text = f"has room for {least} to {most} replicas, declared are {_range(declared)}"
    yield Difference("replicas", f"{least}-{most}", text)


def says_replicas(case: Case) -> bool:
    """Whether a number of replicas is declared."""
    return case.workload is not None and "replicas" in case.workload.model_fields_set


def _range(declared: object) -> str:
    least, most = getattr(declared, "min", None), getattr(declared, "max", None)
    return f"{least or 0} to {most}"


def _word(value: object) -> str:
    return printable(str(getattr(value, "value", value)), LONGEST)
