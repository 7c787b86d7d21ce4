"""Options and fixtures of the tests of rules and command."""

from __future__ import annotations

import datetime

import pytest

from gpusize_catalog.store import Catalog, load


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load()


@pytest.fixture
def today() -> datetime.date:
    return datetime.date(2026, 11, 30)
