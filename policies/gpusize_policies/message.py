"""The one shape of a finding's message: code first, numbers in the middle, the page last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpusize_catalog.problems import printable
from gpusize_policies.finding import NO_NUMBERS, Finding, Number, docs_page

LONGEST = 400
"""Characters of one message: what a preview shows without folding."""
LONGEST_NAME = 40
"""Characters of a workload's name that a message repeats."""
ANYONE = "_" * LONGEST_NAME
"""Stands in a message for the name of a workload that is filled in later."""
SHOWN_PROPERTIES = 5
"""Unknown properties that one message names."""
ELLIPSIS = "…"


class Remark(NamedTuple):
    """What a rule has to say on one case, before it is dressed as a finding.

    `text` is one sentence with units, `fixes` are what would help, the cheapest first.
    """

    text: str
    fixes: tuple[str, ...] = ()
    numbers: Mapping[str, Number] = NO_NUMBERS


class Doubt(NamedTuple):
    """What a rule could not say for some properties have no value yet.

    All doubts on a case are told together, under GPU900.
    """

    properties: tuple[str, ...]


class Gap(NamedTuple):
    """What a rule could not say for a part of what it adds up is not known.

    It is told under GPU900, in its own words.
    """

    text: str
    fix: str
    numbers: Mapping[str, Number] = NO_NUMBERS


class Blank(NamedTuple):
    """What a rule of the team could not say for facts that it asks for have no value.

    All of them on a case are told together, under GPU900.
    """

    code: str
    unknown: tuple[str, ...] = ()
    """Facts that cannot be told."""
    absent: tuple[str, ...] = ()
    """Facts that there are none of here, though the rule counts on them."""


def not_said(blanks: Sequence[Blank]) -> Remark:
    """Say which rules could not be evaluated, and for the sake of which facts."""
    codes = dict.fromkeys(one.code for one in blanks)
    unknown = tuple(dict.fromkeys(fact for one in blanks for fact in one.unknown))
    absent = tuple(dict.fromkeys(fact for one in blanks for fact in one.absent))
    why = [f"{_listed(unknown)} {_be(unknown)} not known"] if unknown else []
    why += [f"{_listed(absent)} {_be(absent)} null here"] if absent else []
    fixes = [f"ask for {unknown[0]} only where `when` says that it is known"] if unknown else []
    fixes += [f"ask first: {absent[0]} != null && …"] if absent else []
    return Remark(
        f"{_listed(tuple(codes))} cannot be evaluated: {'; '.join(why) or 'the expression fails'}",
        tuple(fixes) or ("look at the expression: it divides by 0, or looks up what is not there",),
        {"rules": len(codes), "unknownFacts": len(unknown), "nullFacts": len(absent)},
    )


def _be(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN_PROPERTIES
    return ", ".join(names[:SHOWN_PROPERTIES]) + (f" and {more} more" if more > 0 else "")


def not_known(properties: tuple[str, ...]) -> Remark:
    """Say which properties have no value yet."""
    names = ", ".join(properties[:SHOWN_PROPERTIES])
    more = len(properties) - SHOWN_PROPERTIES
    return Remark(
        f"not known yet: {names}{f' and {more} more' if more > 0 else ''}",
        ("give it as a plain value",),
        {"unknownProperties": len(properties), "properties": ", ".join(properties)},
    )


def about(what: str, name: str) -> str:
    """Name what a message is about: `workload 'chat'`."""
    return f"{what} '{printable(name, LONGEST_NAME)}'"


def compose(
    code: str,
    name: str,
    subject: str,
    text: str,
    fix: str,
    place: str = "",
    note: str = "",
    page: str = "",
) -> str:
    """Build the message; a text that is too long loses its end, never the code or the page.

    `place` is the part of a resource that is meant, where it has several. `note` stands before the
    page, and says where the declaration comes from: beside the limit. `page` is that of a rule of
    the team.
    """
    head = f"{code} {name}: {subject}: " if subject else f"{code} {name}: "
    head += f"{place}: " if place else ""
    tail = f"{f' {note}' if note else ''} Docs: {page or docs_page(code, name)}"
    room = LONGEST + len(note) - len(head) - len(tail)
    help_text = f" Fix: {_sentence(fix)}" if fix else ""
    body = _sentence(text)
    if len(body) + len(help_text) > room:
        body = shorten(body, max(room - len(help_text), room // 2))
        help_text = shorten(help_text, room - len(body))
    return f"{head}{body}{help_text}{tail}"


def renamed(message: str, old: str, new: str) -> str:
    """Put another name of a workload into a message."""
    return message if old == new else message.replace(old, printable(new, LONGEST_NAME))


def join_fixes(fixes: tuple[str, ...], limit: int = 2) -> str:
    """Join at most `limit` alternatives into one sentence."""
    said = [fix.strip().rstrip(".") for fix in fixes if fix.strip()]
    parts = list(dict.fromkeys(said[:limit]))
    text = "".join(f"{part} Or " if part.endswith("?") else f"{part}; or " for part in parts[:-1])
    return text + "".join(parts[-1:])


def shorten(text: str, room: int) -> str:
    """Cut at a word so that at most `room` characters stay."""
    if len(text) <= room:
        return text
    cut = text[: max(room - len(ELLIPSIS), 0)].rsplit(" ", 1)[0].rstrip(" ,;:.(")
    return cut + ELLIPSIS


def _sentence(text: str) -> str:
    text = "".join(char if char.isprintable() else " " for char in text)
    text = " ".join(text.split())
    return text if not text or text[-1] in ".!?" + ELLIPSIS else text + "."


def judgement_of(finding: Finding) -> str:
    """Return what a message says without its head, its fix and its page."""
    text = finding.message.removeprefix(f"{finding.code} {finding.name}: ")
    if finding.subject.workload:
        shown = printable(finding.subject.workload, LONGEST_NAME)
        text = text.removeprefix(f"workload '{shown}': ")
    text = text.removesuffix(f" Docs: {finding.docs}")
    return text.removesuffix(f" Fix: {_sentence(finding.fix)}") if finding.fix else text
