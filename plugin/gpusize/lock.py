"""`gpusize.lock`: decisions that stay when the catalog moves on.

One JSON file beside the program, one entry per workload, keys in a fixed order and a line each, so
that a change reads well in a review. An entry holds for the declaration it was made for; another
declaration is decided anew. A newer catalog changes no entry: `drift` only tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.placement import Layout
from gpusize.wording import counted, price
from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from gpusize.constraints.reason import Reason
    from gpusize.resolution import Resolution
    from gpusize.workload import Workload

VERSION = 1
"""Version of the file's form."""
MAX_BYTES = 1 << 25
"""A lock of as many workloads as a file of declarations can hold has less than this."""
MAX_TEXT = 512
MAX_COUNT = 1 << 20
DIGEST_DIGITS = 16
PRICE_CHANGE = 0.01
"""A price that moved by less of itself is not told."""
USD_DIGITS = 4
OVERLAY = "+"
"""What a catalog's digest has before that of its overlays."""
APART = ("tags", "waivers")
"""Fields of a declaration that decide nothing."""


class Entry(NamedTuple):
    """One kept decision."""

    declaration: str
    """Digest of the declaration it was made for."""
    instance_type: str
    nodes: int
    tp: int
    pp: int
    dp: int
    ep: int
    region: str
    market: str
    scaling: str
    usd_per_hour: float | None
    price_date: str
    catalog_version: str
    catalog_digest: str
    gpusize_version: str
    date: str
    cp: int = 1

    @property
    def layout(self) -> Layout:
        """Parallel sizes."""
        return Layout(self.tp, self.pp, self.dp, self.ep, self.cp)

    @property
    def pins(self) -> dict[str, object]:
        """Fields of a workload that the entry fixes."""
        from gpusize.workload import Market

        return {
            "instance_type": self.instance_type,
            "market": Market(self.market),
            "nodes_per_replica": self.nodes,
            **self.layout._asdict(),
        }

    def holds_for(self, workload: Workload) -> bool:
        """Whether it was made for this very declaration."""
        return self.declaration == digest_of(workload)

    def applied_to(self, workload: Workload) -> Workload:
        """The declaration with the kept decision as its pins; unchanged where it does not hold."""
        return workload.pinned(self.pins) if self.holds_for(workload) else workload


KEYS = {
    "declaration": "declaration",
    "instanceType": "instance_type",
    "nodes": "nodes",
    "tp": "tp",
    "pp": "pp",
    "dp": "dp",
    "ep": "ep",
    "region": "region",
    "market": "market",
    "scaling": "scaling",
    "usdPerHour": "usd_per_hour",
    "priceDate": "price_date",
    "catalogVersion": "catalog_version",
    "catalogDigest": "catalog_digest",
    "gpusizeVersion": "gpusize_version",
    "date": "date",
    "cp": "cp",
}
"""Keys of an entry in the file, in their order."""
OPTIONAL = {"cp": 1}
"""Keys that stand in the file where they differ from this: older files lack them."""
COUNTS = frozenset({"nodes", *Layout._fields})
PRICES = frozenset({"usd_per_hour"})


def digest_of(workload: Workload) -> str:
    """Short digest of what was declared, defaults left out."""
    import hashlib
    import json

    declared = workload.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=set(APART)
    )
    text = json.dumps(declared, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_DIGITS]


def entry_of(resolution: Resolution) -> Entry | None:
    """The decision of a resolution, to be kept; None where there is no plan."""
    plan = resolution.plan
    if plan is None:
        return None
    hourly = plan.cost.hourly
    return Entry(
        declaration=digest_of(resolution.workload),
        instance_type=plan.instance_type,
        nodes=plan.nodes,
        **plan.layout._asdict(),
        region=plan.region,
        market=plan.market.value,
        scaling=plan.scaling,
        usd_per_hour=None if hourly is None else round(hourly, USD_DIGITS),
        price_date=plan.cost.price_date,
        catalog_version=resolution.catalog_version,
        catalog_digest=resolution.catalog_digest,
        gpusize_version=resolution.gpusize_version,
        date=resolution.today.isoformat(),
    )


def render(entries: Mapping[str, Entry]) -> str:
    """The text of a lock file, workloads sorted by name."""
    import json

    decisions = {
        name: {
            key: value
            for key, value in ((key, getattr(entries[name], field)) for key, field in KEYS.items())
            if value != OPTIONAL.get(key)
        }
        for name in sorted(entries)
    }
    return (
        json.dumps({"version": VERSION, "decisions": decisions}, indent=2, ensure_ascii=False)
        + "\n"
    )


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep other writers of the file out while it is changed, where the system can."""
    import os

    try:
        import fcntl

        folder = os.open(os.path.realpath(path.parent), os.O_RDONLY)
    except (ImportError, OSError):  # a folder that is not there is told by who writes
        yield
        return
    try:
        with suppress(OSError):  # some network file systems know no locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):  # a child that was forked meanwhile must not hold on to it
            fcntl.flock(folder, fcntl.LOCK_UN)
        os.close(folder)


def read_lock(path: Path) -> dict[str, Entry]:
    """Read the kept decisions by workload; {} where there is no file.

    Raises `GpuSizeError` with every problem of the file.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise _refused(path, f"cannot be read: {why}") from None
    if len(raw) > MAX_BYTES:
        raise _refused(path, f"is larger than {MAX_BYTES} bytes")
    return parse(raw, str(path))


