"""Sizes and amounts as people read them."""

from __future__ import annotations

import pytest

from gpusize_catalog.units import GIB, figure, gib, usd


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(0, "0.0 GiB"), (12.345 * GIB, "12.3 GiB"), (-GIB, "-1.0 GiB")]
)
def test_gib(n_bytes: float, text: str) -> None:
    assert gib(n_bytes) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (1.234, "$1.23"),
        (-1.5, "-$1.50"),
        (12345.678, "$12,345.68"),
        (0.005, "$0.005"),
        (0.00099, "$0.00099"),
        (-0.001, "-$0.001"),
        (0.000001, "$0.000001"),
        (1e-12, "$0.00"),
    ],
)
def test_usd(amount: float, text: str) -> None:
    assert usd(amount) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0"),
        (0.2504, 3, "0.25"),
        (41.66, 3, "41.7"),
        (999.6, 3, "1,000"),
        (1507.3, 3, "1,507"),
        (150.2, 2, "150"),
        (383.24, 4, "383.2"),
        (2231.4, 4, "2231"),
        (1_000_000.0, 6, "1,000,000"),
        (1e18, 3, "1e+18"),
    ],
)
def test_figure(value: float, digits: int, text: str) -> None:
    assert figure(value, digits) == text
