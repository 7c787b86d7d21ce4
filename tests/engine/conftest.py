"""Fixtures of the engine tests: one engine and one home for all, a workshop for each test."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engine.harness import Workshop, require_engine, shared_environ

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def engine_environ(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment in which `pulumi` runs; in CI a missing engine is a failure."""
    engine, missing = require_engine()
    if engine is None:
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return shared_environ(engine, tmp_path_factory.mktemp("pulumi"))


@pytest.fixture
def workshop(engine_environ: Mapping[str, str], tmp_path: Path) -> Workshop:
    """Return a maker of programs, packs and plugins."""
    return Workshop(tmp_path, engine_environ)
