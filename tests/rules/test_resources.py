"""Rules on machines of a stack, with every property of their cases unknown and foreign in turn."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from gpusize_catalog.store import Catalog, load
from gpusize_policies.registry import RULES, Needs
from tests.rules.examples import TODAY, Example, declared_of, examples, settings_of
from tests.rules.stacks import UNKNOWN, findings_of, references

CANARY = "CANARY-7d1f"
MACHINES = [rule.code for rule in RULES if rule.needs in (Needs.RESOURCE, Needs.MACHINE)]
BAD = [one for code in MACHINES for one in examples(code) if one.verdict == "bad"]

FIRST = 1
"""Items of a list that are changed."""

Path = tuple[Any, ...]
CHANGES: list[tuple[Example, Path]] = []


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every property below a value, groups and leaves; of a list the first items stand for all."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:FIRST])
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from _paths(item, (*path, key))


for one in BAD:
    for name, resource in (one.resources or {}).items():
        CHANGES += [(one, (name, "properties", *path)) for path in _paths(resource["properties"])]


TAGS = {"tags", "tagSpecifications"}
"""Properties with a name, which answers repeat."""
LEAVES = [
    one
    for one in CHANGES
    if not TAGS & set(one[1]) and not any(other[1][:-1] == one[1] for other in CHANGES)
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def judged(example: Example, path: Path, value: object, catalog: Catalog) -> Sequence[Any]:
    """Everything that is said where one property has another value."""
    resources: Any = copy.deepcopy(example.resources)
    target = resources
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    today = datetime.date.fromisoformat(example.today)
    return findings_of(declared_of(example), resources, catalog, today, settings_of(example))


def shown(change: tuple[Example, Path]) -> str:
    example, path = change
    return f"{example.code} {example.title}: {'.'.join(str(key) for key in path)}"


@pytest.mark.parametrize("change", CHANGES, ids=shown)
def test_an_unknown_property_is_told_or_does_not_matter(
    change: tuple[Example, Path], catalog: Catalog
) -> None:
    example, path = change
    held: Any = example.resources
    for key in path:
        held = held[key]
    unknown = references(held) or UNKNOWN
    codes = {one.code for one in judged(example, path, unknown, catalog)}
    assert codes & {example.code, "GPU900"}


@pytest.mark.parametrize("change", LEAVES, ids=shown)
def test_no_property_is_repeated(change: tuple[Example, Path], catalog: Catalog) -> None:
    for one in judged(*change, CANARY, catalog):
        assert CANARY not in one.message
        assert CANARY not in str(dict(one.numbers))


@pytest.mark.parametrize("code", MACHINES)
def test_a_declaration_alone_is_not_judged_by_it(code: str, catalog: Catalog) -> None:
    for example in examples(code):
        codes = {one.code for one in findings_of(declared_of(example), {}, catalog, TODAY)}
        assert code not in codes
