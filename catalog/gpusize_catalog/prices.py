"""Which of several dated prices counts: a team's own before shipped ones, the newest of its day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from gpusize_catalog.facts import Price

ANY_DAY = "9999-12-31"
"""No price is of a later day."""


class Dated(Protocol):
    """A price of any kind."""

    @property
    def date(self) -> str:
        """Day it was read or holds from, YYYY-MM-DD."""


Row = TypeVar("Row", bound=Dated)


def known_on(prices: Sequence[Row], day: str) -> list[Row]:
    """Return the prices that are not of a later day; where all are, the earliest."""
    known = [price for price in prices if price.date <= day]
    if known or not prices:
        return known
    first = min(price.date for price in prices)
    return [price for price in prices if price.date == first]


def in_force(
    prices: Sequence[Price], day: str, is_own: Callable[[Price], bool], zone: str | None = None
) -> list[Price]:
    """Return the price of a day, or those of several zones; `prices` are the newest first.

    A row of an overlay counts before shipped ones of its zone whatever its date, one without a zone
    before those of all zones. Of shipped rows the newest date counts: the one of `zone`, else all.
    """
    own: dict[str, Price] = {}
    shipped: list[Price] = []
    for price in known_on(prices, day):
        if is_own(price):
            own.setdefault(price.zone, price)
        else:
            shipped.append(price)
    for place in (zone, ""):
        if place is not None and place in own:
            return [own[place]]
    newest = [price for price in shipped if price.date == shipped[0].date]
    here = [price for price in newest if zone and price.zone == zone]
    return here or [*own.values(), *(price for price in newest if price.zone not in own)]
