"""Processes that the contract tests share: one plugin, one pack, started once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.processes import Plugin, plugin

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.contract)


@pytest.fixture(scope="session")
def environ() -> dict[str, str]:
    """Return the environment of a child; no stack of the outer world shines through."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")}
    return {**kept, "AWS_REGION": "", "AWS_DEFAULT_REGION": ""}


@pytest.fixture(scope="session")
def gpusize(environ, tmp_path_factory) -> Iterator[Plugin]:
    """Return the running plugin."""
    with plugin(tmp_path_factory.mktemp("program"), environ) as running:
        yield running
