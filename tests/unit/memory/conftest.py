from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpusize.architecture import architecture_of
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit
from gpusize.placement import Layout, Placement
from gpusize.workload import Inference, Market, parse_workload
from gpusize_catalog.facts import EngineFacts, FormatFacts
from gpusize_catalog.store import Catalog, load


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load()


@pytest.fixture(scope="session")
def engine(catalog: Catalog) -> Callable[[str, str], EngineFacts]:
    """The row of an engine's version."""
    from gpusize.memory.runtime import engine_row

    def find(name: str, version: str) -> EngineFacts:
        row = engine_row(catalog, name, version)
        assert row is not None
        return row

    return find


@pytest.fixture(scope="session")
def form(catalog: Catalog) -> Callable[[str], FormatFacts]:
    """A format by its id."""

    def find(word: str) -> FormatFacts:
        row = catalog.format(word)
        assert row is not None
        return row

    return find


@pytest.fixture(scope="session")
def place(catalog: Catalog) -> Callable[..., Placement]:
    """A placement on one instance type, by default with tp over the given GPUs."""

    def build(instance_type: str, **sizes: int) -> Placement:
        instance = catalog.instance(instance_type)
        gpu = catalog.gpu(instance.gpu_id or "")
        return Placement(instance, gpu, 1, Layout(**sizes), "us-east-1", Market.ON_DEMAND)

    return build


@pytest.fixture(scope="session")
def declare() -> Callable[..., Inference]:
    """A serving workload; keys as in a file."""

    def build(model: Any, context: int = 8192, **more: Any) -> Inference:
        raw = {
            "kind": "serving",
            "model": model,
            "region": "us-east-1",
            "contextLength": context,
            **more,
        }
        workload = parse_workload(raw)
        assert isinstance(workload, Inference)
        return workload

    return build


@pytest.fixture(scope="session")
def sized(
    catalog: Catalog, declare: Callable[..., Inference], place: Callable[..., Placement]
) -> Callable[..., Fit]:
    """The fit of a model on an instance type."""

    def run(
        model: Any, instance_type: str, context: int = 8192, layout: Any = None, **more: Any
    ) -> Fit:
        workload = declare(model, context, **more)
        placement = place(instance_type, **(layout or {}))
        architecture = architecture_of(workload.model, catalog)
        return fit(workload, placement, catalog, architecture)

    return run
