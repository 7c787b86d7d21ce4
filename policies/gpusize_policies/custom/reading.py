"""The key `customRules` of the settings file: every problem of every entry at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpusize.settings_file import LONGEST_KEY, Told, guess
from gpusize_catalog.problems import printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.custom.facts import facts
from gpusize_policies.custom.forms import (
    CODE,
    CODE_FORM,
    LONGEST_WORD,
    NAME,
    NAME_FORM,
    PAGE,
    RESERVED,
)
from gpusize_policies.custom.language import (
    INSTALL,
    Expression,
    closest,
    faults,
    is_installed,
    parts_of,
)
from gpusize_policies.custom.written import Written, placeholders, rule_of
from gpusize_policies.finding import Severity
from gpusize_policies.rule import Waivable
from gpusize_policies.settings import NO_CUSTOM, Custom

MOST_RULES = 100
"""Rules of one file: each is asked of every workload."""
LONGEST_MESSAGE = 250
"""Characters of a message or a fix: what a finding shows beside its head and its page."""
ADDRESS = re.compile(r"https://[!-~]{3,200}")

TEXTS: Mapping[str, str] = {
    "id": f"Its permanent code: {CODE_FORM}.",
    "name": f"Its name: {NAME_FORM}.",
    "severity": "error, warn or advice; warn where it is left out.",
    "when": "Expression: it is asked where this is true; everywhere where it is left out.",
    "require": "Expression: a finding where this is false.",
    "forbid": "Expression: a finding where this is true; in place of `require`.",
    "message": "What a finding says; {plan.gpus} and the like stand for facts.",
    "fix": "What would help; facts as in `message`.",
    "why": "Why the team has the rule.",
    "waivable": "yes, evidence or no; yes where it is left out.",
    "since": "Since when the team has it.",
    "docs": "Address (https) of its page.",
}
"""What each key of an entry holds."""
NEEDED = ("id", "name", "message")
EXPRESSIONS = ("when", "require", "forbid")
MESSAGES = ("message", "fix", "why")
WORDS = {
    "severity": tuple(one.value for one in Severity),
    "waivable": tuple(one.value for one in Waivable),
}


def read_custom_rules(value: Any, told: Told) -> Custom | None:
    """Read the list; an entry with a problem is no rule."""
    if not isinstance(value, list):
        told.report(told.path, "takes a list of rules", f"see {PAGE}")
        return None
    if len(value) > MOST_RULES:
        told.report(told.path, f"has more than {MOST_RULES} rules", "keep those that matter")
        return None
    if value and not is_installed():
        told.report(told.path, "the language of the expressions is not installed", INSTALL)
        return None
    found: list[Written] = []
    for index, raw in enumerate(value):
        written = _Entry(raw, told._replace(path=f"{told.path}[{index}]")).read(found)
        if written is not None:
            found.append(written)
    return custom_of(found)


def custom_of(written: Sequence[Written]) -> Custom:
    """Put rules together with what they ask of a case."""
    words = {
        word
        for one in written
        for each in one.expressions
        if "resource.tags" in each.parts.facts
        for word in each.parts.words
    }
    asked = frozenset(path for one in written for path in one.facts)
    rules = tuple(rule_of(one) for one in written)
    return Custom(rules, tuple(sorted(words - {""})), asked) if rules else NO_CUSTOM


class _Entry:
    """Reads one entry."""

    def __init__(self, raw: Any, told: Told) -> None:
        self.raw = raw
        self.told = told
        self.is_wrong = False

    def report(self, key: str, text: str, fix: str = "") -> None:
        self.is_wrong = True
        self.told.report(f"{self.told.path}.{key}" if key else self.told.path, text, fix)

    def read(self, others: Sequence[Written]) -> Written | None:
        if not isinstance(self.raw, Mapping):
            self.report("", "a rule is a mapping", f"it has {', '.join(NEEDED)} and an expression")
            return None
        texts = dict(self._texts())
        for key in NEEDED:
            if key not in self.raw:
                self.report(key, "is missing", TEXTS[key])
        self._check_names(texts, others)
        self._check_words(texts)
        compiled = self._expressions(texts)
        if self.is_wrong:
            return None
        return Written(
            code=texts["id"],
            name=texts["name"],
            severity=Severity(texts.get("severity", Severity.WARN.value)),
            waivable=Waivable(texts.get("waivable", Waivable.YES.value)),
            when=compiled.get("when"),
            holds=compiled["forbid" if "forbid" in compiled else "require"],
            is_forbidden="forbid" in compiled,
            message=texts["message"],
            fix=texts.get("fix", ""),
            why=texts.get("why", ""),
            since=texts.get("since", ""),
            page=texts.get("docs", PAGE),
        )

    def _texts(self) -> Iterator[tuple[str, str]]:
        for key, value in self.raw.items():
            if key not in TEXTS:
                self.report(
                    printable(str(key), LONGEST_KEY), "unknown key", guess(str(key), tuple(TEXTS))
                )
            elif key == "waivable" and isinstance(value, bool):
                yield key, "yes" if value else "no"
            elif key in ("require", "forbid", "when") and isinstance(value, bool):
                self.report(key, "takes an expression", "compare facts, as in `plan.gpus <= 8`")
            elif not isinstance(value, str) or not value.strip():
                self.report(key, "takes a text", "put it in quotes")
            else:
                yield key, value.strip()

    def _check_names(self, texts: Mapping[str, str], others: Sequence[Written]) -> None:
        from gpusize_policies.registry import find

        for key, form, meant in (("id", CODE, CODE_FORM), ("name", NAME, NAME_FORM)):
            word = texts.get(key)
            if word is None:
                continue
            if not form.fullmatch(word) or len(word) > LONGEST_WORD:
                self.report(key, "has not the form of one", meant)
            elif word in RESERVED or find(word) is not None:
                self.report(key, "is the product's", "take a word of your own")
            elif any(word in (one.code, one.name) for one in others):
                self.report(key, "is that of another rule of this file", "take another word")

    def _check_words(self, texts: Mapping[str, str]) -> None:
        for key, words in WORDS.items():
            if key in texts and texts[key] not in words:
                fix = did_you_mean(texts[key], words, most=1)
                self.report(key, f"takes one of {', '.join(words)}", fix)
        if "docs" in texts and not ADDRESS.fullmatch(texts["docs"]):
            self.report("docs", "takes an address", "https://…, at most 200 characters")
        for key in MESSAGES:
            self._check_message(key, texts.get(key, ""))

    def _check_message(self, key: str, text: str) -> None:
        if len(text) > LONGEST_MESSAGE:
            self.report(
                key, f"has more than {LONGEST_MESSAGE} characters", "leave the rest to docs"
            )
        for path in placeholders(text):
            fact = facts().get(path)
            if fact is None:
                shown = printable(path, LONGEST_KEY)
                self.report(key, f"there is no fact {shown}", closest(path))
            elif not fact.kind.is_shown:
                self.report(key, f"{path} is never shown", "leave it out")

    def _expressions(self, texts: Mapping[str, str]) -> dict[str, Expression]:
        given = [key for key in ("require", "forbid") if key in self.raw]
        if len(given) != 1:
            text = "has both require and forbid" if given else "has no expression"
            self.report("", text, "give one of require, forbid")
        found: dict[str, Expression] = {}
        for key in EXPRESSIONS:
            if key in texts:
                wrong = faults(texts[key])
                for fault in wrong:
                    self.report(key, fault.text, fault.fix)
                if not wrong:
                    found[key] = Expression(texts[key], parts_of(texts[key]))
        self._check_roots(found)
        return found

    def _check_roots(self, found: Mapping[str, Expression]) -> None:
        named = [one for each in found.values() for one in each.parts.facts]
        roots = {one.split(".", 1)[0] for one in named} - {"settings"}
        if "run" in roots and len(roots) > 1:
            others = ", ".join(sorted(roots - {"run"}))
            key = next(iter(found))
            self.report(key, f"asks for the run and for {others}", "make a rule of each")
        elif not roots and set(found) - {"when"}:
            self.report(next(iter(found)), "asks for no fact of the work", f"see {PAGE}")
