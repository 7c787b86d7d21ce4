"""Units: bytes inside, GiB and USD at the edges."""

from __future__ import annotations

KIB = 2**10
MIB = 2**20
GIB = 2**30
GB = 10**9
"""Decimal gigabyte: only where a vendor's label or a price list counts so."""

PERCENT = 100
"""Percent in a whole."""
MS = 1e3
"""Milliseconds in a second."""
HOUR = 3600
"""Seconds in an hour."""

TERA = 10**12
GIGA = 10**9
HOURS_PER_MONTH = 730
"""Hours that cloud price pages count in a month (8760 / 12)."""

SMALL_USD = 0.01
"""Below one cent an amount is shown with the digits that price lists print."""
USD_DIGITS = 8
"""Decimals of the smallest prices that lists print."""

ENDLESS = 10**15
"""From here on a figure is an order of magnitude."""


def gib(n_bytes: float) -> str:
    """Return a size for people: `12.3 GiB`."""
    return f"{n_bytes / GIB:.1f} GiB"


def usd(amount: float) -> str:
    """Return an amount for people: `$1.23`, `-$1.23`, `$1,234.50`, `$0.005`."""
    sign = "-" if amount < 0 else ""
    size = round(abs(amount), USD_DIGITS)
    if 0 < size < SMALL_USD:
        return f"{sign}${size:.{USD_DIGITS}f}".rstrip("0")
    return f"{sign}${size:,.2f}"


def figure(value: float, digits: int = 3) -> str:
    """Return a figure for people, with so many digits at least: `0.25`, `41.7`, `1,507`."""
    if 10**digits - 0.5 <= abs(value) < ENDLESS:  # else it would be written as a power of ten
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
