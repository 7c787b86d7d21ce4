"""What holds for all rates, volumes and checkpoints."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.checkpointing import checkpoint_of
from gpusize.loading import Loading, loading_of
from gpusize.placement import Layout, Placement
from gpusize.rates import Rate, slowest, span
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
MODELS = ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-32B", "Qwen/Qwen2.5-72B")
"""By their size."""
TYPES = ("g4dn.xlarge", "g5.xlarge", "g6e.12xlarge", "p4d.24xlarge", "p5.48xlarge")
PLACES = st.sampled_from(["root-volume", "instance-store", "s3", "fsx", "hub"])
MBPS = st.integers(125, 2000)


@cache
def _catalog() -> Catalog:
    return load()


def _candidate(raw: dict[str, Any], instance: str, layout: Layout) -> Candidate:
    found = _catalog().instance(instance)
    gpu = _catalog().gpu(found.gpu_id or "")
    place = Placement(found, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    return Candidate(Study(parse_workload(raw), _catalog(), today=TODAY), place)


def _loading(model: str, instance: str, storage: dict[str, Any]) -> Loading:
    raw = {
        "kind": "serving",
        "model": model,
        "contextLength": 1024,
        "concurrency": 1,
        "region": "us-east-1",
        "storage": {"fsxGib": 2400, **storage},
    }
    return loading_of(_candidate(raw, instance, Layout()))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(TYPES), PLACES, MBPS, MBPS)
def test_more_throughput_never_loads_slower(
    instance: str, place: str, one: int, other: int
) -> None:
    slow, fast = (
        _loading(MODELS[1], instance, {"weights": place, "rootVolumeThroughputMbps": mbps}).span
        for mbps in sorted((one, other))
    )
    assert slow is not None and fast is not None
    assert fast.seconds <= slow.seconds
    assert fast.low <= slow.low
    assert fast.high <= slow.high


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(TYPES), PLACES, MBPS, st.sets(st.integers(0, 3), min_size=2, max_size=2))
def test_a_larger_model_never_loads_faster(
    instance: str, place: str, mbps: int, pair: set[int]
) -> None:
    storage = {"weights": place, "rootVolumeThroughputMbps": mbps}
    small, large = (_loading(MODELS[index], instance, storage).span for index in sorted(pair))
    assert small is not None and large is not None
    assert small.seconds < large.seconds
    assert small.high < large.high


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(MODELS[:3]),
    st.sampled_from([4, 16, 64]),
    st.sampled_from(["ddp", "zero-2", "fsdp"]),
    st.sampled_from(["adamw", "adamw-8bit"]),
)
def test_a_checkpoint_of_an_adapter_is_never_larger(
    model: str, rank: int, sharding: str, optimizer: str
) -> None:
    raw = {
        "kind": "fine-tuning",
        "model": model,
        "sequenceLength": 1024,
        "recompute": "full",
        "sharding": sharding,
        "optimizer": optimizer,
        "region": "us-east-1",
    }
    adapted = {**raw, "method": "lora", "adapter": {"rank": rank}}
    whole = checkpoint_of(_candidate({**raw, "method": "full"}, "p5.48xlarge", Layout(dp=8)))
    small = checkpoint_of(_candidate(adapted, "p5.48xlarge", Layout(dp=8)))
    assert whole is not None and small is not None
    assert 0 < small.size <= whole.size


RATES = st.floats(1e6, 1e11)


@given(st.lists(st.tuples(RATES, RATES, RATES), min_size=1, max_size=4), st.floats(1, 1e13))
def test_a_chain_is_as_slow_as_its_slowest(
    rates: list[tuple[float, float, float]], size: float
) -> None:
    links = [Rate(*sorted(three)[1:2], min(three), max(three), "") for three in rates]
    found = span(size, slowest(*links))
    assert found.low <= found.seconds <= found.high
    assert all(found.seconds >= span(size, link).seconds for link in links)
