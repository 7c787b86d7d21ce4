"""Every rule, by code: an explicit list of modules, nothing is scanned."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from gpusize_policies.rule import Needs, Rule, Waivable, rule
from gpusize_policies.rules import (
    baseline,
    billing,
    budget,
    capacity,
    governance,
    memory,
    network,
    offerings,
    parallelism,
    picking,
    precision,
    speed,
    storage,
    team,
    waivers,
)

__all__ = ["RULES", "Needs", "Rule", "Waivable", "find", "rule", "suggest"]

MODULES: tuple[ModuleType, ...] = (
    memory,
    precision,
    parallelism,
    picking,
    speed,
    billing,
    capacity,
    network,
    offerings,
    governance,
    storage,
    waivers,
    baseline,
    team,
    budget,
)

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (item for module in MODULES for item in vars(module).values() if isinstance(item, Rule)),
        key=lambda item: item.code,
    )
)


def find(word: str, own: Sequence[Rule] = ()) -> Rule | None:
    """Return the rule of a code or name, whatever the case of its letters.

    `own` are the rules of the team.
    """
    wanted = word.strip().lower()
    for item in (*RULES, *own):
        if wanted in (item.code.lower(), item.name, f"{item.code}-{item.name}".lower()):
            return item
    return None


def suggest(word: str, own: Sequence[Rule] = ()) -> tuple[str, ...]:
    """Return at most three codes or names that are spelt much alike."""
    from gpusize_catalog.spelling import close_words

    rules = (*RULES, *own)
    return close_words(word, [item.name for item in rules] + [item.code for item in rules])
