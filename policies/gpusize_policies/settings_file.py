"""`gpusize-policy.yaml` as a whole: read, checked and described by one table.

`FIELDS` is the whole vocabulary: the parser, the JSON Schema and the docs are made from it. Those
that decisions depend on are shared with the component, see `gpusize.settings_file`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusize.names import to_snake
from gpusize.project import SETTINGS_FILE
from gpusize.settings_entries import LARGEST, is_amount
from gpusize.settings_file import (
    CATALOG,
    LOCK,
    LONGEST_KEY,
    PARAMETERS,
    PRICES,
    TEAM,
    TEAM_CHANGES,
    TODAY,
    Field,
    Report,
    Told,
    guess,
    read_path,
    text_schema,
)
from gpusize_catalog.problems import printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.custom.forms import CODE, NAME
from gpusize_policies.settings import NO_CUSTOM, OFF, PRESETS, REMEDIATE, Custom, Settings

if TYPE_CHECKING:
    from gpusize.documents import Document
    from gpusize_catalog.problems import Problem
    from gpusize_policies.rule import Rule

LEVELS = ("error", "warn", "advice", OFF)

CUSTOM_RULES = "customRules"
OWN_RULES = (CUSTOM_RULES, "rulePlugins")
"""Keys that bring rules of the team."""

ALL = "all"
LEVEL_KEY = "enforcementLevel"
ALL_LEVELS = {"mandatory": "strict", "remediate": "strict", "advisory": "observe"}
"""What a level for all policies means; `disabled` for all is a mistake, and told as one."""

PACK_LEVELS = {"mandatory": "error", "remediate": "error", "advisory": "warn", "disabled": OFF}
"""Pulumi's enforcement levels in the words of this file."""


def load(path: str) -> Settings:
    """Read a settings file; raises GpuSizeError with every problem and its place."""
    from gpusize.documents import read
    from gpusize_catalog.problems import GpuSizeError

    document = read(path)
    base = Path(path).parent
    raw = document.data
    taken = of_pack_config if is_pack_config(raw) else parse
    settings, problems = taken(raw, base, document)
    if problems:
        raise GpuSizeError(problems)
    if settings.waivers:
        from gpusize_policies.settings_waivers import placed

        return settings._replace(waivers=placed(settings.waivers, document))
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

    if raw is not None and not isinstance(raw, Mapping):
        report("", "settings are a mapping", "write `preset: recommended`")
        raw = {}
    custom = _read_custom(raw or {}, base, report)
    values: dict[str, Any] = {"custom": custom}
    for key, value in (raw or {}).items():
        if key in OWN_RULES:
            continue
        field = _BY_NAME.get(str(key))
        if field is None:
            report(printable(str(key), LONGEST_KEY), "unknown key", guess(str(key), _BY_NAME))
            continue
        found = field.read(value, Told(field.name, base, report, custom.rules))
        if found is not None:
            values[to_snake(field.name)] = found
    return Settings(**values), tuple(problems)


def is_pack_config(raw: Any) -> bool:
    """Whether plain data is what `--policy-pack-config` takes: policies at the top."""
    from gpusize_policies.registry import find

    return isinstance(raw, Mapping) and any(
        key == ALL or (key not in _BY_NAME and find(str(key)) is not None) for key in raw
    )


def of_pack_config(
    raw: Mapping[str, Any], base: Path, document: Document | None = None
) -> tuple[Settings, tuple[Problem, ...]]:
    """Read what `--policy-pack-config` takes: a level, or an object with one, by policy name.

    So one file serves the pack and the command. `all` takes a preset too, and levels may be
    written in Pulumi's words or in ours.
    """
    data: dict[str, Any] = {"levels": {}, "parameters": {}}
    for key, value in raw.items():
        properties = dict(value) if isinstance(value, Mapping) else {LEVEL_KEY: value}
        level = properties.pop(LEVEL_KEY, None)
        data["parameters"].update(properties)
        if key == ALL:
            data["preset"] = ALL_LEVELS.get(str(level), level)
        elif level is not None:
            data["levels"][key] = PACK_LEVELS.get(str(level), level)
    settings, problems = parse(data, base)
    return settings, tuple(_placed(problem, document) for problem in problems)


