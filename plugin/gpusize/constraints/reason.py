"""Why a plan is impossible or poor: what constraints return, the resolver and the rules read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

Number = int | float | str


class Weight(str, Enum):
    """How much a reason weighs: the default severity of the rule that wraps it."""

    ERROR = "error"
    WARN = "warn"
    ADVICE = "advice"


NO_NUMBERS: Mapping[str, Number] = MappingProxyType({})


class Reason(NamedTuple):
    """One statement about one candidate, in numbers.

    `name` is the kebab name of the constraint and of the rule that wraps it. `text` is one sentence
    with units; `numbers` are the same values for machines, camelCase keys with the unit in the key.
    """

    name: str
    weight: Weight
    text: str
    fix: str = ""
    numbers: Mapping[str, Number] = NO_NUMBERS
