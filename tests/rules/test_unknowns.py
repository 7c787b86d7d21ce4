"""Cases of the rules on stacks with a property unknown: what is said stays, or is doubted once."""

from __future__ import annotations

import pytest

from bench.trees.unknowns import Change, changes, wrongs

STEP = 80
"""One of so many changes is tried here, all of them in `python -m bench unknowns`."""
CHANGES = tuple(changes())


@pytest.mark.parametrize("change", CHANGES[::STEP], ids=str)
def test_what_is_not_known_is_no_error_and_no_silence(change: Change) -> None:
    assert wrongs(change) == []


def test_every_case_on_a_stack_is_tried() -> None:
    assert len({change.example.code for change in CHANGES}) >= 15
    assert len(CHANGES) > STEP
