"""`gpusize-policy.yaml`: presets, levels, parameters, catalog overlays and paths, in one place.

`FIELDS` is the whole vocabulary: the parser, the JSON Schema and the docs are made from it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_policies.finding import Severity
from gpusize_policies.message import printable

if TYPE_CHECKING:
    from gpusize.settings import ResolveSettings
    from gpusize_catalog.problems import Problem
    from gpusize_policies.documents import Document
    from gpusize_policies.rule import Rule

FILE_NAME = "gpusize-policy.yaml"
OFF = "off"
LEVELS = ("error", "warn", "advice", OFF)
LONGEST_KEY = 40
"""Characters of an unknown key that a message repeats."""

PRESETS: dict[str, dict[str, str]] = {
    "recommended": {},
    "strict": {"warn": "error"},
    "observe": {"error": "warn"},
}
"""What becomes of a rule's default severity; severities not named stay."""

PACK_LEVELS = {"mandatory": "error", "remediate": "error", "advisory": "warn", "disabled": OFF}
"""Pulumi's enforcement levels in the words of this file."""


class Settings(NamedTuple):
    """What a run is told besides the declarations."""

    preset: str = "recommended"
    levels: Mapping[str, str] = {}
    """Level by code of a rule."""
    parameters: Mapping[str, float] = {}
    """Thresholds by their camelCase name, see `ResolveSettings`."""
    unknowns: str = "advice"
    today: datetime.date | None = None
    catalog: tuple[Path, ...] = ()
    """Overlay folders, later ones win."""
    workloads: Path | None = None
    """File of declarations that raw resources refer to; `gpusize.yaml` beside the program."""
    lock: Path | None = None
    """File of decisions; `gpusize.lock` beside the program."""

    def level_of(self, rule: Rule) -> Severity | None:
        """Severity that a rule reports with; None when it is off."""
        level = self.levels.get(rule.code)
        if level is None and rule.code == "GPU900":
            level = "error" if self.preset == "strict" else self.unknowns
        if level is None:
            default = rule.severity.value
            level = PRESETS[self.preset].get(default, default)
        return None if level == OFF else Severity(level)

    @property
    def resolving(self) -> ResolveSettings:
        """The thresholds in the form that the resolver and the constraints take."""
        from gpusize.settings import ResolveSettings

        fields: dict[str, Any] = {_snake(name): value for name, value in self.parameters.items()}
        return ResolveSettings(**fields)


DEFAULTS = Settings()


class Told(NamedTuple):
    """Where a reader of one field reports to, and what relative paths are relative to."""

    path: str
    base: Path
    report: Callable[[str, str, str], None]


class Field(NamedTuple):
    """One key of the file: how it is read, and its JSON Schema."""

    name: str
    read: Callable[[Any, Told], Any]
    schema: Callable[[], dict[str, Any]]


def load(path: str) -> Settings:
    """Read a settings file; raises GpuSizeError with every problem and its place."""
    from gpusize_catalog.problems import GpuSizeError
    from gpusize_policies.documents import read

    document = read(path)
    settings, problems = parse(document.data, Path(path).parent, document)
    if problems:
        raise GpuSizeError(problems)
    return settings


def parse(
    raw: Any, base: Path, document: Document | None = None
) -> tuple[Settings, tuple[Problem, ...]]:
    """Read settings from plain data; whatever is wrong is left at its default and told."""
    from gpusize_catalog.problems import Problem

    problems: list[Problem] = []

    def report(path: str, message: str, fix: str) -> None:
        problem = Problem(path, message, fix)
        problems.append(document.locate(problem) if document else problem)

    values: dict[str, Any] = {}
    if raw is not None and not isinstance(raw, Mapping):
        report("", "settings are a mapping", "write `preset: recommended`")
        raw = {}
    for key, value in (raw or {}).items():
        field = _BY_NAME.get(str(key))
        if field is None:
            report(printable(str(key), LONGEST_KEY), "unknown key", _mean(str(key), _BY_NAME))
            continue
        found = field.read(value, Told(field.name, base, report))
        if found is not None:
            values[field.name] = found
    return Settings(**values), tuple(problems)


def of_pack_config(raw: Mapping[str, Any]) -> tuple[Settings, tuple[Problem, ...]]:
    """Read what `--policy-pack-config` gives: a level or an object with a level by policy name.

    `all` takes a preset or a level; Pulumi's words for levels are taken as well as ours.
    """
    data: dict[str, Any] = {"levels": {}}
    for key, value in raw.items():
        level = value.get("enforcementLevel") if isinstance(value, Mapping) else value
        if key == "all" and level in PRESETS:
            data["preset"] = level
        elif key == "all":
            data["preset"] = _ALL_LEVELS.get(str(level), level)
        elif level is not None:
            data["levels"][key] = PACK_LEVELS.get(str(level), level)
    return parse(data, Path())


_ALL_LEVELS = {"mandatory": "strict", "advisory": "observe"}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FILE_NAME,
        "description": "Settings of the gpusize rules: the command, the policy pack and reviews.",
        "type": "object",
        "additionalProperties": False,
        "properties": {field.name: field.schema() for field in FIELDS},
    }


