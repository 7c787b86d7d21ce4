"""Mappings and lists as the SDK hands them to a policy: they raise on what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpusize_policies.reading import SENTINELS


class UnknownValueError(Exception):
    """Stands for the error of that name in pulumi-policy, which is not needed here."""


class Proxy(Mapping[str, Any]):
    """A mapping that is no dict and raises on unknown values, as the SDK's is."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._target = target

    def __getitem__(self, key: str) -> Any:
        return _proxied(self._target[key])

    def __len__(self) -> int:
        return len(self._target)

    def __iter__(self) -> Iterator[str]:
        return iter(self._target)


class ListProxy(Sequence[Any]):
    def __init__(self, target: list[Any]) -> None:
        self._target = target

    def __getitem__(self, index: Any) -> Any:
        return _proxied(self._target[index])

    def __len__(self) -> int:
        return len(self._target)


def _proxied(value: Any) -> Any:
    if isinstance(value, str) and value in SENTINELS:
        raise UnknownValueError
    if isinstance(value, dict):
        return Proxy(value)
    return ListProxy(value) if isinstance(value, list) else value
