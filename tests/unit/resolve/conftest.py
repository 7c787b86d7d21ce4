from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.placement import Layout, Placement
from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.gpus import gpu_of
from gpusize.resolving.study import Study
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize.workload import Market, Workload, parse_workload
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
BASE: dict[str, Any] = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "region": "us-east-1",
    "contextLength": 8192,
    "concurrency": 16,
    "promptTokens": 1000,
    "outputTokens": 200,
}


ONE = Layout()


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load()


def declared(**fields: Any) -> Workload:
    """A workload of the base with other fields; None leaves a field out."""
    merged = {**BASE, **fields}
    return parse_workload({key: value for key, value in merged.items() if value is not None})


@pytest.fixture
def decide(catalog: Catalog) -> Any:
    """Resolve the base with other fields."""

    def make(**fields: Any) -> Resolution:
        return resolve(declared(**fields), catalog, today=TODAY, name="chat")

    return make


@pytest.fixture
def declare() -> Any:
    """Make a workload of the base with other fields."""
    return declared


@pytest.fixture
def placed(catalog: Catalog) -> Any:
    """Make a candidate: the workload's fields, and where it is placed."""

    def make(
        instance_type: str,
        *,
        layout: Layout = ONE,
        nodes: int = 1,
        market: str = "on-demand",
        settings: ResolveSettings = DEFAULTS,
        **fields: Any,
    ) -> Candidate:
        workload = declared(**fields)
        instance = catalog.instance(instance_type)
        study = Study(workload, catalog, today=TODAY, settings=settings)
        placement = Placement(
            instance,
            gpu_of(instance, catalog),
            nodes,
            layout,
            workload.region,
            Market(market),
            workload.zone,
            workload.capacity_reservation,
            study.ultraserver(instance, nodes),
        )
        return study.candidate(placement)

    return make
