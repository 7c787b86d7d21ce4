"""One name in two spellings."""

from __future__ import annotations

import pytest

from gpusize.names import path_to_camel, to_camel, to_snake

PAIRS = [("kv_cache_format", "kvCacheFormat"), ("tp", "tp"), ("p95", "p95")]


@pytest.mark.parametrize(("snake", "camel"), PAIRS)
def test_a_name_goes_there_and_back(snake: str, camel: str) -> None:
    assert to_camel(snake) == camel
    assert to_snake(camel) == snake


def test_what_is_camel_case_already_stays() -> None:
    assert to_camel("kvCacheFormat") == "kvCacheFormat"


def test_each_part_of_a_path_is_a_name() -> None:
    assert path_to_camel("workloads.chat.engine.memory_fraction") == (
        "workloads.chat.engine.memoryFraction"
    )
