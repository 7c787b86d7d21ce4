"""`gpusize-policy.yaml`: the keys that decisions depend on, read, checked and described by a table.

The component, the policy pack and the command read them here, so that they decide alike. The floor
of policies adds the keys that only judge (presets, levels) as fields of the same form.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from gpusize.days import DAY_FIX, NO_DAY, day_of
from gpusize.environments import Environment, Where, changed, chosen
from gpusize.project import SETTINGS_FILE
from gpusize.settings import ResolveSettings, parameters, with_parameters
from gpusize.settings_entries import AMOUNT, LARGEST, is_amount
from gpusize.team import NO_RULES, TeamRules
from gpusize.team_prices import LIST_PRICES, TeamPrices
from gpusize_catalog.problems import GpuSizeError, Problem, printable

NOTHING: Mapping[str, Any] = MappingProxyType({})
LONGEST_KEY = 40
"""Characters of an unknown key that a message repeats."""

Report = Callable[[str, str, str], None]
"""Takes the path, the message and the fix of a problem."""


class Told(NamedTuple):
    """Where a reader of one field reports to, and what relative paths are relative to."""

    path: str
    base: Path
    report: Report
    own: tuple[Any, ...] = ()
    """Rules of the team, which other keys may name; only who judges knows them."""


class Field(NamedTuple):
    """One key of the file: how it is read, and its JSON Schema."""

    name: str
    read: Callable[[Any, Told], Any]
    schema: Callable[[], dict[str, Any]]


class Deciding(NamedTuple):
    """What the file says that changes a decision."""

    parameters: Mapping[str, float] = NOTHING
    """Thresholds by their camelCase name, see `ResolveSettings`."""
    today: datetime.date | None = None
    catalog: tuple[Path, ...] = ()
    """Overlay folders, later ones win."""
    lock: Path | None = None
    """File of decisions; `gpusize.lock` beside the program."""
    prices: TeamPrices = LIST_PRICES
    """What the team pays in place of list prices."""
    team: TeamRules = NO_RULES
    """What the team allows."""
    environments: tuple[Environment, ...] = ()
    """What changes of it on some stacks."""

    @property
    def resolving(self) -> ResolveSettings:
        """Thresholds, prices and team rules as the resolver and the constraints take them."""
        return with_parameters(self.parameters, self.prices, self.team)

    def at(self, where: Where) -> Deciding:
        """The same for one stack: what its environment says holds."""
        found = chosen(self.environments, where)
        return self._replace(**changed(self._asdict(), found.changes)) if found else self


def settings_path(folder: Path, named: str = "") -> Path | None:
    """Return the file that is named, else the usual one of the folder where there is one."""
    usual = folder / SETTINGS_FILE
    return folder / named if named else usual if usual.is_file() else None


def read_deciding(path: Path) -> Deciding:
    """Read the keys that decisions depend on; raises `GpuSizeError` with every problem of them.

    Keys that only judge are left to who judges. Thresholds may also stand under the name of a rule,
    as `--policy-pack-config` takes them.
    """
    from gpusize.documents import read

    document = read(str(path))
    problems: list[Problem] = []

    def report(path: str, message: str, fix: str) -> None:
        problems.append(document.locate(Problem(path, message, fix)))

    raw = document.data if isinstance(document.data, Mapping) else {}
    values: dict[str, Any] = {"parameters": _of_rules(raw)}
    for field in DECIDING:
        if field.name in raw:
            found = field.read(raw[field.name], Told(field.name, path.parent, report))
            if found is not None:
                values[field.name] = found
    if problems:
        raise GpuSizeError(problems)
    return Deciding(**values)


def _of_rules(raw: Mapping[str, Any]) -> dict[str, float]:
    """Find well-formed thresholds under names of rules; who judges tells of others."""
    known = parameters()
    entries = (entry for key, entry in raw.items() if key not in _NAMES)
    return {
        name: value
        for entry in entries
        if isinstance(entry, Mapping)
        for name, value in entry.items()
        if name in known and is_amount(value)
    }


def guess(word: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return a fix for an unknown word: the one that was meant, else those that are known."""
    from gpusize_catalog.spelling import did_you_mean

    return did_you_mean(word, known, most=1) or f"known are {', '.join(known)}"