def _placed(problem: Problem, document: Document | None) -> Problem:
    """Give a problem of translated data its place in the file it came from."""
    from gpusize_catalog.problems import Problem as Placed

    path = problem.path.removeprefix("levels.").removeprefix("parameters.")
    path = ALL if path == "preset" else path
    told = Placed(path, problem.message, problem.fix)
    return document.locate(told) if document else told


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SETTINGS_FILE,
        "description": "Settings of the gpusize rules: the command, the policy pack and reviews.",
        "type": "object",
        "additionalProperties": False,
        "properties": {field.name: field.schema() for field in FIELDS},
    }


def _read_word(words: Mapping[str, Any] | tuple[str, ...]) -> Callable[[Any, Told], Any]:
    def read(value: Any, told: Told) -> Any:
        if isinstance(value, str) and value in words:
            return value
        _not_one_of(words, value, told.path, told)
        return None

    return read


def _read_switch(value: Any, told: Told) -> bool | None:
    if isinstance(value, bool):
        return value
    told.report(told.path, "takes true or false", "")
    return None


def _not_one_of(words: Iterable[str], given: Any, path: str, told: Told) -> None:
    """Tell which words may stand there, and which may be meant."""
    told.report(path, f"takes one of {', '.join(words)}", did_you_mean(str(given), words, most=1))


def _read_custom(raw: Mapping[Any, Any], base: Path, report: Report) -> Custom:
    """Read the rules that the team writes itself: other keys may name them."""
    found = NO_CUSTOM
    for key in OWN_RULES:
        if key in raw:
            read = read_custom_rules if key == CUSTOM_RULES else partial(read_plugins, found)
            more = read(raw[key], Told(key, base, report))
            found = found.joined(more) if more is not None else found
    return found


def read_custom_rules(value: Any, told: Told) -> Custom | None:
    """Read the key `customRules`."""
    from gpusize_policies.custom.reading import read_custom_rules as read

    return read(value, told)


def read_plugins(before: Custom, value: Any, told: Told) -> Custom | None:
    """Read the key `rulePlugins`; `before` are the rules of the file."""
    from gpusize_policies.custom.plugins import read_plugins as read

    return read(value, told, before.rules)


def _custom_rules_schema() -> dict[str, Any]:
    from gpusize_policies.custom.schema import custom_rules_schema

    return custom_rules_schema()


def _plugins_schema() -> dict[str, Any]:
    from gpusize_policies.custom.plugins import plugins_schema

    return plugins_schema()


def _read_levels(value: Any, told: Told) -> Any:
    from gpusize_policies.registry import find, suggest

    if not isinstance(value, Mapping):
        told.report(told.path, "takes a mapping of rules to levels", "`GPU104: off`")
        return None
    levels: dict[str, str] = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        rule = find(str(key), told.own)
        level = OFF if given is False else given
        if rule is None:
            close = suggest(str(key), told.own)
            told.report(path, "no such rule", f"did you mean {close[0]}?" if close else _RULES_HINT)
        elif level not in levels_of(rule):
            _not_one_of(levels_of(rule), given, path, told)
        elif rule.code in levels:
            told.report(path, f"sets {rule.code} a second time", "keep the code or the name")
        else:
            levels[rule.code] = level
    return levels


def levels_of(rule: Rule) -> tuple[str, ...]:
    """Name the levels that a rule may have."""
    return (*LEVELS, REMEDIATE) if rule.remedy else LEVELS


_RULES_HINT = "`gpusize rules` lists them"


def _word_schema(words: Any, text: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"description": text, "enum": list(words)}


