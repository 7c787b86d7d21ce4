"""Seconds to load weights: published times lie in the band, limits decide, unknown is said."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.explain import to_text
from gpusize.loading import loading_of
from gpusize.volumes import least_gib

EIGHT = 16.06e9
"""Bytes of Llama-3.1-8B in 16 bits."""
PUBLISHED = 15e9
"""Bytes that the published times are of, as they say."""


def loaded(placed: Any, instance: str, **storage: Any) -> Any:
    return loading_of(placed(instance, storage=storage))


@pytest.mark.parametrize(
    ("storage", "measured"),
    [
        ({"weights": "root-volume", "rootVolumeThroughputMbps": 1000}, (14.34, 47.99)),
        ({"weights": "root-volume", "rootVolumeThroughputMbps": 2000}, (7.53, 47.0)),
        ({"weights": "s3"}, (4.88, 37.36)),
    ],
)
def test_published_times_lie_in_the_band(placed: Any, storage: Any, measured: Any) -> None:
    """Source: benchmarks of run-ai/runai-model-streamer on g5.12xlarge, best and worst loader; the
    second is of io2, of which the EBS bandwidth of the type lets as much through."""
    found = loaded(placed, "g5.12xlarge", **storage)
    assert found.size == pytest.approx(EIGHT, rel=0.01)
    fast, slow = (seconds * EIGHT / PUBLISHED for seconds in measured)
    assert found.span.low <= fast * 1.01
    assert found.span.high >= slow * 0.99


def test_local_disks_take_as_long_as_published(placed: Any) -> None:
    """Source: vllm-project/vllm pull request 10647: 13.5 GB in 3.67 to 7.29 s on an A100."""
    found = loaded(placed, "p4d.24xlarge", weights="instance-store").span
    assert found.low <= 3.67 * EIGHT / 13.5e9 <= 7.29 * EIGHT / 13.5e9 <= found.high


def test_the_included_throughput_decides(placed: Any) -> None:
    found = loaded(placed, "g6.xlarge").span
    assert found.seconds == pytest.approx(EIGHT / (125 * 2**20), rel=0.01)
    assert "125 MB/s" in found.limit


def test_ebs_credits_run_out(placed: Any) -> None:
    """EBS of g5.xlarge: 3500 Mbit/s for half an hour, then 700 Mbit/s."""
    found = loaded(placed, "g5.xlarge", rootVolumeThroughputMbps=1000).span
    assert found.low == pytest.approx(EIGHT / (3500e6 / 8), rel=0.01)
    assert found.high == pytest.approx(EIGHT / (700e6 / 8), rel=0.01)


def test_other_regions_are_reached_as_the_internet_is(placed: Any) -> None:
    near = loaded(placed, "g6e.48xlarge", weights="s3").span
    far = loaded(placed, "g6.xlarge", weights="s3", weightsRegion="eu-west-1").span
    assert far.seconds > near.seconds


def test_the_hub_fills_the_volume_first(placed: Any) -> None:
    found = loaded(placed, "g6.xlarge", weights="hub").span
    again = loaded(placed, "g6.xlarge").span
    assert found.high > found.seconds + again.seconds / 2
    assert "125 MB/s" in found.limit


def test_lustre_gives_what_was_bought(placed: Any) -> None:
    small = loaded(placed, "g6e.48xlarge", weights="fsx", fsxGib=1200).span
    large = loaded(placed, "g6e.48xlarge", weights="fsx", fsxGib=2400).span
    assert small.seconds == pytest.approx(EIGHT / (1200 / 1024 * 125e6), rel=0.01)
    assert large.seconds < small.seconds


@pytest.mark.parametrize(
    ("instance", "storage", "told"),
    [
        ("g6.xlarge", {"weights": "fsx"}, "storage.fsxGib is not declared"),
        ("g5g.xlarge", {"weights": "instance-store"}, "no instance store"),
    ],
)
def test_what_is_not_known_is_said(placed: Any, instance: str, storage: Any, told: str) -> None:
    found = loaded(placed, instance, **storage)
    assert found.span is None
    assert told in found.unknown


def test_a_format_other_than_the_published_widens_the_band(placed: Any) -> None:
    found = loading_of(placed("g6.xlarge", weightsFormat="fp8"))
    assert found.span.high == pytest.approx(EIGHT / (125e6), rel=0.1)
    assert found.size < EIGHT


def test_throughput_is_bought_to_load_in_time(placed: Any) -> None:
    small, large = placed("g6.xlarge"), placed("p5.48xlarge", model="Qwen/Qwen2.5-72B-Instruct")
    assert small.disk.mbps == 125
    assert 225 <= large.disk.mbps <= 250
    hasty = placed("g6.xlarge", storage={"loadSeconds": 30})
    assert loading_of(hasty).span.low <= 30
    assert placed("g6.xlarge", storage={"loadSeconds": 0.1}).disk.mbps <= 2000


def test_a_page_tells_how_long_it_takes(decide: Any) -> None:
    found = decide(instanceType="g6.xlarge")
    assert "loading:    15.0 GiB from root-volume in about 123 s" in to_text(found)


def test_the_volume_holds_what_lies_on_it(placed: Any) -> None:
    plain = placed("g6.xlarge").disk.gib
    twice = placed("g6.xlarge", engine="tensorrt-llm").disk.gib
    assert twice - plain == pytest.approx(16, abs=1)
    image = placed("g6.xlarge", storage={"imageGib": 100, "weights": "s3"}).disk.gib
    assert image == 111


def test_a_volume_is_blamed_for_less_than_is_taken(placed: Any) -> None:
    from gpusize.volumes import contents_of

    one = placed("g6.xlarge")
    assert least_gib(one.workload.storage, contents_of(one)) < one.disk.gib
