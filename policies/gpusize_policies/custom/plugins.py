"""The key `rulePlugins` of the settings file: rules in Python, from packages that are installed.

A package offers them as an entry point of the group `gpusize.rules`; nothing is loaded that the
settings do not name. What is wrong with a plug-in is told, and the rules of the others hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpusize.settings_file import LONGEST_KEY, Told
from gpusize_catalog.problems import printable
from gpusize_catalog.spelling import did_you_mean
from gpusize_policies.custom.forms import (
    CODE,
    CODE_FORM,
    LONGEST_WORD,
    NAME,
    NAME_FORM,
    PAGE,
    RESERVED,
)
from gpusize_policies.rule import Rule
from gpusize_policies.settings import Custom

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "gpusize.rules"
MOST_PLUGINS = 20
"""Plug-ins of one file."""


def read_plugins(value: Any, told: Told, others: Sequence[Rule] = ()) -> Custom | None:
    """Load the plug-ins that are named; `others` are the rules that are there already."""
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        told.report(told.path, "takes a list of names of plug-ins", f"see {PAGE}")
        return None
    if len(value) > MOST_PLUGINS:
        told.report(told.path, f"has more than {MOST_PLUGINS} plug-ins", "")
        return None
    found: list[Rule] = []
    for index, name in enumerate(value):
        place = told._replace(path=f"{told.path}[{index}]")
        if name in value[:index]:
            place.report(place.path, "stands twice", "keep one")
            continue
        for rule in _rules_of(name, place):
            if _is_sound(rule, (*others, *found), place):
                found.append(rule if rule.page else rule._replace(page=PAGE))
    return Custom(tuple(found))


def _rules_of(name: str, told: Told) -> tuple[Rule, ...]:
    """Load one plug-in; what it raises may hold anything, and is told by its type alone."""
    offered = _offered()
    if name not in offered:
        fix = did_you_mean(name, tuple(offered), most=1) or _installed(offered)
        shown = printable(name, LONGEST_KEY)
        told.report(told.path, f"no package offers the plug-in {shown}", fix)
        return ()
    try:
        loaded = offered[name].load()
        rules = _gathered(loaded() if callable(loaded) and not isinstance(loaded, Rule) else loaded)
    except Exception as error:
        what = f"the plug-in cannot be loaded ({type(error).__name__})"
        told.report(told.path, what, "import it in Python to see why")
        return ()
    if not rules:
        told.report(told.path, "the plug-in has no rules", f"see {PAGE}")
    return rules


def _gathered(loaded: Any) -> tuple[Rule, ...]:
    """Take a rule, several, or those of a module."""
    if isinstance(loaded, Rule):
        return (loaded,)
    members = loaded if isinstance(loaded, (list, tuple, set, frozenset)) else vars(loaded).values()
    found = {one.code: one for one in members if isinstance(one, Rule)}
    return tuple(found[code] for code in sorted(found))


def _is_sound(rule: Rule, others: Iterable[Rule], told: Told) -> bool:
    from gpusize_policies.registry import find

    others = tuple(others)
    shown = printable(str(rule.code), LONGEST_KEY)
    if not isinstance(rule.code, str) or not CODE.fullmatch(rule.code):
        told.report(told.path, f"{shown} has not the form of a code", CODE_FORM)
    elif not NAME.fullmatch(rule.name) or len(rule.name) > LONGEST_WORD:
        told.report(told.path, f"the name of {shown} has not the form of one", NAME_FORM)
    elif rule.name in RESERVED or find(rule.name) is not None:
        told.report(told.path, f"the name of {shown} is the product's", "take another word")
    elif any(rule.code == one.code or rule.name == one.name for one in others):
        told.report(told.path, f"{shown} has the code or the name of another rule", "take another")
    else:
        return True
    return False


def _offered() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {one.name: one for one in entry_points(group=GROUP)}


def _installed(offered: dict[str, EntryPoint]) -> str:
    names = ", ".join(printable(one, LONGEST_KEY) for one in sorted(offered)[:MOST_PLUGINS])
    return f"installed are {names}" if names else "install it where gpusize runs"


def plugins_schema() -> dict[str, Any]:
    """Return the JSON Schema of the key."""
    return {
        "description": "Plug-ins whose rules hold: names of entry points of the group"
        f" `{GROUP}`; see custom-rules.md.",
        "type": "array",
        "maxItems": MOST_PLUGINS,
        "uniqueItems": True,
        "items": {"type": "string", "minLength": 1},
    }