def _levels_schema() -> dict[str, Any]:
    from gpusize_policies.registry import RULES

    levels = {word: levels_of(rule) for rule in RULES for word in (rule.code, rule.name)}
    return {
        "description": "Level of a rule, by its code or name; what is not named has its default.",
        "type": "object",
        "propertyNames": {
            "anyOf": [
                {"enum": list(levels)},
                *({"pattern": f"^{form}$"} for form in (CODE.pattern, NAME.pattern)),
            ]
        },
        "additionalProperties": {"enum": list(LEVELS)},
        "properties": {name: {"enum": list(known)} for name, known in levels.items()},
    }


def _read_quotas(value: Any, told: Told) -> Any:
    if not isinstance(value, Mapping):
        told.report(told.path, "takes a mapping of quota codes to vCPUs", "`L-417A185B: 192`")
        return None
    found: dict[str, float] = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        if not _QUOTA.fullmatch(str(key)):
            told.report(path, "no quota code", "`L-417A185B`, or `default` for all others")
        elif not is_amount(given):
            told.report(path, "takes a number of vCPUs", "")
        else:
            found[str(key)] = given
    return found


def _quotas_schema() -> dict[str, Any]:
    return {
        "description": "vCPUs that the account may run, by quota code (Service Quotas); `default` "
        "stands for all codes that are not named.",
        "type": "object",
        "propertyNames": {"pattern": f"^({QUOTA_CODE})$"},
        "additionalProperties": {"type": "number", "minimum": 0, "maximum": LARGEST},
    }


QUOTA_CODE = "L-[0-9A-F]{8}|default"
_QUOTA = re.compile(QUOTA_CODE)


def _read_waivers(value: Any, told: Told) -> Any:
    from gpusize_policies.settings_waivers import read_waivers

    return read_waivers(value, told)


def _waivers_schema() -> dict[str, Any]:
    from gpusize_policies.settings_waivers import waivers_schema

    return waivers_schema()


def _read_environments(value: Any, told: Told) -> Any:
    from gpusize.settings_environments import read_environments

    return read_environments(value, told, CHANGING, is_whole=True)


def _environments_schema() -> dict[str, Any]:
    from gpusize.settings_environments import environments_schema

    return environments_schema(CHANGING)


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
    PARAMETERS,
    PRICES,
    TEAM,
    Field(
        "requireDeclaration",
        _read_switch,
        lambda: {
            "description": "Whether GPU901 is an error: a GPU that no declared workload owns.",
            "type": "boolean",
        },
    ),
    Field(
        "unknowns",
        _read_word(("advice", "warn", "error")),
        _word_schema(
            ("advice", "warn", "error"),
            "Level of GPU900: values that are not known before an update.",
        ),
    ),
    TODAY,
    CATALOG,
    Field(
        "workloads",
        read_path,
        text_schema("File of the declarations that the tag `gpusize:workload` refers to."),
    ),
    LOCK,
    Field("quotas", _read_quotas, _quotas_schema),
    Field("waivers", _read_waivers, _waivers_schema),
    Field(
        "baseline",
        read_path,
        text_schema("File of the findings that were there before, and do not fail."),
    ),
    Field("environments", _read_environments, _environments_schema),
    Field(CUSTOM_RULES, read_custom_rules, _custom_rules_schema),
    Field("rulePlugins", partial(read_plugins, NO_CUSTOM), _plugins_schema),
)
_BY_NAME = {field.name: field for field in FIELDS}

_OF_ALL = frozenset(
    {"today", "catalog", "workloads", "lock", "waivers", "environments", *OWN_RULES}
)
"""Keys that hold for every stack: what is known, declared, decided and accepted."""
CHANGING = tuple(
    TEAM_CHANGES if field is TEAM else field for field in FIELDS if field.name not in _OF_ALL
)
"""Keys that an environment may change."""
