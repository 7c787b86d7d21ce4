"""What a declarations file says of the stack beside its workloads: resources and machines.

`resources` ties resources that carry no tag to workloads; `machines` describes nodes and pools of
another stack, on which pods and jobs of this one run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpusize.declared.words import Market
from gpusize.declaring.plain import Plain, join, show, show_key
from gpusize.declaring.suggest import Suggestions

RESOURCES, MACHINES = "resources", "machines"
KEYS = (RESOURCES, MACHINES)
FIELDS = ("instanceTypes", "market", "region", "zones", "count", "labels", "workloads")
MOST_ENTRIES = 1000
"""Patterns, or kinds of machines, of one file."""
MOST_ITEMS = 100
"""Types, zones, labels or workloads of one kind of machines."""
LONGEST_PATTERN = 300
"""Characters of a pattern: a URN with its wildcards."""
LONGEST_NAME = 100
"""Characters of the name of a node group (EKS) or of a NodePool, of a label's value too."""
LONGEST_LABEL = 317
"""Characters of a label's key: a prefix of 253, a slash, a name of 63 (Kubernetes)."""
MOST_MACHINES = 10**6
PATTERN_FIX = "type::name or a URN, with * for any characters: kubernetes:apps/v1:Deployment::chat*"
_TYPE = re.compile(r"[a-z0-9-]{1,20}\.[a-z0-9-]{1,20}", re.ASCII)
_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]{2,12}){1,2}-\d{1,2}", re.ASCII)
_ZONE = re.compile(r"[a-z][a-z0-9-]{3,39}", re.ASCII)


class Machines(NamedTuple):
    """Nodes or instances of another stack."""

    instance_types: tuple[str, ...]
    market: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    number: int | None = None
    labels: tuple[tuple[str, str], ...] = ()
    workloads: tuple[str, ...] = ()
    """Workloads that alone run there; empty: whatever may."""


