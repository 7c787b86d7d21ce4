"""Hub names of twins and copies: the same architecture under a name with another ending.

Only endings from `model_suffixes.csv` are taken off (or put on), and what remains must be an id or
an alias letter by letter, owner included: a wrong guess is worse than "unknown". Owners that
publish others' models again (`republishers.csv`) name them as their makers do, so there what
follows the owner is enough where one architecture alone has that name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpusize_catalog.facts import ModelFacts, NameSuffix

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

MOST_ENDINGS = 3
"""Endings taken off one name, such as -Instruct and -GPTQ-Int4."""
TWIN = "twin"

Match = tuple[ModelFacts, str]
Find = Callable[[str], Match | None]
"""Finds an id or alias letter by letter."""


def match(name: str, catalog: Catalog) -> Match | None:
    """Return the model that a name stands for, and what was assumed; None when unknown."""
    return _found(name, catalog.exact_model, catalog) or _republished(name, catalog)


def _found(name: str, find: Find, catalog: Catalog) -> Match | None:
    """Find a name as it is, then with other endings."""
    return (
        find(name)
        or _shorter(name, find, catalog, ())
        or _longer(name, find, catalog)
        or _other_twin(name, find, catalog)
    )


def _republished(name: str, catalog: Catalog) -> Match | None:
    """Find a copy under the name that its model has with its maker."""
    owner, _, last = name.partition("/")
    folded = owner.lower()
    if not last or all(one.owner.lower() != folded for one in catalog.republishers()):
        return None
    found = _found(last, catalog.model_under_any_owner, catalog)
    if found is None:
        return None
    model, note = found
    return model, f"{note or f'architecture of {model.id}'}; published again by {owner}"


def _shorter(
    name: str, find: Find, catalog: Catalog, taken: tuple[NameSuffix, ...]
) -> Match | None:
    """Take endings off until an id or alias remains, or the twin of one."""
    if len(taken) == MOST_ENDINGS:
        return None
    for ending in catalog.suffixes():
        if not name.lower().endswith(ending.suffix.lower()):
            continue
        rest = name[: -len(ending.suffix)]
        endings = (*taken, ending)
        exact = find(rest)
        found = _ended(exact[0], endings) if exact else _shorter(rest, find, catalog, endings)
        if found is None and (twin := _longer(rest, find, catalog)):
            found = _ended(twin[0], endings)
        if found is not None:
            return found
    return None


def _longer(name: str, find: Find, catalog: Catalog) -> Match | None:
    """Put one ending on: the base of a model that is catalogued by its tuned twin."""
    for ending in catalog.suffixes():
        exact = find(name + ending.suffix) if ending.kind == TWIN else None
        if exact is not None:
            return exact[0], f"architecture of {exact[0].id}: its twin without {ending.suffix}"
    return None


def _other_twin(name: str, find: Find, catalog: Catalog) -> Match | None:
    """Take one twin's ending for another's: a tuned model whose base is catalogued."""
    for ending in catalog.suffixes():
        if ending.kind == TWIN and name.lower().endswith(ending.suffix.lower()):
            found = _longer(name[: -len(ending.suffix)], find, catalog)
            if found is not None:
                return found
    return None


def _ended(model: ModelFacts, endings: tuple[NameSuffix, ...]) -> Match:
    """Give a model the format of the outermost copy, and say what was assumed."""
    copies = [ending for ending in endings if ending.kind != TWIN]
    if copies:
        model = model._replace(native_format=copies[0].native_format)
    notes = "; ".join(f"{ending.suffix} is {ending.note}" for ending in endings)
    return model, f"architecture of {model.id}: {notes}"
