"""Where what a machine starts contradicts what is declared for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.names import to_snake
from gpusize_catalog.problems import GpuSizeError

if TYPE_CHECKING:
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog
    from gpusize_policies.launched.inferring import Inferred

SAME = ("engine.name", "tp", "pp", "dp", "ep", "weightsFormat", "kvCacheFormat", "method")
"""Fields that must be equal where both say them."""
BOUNDED = (
    "contextLength",
    "engine.memoryFraction",
    "engine.maxSequences",
    "sequenceLength",
    "microBatch",
)
"""Fields that must be no larger than declared: below it the machine holds what was judged."""
OPEN = ("auto", None)
"""What a declaration says where it leaves a field to others."""


class Contradiction(NamedTuple):
    """A field whose declared and launched values differ."""

    field: str
    declared: object
    launched: object
    source: str
    """The option that says it."""


def contradictions(
    declared: Workload, inferred: Inferred, catalog: Catalog
) -> tuple[Contradiction, ...]:
    """Return where what is started differs from the declaration; a model by what it stands for."""
    found: list[Contradiction] = []
    for term in inferred.terms:
        said = _declared(declared, term.field)
        if term.value is None or said in OPEN:
            continue
        if term.field == "model":
            differs = _are_other_models(said, term.value, catalog)
        elif term.field in BOUNDED:
            differs = float(str(term.value)) > float(str(said))
        else:
            differs = term.field in SAME and str(said) != str(term.value)
        if differs:
            found.append(Contradiction(term.field, said, term.value, term.source))
    return tuple(found)


def _declared(workload: Workload, path: str) -> object:
    value: object = workload
    for name in path.split("."):
        value = getattr(value, to_snake(name), None)
    return getattr(value, "value", value)


def _are_other_models(declared: object, launched: object, catalog: Catalog) -> bool:
    """Tell two models of the catalog apart; of one that nobody knows nothing is said."""
    if not isinstance(declared, str) or not isinstance(launched, str):
        return False
    try:
        ids = [catalog.model_match(name)[0].id for name in (declared, launched)]
    except GpuSizeError:
        return False
    return ids[0] != ids[1]
