"""Values that no file can hold but a program can: endless, bottomless, and with a voice."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.inputs import separate
from gpusize.workload import parse_workload
from gpusize_catalog.problems import GpuSizeError

CHAT: dict[str, Any] = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "region": "us-east-1",
}
CANARY = "CANARY-41"


class Loud:
    """Shows itself wherever it is shown."""

    def __repr__(self) -> str:
        raise AssertionError(CANARY)


def bottomless() -> list[Any]:
    """Return a list in a list, far beyond what recursion can follow."""
    found: list[Any] = []
    for _ in range(50_000):
        found = [found]
    return found


def cyclic() -> dict[str, Any]:
    """Return a mapping that holds itself."""
    found: dict[str, Any] = {}
    found["self"] = found
    return found


@pytest.mark.parametrize("field", ["kind", "modality", "model", "engine", "waivers", "tags", "tp"])
@pytest.mark.parametrize(
    "value", [range(10**12), bottomless(), cyclic(), Loud(), {"a": Loud()}, [Loud()], 10**400]
)
def test_it_is_a_problem_at_once(field: str, value: Any) -> None:
    given, told = separate({**CHAT, field: value}, lambda _: False)
    assert told == ()
    with pytest.raises(GpuSizeError) as caught:
        parse_workload(given.declaration)
    assert all(problem.path.startswith(field) for problem in caught.value.problems)
    assert CANARY not in str(caught.value)


def test_a_secret_is_found_as_deep_as_a_declaration_goes() -> None:
    secret = object()
    nested: Any = secret
    for _ in range(10):
        nested = [nested]
    given, (problem,) = separate({**CHAT, "tags": {"a": nested}}, lambda value: value is secret)
    assert problem.path == "tags.a" + "[0]" * 10
    assert CANARY not in str(given.declaration)
