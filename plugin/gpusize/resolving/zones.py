"""Zone ids: which of them are the usual ones, which need an opt-in."""

from __future__ import annotations

STANDARD_PARTS = 2
"""`use1-az4` is a standard zone, `use1-atl2-az1` a Local Zone."""


def is_local_zone(zone: str) -> bool:
    """Whether a zone is a Local Zone, which an account must opt into."""
    return not is_zone_id(zone) or len(zone.split("-")) > STANDARD_PARTS


def is_zone_id(zone: str) -> bool:
    """Whether it is an id (`use1-az4`), the same for all accounts, not a name (`us-east-1a`)."""
    return "-az" in zone


def standard_zones(zones: tuple[str, ...]) -> tuple[str, ...]:
    """The zones that every account has, sorted."""
    return tuple(sorted(zone for zone in zones if not is_local_zone(zone)))