class Sidecar(NamedTuple):
    """The two blocks."""

    resources: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Patterns of `type::name` or of URNs, each with its workload, in their order."""
    machines: Mapping[str, Machines] = {}

    def workload_of(self, kind: str, name: str, urn: str) -> str:
        """Return the workload that the first fitting pattern ties a resource to, else ''."""
        texts = (f"{kind}::{name}", urn)
        for pattern, workload in self.resources:
            if any(pattern.fullmatch(text) for text in texts):
                return workload
        return ""


def read_sidecar(entries: Mapping[str, Any], plain: Plain, suggestions: Suggestions) -> Sidecar:
    """Read both blocks of a file; problems go into `plain`."""
    reader = _Reader(plain, suggestions)
    return Sidecar(
        tuple(reader.resources(entries.get(RESOURCES))),
        dict(reader.machines(entries.get(MACHINES))),
    )


class _Reader:
    def __init__(self, plain: Plain, suggestions: Suggestions) -> None:
        self._plain = plain
        self._suggestions = suggestions

    def resources(self, raw: Any) -> Iterator[tuple[re.Pattern[str], str]]:
        """Patterns with the workloads that they name."""
        for key, value in self._entries(raw, RESOURCES, "{type::name: workload}"):
            path = join(RESOURCES, show_key(key))
            if "::" not in key or len(key) > LONGEST_PATTERN:
                self._report(path, "is no pattern of resources", PATTERN_FIX)
            elif not isinstance(value, str) or not value:
                self._report(path, f"expected a workload's name, got {show(value)}")
            else:
                words = map(re.escape, key.split("*"))
                yield re.compile(".*".join(words)), value

    def machines(self, raw: Any) -> Iterator[tuple[str, Machines]]:
        """Each kind of machines by name."""
        for name, value in self._entries(raw, MACHINES, "{name: {instanceTypes: […]}}"):
            path = join(MACHINES, show_key(name))
            if not isinstance(value, Mapping):
                self._report(path, f"expected a group of fields, got {show(value)}")
                continue
            if len(name) > LONGEST_NAME:
                self._report(path, "is too long a name", f"at most {LONGEST_NAME} characters")
            yield name, self._one(value, path)

    def _one(self, raw: Mapping[Any, Any], path: str) -> Machines:
        given = dict(self._plain.keys(raw, path))
        for key in given:
            if key not in FIELDS:
                fix = self._suggestions.fix(key, FIELDS, f"one of {', '.join(FIELDS)}")
                self._report(join(path, show_key(key)), "is not a field", fix)
        types = self._texts(given, "instanceTypes", path, _TYPE, "family.size, as g6e.12xlarge")
        if not types and "instanceTypes" not in given:
            self._report(join(path, "instanceTypes"), "is missing", "instanceTypes: [g6e.12xlarge]")
        return Machines(
            types,
            self._market(given.get("market"), join(path, "market")),
            "".join(self._texts(given, "region", path, _REGION, "a region, as us-east-1")),
            self._texts(given, "zones", path, _ZONE, "a zone, as us-east-1a"),
            self._count(given.get("count"), join(path, "count")),
            tuple(self._labels(given.get("labels"), join(path, "labels"))),
            self._texts(given, "workloads", path, None, "names of workloads"),
        )

    def _texts(
        self,
        given: Mapping[str, Any],
        key: str,
        path: str,
        shape: re.Pattern[str] | None,
        fix: str,
    ) -> tuple[str, ...]:
        """One text, or a list of them."""
        raw, path = given.get(key), join(path, key)
        if raw is None:
            return ()
        is_list = isinstance(raw, Sequence) and not isinstance(raw, str)
        items = list(raw) if is_list else [raw]
        if not items or len(items) > MOST_ITEMS:
            self._report(path, "is empty" if not items else "has too many items", fix)
            return ()
        found = []
        for index, item in enumerate(items):
            fits = isinstance(item, str) and 0 < len(item) <= LONGEST_NAME
            if fits and (shape is None or shape.fullmatch(item)):
                found.append(item)
            else:
                place = f"{path}[{index}]" if is_list else path
                self._report(place, f"is none: {show(item)}", fix)
        return tuple(dict.fromkeys(found))

    def _market(self, raw: Any, path: str) -> str:
        words = {one.value: one.value for one in Market}
        word = raw.value if isinstance(raw, Market) else raw
        if word is None or word in list(words):
            return word or ""
        self._report(path, f"unknown market {show(word)}", self._suggestions.fix_word(word, words))
        return ""

    def _count(self, raw: Any, path: str) -> int | None:
        if raw is None:
            return None
        is_number = isinstance(raw, (int, float)) and not isinstance(raw, bool)
        if is_number and raw == raw and 1 <= raw <= MOST_MACHINES and float(raw).is_integer():
            return int(raw)
        self._report(path, f"expected a whole number of machines, got {show(raw)}", "count: 4")
        return None

    def _labels(self, raw: Any, path: str) -> Iterator[tuple[str, str]]:
        for key, value in self._entries(raw, path, "{team: research}"):
            text = ("false", "true")[value] if isinstance(value, bool) else value
            fits = isinstance(text, str) and len(text) <= LONGEST_NAME
            if not fits or len(key) > LONGEST_LABEL:
                self._report(join(path, show_key(key)), f"is no label: {show(value)}")
            else:
                yield key, text

    def _entries(self, raw: Any, path: str, fix: str) -> list[tuple[str, Any]]:
        if raw is None:
            return []
        if not isinstance(raw, Mapping):
            self._report(path, f"expected a mapping, got {show(raw)}", fix)
            return []
        if len(raw) > MOST_ENTRIES:
            self._report(path, "has too many entries", f"at most {MOST_ENTRIES}")
            return []
        return list(self._plain.keys(raw, path))

    def _report(self, path: str, message: str, fix: str = "") -> None:
        self._plain.report(path, message, fix)


def schema() -> dict[str, Any]:
    """The JSON Schema of both blocks."""
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
    one = {
        "instanceTypes": _list_of({"type": "string", "pattern": f"^{_TYPE.pattern}$"}, "Types."),
        "market": {"description": "How they are bought.", "enum": [one.value for one in Market]},
        "region": {"description": "A region.", "type": "string", "pattern": f"^{_REGION.pattern}$"},
        "zones": _list_of({"type": "string", "pattern": f"^{_ZONE.pattern}$"}, "Zones."),
        "count": {
            "description": "How many there are at most.",
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_MACHINES,
        },
        "labels": {
            "description": "Labels of these nodes.",
            "type": "object",
            "maxProperties": MOST_ENTRIES,
            "propertyNames": {"maxLength": LONGEST_LABEL},
            "additionalProperties": {"type": ["string", "boolean"], "maxLength": LONGEST_NAME},
        },
        "workloads": _list_of(text, "Workloads that alone run there; left out: whatever may."),
    }
    return {
        RESOURCES: {
            "description": "Resources that carry no tag, `type::name` or URN with * for any"
            " characters, each with its workload; the first pattern that fits counts.",
            "type": "object",
            "maxProperties": MOST_ENTRIES,
            "propertyNames": {"pattern": "::", "maxLength": LONGEST_PATTERN},
            "additionalProperties": {"type": "string", "minLength": 1},
        },
        MACHINES: {
            "description": "Machines of another stack by the name of their node group or NodePool.",
            "type": "object",
            "maxProperties": MOST_ENTRIES,
            "propertyNames": {"maxLength": LONGEST_NAME},
            "additionalProperties": {
                "type": "object",
                "properties": one,
                "required": ["instanceTypes"],
                "additionalProperties": False,
            },
        },
    }


def _list_of(item: dict[str, Any], told: str) -> dict[str, Any]:
    """The schema of one such text, or of a list of them."""
    many = {"type": "array", "items": item, "minItems": 1, "maxItems": MOST_ITEMS}
    return {"description": told, "anyOf": [item, many]}
