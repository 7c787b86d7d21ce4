"""Hub names of twins: the same architecture under a name with another ending.

Only endings from `model_suffixes.csv` are taken off (or put on), and what remains must be an id or
an alias letter by letter, owner included: a wrong guess is worse than "unknown".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.facts import ModelFacts

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

MOST_ENDINGS = 3
"""Endings taken off one name: -Instruct, -GPTQ-Int4, -GGUF."""


def match(name: str, catalog: Catalog) -> tuple[ModelFacts, str] | None:
    """Return the model that a name stands for, and what was assumed; None when unknown."""
    exact = catalog.exact_model(name)
    if exact is not None:
        return exact
    return _shorter(name, catalog, ()) or _longer(name, catalog)


def _shorter(name: str, catalog: Catalog, taken: tuple[str, ...]) -> tuple[ModelFacts, str] | None:
    """Take endings off until an id or alias remains."""
    if len(taken) == MOST_ENDINGS:
        return None
    lowered = name.lower()
    for ending in catalog.suffixes():
        if not lowered.endswith(ending.suffix.lower()):
            continue
        rest = name[: -len(ending.suffix)]
        found = catalog.exact_model(rest)
        notes = (*taken, f"{ending.suffix}: {ending.note}")
        if found is not None:
            return found[0], _how(found[0], notes)
        found = _shorter(rest, catalog, notes)
        if found is not None:
            return found
    return None


def _longer(name: str, catalog: Catalog) -> tuple[ModelFacts, str] | None:
    """Put one ending of a tuned twin on: the base of a model catalogued by its instruct name."""
    for ending in catalog.suffixes():
        if ending.kind == "tuned":
            found = catalog.exact_model(name + ending.suffix)
            if found is not None:
                return found[0], _how(found[0], (f"twin without {ending.suffix}",))
    return None


def _how(model: ModelFacts, notes: tuple[str, ...]) -> str:
    """Say what was assumed."""
    return f"architecture of {model.id} ({'; '.join(notes)})"
