"""Options of the whole test run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Nothing is timed by a test: on a busy machine any example may be slow. On CI, which hypothesis
# notices by itself, the examples are the same in every run.
settings.register_profile(
    "quick",
    settings(),
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# What `make test` looks at: `--hypothesis-profile thorough`.
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=100)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let agreed outputs be written anew."""
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden anew"
    )
