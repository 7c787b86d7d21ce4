"""A baseline: the findings that were there when somebody wrote it down. Pure but for reading.

One JSON file, a line for each finding in a fixed order, so that a change reads well in a review. An
entry says what was found on what; it has neither numbers nor lines, so that a refreshed catalog or
a moved declaration makes no finding new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpusize.tokens import COMPONENT
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_policies.finding import Finding, Severity, Subject
from gpusize_policies.registry import find, suggest
from gpusize_policies.rule import Waivable

VERSION = 1
MAX_BYTES = 8 << 20
"""Bytes of a file that is read: some forty thousand findings."""
BINDING = ("instanceType", "market", "region", "model", "weightsFormat", "location")
"""Numbers of a finding that say what was found wanting, and not by how much: another instance type
that is too small is another finding."""
URN_HEAD = 2
"""Separators before the types and the name in a URN: stack and project stand above them
(https://www.pulumi.com/docs/iac/concepts/resources/names/)."""
BASELINED = (Severity.ERROR, Severity.WARN)
"""Severities that are written down: advice fails nothing."""
REMAKE = "`gpusize check --write-baseline FILE` writes it anew"
WHOLE = "the run as a whole"


class Target(NamedTuple):
    """What a finding is on; all empty: the run as a whole."""

    workload: str = ""
    resource: str = ""
    """Types and name, as the end of a URN has them: the same in every stack of a program."""
    part: str = ""
    """Part of the resource, where it has several."""

    @property
    def words(self) -> str:
        """Name it in a message."""
        return ": ".join(filter(None, (self.resource or self.workload, self.part))) or WHOLE


class Key(NamedTuple):
    """What makes a finding the same one: its rule, what it is on, and what was found wanting."""

    code: str
    target: Target
    binding: tuple[tuple[str, str], ...] = ()


class Entry(NamedTuple):
    """One finding of a baseline."""

    key: Key
    severity: Severity
    source: str = ""
    """Where it was found: a file of declarations, or project and stack."""


class Baseline(NamedTuple):
    """The findings that are accepted for they were there before."""

    entries: Mapping[Key, Entry]
    file: Path | None = None
    is_open: bool = False
    """Whether it is being written: it then takes in whatever is found."""


NO_BASELINE = Baseline({})


def target_of(subject: Subject) -> Target:
    """Say what is judged, in terms that stay; a component is its workload."""
    if not subject.resource:
        return Target(subject.workload)
    end = subject.resource.split("::", URN_HEAD)[-1]
    kind = end.partition("::")[0].rpartition("$")[2]
    if kind == COMPONENT:
        return Target(subject.workload)
    return Target(subject.workload, end, subject.path)


def key_of(finding: Finding) -> Key:
    """Return what makes a finding the same one from run to run."""
    numbers = finding.numbers
    binding = tuple((name, str(numbers[name])) for name in BINDING if name in numbers)
    return Key(finding.code, target_of(finding.subject), binding)


def may_hold(finding: Finding) -> bool:
    """Tell whether a finding may stand in a baseline; what says that nothing was judged may not."""
    rule = find(finding.code)
    waivable = rule is not None and rule.waivable is not Waivable.NO
    return waivable and finding.severity in BASELINED and not finding.waived_by


def render(entries: Iterable[Entry]) -> str:
    """The text of a file: a line for each finding, by target and code."""
    ordered = sorted(entries, key=lambda one: (one.key.target, one.key.code, one.key.binding))
    lines = ",\n".join(f"    {json.dumps(_written(one), ensure_ascii=False)}" for one in ordered)
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "version": {VERSION},\n  "findings": {listed}\n}}\n'


def _written(entry: Entry) -> dict[str, Any]:
    rule = find(entry.key.code)
    fields = {
        "rule": f"{rule.code}-{rule.name}" if rule else entry.key.code,
        "severity": entry.severity.value,
        **entry.key.target._asdict(),
        "binding": dict(entry.key.binding),
        "source": entry.source,
    }
    return {name: value for name, value in fields.items() if value}


