"""The cases of the rules as data: what tests run and docs show."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from gpusize.documents import read
from gpusize.environments import Where
from gpusize.lock import Entry, digest_of
from gpusize.workload import Workload, parse_workload
from gpusize_catalog.problems import Problem
from gpusize_catalog.store import Catalog, load
from gpusize_policies.baseline import Baseline
from gpusize_policies.baseline import parse as parse_baseline
from gpusize_policies.case import Case, Decided
from gpusize_policies.finding import NO_NUMBERS, Finding, Number, Subject
from gpusize_policies.inputs import Context, Declaration, cases, together
from gpusize_policies.settings import DEFAULTS, Settings
from gpusize_policies.settings_file import parse
from gpusize_policies.waiving import Waiving
from tests.rules.stacks import findings_of

FOLDER = Path(__file__).with_name("cases")
TODAY = datetime.date(2026, 11, 30)
NAME = "chat"
LOCKED = "2026-05-01"
SOURCE = "gpusize.yaml"
"""File that examples with a baseline lie in."""
STACK = "dev"
"""Name of the stack, by which settings may choose an environment."""


class Example(NamedTuple):
    """One bad or good case of one rule."""

    code: str
    title: str
    verdict: str
    workload: dict[str, Any] | None = None
    workloads: dict[str, Any] | None = None
    """Several workloads of one run, by name, in place of one."""
    says: tuple[str, ...] = ()
    numbers: Mapping[str, Number] = NO_NUMBERS
    also: tuple[str, ...] = ()
    """Other rules that speak on it."""
    today: str = TODAY.isoformat()
    decided: dict[str, Any] | None = None
    lock: dict[str, Any] | None = None
    unknown: tuple[str, ...] = ()
    resources: dict[str, Any] | None = None
    """Machines of a stack that run it, as a Pulumi YAML program writes them."""
    missing: dict[str, str] | None = None
    """Message and fix where there is no declaration."""
    settings: dict[str, Any] | None = None
    """What `gpusize-policy.yaml` says."""
    baseline: list[dict[str, Any]] | None = None
    """Findings of a baseline."""
    overlay: dict[str, str] | None = None
    """Files of a catalog overlay by name."""

    def __str__(self) -> str:
        return f"{self.code} {self.title}"


def examples(code: str | None = None) -> list[Example]:
    """Every case, of one rule or of all."""
    files = sorted(FOLDER.glob(f"{code or 'GPU*'}.yml"))
    return [Example(file.stem, **raw) for file in files for raw in read(str(file)).data]


def findings(example: Example, catalog: Catalog) -> tuple[Finding, ...]:
    """Everything that the rules say on an example."""
    catalog, settings = catalog_of(example, catalog), settings_of(example)
    today = datetime.date.fromisoformat(example.today)
    workloads = declared_of(example)
    if example.resources is not None:
        return tuple(findings_of(workloads, example.resources, catalog, today, settings))
    baseline = baseline_of(example)
    context = Context(catalog, settings, today, use_lock=False, baseline=baseline)
    waiving = Waiving(context)
    if example.workloads is None:
        found = waiving.judge(case_of(example, catalog))
        left = (*waiving.of_settings(), *waiving.unused(), *waiving.outdated([SOURCE]))
        return (*found, *left)
    run = cases(
        {name: Declaration(parse_workload(one), Subject(name)) for name, one in workloads.items()},
        context,
    )
    alone = [finding for one in run for finding in waiving.judge(one)]
    return (*alone, *waiving.judge(together(run, context)))


def baseline_of(example: Example) -> Baseline:
    """Return the baseline of an example."""
    entries, problems = parse_baseline({"version": 1, "findings": example.baseline or []})
    assert not problems, problems
    return Baseline({one.key: one for one in entries})


def declared_of(example: Example) -> dict[str, Any]:
    """Return the workloads that stand in the file of an example, by name."""
    if example.workloads is not None:
        return example.workloads
    return {NAME: example.workload} if example.workload else {}


def settings_of(example: Example) -> Settings:
    """Read the settings of an example."""
    if example.settings is None:
        return DEFAULTS
    settings, problems = parse(example.settings, Path())
    assert not problems, problems
    return settings.at(Where(STACK))


def catalog_of(example: Example, catalog: Catalog) -> Catalog:
    """Return the catalog with the overlay of an example."""
    if example.overlay is None:
        return catalog
    with TemporaryDirectory() as folder:
        for name, text in example.overlay.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        return load([Path(folder)])


def case_of(example: Example, catalog: Catalog) -> Case:
    """Make the case that the rules judge."""
    workload = parse_workload(example.workload) if example.workload else None
    entry = _entry(example, workload)
    decided = _decided(example, catalog)
    if entry is not None and workload is not None and entry.holds_for(workload):
        decided = Decided(entry.pins)
    return Case(
        NAME,
        workload,
        catalog=catalog,
        today=datetime.date.fromisoformat(example.today),
        settings=settings_of(example),
        decided=decided,
        lock=entry,
        unknown=tuple(example.unknown),
        missing=Problem("", **example.missing) if example.missing else None,
    )


def _decided(example: Example, catalog: Catalog) -> Decided | None:
    if example.decided is None:
        return None
    decided = Decided(**example.decided)
    same = decided.catalog_digest == "SAME"
    return decided._replace(catalog_digest=catalog.digest) if same else decided


def _entry(example: Example, workload: Workload | None) -> Entry | None:
    if example.lock is None or workload is None:
        return None
    fields: dict[str, Any] = {
        "declaration": digest_of(workload),
        "nodes": 1,
        "tp": 1,
        "pp": 1,
        "dp": 1,
        "ep": 1,
        "region": workload.region,
        "market": "on-demand",
        "scaling": "fixed",
        "usd_per_hour": None,
        "price_date": LOCKED,
        "catalog_version": LOCKED,
        "catalog_digest": "0123456789ab",
        "gpusize_version": "0.1.0",
        "date": LOCKED,
    }
    return Entry(**{**fields, **example.lock})
