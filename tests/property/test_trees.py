"""What the policy pack promises on any stack of resources, under any settings."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.trees.checking import check
from bench.trees.judging import by_wire
from bench.trees.making import make
from gpusize_policies.reading import EXTRACTORS, PARTED, SURROUNDINGS

EXAMPLES = 25
STACKS = 6


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.randoms(use_true_random=False))
def test_nothing_is_raised_swallowed_or_leaked_and_no_order_matters(random: Random) -> None:
    assert check(make(random), random).failures == ()


def test_hashes_do_not_matter() -> None:
    told: list[Any] = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "bench.random_trees", "0", str(STACKS)]
        environ = {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        told.append(json.loads(done.stdout))
    assert told[0] == told[1]
    assert told[0]["findings"]


def test_every_type_is_made_and_something_is_said() -> None:
    trees = [make(Random(seed)) for seed in range(400)]
    kinds = {one.type for tree in trees for one in tree.resources}
    assert kinds >= {*EXTRACTORS, *PARTED, *SURROUNDINGS}
    assert sum(len(by_wire(tree).said) for tree in trees[:10])