def parse(raw: bytes, file: str = "") -> dict[str, Entry]:
    """Read the text of a lock file; raises `GpuSizeError` with every problem."""
    import json

    try:
        data = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        problem = Problem("", "is not JSON", REMAKE, file, line, getattr(error, "colno", None))
        raise GpuSizeError([problem]) from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise GpuSizeError([Problem("version", f"is not {VERSION}", REMAKE, file)])
    decisions = data.get("decisions")
    if not isinstance(decisions, dict):
        raise GpuSizeError([Problem("decisions", "is not a mapping", REMAKE, file)])
    problems: list[Problem] = []
    entries = {}
    for name, fields in decisions.items():
        found = list(_entry_problems(f"decisions.{name[:MAX_TEXT]}", fields, file))
        problems += found
        if not found:
            known = {**OPTIONAL, **fields}
            entries[name] = Entry(**{field: known[key] for key, field in KEYS.items()})
    if problems:
        raise GpuSizeError(problems)
    return entries


REMAKE = "run `gpusize lock` to write it anew"


def _entry_problems(path: str, fields: Any, file: str) -> list[Problem]:
    if not isinstance(fields, dict):
        return [Problem(path, "is not a mapping", REMAKE, file)]
    found = [
        Problem(f"{path}.{str(key)[:MAX_TEXT]}", "is not a key of a decision", REMAKE, file)
        for key in fields
        if key not in KEYS
    ]
    for key, field in KEYS.items():
        if key not in fields:
            wrong = "" if key in OPTIONAL else "is missing"
        else:
            wrong = _wrong(field, fields[key])
        if wrong:
            found.append(Problem(f"{path}.{key}", wrong, REMAKE, file))
    return found


def _wrong(field: str, value: Any) -> str:
    if field in COUNTS:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return "" if whole and 0 < value <= MAX_COUNT else "is not a positive whole number"
    if field in PRICES:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "" if value is None or (number and value >= 0) else "is not a price"
    if field == "market":
        from gpusize.workload import Market

        known = [market.value for market in Market]
        return "" if value in known else f"is none of {', '.join(known)}"
    return "" if isinstance(value, str) and len(value) <= MAX_TEXT else "is not a short text"


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _refused(path: Path, message: str) -> GpuSizeError:
    return GpuSizeError([Problem("", message, REMAKE, str(path))])


def drift(resolution: Resolution, lock: object) -> list[Reason]:
    """How the decision of this catalog differs from the kept one.

    `resolution` is the declaration resolved afresh; `lock` is its entry, or all entries by name.
    """
    entry = lock.get(resolution.workload_name) if isinstance(lock, Mapping) else lock
    if not isinstance(entry, Entry):
        return []
    return list(_drift(resolution, entry))


def _drift(resolution: Resolution, entry: Entry) -> list[Reason]:
    if not entry.holds_for(resolution.workload):
        text = f"the declaration has changed since it was locked on {entry.date}"
        return [_told(text, {"lockedDate": entry.date})]
    now = entry_of(resolution)
    before, after = _catalogs(entry, resolution)
    since = f"locked {entry.date} with {before}"
    if now is None:
        text = f"{_what(entry)} is {since}; {after} has no plan"
        return [_told(text, {"lockedInstanceType": entry.instance_type})]
    if _decided(entry) != _decided(now):
        text = f"{_what(entry)} is {since}; {after} gives {_what(now)}"
        numbers: dict[str, int | float | str] = {
            "lockedInstanceType": entry.instance_type,
            "instanceType": now.instance_type,
        }
        return [_told(text, {**numbers, **_prices(entry, now)})]
    return _price_drift(entry, now, since)


def _catalogs(entry: Entry, resolution: Resolution) -> tuple[str, str]:
    """Name the kept catalog and this one apart: by date, and by digest where overlays differ."""
    before, after = f"catalog {entry.catalog_version}", f"catalog {resolution.catalog_version}"
    if before != after:
        return before, after
    if entry.catalog_digest == resolution.catalog_digest:
        return before, "the same catalog now"
    return (
        f"{before} ({entry.catalog_digest})",
        f"the same with other overlays ({resolution.catalog_digest})"
        if OVERLAY in entry.catalog_digest + resolution.catalog_digest
        else f"{after} ({resolution.catalog_digest})",
    )


def _price_drift(entry: Entry, now: Entry, since: str) -> list[Reason]:
    before, after = entry.usd_per_hour, now.usd_per_hour
    if before == after:
        return []
    if before and after is not None and abs(after / before - 1) < PRICE_CHANGE:
        return []
    was, now_is = price(before), price(after)
    text = f"the price of {entry.instance_type} was {was}, {since}; now {now_is}"
    return [_told(text, {"lockedInstanceType": entry.instance_type, **_prices(entry, now)})]


def _told(text: str, numbers: Mapping[str, int | float | str]) -> Reason:
    from gpusize.constraints.reason import Reason, Weight

    return Reason(
        "decision-drift",
        Weight.ADVICE,
        text,
        "run `gpusize lock` to take the new decision",
        numbers,
    )


def _decided(entry: Entry) -> tuple[object, ...]:
    return (entry.instance_type, entry.nodes, entry.layout, entry.market, entry.scaling)


def _what(entry: Entry) -> str:
    what = counted(entry.nodes, entry.instance_type)
    return f"{what} ({entry.layout}) {entry.market} at {price(entry.usd_per_hour)}"


def _prices(entry: Entry, now: Entry) -> dict[str, int | float | str]:
    found: dict[str, int | float | str] = {}
    if entry.usd_per_hour is not None:
        found["lockedUsdPerHour"] = entry.usd_per_hour
    if now.usd_per_hour is not None:
        found["usdPerHour"] = now.usd_per_hour
    return found
