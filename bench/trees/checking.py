"""What the policy pack promises on any stack, tried on one."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.trees.judging import Answer, by_proxies, by_wire
from bench.trees.making import Tree, make
from gpusize.tokens import COMPONENT

PARTLY = 0.3
"""Share of stacks that are judged with a part of them missing too."""
SHOWN = 3
"""Findings of a difference that are told."""


class Checked(NamedTuple):
    """What came of one stack."""

    digest: str
    """Equal where the same was said."""
    findings: int
    failures: tuple[str, ...]


def check(tree: Tree, random: Random) -> Checked:
    """Judge a stack as it is, in another order by the other way, and with a part of it missing.

    Nothing may be raised, swallowed or leaked; neither order nor way may change what is said.
    """
    try:
        ordered = sorted(tree.resources, key=lambda one: one.type != COMPONENT)
        tree = tree._replace(resources=tuple(ordered))
        first = by_wire(tree)
        mixed = random.sample(tree.resources, len(tree.resources))
        # A component comes before what it owns: a program cannot name it otherwise.
        mixed.sort(key=lambda one: one.type != COMPONENT)
        second = by_proxies(tree._replace(resources=tuple(mixed)))
        size = len(tree.resources)
        kept = random.sample(range(size), random.randint(0, size))
        partial = by_wire(tree, kept) if random.random() < PARTLY else first
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return Checked("", 0, (f"{type(error).__name__} at {where}: {error}",))
    failures = [failure for answer in (first, second, partial) for failure in _wrong(answer)]
    if first.said != second.said:
        lost, more = sorted(first.said - second.said), sorted(second.said - first.said)
        failures += [f"only in the first order: {one}" for one in lost[:SHOWN]]
        failures += [f"only in the second order: {one}" for one in more[:SHOWN]]
    said = repr(sorted(first.said)).encode("utf-8", "backslashreplace")
    return Checked(hashlib.sha256(said).hexdigest(), len(first.said), tuple(failures))


def check_seed(seed: int) -> Checked:
    """Make the stack of a number, and try it."""
    random = Random(seed)
    return check(make(random), random)


def _wrong(answer: Answer) -> list[str]:
    told = [f"swallowed: {one}" for one in answer.broken]
    return [*told, *(f"leaked: {one}" for one in answer.leaks)]
