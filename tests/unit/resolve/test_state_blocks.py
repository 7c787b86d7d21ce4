"""Recurrent state against the sequences that an engine runs at once."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.constraints import CONSTRAINTS
from gpusize.constraints.reason import Weight

HYBRID = {"model": "Qwen/Qwen3.6-27B", "contextLength": 24576, "concurrency": 8}
LOGGED = (630, 635, 652)
"""Blocks that vLLM reported for this model in 16 bits on one RTX PRO 6000 at its defaults."""


def said(candidate: Any) -> list[Any]:
    return list(CONSTRAINTS["recurrent-state-exceeds-vram"](candidate))


def test_the_default_is_more_than_there_are_blocks(placed: Any) -> None:
    (reason,) = said(placed("g7e.2xlarge", **HYBRID))
    assert reason.weight is Weight.ERROR
    assert reason.numbers["sequences"] == 1024
    assert reason.numbers["blocks"] == pytest.approx(sum(LOGGED) / len(LOGGED), rel=0.05)
    assert reason.fix == "engine: {maxSequences: 512}"


def test_the_number_that_it_names_is_accepted(placed: Any) -> None:
    engine = {"name": "vllm", "maxSequences": 512}
    assert said(placed("g7e.2xlarge", engine=engine, **HYBRID)) == []


@pytest.mark.parametrize(
    "engine",
    [
        {"name": "vllm", "eager": True},
        {"name": "vllm", "version": "0.15.0"},
        {"name": "vllm", "version": "0.19.0"},
        {"name": "sglang"},
    ],
)
def test_engines_that_do_not_ask_are_not_blamed(placed: Any, engine: dict[str, Any]) -> None:
    assert said(placed("g7e.2xlarge", engine=engine, **HYBRID)) == []


def test_models_without_state_have_no_blocks(placed: Any) -> None:
    engine = {"name": "vllm", "maxSequences": 4096}
    assert said(placed("g6e.xlarge", engine=engine)) == []