def read_baseline(path: Path, *, is_open: bool = False) -> Baseline:
    """Read a file; one that is being written need not be there yet.

    Raises `GpuSizeError` with every problem of the file.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if is_open and isinstance(error, FileNotFoundError):
            return Baseline({}, path, is_open)
        why = getattr(error, "strerror", None) or "not a path"
        raise _refused(path, f"cannot be read: {why}") from None
    if len(raw) > MAX_BYTES:
        raise _refused(path, f"is larger than {MAX_BYTES} bytes")
    try:
        data = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_once_each)
    except GpuSizeError:
        raise _refused(path, "says a key twice in one object") from None
    except (ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
        problem = Problem("", "is not JSON", REMAKE, str(path), line, column)
        raise GpuSizeError([problem]) from None
    entries, problems = parse(data, str(path))
    if problems:
        raise GpuSizeError(problems)
    return Baseline({one.key: one for one in entries}, path, is_open)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a mapping; where a key stands twice, nobody knows which of them somebody accepted."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise GpuSizeError([Problem("", "stands twice")])
    return found


def parse(data: Any, file: str = "") -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """Read plain data; what is no entry is told and accepts nothing."""
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, bool) or version != VERSION:
        return (), (Problem("version", f"is not {VERSION}", REMAKE, file),)
    from gpusize.settings_file import LONGEST_KEY

    listed = data.get("findings")
    if not isinstance(listed, list):
        return (), (Problem("findings", "is not a list", REMAKE, file),)
    problems = [
        Problem(
            printable(str(key), LONGEST_KEY), "unknown key", _known(("version", "findings")), file
        )
        for key in data
        if key not in ("version", "findings")
    ]
    entries: dict[Key, Entry] = {}
    for index, raw in enumerate(listed):
        where = f"findings[{index}]"
        wrong = [Problem(where + path, what, fix, file) for path, what, fix in _faults(raw)]
        problems += wrong
        if wrong:
            continue
        entry = _entry(raw)
        if entries.setdefault(entry.key, entry).severity is not entry.severity:
            told = "says another severity than an entry before it"
            problems.append(Problem(where, told, REMAKE, file))
    return tuple(entries.values()), tuple(problems)


TOP = ("version", "findings")
TEXTS = ("workload", "resource", "part", "source")
KEYS = ("rule", "severity", *TEXTS[:-1], "binding", TEXTS[-1])


def _faults(raw: Any) -> Iterable[tuple[str, str, str]]:
    """Yield path, message and fix of whatever keeps plain data from being an entry."""
    if not isinstance(raw, dict):
        yield "", "is not a mapping", REMAKE
        return
    from gpusize.settings_file import LONGEST_KEY, guess

    for key in raw:
        if key not in KEYS:
            yield f".{printable(str(key), LONGEST_KEY)}", "unknown key", guess(str(key), KEYS)
    name = str(raw.get("rule", ""))
    if find(name) is None:
        close = suggest(name)
        yield ".rule", "no such rule", f"did you mean {close[0]}?" if close else REMAKE
    if raw.get("severity") not in [one.value for one in BASELINED]:
        yield ".severity", "is neither error nor warn", REMAKE
    for key in TEXTS:
        if not isinstance(raw.get(key, ""), str):
            yield f".{key}", "takes a text", REMAKE
    yield from _faults_of(raw.get("binding", {}))


def _faults_of(binding: Any) -> Iterable[tuple[str, str, str]]:
    """Yield the same of what was found wanting: a name that is not known would be another entry."""
    from gpusize.settings_file import LONGEST_KEY, guess

    if not isinstance(binding, dict) or not all(isinstance(one, str) for one in binding.values()):
        yield ".binding", "takes a mapping of names to texts", REMAKE
        return
    for key in binding:
        if key not in BINDING:
            yield f".binding.{printable(key, LONGEST_KEY)}", "unknown key", guess(key, BINDING)


def _entry(raw: Mapping[str, Any]) -> Entry:
    rule = find(raw["rule"])
    assert rule is not None  # _faults has told of others
    target = Target(*(raw.get(key, "") for key in Target._fields))
    given = raw.get("binding", {})
    binding = tuple((name, given[name]) for name in BINDING if name in given)
    return Entry(Key(rule.code, target, binding), Severity(raw["severity"]), raw.get("source", ""))


def _known(words: Iterable[str]) -> str:
    return f"known are {', '.join(words)}"


def _refused(path: Path, message: str) -> GpuSizeError:
    return GpuSizeError([Problem("", message, REMAKE, str(path))])


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a file."""
    from gpusize_policies.registry import RULES

    described = {
        "workload": "Workload that it is on.",
        "resource": "Types and name of the resource, as the end of its URN has them.",
        "part": "Part of the resource.",
        "source": "Where it was found: a file of declarations, or project and stack.",
    }
    entry = {
        "rule": {"enum": [f"{rule.code}-{rule.name}" for rule in RULES]},
        "severity": {"enum": [one.value for one in BASELINED]},
        **{name: {"type": "string", "description": text} for name, text in described.items()},
        "binding": {
            "description": "What was found wanting; another is another finding.",
            "type": "object",
            "additionalProperties": False,
            "properties": {name: {"type": "string"} for name in BINDING},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpusize baseline",
        "description": "Findings that were there before: they do not fail. gpusize writes it.",
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "findings"],
        "properties": {
            "version": {"const": VERSION},
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["rule", "severity"],
                    "properties": {name: entry[name] for name in KEYS},
                },
            },
        },
    }
