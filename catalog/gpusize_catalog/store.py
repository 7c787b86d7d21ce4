"""The catalog: load, look up, overlay, "did you mean"; nothing else opens catalog files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from gpusize_catalog import engine_tables as e
from gpusize_catalog import tables as t
from gpusize_catalog.facts import (
    BillingTerms,
    DiffusionComponent,
    DiffusionTrainerFacts,
    EngineFacts,
    FormatFacts,
    Gpu,
    InstanceType,
    KernelSupport,
    ModelAlias,
    ModelFacts,
    NameSuffix,
    Offering,
    Price,
    PriceChange,
    PriceType,
    Region,
    Republisher,
    SpeedFacts,
    StoragePrice,
    TrainerFacts,
    UltraServer,
)
from gpusize_catalog.problems import GpuSizeError, Problem, shown
from gpusize_catalog.rows import DATA, Groups, cells, shipped_groups
from gpusize_catalog.table import Table

Row = TypeVar("Row")

EVERYWHERE = "*"


def load(overlays: Sequence[Path] = ()) -> Catalog:
    """Return the shipped catalog with overlay folders laid over it, later ones on top.

    Raises `GpuSizeError` with every problem of every overlay: file, line, column.
    """
    digest, version = _stamp()
    if not overlays:
        return Catalog({}, digest, version)
    from gpusize_catalog.overlay import lay_over

    merged, overlay_digest, own = lay_over([Path(folder) for folder in overlays])
    return Catalog(merged, f"{digest}+{overlay_digest}", version, own)


def _stamp() -> tuple[str, str]:
    """Return the shipped data's digest and newest date, which `gpusize_catalog.digest` wrote."""
    digest, version = (DATA / "DIGEST").read_text(encoding="ascii").split()
    return digest, version


