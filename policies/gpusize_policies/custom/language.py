"""The expression language: CEL, checked when it is read and evaluated within limits.

The only module that imports it (docs/adr/0011). Every expression is compiled twice: in an
environment of strict types, whose complaints are told, and in one where facts that may be null are
of any type, which evaluates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize_catalog.problems import printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.custom.facts import ROOTS, Kind, facts
from gpusize_policies.custom.forms import PAGE

if TYPE_CHECKING:
    from gpusize_policies.custom.facts import Read

LONGEST = 1000
"""Characters of one expression: its time to compile grows with its length."""
MOST_LOOPS = 2
"""Macros over lists in one expression; the language itself ends a run of 10,000 steps
(comprehension_max_iterations of cel-cpp)."""
LONGEST_TOLD = 160
"""Characters of what the language says that a message repeats."""
PACKAGE = "cel_expr_python"
INSTALL = "install `gpusize[rules]` where it runs (Python 3.11 or newer)"


class Fault(NamedTuple):
    """What is wrong with an expression, and what would help."""

    text: str
    fix: str = ""


class Parts(NamedTuple):
    """What an expression asks for, as its text says."""

    facts: tuple[str, ...]
    strangers: tuple[str, ...]
    """Names below a root that are no facts."""
    loops: int
    words: frozenset[str]
    """Its texts, and the names that it looks up in maps."""


class Outcome(NamedTuple):
    """What came of an evaluation: a truth, or the facts for whose sake there is none."""

    truth: bool | None
    unknown: tuple[str, ...] = ()
    """Facts without a known value."""
    absent: tuple[str, ...] = ()
    """Facts that are null here."""


class Expression:
    """One expression that was found to be well-formed."""

    def __init__(self, text: str, parts: Parts) -> None:
        """Compile it; whoever makes one has asked `faults` before."""
        self.text = text
        self.parts = parts
        self._compiled = _running().compile(text)

    def evaluate(self, seen: Read) -> Outcome:
        """Evaluate it over facts; nothing raises, and what goes wrong is no pass."""
        data = {name: seen.known[name] for name in self.parts.facts if name in seen.known}
        try:
            value = self._compiled.eval(data=data)
            answer = value.value()
        except Exception as error:  # the binding raises RuntimeError, with values in its text
            answer = str(error)
        if isinstance(answer, bool):
            return Outcome(answer)
        return self._failed(str(answer), seen)

    def _failed(self, why: str, seen: Read) -> Outcome:
        """Name the facts that stand in the way; what the language says of values is not kept."""
        missing = [one for one in self.parts.facts if one in seen.unknown]
        named = tuple(one for one in missing if f'"{one}"' in why)
        if missing:
            return Outcome(None, unknown=named or tuple(missing))
        null = (one for one in self.parts.facts if seen.known.get(one, "") is None)
        return Outcome(None, absent=tuple(null))


def is_installed() -> bool:
    """Whether the language is there."""
    from importlib.util import find_spec

    return find_spec(PACKAGE) is not None


def faults(text: str) -> tuple[Fault, ...]:
    """Everything that is wrong with an expression; none where it may be used."""
    if not text.strip():
        return (Fault("is empty", "write an expression, such as `plan.gpus <= 8`"),)
    if len(text) > LONGEST:
        return (Fault(f"has more than {LONGEST} characters", "make several rules of it"),)
    parts = parts_of(text)
    found = [*_strangers(parts), *_shapes(text, parts)]
    return tuple(found) if found else tuple(_complaints(text))


def _strangers(parts: Parts) -> Iterator[Fault]:
    for name in parts.strangers:
        yield Fault(f"there is no fact {printable(name, LONGEST_TOLD)}", closest(name))


def closest(name: str) -> str:
    """Say which fact is meant, or where they are listed."""
    known = facts()
    said = did_you_mean(name, known, most=1)
    if said:
        return said
    tail = name.rsplit(".", 1)[-1]
    alike = [one for one in known if one.rsplit(".", 1)[-1] == tail]
    return f"did you mean {alike[0]}?" if alike else f"{PAGE} lists the facts"


def _shapes(text: str, parts: Parts) -> Iterator[Fault]:
    if parts.loops > MOST_LOOPS:
        yield Fault(f"has more than {MOST_LOOPS} loops over lists", "make several rules of it")
    for name in _ASKED.findall(_without_texts(text)):
        path = re.sub(r"\s", "", name)
        if path in facts():
            yield Fault(f"has() asks for a key of a map, and {path} is a fact", f"{path} != null")


_ASKED = re.compile(r"\bhas\s*\(\s*([A-Za-z_][\w.\s]*?)\s*\)")


def _complaints(text: str) -> Iterator[Fault]:
    """What the checker says."""
    try:
        kind = _strict().compile(text).return_type()
    except Exception as error:  # the binding raises RuntimeError
        told = str(error)
        found = _COMPLAINT.findall(told)
        for _, column, what in found:
            yield _complaint(what, f"at character {column}: ")
        if not found:
            yield _complaint(told.removeprefix("INVALID_ARGUMENT: "), "")
        return
    if kind.name() != "BOOL":
        yield Fault("is neither true nor false", "compare, as in `plan.gpus <= 8`")


_COMPLAINT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")


def _complaint(told: str, place: str) -> Fault:
    told = told.replace("(in container '')", "").split(" [INVALID_ARGUMENT]")[0]
    told = " ".join(told.split(" expecting ")[0].split()).replace("'", "`")
    return Fault(place + printable(told, LONGEST_TOLD), _hint(told))


def _hint(told: str) -> str:
    if "undeclared reference" in told:
        return f"facts begin with {', '.join(ROOTS)}; texts stand in quotes"
    if "no matching overload" in told:
        if "double" in told and "int" in told:
            return "write a number with a point where the fact has one: 10.0"
        return "compare things of one type"
    return f"see {PAGE}"


_TEXT = r"""[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_TOKEN = re.compile(rf"(?P<text>{_TEXT})|(?P<comment>//[^\n]*)", re.DOTALL)
_PATH = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*")
_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(")


def _without_texts(text: str) -> str:
    return _TOKEN.sub(lambda found: "''" if found["text"] else " ", text)


def parts_of(text: str) -> Parts:
    """Take an expression apart, its texts and comments left out."""
    words = {found["text"].strip("rRbB\"'") for found in _TOKEN.finditer(text) if found["text"]}
    plain = _without_texts(text)
    named: dict[str, None] = {}
    strangers: dict[str, None] = {}
    for found in _PATH.finditer(plain):
        path = re.sub(r"\s", "", found[0])
        if path.split(".", 1)[0] not in ROOTS:
            continue
        is_call = plain[found.end() :].lstrip().startswith("(")
        fact = _fact_in(path)
        rest = path[len(fact or "") + 1 :]
        words.update(rest.split("."))
        if fact is None or (rest and not _has_below(fact, rest, is_call)):
            strangers[path] = None
        else:
            named[fact] = None
    return Parts(tuple(named), tuple(strangers), len(_LOOP.findall(plain)), frozenset(words))


def _fact_in(path: str) -> str | None:
    known = facts()
    while path:
        if path in known:
            return path
        path = path.rpartition(".")[0]
    return None


def _has_below(fact: str, rest: str, is_call: bool) -> bool:
    """Whether what follows a fact can be of it: a key of a map, or a function."""
    depth = rest.count(".") + (0 if is_call else 1)
    return depth == 0 or (facts()[fact].kind in (Kind.TAGS, Kind.AMOUNTS) and depth == 1)


@cache
def _strict() -> Any:
    """The environment that checks: what may be null is of a type that knows null."""
    cel = _cel()
    wrapped = {
        Kind.BOOL: "google.protobuf.BoolValue",
        Kind.INT: "google.protobuf.Int64Value",
        Kind.DOUBLE: "google.protobuf.DoubleValue",
        Kind.STRING: "google.protobuf.StringValue",
    }
    types = _types(cel)
    return cel.NewEnv(
        variables={
            path: cel.Type(wrapped[fact.kind]) if fact.may_be_null else types[fact.kind]
            for path, fact in facts().items()
        }
    )


@cache
def _running() -> Any:
    """The environment that evaluates."""
    cel = _cel()
    types = _types(cel)
    return cel.NewEnv(
        variables={
            path: cel.Type.DYN if fact.may_be_null else types[fact.kind]
            for path, fact in facts().items()
        }
    )


def _cel() -> Any:
    from cel_expr_python import cel

    return cel


def _types(cel: Any) -> Mapping[Kind, Any]:
    kinds = cel.Type
    return {
        Kind.BOOL: kinds.BOOL,
        Kind.INT: kinds.INT,
        Kind.DOUBLE: kinds.DOUBLE,
        Kind.STRING: kinds.STRING,
        Kind.TEXTS: kinds.List(kinds.STRING),
        Kind.TAGS: kinds.Map(kinds.STRING, kinds.STRING),
        Kind.AMOUNTS: kinds.Map(kinds.STRING, kinds.DOUBLE),
    }
