"""From a declaration to a workload: keys, values, relations; every problem at once.

Three passes over the same data. Keys are matched against the fields of the kind, so that a key of
another kind or a misspelt one is told as such. Values are checked field by field. Relations between
fields are checked on what is left, so that a problem elsewhere does not hide them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gpusize.declaring.choice import Choice
from gpusize.declaring.fields import FieldSpec, fields_of, specs_of
from gpusize.declaring.plain import BAD, Plain, join, show, show_key
from gpusize.declaring.relations import Given, relations_of
from gpusize.declaring.sidecar import KEYS, Sidecar, read_sidecar
from gpusize.declaring.suggest import Suggestions
from gpusize.declaring.values import MISSING, Values, example_of
from gpusize.declaring.vocabulary import Words, words_of
from gpusize.workload import Group, Workload
from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

MAX_PROBLEMS = 100
"""Problems told at once; the rest is counted."""
NAME_LENGTH = 63
"""Longest name of a workload: it ends in resource names and tags."""
FILE_KEYS = ("workloads", "resources", "machines")
"""What a declarations file may hold."""

Lines = Mapping[str, tuple[int, int]]


def read_workload(raw: Any, path: str = "", catalog: Catalog | None = None) -> Workload:
    """See `gpusize.workload.parse_workload`."""
    reader = _Reader(catalog)
    workload = reader.workload(raw, path)
    if workload is None:
        raise GpuSizeError(reader.problems())
    return workload


def read_workloads(
    raw: Any, file: str = "", lines: Lines | None = None, catalog: Catalog | None = None
) -> dict[str, Workload]:
    """See `gpusize.workload.parse_workloads`."""
    return read_file(raw, file, lines, catalog)[0]


def read_file(
    raw: Any, file: str = "", lines: Lines | None = None, catalog: Catalog | None = None
) -> tuple[dict[str, Workload], Sidecar]:
    """See `gpusize.workload.parse_file`."""
    reader = _Reader(catalog)
    found, beside = reader.file(raw)
    problems = reader.problems(file, lines)
    if problems:
        raise GpuSizeError(problems)
    return {name: workload for name, workload in found.items() if workload is not None}, beside


class _Reader:
    """Collects the problems of one declaration or of all declarations of a file."""

    def __init__(self, catalog: Catalog | None) -> None:
        self._catalog = catalog
        self._words: dict[Words, dict[str, str]] = {}
        self._suggestions = Suggestions()
        self._plain = Plain(MAX_PROBLEMS)
        self._values = Values(self._plain, self._suggestions)

    def problems(self, file: str = "", lines: Lines | None = None) -> list[Problem]:
        """Everything told so far in the order of the file, and how much more there is."""
        told, untold = self._plain.problems, self._plain.untold
        if told and (file or lines):
            told = _in_order(told, file, lines or {})
        if not untold:
            return told
        more = Problem("", f"and {untold} more problems", "mend the others first", file)
        return [*told, more]

    def file(self, raw: Any) -> tuple[dict[str, Workload | None], Sidecar]:
        """The workloads of a file, `None` for one with problems; and what stands beside them."""
        if not isinstance(raw, Mapping):
            told = "is empty" if raw is None else f"expected a mapping, got {show(raw)}"
            self._report("", told, "start with workloads: and a name")
            return {}, Sidecar()
        entries = dict(self._plain.keys(raw, ""))
        for key in entries:
            if key not in FILE_KEYS:
                fix = self._suggestions.fix(key, FILE_KEYS, f"one of {', '.join(FILE_KEYS)}")
                self._report(show_key(key), "is not a key of a declarations file", fix)
        beside = read_sidecar(entries, self._plain, self._suggestions)
        declared = entries.get("workloads")
        if declared is None and any(entries.get(key) for key in KEYS):
            return {}, beside
        if not isinstance(declared, Mapping):
            told = "is missing" if declared is None else f"expected names, got {show(declared)}"
            self._report("workloads", told, "workloads: {name: {kind: serving, …}}")
            return {}, beside
        return self._named(declared), beside

    def workload(self, raw: Any, path: str) -> Workload | None:
        """The workload of one declaration, `None` when it has problems."""
        if isinstance(raw, BaseModel):
            raw = raw.model_dump(exclude_unset=True)
        if not isinstance(raw, Mapping):
            told = "is empty" if raw is None else f"expected a group of fields, got {show(raw)}"
            self._report(path, told, "declare at least kind, model, region and contextLength")
            return None
        before = self._plain.count
        self._plain.begin()
        choice = Choice(self._plain, self._suggestions, raw, path)
        data = self._group(choice.cls, raw, path, choice)
        if not choice.certain:
            data["kind"], data["modality"] = choice.kind.value, choice.modality.value
        workload = self._values.group(choice.cls, data, path, may_lack=not choice.certain)
        if not choice.certain:
            self._must_have(data, path)
        self._relations(data, path)
        if self._plain.count != before or workload is BAD:
            return None
        made: Workload = workload
        return made

    def _report(self, path: str, message: str, fix: str = "") -> None:
        self._plain.report(path, message, fix)

    def _named(self, declared: Mapping[Any, Any]) -> dict[str, Workload | None]:
        if not declared:
            self._report("workloads", "is empty", "name at least one workload")
        found: dict[str, Workload | None] = {}
        for name, raw in declared.items():
            if self._plain.is_full:
                self._report("workloads", "hold too many values", "split the file up")
                break
            if not isinstance(name, str) or not _is_name(name):
                shown = show_key(name) if isinstance(name, str) else show(name)
                fix = f"letters, digits, - and _, at most {NAME_LENGTH} of them"
                self._report(join("workloads", shown), "is not a name", fix)
                continue
            found[name] = self.workload(raw, join("workloads", name))
        return found

    def _group(
        self, cls: type[Group], raw: Mapping[Any, Any], path: str, choice: Choice | None = None
    ) -> dict[str, Any]:
        """Plain data of a group by camelCase key; unknown keys are told and dropped."""
        data: dict[str, Any] = {}
        fields = fields_of(cls)
        for key, value in self._plain.keys(raw, path):
            field = fields.get(key)
            if field is None:
                self._unknown_key(cls, key, path, choice)
            elif field.key in data:
                told = f"is given twice, as {field.key} and {field.name}"
                self._report(join(path, field.key), told, "keep one of them")
            else:
                item = self._field(field, value, join(path, field.key))
                if item is not BAD:
                    data[field.key] = item
        return data

    def _field(self, field: FieldSpec, value: Any, path: str) -> Any:
        """Plain data of one field's value."""
        if field.group is not None:
            if field.many and isinstance(value, Sequence) and not isinstance(value, str):
                if not self._plain.has_room(value, path):
                    return BAD
                return [
                    self._entry(field.group, item, f"{path}[{index}]")
                    for index, item in enumerate(value)
                ]
            if not field.many:
                return self._entry(field.group_of(value) or field.group, value, path)
        item = self._plain.value(value, path)
        if field.words is None or not isinstance(item, str):
            return item
        known = self._known(field.words)
        if item.lower() in known:
            return known[item.lower()]
        fix = self._suggestions.fix_word(item, known)
        return self._plain.report(path, f"{show(item)} is not a known {field.words.subject}", fix)

    def _known(self, words: Words) -> dict[str, str]:
        """The words of a field and what they stand for, by the catalog."""
        if words not in self._words:
            if self._catalog is None:
                from gpusize_catalog.store import load

                self._catalog = load()
            self._words[words] = words_of(words, self._catalog)
        return self._words[words]

    def _entry(self, cls: type[Group], value: Any, path: str) -> Any:
        """Plain data where a group stands, which may be in its short form."""
        if isinstance(value, BaseModel):
            value = value.model_dump(exclude_unset=True)
        if not isinstance(value, Mapping):
            value = self._plain.value(value, path)
        value = cls.expand(value)
        return self._group(cls, value, path) if isinstance(value, Mapping) else value

    def _unknown_key(self, cls: type[Group], key: str, path: str, choice: Choice | None) -> None:
        from gpusize.declaring.unknown_keys import explain_key

        if choice is not None and not choice.certain and choice.may_have(key):
            return
        if self._plain.untold:
            message, fix = "is not a field", ""
        else:
            message, fix = explain_key(cls, key, self._suggestions)
        self._report(join(path, show_key(key)), message, fix)

    def _must_have(self, data: dict[str, Any], path: str) -> None:
        """Tell what every kind requires and is missing."""
        for spec in specs_of(Workload):
            place = join(path, spec.key)
            if spec.required and spec.key not in data and place not in self._plain.bad:
                self._report(place, MISSING, example_of(spec))

    def _relations(self, data: dict[str, Any], path: str) -> None:
        start = len(path) + 1 if path else 0
        bad = {place[start:] for place in self._plain.bad if place.startswith(path)}
        given = Given(data, bad)
        for relation in relations_of(data):
            for problem in relation(given):
                self._report(join(path, problem.path), problem.message, problem.fix)


def _is_name(name: str) -> bool:
    plain = name.replace("-", "").replace("_", "")
    return 0 < len(name) <= NAME_LENGTH and plain.isalnum() and plain.isascii()


def _in_order(problems: list[Problem], file: str, lines: Lines) -> list[Problem]:
    """Problems with their places, in the order of the file where places are known."""
    from gpusize.declaring.places import Places

    places = Places(lines)
    placed = [
        Problem(problem.path, problem.message, problem.fix, file, *places.of(problem.path))
        for problem in problems
    ]
    return sorted(placed, key=lambda problem: (problem.line or 0, problem.column or 0))
