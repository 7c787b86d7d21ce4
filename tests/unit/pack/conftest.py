"""What the tests of the pack share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.resolutions import shared


@pytest.fixture(autouse=True, scope="session")
def resolutions() -> Iterator[None]:
    """Resolve a workload once, however many machines of it are judged."""
    with shared():
        yield
