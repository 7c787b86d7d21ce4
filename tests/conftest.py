"""Options of the whole test run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Nothing is timed by a test: on a busy machine any example may be slow. On CI, which hypothesis
# notices by itself, the examples are the same in every run.
settings.register_profile(
    "untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let agreed outputs be written anew."""
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden anew"
    )
