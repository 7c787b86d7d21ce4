"""Every rule, by code: an explicit list of modules, nothing is scanned."""

from __future__ import annotations

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


def find(word: str) -> Rule | None:
    """Return the rule of a code or name, whatever the case of its letters."""
    wanted = word.strip().lower()
    for item in RULES:
        if wanted in (item.code.lower(), item.name, f"{item.code}-{item.name}".lower()):
            return item
    return None


def suggest(word: str) -> tuple[str, ...]:
    """Return at most three codes or names that are spelt much alike."""
    from gpusize_catalog.spelling import close_words

    return close_words(word, [item.name for item in RULES] + [item.code for item in RULES])
