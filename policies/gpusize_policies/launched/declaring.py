"""From what was inferred to a workload, by the catalog.

What is told of a text that cannot be used names the option, never the text: the value of an option
may be anything.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.tokens import WORKLOAD_TAG
from gpusize_catalog.problems import GpuSizeError, Problem
from gpusize_policies.launched.flags import Assumed, Term
from gpusize_policies.launched.inferring import Inferred

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog

HELP = f"declare the workload and name it by the tag {WORKLOAD_TAG}"
MODALITIES = ("text", "vision-language")
"""What the engines that are read serve, and the trainers train, in the words of a declaration."""
GGUF = "gguf-"
COPY = "-gguf"
"""End of the name of a repository that holds GGUF copies of another's model."""


class Read(NamedTuple):
    """A workload, with what was read and assumed for it."""

    workload: Workload
    inferred: Inferred


def declare(inferred: Inferred, catalog: Catalog, region: str) -> Read:
    """Make the workload of what was inferred; raises GpuSizeError with one problem."""
    if inferred.unread:
        named = ", ".join(f"{field} ({source})" for field, source in inferred.unread)
        raise _problem(inferred, f"the value of {named} cannot be read")
    if not region:
        raise _problem(inferred, "its region is not known")
    fields = dict(inferred.declaration)
    name, architecture = _model(inferred, catalog)
    fields.update(model=name, region=region, modality=_modality(inferred, name, catalog))
    assumed = inferred.assumed
    if fields["kind"] == "serving":
        fields["contextLength"] = _context(inferred, architecture)
        fields["engine"], left = _without_unknown_draft(fields.get("engine", {}), catalog)
        assumed = (*assumed, *left)
    return Read(_parsed(fields, inferred, catalog), inferred._replace(assumed=assumed))


def spread(inferred: Inferred, gpus: int) -> Inferred:
    """Take the number of machines for not understood where ranks lie on several that are not told.

    Pipeline stages and Ray reach over machines: more ranks than GPUs are then no mistake.
    """
    fields = inferred.declaration
    ranks = math.prod(fields.get(size) or 1 for size in ("tp", "pp", "dp"))
    asked = {term.field: term for term in inferred.terms}
    told = asked.get("nodesPerReplica")
    is_open = told is not None and told.value is None
    if ranks <= gpus or "nodesPerReplica" in fields or not (is_open or (fields.get("pp") or 1) > 1):
        return inferred
    source = told.source if told is not None else "not said"
    return inferred._replace(unread=(*inferred.unread, ("nodesPerReplica", source)))


def held(inferred: Inferred, gpus: int, source: str) -> Inferred:
    """Give ranks that the engine takes by what it sees the GPUs that its container asks for."""
    fields = dict(inferred.declaration)
    size = "tp" if fields["kind"] == "serving" else "dp"
    if fields.get(size) is not None or any(field == size for field, _ in inferred.unread):
        return inferred
    fields[size] = gpus * (fields.get("nodesPerReplica") or 1)
    if size == "tp":
        fields = {"pp": 1, "dp": 1, **fields}
    terms = (one for one in inferred.terms if one.field != size)
    return inferred._replace(
        declaration=fields,
        terms=(*terms, Term(size, fields[size], source)),
        assumed=tuple(one for one in inferred.assumed if one.field != size),
    )


def _parsed(fields: dict[str, Any], inferred: Inferred, catalog: Catalog) -> Workload:
    from gpusize.workload import parse_workload

    try:
        return parse_workload(fields, catalog=catalog)
    except GpuSizeError as error:
        paths = ", ".join(dict.fromkeys(one.path for one in error.problems if one.path))
        raise _problem(inferred, f"{paths or 'what it says'} cannot be declared so") from None


def _model(inferred: Inferred, catalog: Catalog) -> tuple[str, Architecture]:
    """Return the model's name in the catalog, with its architecture."""
    from gpusize.architecture import architecture_of

    name = str(inferred.declaration["model"])
    is_copy = str(inferred.declaration.get("weightsFormat", "")).startswith(GGUF)
    names = (name, *(_renamed(name, catalog) if is_copy else ()))
    known = next((one for one in names if _is_known(one, catalog)), None)
    if known is not None:
        return known, architecture_of(known, catalog)
    source = next(term.source for term in inferred.terms if term.field == "model")
    raise _problem(inferred, f"the model that {source} names is not known")


def _is_known(name: str, catalog: Catalog) -> bool:
    return catalog.find_model(name) is not None or catalog.pipeline_id(name) is not None


def _renamed(name: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the model of which somebody keeps GGUF copies under its name, where it is one."""
    last = name.rpartition("/")[2].lower().removesuffix(COPY)
    ids = {one.id: one.id for one in catalog.models()}
    ids.update((one.alias, one.model_id) for one in catalog.aliases())
    same = {alias: id_ for alias, id_ in ids.items() if alias.rpartition("/")[2].lower() == last}
    return tuple(sorted(same))[:1] if len(set(same.values())) == 1 else ()


def _modality(inferred: Inferred, name: str, catalog: Catalog) -> str:
    from gpusize.pipeline import find_pipeline

    made = find_pipeline(name, catalog)
    modality = made.makes if made is not None else catalog.model_match(name)[0].modality
    if modality not in MODALITIES:
        raise _problem(inferred, f"the model is one of modality {modality}")
    return str(modality)


def _context(inferred: Inferred, architecture: Architecture) -> int:
    """Return the tokens of a sequence: as said, else as the engine takes them by itself."""
    told = inferred.declaration.get("contextLength")
    if any(term.field == "contextLength" for term in inferred.terms):
        return int(told or 0)
    limits = [one for one in (told, architecture.max_position) if one]
    if not limits:
        raise _problem(inferred, "contextLength is not said, nor the model's own limit known")
    return min(limits)


def _without_unknown_draft(
    engine: dict[str, Any], catalog: Catalog
) -> tuple[dict[str, Any], tuple[Assumed, ...]]:
    """Leave out a draft model that nobody knows: the rest holds without it."""
    draft = engine.get("speculative")
    if draft is None or catalog.find_model(draft) is not None:
        return engine, ()
    kept = {key: one for key, one in engine.items() if not key.startswith("speculative")}
    told = Assumed("no draft model", None, "the draft model that is named is not known")
    return kept, (told,)


def _problem(inferred: Inferred, told: str) -> GpuSizeError:
    return GpuSizeError([Problem("", f"{inferred.origin} starts {inferred.engine}: {told}", HELP)])
