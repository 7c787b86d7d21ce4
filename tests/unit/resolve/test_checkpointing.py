"""Bytes of a checkpoint and seconds to write it."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.checkpointing import checkpoint_of
from gpusize.explain_data import plan_data
from gpusize.placement import Layout, Placement
from gpusize.resolve import resolve
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.study import Study
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
RUN: dict[str, Any] = {
    "kind": "fine-tuning",
    "method": "full",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 2048,
    "recompute": "full",
    "sharding": "fsdp",
    "tokens": 10**8,
    "region": "us-east-1",
}
EIGHT = Layout(dp=8)


def trained(instance: str, layout: Layout = EIGHT, nodes: int = 1, **fields: Any) -> Any:
    found = CATALOG.instance(instance)
    gpu = CATALOG.gpu(found.gpu_id or "")
    place = Placement(found, gpu, nodes, layout, "us-east-1", Market.ON_DEMAND)
    return Candidate(Study(parse_workload({**RUN, **fields}), CATALOG, today=TODAY), place)


def test_a_full_checkpoint_is_weights_and_moments() -> None:
    """8.03e9 parameters of 16 bits, and two moments and a master copy of at most 32 bits."""
    size = checkpoint_of(trained("p5.48xlarge")).size
    assert 8.03e9 * 6 <= size <= 8.03e9 * 16


def test_an_adapter_is_small() -> None:
    full = checkpoint_of(trained("p5.48xlarge")).size
    lora = checkpoint_of(trained("p5.48xlarge", method="lora", adapter={"rank": 16})).size
    assert 0 < lora < full / 20


@pytest.mark.parametrize("location", ["s3", "fsx", "efs", "root-volume", "instance-store"])
def test_each_place_has_a_time(location: str) -> None:
    kept = {"intervalMinutes": 60, "location": location}
    one = trained("p5.48xlarge", checkpoints=kept, storage={"fsxGib": 4800})
    found = checkpoint_of(one)
    assert found.location == location
    assert 0 < found.span.low <= found.span.seconds <= found.span.high
    assert found.kept_bytes == 2 * found.size


def test_efs_takes_longer_than_eight_clients_of_s3() -> None:
    """500 MiB/s of one client of EFS, 0.42 GB/s of each of eight clients of S3."""
    times = [
        checkpoint_of(
            trained("p5.48xlarge", checkpoints={"intervalMinutes": 60, "location": place})
        ).seconds
        for place in ("s3", "efs")
    ]
    assert times[1] > 5 * times[0]


def test_shards_of_several_nodes_are_written_side_by_side() -> None:
    one = checkpoint_of(trained("p5.48xlarge"))
    two = checkpoint_of(trained("p5.48xlarge", Layout(dp=16), nodes=2))
    assert two.size == pytest.approx(one.size, rel=0.01)
    assert two.seconds == pytest.approx(one.seconds / 2, rel=0.01)


def test_what_is_not_known_is_said() -> None:
    kept = {"intervalMinutes": 60, "location": "fsx"}
    found = checkpoint_of(trained("p5.48xlarge", checkpoints=kept))
    assert found.seconds is None
    assert "storage.fsxGib" in found.unknown
    kept = {"intervalMinutes": 60, "location": "instance-store"}
    assert "no instance store" in checkpoint_of(trained("g5g.xlarge", checkpoints=kept)).unknown


def test_other_work_has_none() -> None:
    raw = {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-8B",
        "contextLength": 4096,
        "concurrency": 1,
        "region": "us-east-1",
    }
    found = resolve(parse_workload(raw), CATALOG, today=TODAY)
    assert plan_data(found.plan)["checkpoint"] is None


def test_checkpoints_on_the_root_volume_need_room() -> None:
    kept = {"intervalMinutes": 60, "location": "root-volume"}
    there = trained("p5.48xlarge", checkpoints=kept)
    away = trained("p5.48xlarge")
    more = there.disk.gib - away.disk.gib
    assert more == pytest.approx(1.1 * checkpoint_of(there).kept_bytes / 2**30, abs=1)
