"""Fixtures of the engine tests: one engine and one home for all, a workshop for each test."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engine.harness import Workshop, shared_environ
from tools.engine.find import Engine, find_engine

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Return the engine; in CI a missing one is a failure, elsewhere a reason to skip."""
    found = find_engine()
    if found is None:
        missing = "no Pulumi engine: run `make setup`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    return found


@pytest.fixture(scope="session")
def engine_environ(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment in which `pulumi` runs."""
    return shared_environ(engine, tmp_path_factory.mktemp("pulumi"))


@pytest.fixture
def workshop(engine_environ: Mapping[str, str], tmp_path: Path) -> Workshop:
    """Return a maker of programs, packs and plugins."""
    return Workshop(tmp_path, engine_environ)