class Catalog:
    """Facts by id; immutable, and lazy: a table is read when it is first asked for."""

    def __init__(
        self,
        merged: Mapping[str, Groups],
        digest: str,
        version: str,
        own: frozenset[tuple[str, ...]] = frozenset(),
    ) -> None:
        """Take the tables that overlays changed; the others come from the shipped files.

        `own` has the rows of overlays: the name of the table, then the key.
        """
        self._own = own
        self.digest = digest
        """Short hex digest of all data; a `+` and another one where overlays are in force."""
        self.version = version
        """Newest date in the shipped data."""
        self._groups: dict[str, Groups] = dict(merged)
        self._rows: dict[tuple[str, str], tuple[object, ...]] = {}
        self._all: dict[str, tuple[object, ...]] = {}
        self._prices: dict[str, dict[tuple[str, PriceType], tuple[Price, ...]]] = {}
        self._offerings: dict[str, Mapping[str, Offering]] = {}
        self._matches: dict[str, tuple[ModelFacts, str] | None] = {}
        self._lowered: dict[str, str] = {}
        self._last_parts: dict[str, list[str]] = {}

    def without_prices(self) -> Catalog:
        """Return the same catalog without any price: for what is bought elsewhere than from EC2."""
        tables = (t.PRICES, t.PRICE_CHANGES, t.STORAGE_NETWORK_PRICES)
        bare: dict[str, Groups] = {table.name: {} for table in tables}
        return Catalog({**self._groups, **bare}, self.digest, self.version, self._own)

    @property
    def has_prices(self) -> bool:
        """Whether it holds any price of instances at all."""
        return bool(self._lines(t.PRICES))

    # GPUs and instance types

    def gpu(self, gpu_id: str) -> Gpu:
        """Return a GPU; GpuSizeError with "did you mean" when unknown."""
        return self._one(t.GPUS, gpu_id, "GPU")

    def gpus(self) -> tuple[Gpu, ...]:
        """Return every accelerator model, on EC2 or not."""
        return self._every(t.GPUS)

    def instance(self, instance_id: str) -> InstanceType:
        """Return an instance type; GpuSizeError with "did you mean" when unknown."""
        return self._one(t.INSTANCES, instance_id, "instance type")

    def find_instance(self, instance_id: str) -> InstanceType | None:
        """Return an instance type, or None."""
        rows = self._group(t.INSTANCES, instance_id)
        return rows[0] if rows else None

    def instances(self) -> tuple[InstanceType, ...]:
        """Return every accelerated instance type, retired ones and non-CUDA ones too."""
        return self._every(t.INSTANCES)

    def ultraservers(self) -> tuple[UltraServer, ...]:
        """Return the UltraServers, which prices name beside instance types."""
        return self._every(t.ULTRASERVERS)

    # Regions, offerings, prices

    def regions(self) -> tuple[str, ...]:
        """Return the codes of all known regions."""
        return tuple(self._lines(t.REGIONS))

    def region(self, code: str) -> Region | None:
        """Return how a region's offerings are known, or None for an unknown region."""
        rows = self._group(t.REGIONS, code)
        return rows[0] if rows else None

    def offerings(self, region: str) -> Mapping[str, Offering]:
        """Return the offerings of a region by instance type."""
        known = self._offerings.get(region)
        if known is None:
            rows = self._group(t.OFFERINGS, region)
            known = MappingProxyType({row.instance_type: row for row in rows})
            self._offerings[region] = known
        return known

    def offering(self, instance_type: str, region: str) -> Offering | None:
        """Return the offering of a type in a region; None: no row, see `region().coverage`."""
        return self.offerings(region).get(instance_type)

    def regions_of(self, instance_type: str) -> tuple[str, ...]:
        """Return the regions that offer a type, in order."""
        regions = self._lines(t.OFFERINGS)
        return tuple(region for region in regions if instance_type in self.offerings(region))

    def prices(self, instance_type: str, region: str, price_type: PriceType) -> tuple[Price, ...]:
        """Return the prices of a type in a region, newest first.

        Rows of price pages that group regions are among them, after rows of the same date that
        name the region (`Price.is_grouped`). Which one counts on a day says `prices.in_force`.
        """
        known = self._prices.get(region)
        if known is None:
            known = self._prices[region] = self._prices_of(region)
        return known.get((instance_type, price_type), ())

    def _prices_of(self, region: str) -> dict[tuple[str, PriceType], tuple[Price, ...]]:
        """Index one region's prices by type and price type."""
        rows: list[Price] = list(self._group(t.PRICES, region))
        for group in self._lines(t.PRICES):
            if EVERYWHERE in group and covers(group, region):
                rows += self._group(t.PRICES, group)
        found: dict[tuple[str, PriceType], list[Price]] = {}
        for row in rows:
            found.setdefault((row.instance_type, row.price_type), []).append(row)
        return {
            key: tuple(sorted(prices, key=_date_of, reverse=True)) for key, prices in found.items()
        }

    def newest_price(self) -> str:
        """Return the date of the newest price of all regions, '' where there is none."""
        # Dates are read off the lines: no other question needs the rows of all regions.
        at = t.PRICES.columns.index("date")
        lines = (line for group in self._lines(t.PRICES).values() for line in group)
        return max((line.split(",", at + 1)[at] for line in lines), default="")

    def newest_price_change(self, day: str) -> PriceChange | None:
        """Return the last change of a list price up to a day."""
        changes = (row for row in self._every(t.PRICE_CHANGES) if row.date <= day)
        return max(changes, key=lambda row: (row.date, row.instance_type), default=None)

    def price_changes(self, instance_type: str) -> tuple[PriceChange, ...]:
        """Return the changes of the us-east-1 on-demand list price, oldest first."""
        return self._group(t.PRICE_CHANGES, instance_type)

    def billing(self, option: str) -> BillingTerms | None:
        """Return the terms of a purchase option (`on-demand`, `spot`, `capacity-block`, …)."""
        rows = self._group(t.BILLING, option)
        return rows[0] if rows else None

    def billing_terms(self) -> tuple[BillingTerms, ...]:
        """Return the terms of every purchase option."""
        return self._every(t.BILLING)

    def is_own(self, price: Price | StoragePrice) -> bool:
        """Whether a price comes from an overlay."""
        if not self._own:
            return False
        table: Table[Any] = t.PRICES if isinstance(price, Price) else t.STORAGE_NETWORK_PRICES
        values = (getattr(price, column) for column in table.key)
        key = (value.value if isinstance(value, PriceType) else value for value in values)
        return (table.name, *key) in self._own

    @property
    def overlaid(self) -> frozenset[tuple[str, ...]]:
        """The rows that overlays hold: of each the name of its table, then its key."""
        return self._own

    def cells(self, table: Table[Any], key: tuple[str, ...]) -> dict[str, str] | None:
        """Return the cells of a row as they are written, by column; None where there is none."""
        for row in cells(self._lines(table).get(key[0], ())):
            found = dict(zip(table.columns, row, strict=True))
            if tuple(found[column] for column in table.key) == key:
                return found
        return None

    def storage_price(self, item: str, region: str, day: str) -> StoragePrice | None:
        """Return the price of a storage or transfer item in a region on a day, or None."""
        from gpusize_catalog.prices import known_on

        rows = self._group(t.STORAGE_NETWORK_PRICES, item)
        there = known_on([row for row in rows if row.region in (region, EVERYWHERE)], day)
        return max(there, key=lambda row: (self.is_own(row), row.date), default=None)

    # Models

    def model(self, name: str) -> ModelFacts:
        """Return a model by id, alias or twin; GpuSizeError with "did you mean" when unknown."""
        return self.model_match(name)[0]

    def model_match(self, name: str) -> tuple[ModelFacts, str]:
        """Return a model and what was assumed to find it; empty where the id was given."""
        match = self._match(name)
        if match is None:
            raise self._unknown(t.MODELS, name, "model")
        return match

    def find_model(self, name: str) -> ModelFacts | None:
        """Return a model by id, alias or twin, whatever the case of letters, or None."""
        match = self._match(name)
        return match[0] if match else None

    def models(self) -> tuple[ModelFacts, ...]:
        """Return every model architecture."""
        return self._every(t.MODELS)

    def aliases(self) -> tuple[ModelAlias, ...]:
        """Return every hub name that shares a catalogued architecture."""
        return self._every(t.MODEL_ALIASES)

    def components(self, model: str) -> tuple[DiffusionComponent, ...]:
        """Return the components of a diffusion pipeline; empty when unknown."""
        return self._group(t.DIFFUSION_COMPONENTS, model)

    def pipelines(self) -> tuple[str, ...]:
        """Return the ids of all diffusion pipelines."""
        return tuple(self._lines(t.DIFFUSION_COMPONENTS))

    def pipeline_id(self, name: str) -> str | None:
        """Return the id of a pipeline by id, or by its last part alone, in any case, or None."""
        folded = name.lower()
        known = self.pipelines()
        if name in known:
            return name
        whole = [one for one in known if one.lower() == folded]
        last = [one for one in known if one.rpartition("/")[2].lower() == folded]
        found = whole or last
        return found[0] if len(found) == 1 else None

    def _match(self, name: str) -> tuple[ModelFacts, str] | None:
        """Find a model once per spelling."""
        if name not in self._matches:
            from gpusize_catalog.naming import match

            self._matches[name] = match(name, self)
        return self._matches[name]

    def exact_model(self, name: str) -> tuple[ModelFacts, str] | None:
        """Find an id or alias, whatever the case of letters, without guessing."""
        ids = self._lines(t.MODELS)
        if name in ids:
            return self._group(t.MODELS, name)[0], ""
        known = self._names().get(name.lower())
        if known is None:
            return None
        if known in ids:
            return self._group(t.MODELS, known)[0], f"taken as {known}"
        alias = self._group(t.MODEL_ALIASES, known)[0]
        facts = self._group(t.MODELS, alias.model_id)[0]
        facts = facts._replace(
            max_position=alias.max_position or facts.max_position,
            native_format=alias.native_format or facts.native_format,
        )
        return facts, f"architecture of {alias.model_id}: {alias.note}"

    def suffixes(self) -> tuple[NameSuffix, ...]:
        """Return the endings of hub names that leave the architecture alone."""
        return self._every(t.MODEL_SUFFIXES)

    def republishers(self) -> tuple[Republisher, ...]:
        """Return the owners that publish copies of others' models under their names."""
        return self._every(t.REPUBLISHERS)

    def model_under_any_owner(self, last: str) -> tuple[ModelFacts, str] | None:
        """Find an id or alias by what follows its owner; None where several models have it."""
        if not self._last_parts:
            for name in self._names():
                self._last_parts.setdefault(name.rpartition("/")[2], []).append(name)
        found = [self.exact_model(name) for name in self._last_parts.get(last.lower(), ())]
        whole = [one for one in found if one is not None]
        return whole[0] if len({one[0].id for one in whole}) == 1 else None

    def _names(self) -> dict[str, str]:
        """Return ids and aliases by their lower-case form; an id wins over an alias."""
        if not self._lowered:
            for table in (t.MODEL_ALIASES, t.MODELS):
                self._lowered.update((name.lower(), name) for name in self._lines(table))
        return self._lowered

    # Engines

    def engine_names(self) -> tuple[str, ...]:
        """Return the names of known engines."""
        return tuple(self._lines(e.ENGINES))

    def engines(self, name: str) -> tuple[EngineFacts, ...]:
        """Return an engine's constants by version range; empty when unknown."""
        return self._group(e.ENGINES, name)

    def speeds(self, engine: str) -> tuple[SpeedFacts, ...]:
        """Return how near an engine comes to the peaks, by width of weights; empty: not known."""
        return self._group(e.SPEEDS, engine)

    def trainer_names(self) -> tuple[str, ...]:
        """Return the names of known trainers."""
        return tuple(self._lines(e.TRAINERS))

    def trainers(self, name: str) -> tuple[TrainerFacts, ...]:
        """Return a trainer's constants by version range; empty when unknown."""
        return self._group(e.TRAINERS, name)

    def diffusion_trainer_names(self) -> tuple[str, ...]:
        """Return the names of known trainers of diffusion pipelines."""
        return tuple(self._lines(e.DIFFUSION_TRAINERS))

    def diffusion_trainer(self, name: str) -> DiffusionTrainerFacts | None:
        """Return the constants of a trainer of diffusion pipelines, or None."""
        rows: tuple[DiffusionTrainerFacts, ...] = self._group(e.DIFFUSION_TRAINERS, name)
        return rows[0] if rows else None

    def kernels(self, format_id: str, engine: str) -> tuple[KernelSupport, ...]:
        """Return what is known of a format on an engine; empty: nothing."""
        rows = self._group(e.KERNELS, format_id)
        return tuple(row for row in rows if row.engine == engine)

    def formats(self) -> tuple[FormatFacts, ...]:
        """Return every weights format."""
        return self._every(e.FORMATS)

    def format(self, format_id: str) -> FormatFacts | None:
        """Return a weights format, or None."""
        rows = self._group(e.FORMATS, format_id)
        return rows[0] if rows else None

    # Finding

    def suggest(self, table: str, word: str) -> tuple[str, ...]:
        """Return at most three ids of a table that look like a word: "did you mean"."""
        from gpusize_catalog.spelling import close_words

        return close_words(word, self._known(table))

    def search(self, words: str) -> list[tuple[str, str, str]]:
        """Return (table, id, one-line summary) of every row that holds all the words."""
        from gpusize_catalog.finding import search

        return search(self, words)

    def _known(self, table: str) -> Iterable[str]:
        """Return the ids that a user may write for a table."""
        names = list(self._lines(t.TABLES[table]))
        if table == t.MODELS.name:
            names += self._lines(t.MODEL_ALIASES)
        if table in (t.MODELS.name, t.DIFFUSION_COMPONENTS.name):
            pipelines = self.pipelines()
            names += [*pipelines, *(one.rpartition("/")[2] for one in pipelines)]
        return names

    # Rows

    def _lines(self, table: Table[Any]) -> Groups:
        """Return a table's raw lines by first cell."""
        groups = self._groups.get(table.name)
        if groups is None:
            groups = self._groups[table.name] = shipped_groups(table.name)
        return groups

    def _group(self, table: Table[Row], first: str) -> tuple[Row, ...]:
        """Return the typed rows with one first cell."""
        known = self._rows.get((table.name, first))
        if known is None:
            lines = self._lines(table).get(first, ())
            known = self._rows[table.name, first] = tuple(map(table.row, cells(lines)))
        return known  # type: ignore[return-value]  # one table has one row type

    def _every(self, table: Table[Row]) -> tuple[Row, ...]:
        """Return every typed row of a table."""
        known = self._all.get(table.name)
        if known is None:
            rows = (row for first in self._lines(table) for row in self._group(table, first))
            known = self._all[table.name] = tuple(rows)
        return known  # type: ignore[return-value]  # one table has one row type

    def _one(self, table: Table[Row], row_id: str, what: str) -> Row:
        """Return the row with an id."""
        rows = self._group(table, row_id)
        if not rows:
            raise self._unknown(table, row_id, what)
        return rows[0]

    def _unknown(self, table: Table[Any], word: str, what: str) -> GpuSizeError:
        """Tell that an id is not in the catalog, and what it may have meant."""
        close = self.suggest(table.name, word)
        fix = f"did you mean {' or '.join(close)}?" if close else f"add it to {table.name}.csv"
        return GpuSizeError([Problem("", f"unknown {what} {shown(word)}", fix)])


def covers(patterns: str, region: str) -> bool:
    """Whether region patterns (`us-*`, `* !us-west-1`) hold for a region.

    A word with `*` holds for what begins like it, one with `!` takes a region out again.
    """
    words = patterns.split()
    if f"!{region}" in words:
        return False
    return any(region.startswith(word[:-1]) for word in words if word.endswith(EVERYWHERE))


def _date_of(price: Price) -> str:
    return price.date