def _read_word(words: Mapping[str, Any] | tuple[str, ...]) -> Callable[[Any, Told], Any]:
    def read(value: Any, told: Told) -> Any:
        if isinstance(value, str) and value in words:
            return value
        told.report(told.path, f"takes one of {', '.join(words)}", _mean(str(value), words))
        return None

    return read


def _read_levels(value: Any, told: Told) -> Any:
    from gpusize_policies.registry import find, suggest

    if not isinstance(value, Mapping):
        told.report(told.path, "takes a mapping of rules to levels", "`GPU104: off`")
        return None
    levels: dict[str, str] = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        rule = find(str(key))
        level = OFF if given is False else given
        if rule is None:
            close = suggest(str(key))
            told.report(path, "no such rule", f"did you mean {close[0]}?" if close else _RULES_HINT)
        elif level not in LEVELS:
            told.report(path, f"takes one of {', '.join(LEVELS)}", _mean(str(given), LEVELS))
        elif rule.code in levels:
            told.report(path, f"sets {rule.code} a second time", "keep the code or the name")
        else:
            levels[rule.code] = level
    return levels


_RULES_HINT = "`gpusize rules` lists them"


def _read_parameters(value: Any, told: Told) -> Any:
    known = parameters()
    if not isinstance(value, Mapping):
        told.report(told.path, "takes a mapping of names to numbers", "")
        return None
    found: dict[str, float] = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        if key not in known:
            told.report(path, "no such parameter", _mean(str(key), known))
        elif not _is_amount(given):
            told.report(path, "takes a number that is not negative", f"default: {known[key]:g}")
        elif isinstance(known[key], int) and given != int(given):
            told.report(path, "takes a whole number", f"default: {known[key]}")
        else:
            found[str(key)] = type(known[key])(given)
    return found


def _is_amount(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value < float("inf")


def _read_date(value: Any, told: Told) -> Any:
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        told.report(told.path, "takes a date", "write it as YYYY-MM-DD")
        return None


def _read_path(value: Any, told: Told) -> Any:
    if isinstance(value, str) and value and "\0" not in value:
        return told.base / value
    told.report(told.path, "takes a path, relative to this file", "")
    return None


def _read_paths(value: Any, told: Told) -> Any:
    values = value if isinstance(value, list) else [value]
    return tuple(path for item in values if (path := _read_path(item, told)) is not None)


def parameters() -> Mapping[str, float]:
    """Name every threshold in camelCase, with its default."""
    from gpusize.settings import ResolveSettings

    return {
        _camel(name): value
        for name, value in _defaults(ResolveSettings())
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _defaults(settings: Any) -> Iterator[tuple[str, Any]]:
    names: tuple[str, ...] = getattr(settings, "_fields", ())
    return ((name, getattr(settings, name)) for name in names)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _mean(word: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    from difflib import get_close_matches

    lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), lower, n=1)
    return f"did you mean {lower[close[0]]}?" if close else f"known are {', '.join(known)}"


def _word_schema(words: Any, text: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"description": text, "enum": list(words)}


def _text_schema(text: str, **more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"description": text, "type": "string", "minLength": 1, **more}


def _levels_schema() -> dict[str, Any]:
    from gpusize_policies.registry import RULES

    names = [word for rule in RULES for word in (rule.code, rule.name)]
    return {
        "description": "Level of a rule, by its code or name; what is not named has its default.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"enum": list(LEVELS)} for name in names},
    }


def _parameters_schema() -> dict[str, Any]:
    return {
        "description": "Thresholds that the rules and the resolver share.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "number", "minimum": 0, "default": value}
            for name, value in parameters().items()
        },
    }


def _catalog_schema() -> dict[str, Any]:
    folder = {"type": "string", "minLength": 1}
    return {
        "description": "Folders with rows that replace or add to the shipped catalog.",
        "anyOf": [folder, {"type": "array", "items": folder}],
    }


FIELDS: tuple[Field, ...] = (
    Field(
        "preset",
        _read_word(PRESETS),
        _word_schema(
            PRESETS,
            "recommended: each rule at its own severity; strict: warnings fail, and so does what "
            "cannot be evaluated; observe: nothing fails.",
        ),
    ),
    Field("levels", _read_levels, _levels_schema),
    Field("parameters", _read_parameters, _parameters_schema),
    Field(
        "unknowns",
        _read_word(("advice", "warn", "error")),
        _word_schema(
            ("advice", "warn", "error"),
            "Level of GPU900: values that are not known before an update.",
        ),
    ),
    Field(
        "today",
        _read_date,
        _text_schema("Date that prices are judged at, in place of the clock's.", format="date"),
    ),
    Field("catalog", _read_paths, _catalog_schema),
    Field(
        "workloads",
        _read_path,
        _text_schema("File of the declarations that the tag `gpusize:workload` refers to."),
    ),
    Field("lock", _read_path, _text_schema("File of the decisions that stay, `gpusize.lock`.")),
)
_BY_NAME = {field.name: field for field in FIELDS}