def read_path(value: Any, told: Told) -> Path | None:
    """Read a path, relative to the file."""
    if isinstance(value, str) and value and "\0" not in value:
        return told.base / value
    told.report(told.path, "takes a path, relative to this file", "")
    return None


def text_schema(text: str, **more: Any) -> Callable[[], dict[str, Any]]:
    """Describe a field of text."""
    return lambda: {"description": text, "type": "string", "minLength": 1, **more}


def _read_parameters(value: Any, told: Told) -> Any:
    known = parameters()
    if not isinstance(value, Mapping):
        told.report(told.path, "takes a mapping of names to numbers", "")
        return None
    found: dict[str, float] = {}
    for key, given in value.items():
        path = f"{told.path}.{printable(str(key), LONGEST_KEY)}"
        if key not in known:
            told.report(path, "no such parameter", guess(str(key), known))
        elif not is_amount(given):
            told.report(path, f"takes {AMOUNT}", f"default: {known[key]:g}")
        elif isinstance(known[key], int) and given != int(given):
            told.report(path, "takes a whole number", f"default: {known[key]}")
        else:
            found[str(key)] = type(known[key])(given)
    return found


def _read_date(value: Any, told: Told) -> Any:
    day = day_of(str(value))
    if day is None:
        told.report(told.path, NO_DAY, DAY_FIX)
    return day


def _read_paths(value: Any, told: Told) -> Any:
    values = value if isinstance(value, list) else [value]
    return tuple(path for item in values if (path := read_path(item, told)) is not None)


def _read_prices(value: Any, told: Told) -> Any:
    from gpusize.settings_prices import read_prices

    return read_prices(value, told)


def _prices_schema() -> dict[str, Any]:
    from gpusize.settings_prices import prices_schema

    return prices_schema()


def _read_team(value: Any, told: Told) -> Any:
    from gpusize.settings_team import read_team

    return read_team(value, told)


def _team_schema() -> dict[str, Any]:
    from gpusize.settings_team import team_schema

    return team_schema()


def _read_team_changes(value: Any, told: Told) -> Any:
    from gpusize.settings_team import read_changes

    return read_changes(value, told)


def _read_environments(value: Any, told: Told) -> Any:
    from gpusize.settings_environments import read_environments

    return read_environments(value, told, CHANGING)


def _environments_schema() -> dict[str, Any]:
    from gpusize.settings_environments import environments_schema

    return environments_schema(CHANGING)


def _parameters_schema() -> dict[str, Any]:
    return {
        "description": "Thresholds that the rules and the resolver share.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "number", "minimum": 0, "maximum": LARGEST, "default": value}
            for name, value in parameters().items()
        },
    }


def _catalog_schema() -> dict[str, Any]:
    folder = {"type": "string", "minLength": 1}
    return {
        "description": "Folders with rows that replace or add to the shipped catalog.",
        "anyOf": [folder, {"type": "array", "items": folder}],
    }


PARAMETERS = Field("parameters", _read_parameters, _parameters_schema)
TODAY = Field(
    "today",
    _read_date,
    text_schema(
        "Date that prices and waivers are judged at, in place of the clock's.", format="date"
    ),
)
CATALOG = Field("catalog", _read_paths, _catalog_schema)
LOCK = Field("lock", read_path, text_schema("File of the decisions that stay, `gpusize.lock`."))
PRICES = Field("prices", _read_prices, _prices_schema)
TEAM = Field("team", _read_team, _team_schema)
TEAM_CHANGES = Field("team", _read_team_changes, _team_schema)
"""What an environment changes of it."""
CHANGING = (PARAMETERS, PRICES, TEAM_CHANGES)
"""Keys of an environment that decisions depend on."""
ENVIRONMENTS = Field("environments", _read_environments, _environments_schema)
DECIDING = (PARAMETERS, PRICES, TEAM, ENVIRONMENTS, TODAY, CATALOG, LOCK)
_NAMES = frozenset(field.name for field in DECIDING)
