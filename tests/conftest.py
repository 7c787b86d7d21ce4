"""Options of the whole test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let agreed outputs be written anew."""
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden anew"
    )
