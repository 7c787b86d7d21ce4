"""From files to cases: which workloads stand in them, and where."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpusize.documents import Document, read
from gpusize.project import LOCK_FILE
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_policies.baseline import NO_BASELINE, Baseline
from gpusize_policies.case import Case, Decided
from gpusize_policies.finding import Subject

if TYPE_CHECKING:
    import datetime

    from gpusize.declaring.sidecar import Sidecar
    from gpusize.lock import Entry
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog
    from gpusize_policies.settings import Settings

PROGRAM_KEY = "resources"
"""Top-level key that tells a Pulumi YAML program from a file of declarations."""
FILE_KEYS = ("workloads", "machines")
"""Top-level keys that no program has."""
IN_A_LANGUAGE = (
    "name a file of declarations; what the program declares is judged by the policy pack in a"
    " preview"
)
LONGEST_LANGUAGE = 20
"""Characters of a program's runtime that a message repeats."""
HINT = "workloads stand under the key `workloads`, by name; see `gpusize schema workload`"


class Context(NamedTuple):
    """What every case of a run shares."""

    catalog: Catalog
    settings: Settings
    today: datetime.date
    use_lock: bool = True
    """Whether decisions that `gpusize.lock` keeps are judged in place of fresh ones."""
    baseline: Baseline = NO_BASELINE
    """Findings that were there before."""


class Declaration(NamedTuple):
    """One declared workload and where it stands."""

    workload: Workload
    subject: Subject


class File(NamedTuple):
    """The workloads of a file, and what it says of the stack beside them."""

    declarations: dict[str, Declaration]
    beside: Sidecar | None = None


def declarations(path: str, catalog: Catalog) -> dict[str, Declaration]:
    """Read the workloads of a YAML or JSON file; raises GpuSizeError with every problem."""
    return declared(read(path), catalog)


def declared(document: Document, catalog: Catalog) -> dict[str, Declaration]:
    """Find the workloads of a document; raises GpuSizeError with every problem, with places.

    `catalog` has the formats and engines that may be named.
    """
    return _file(document, catalog).declarations


def read_file(path: str, catalog: Catalog) -> File:
    """Read a file with what it says of a stack; raises GpuSizeError with every problem."""
    return _file(read(path), catalog)


def _file(document: Document, catalog: Catalog) -> File:
    raw = document.data
    if _is_program(raw):
        return File(_of_program(document, catalog))
    from gpusize.workload import parse_file

    problem = _shape_problem(raw)
    if problem is not None:
        raise GpuSizeError([document.locate(problem)])
    workloads, beside = parse_file(raw, document.file, document.places, catalog)
    found = {
        name: Declaration(workload, _subject(name, f"workloads.{name}", document))
        for name, workload in workloads.items()
    }
    return File(found, beside)


def _is_program(raw: object) -> bool:
    """Tell a program from a file of declarations, which ties patterns to names by the same key."""
    if not isinstance(raw, Mapping) or PROGRAM_KEY not in raw:
        return False
    if any(key in raw for key in FILE_KEYS):
        return False
    tied = raw[PROGRAM_KEY]
    only_texts = isinstance(tied, Mapping) and all(isinstance(one, str) for one in tied.values())
    return not (tied and only_texts)


def _of_program(document: Document, catalog: Catalog) -> dict[str, Declaration]:
    from gpusize_policies.programs import read_program

    workloads, problems = read_program(document, catalog)
    if problems:
        raise GpuSizeError(document.locate(problem) for problem in problems)
    return {
        name: Declaration(workload, _subject(name, path, document))
        for name, (path, workload) in workloads.items()
    }


def cases(found: Mapping[str, Declaration], context: Context) -> list[Case]:
    """Make the cases of declared workloads; raises GpuSizeError where one cannot be resolved."""
    made: list[Case] = []
    problems: list[Problem] = []
    locks: dict[Path, Mapping[str, Entry]] = {}
    for name, declaration in found.items():
        case = _case(name, declaration, context, locks)
        made.append(case)
        if case.resolution is None:
            problems.extend(_placed(problem, declaration.subject) for problem in case.problems)
    if problems:
        raise GpuSizeError(problems)
    return made


def together(run: Iterable[Case], context: Context) -> Case:
    """Make the case of a whole run: what the team's ceilings say of all its workloads."""
    from gpusize_policies.whole import share_of, whole_of

    return Case(
        "",
        None,
        catalog=context.catalog,
        today=context.today,
        settings=context.settings,
        whole=whole_of(share_of(one) for one in run),
    )


def read_cases(files: Iterable[str], context: Context) -> tuple[list[Case], list[Problem]]:
    """Make the cases of every file that can be read, and collect the problems of the others."""
    found: list[Case] = []
    problems: list[Problem] = []
    for file in files:
        made, wrong = _read_file(file, context)
        found += made
        problems += wrong
    return found, problems


def _read_file(file: str, context: Context) -> tuple[list[Case], tuple[Problem, ...]]:
    try:
        return cases(declarations(file, context.catalog), context), ()
    except GpuSizeError as error:
        return [], error.problems


def lock_beside(file: str, settings: Settings) -> Path:
    """Return the file of kept decisions for a file of declarations."""
    return settings.lock or Path(file).parent / LOCK_FILE


def _case(
    name: str,
    declaration: Declaration,
    context: Context,
    locks: dict[Path, Mapping[str, Entry]],
) -> Case:
    """Make one case; a kept decision counts where it was made for this very declaration."""
    file = declaration.subject.file
    entry = None
    if context.use_lock:
        path = lock_beside(file, context.settings)
        if path not in locks:
            locks[path] = _read_lock(path)
        entry = locks[path].get(name)
    held = entry is not None and entry.holds_for(declaration.workload)
    return Case(
        name,
        declaration.workload,
        catalog=context.catalog,
        today=context.today,
        settings=context.settings,
        subject=declaration.subject,
        decided=Decided(entry.pins) if entry is not None and held else None,
        lock=entry,
        base_dir=Path(file).parent,
    )


def _read_lock(path: Path) -> Mapping[str, Entry]:
    with contextlib.suppress(OSError):  # a path that no file can have; who reads it tells
        if not path.exists():
            return {}
    from gpusize.lock import read_lock

    return read_lock(path)


def _subject(name: str, path: str, document: Document) -> Subject:
    place = document.place(path)
    line, column = (place.line, place.column) if place else (None, None)
    return Subject(workload=name, file=document.file, path=path, line=line, column=column)


def _placed(problem: Problem, subject: Subject) -> Problem:
    path = f"{subject.path}.{problem.path}" if problem.path else subject.path
    return Problem(path, problem.message, problem.fix, subject.file, subject.line, subject.column)


def _shape_problem(raw: object) -> Problem | None:
    if raw is None:
        return Problem("", "is empty", HINT)
    if not isinstance(raw, Mapping):
        return Problem("", "holds no workloads", HINT)
    if any(key in raw for key in (*FILE_KEYS, PROGRAM_KEY)):
        return None
    language = _language(raw)
    if language:
        return Problem("runtime", f"this program is written in {language}", IN_A_LANGUAGE)
    if "kind" in raw:
        return Problem("kind", "is one workload without a name", HINT)
    return Problem("", "has no key `workloads`", HINT)


def _language(raw: Mapping[object, object]) -> str:
    """Name the language of a Pulumi project, '' where it is none or holds its program itself."""
    runtime = raw.get("runtime")
    name = runtime.get("name") if isinstance(runtime, Mapping) else runtime
    if not isinstance(name, str) or "name" not in raw or name == "yaml":
        return ""
    return printable(name, LONGEST_LANGUAGE)
