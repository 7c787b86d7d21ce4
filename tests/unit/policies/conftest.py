"""Options and fixtures of the tests of rules and command."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest

from gpusize_catalog.store import Catalog, load
from tests.resolutions import shared


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load()


@pytest.fixture
def today() -> datetime.date:
    return datetime.date(2026, 11, 30)


@pytest.fixture(autouse=True, scope="session")
def resolutions() -> Iterator[None]:
    """Resolve a workload once, however many machines of it are judged."""
    with shared():
        yield
