from __future__ import annotations

from typing import Any

import pytest

from gpusize.links import PCIE_LATENCY, Link, inner_link, outer_link
from gpusize.placement import Layout

GB = 1e9


def test_a_step_reads_the_weights_once(placed: Any) -> None:
    timing = placed("g6.xlarge", concurrency=1, promptTokens=16, outputTokens=16).timing
    embedding = 128_256 * 4096
    read = (8_030_261_248 - embedding) * 2
    assert timing.bytes_per_step == pytest.approx(read, rel=0.01)
    assert timing.token_bound == pytest.approx(read / (300 * GB), rel=0.01)
    assert timing.token_seconds > timing.token_bound


def test_images_pass_through_a_tower_before_the_first_token(placed: Any) -> None:
    fields = {"modality": "vision-language", "model": "Qwen/Qwen3-VL-8B-Instruct"}
    pages = {"width": 1400, "height": 1400}
    one, three = (
        placed("g6e.xlarge", images={**pages, "perPrompt": n}, **fields).timing for n in (1, 3)
    )
    tower = 8_767_123_696 - 8_190_735_360
    more = 2 * 100 * 100 * 2 * tower / 362e12
    assert three.prefill_bound - one.prefill_bound == pytest.approx(more, rel=0.01)
    assert three.prefill_seconds - one.prefill_seconds > more
    assert three.tokens_per_second < one.tokens_per_second
    assert three.token_seconds == one.token_seconds


def test_it_is_said_where_images_count(decide: Any) -> None:
    fields = {"modality": "vision-language", "model": "Qwen/Qwen3-VL-8B-Instruct"}
    said = {item[:2] for item in decide(**fields, images={"perPrompt": 2}).assumptions}
    assert ("images", "within promptTokens") in said


def test_a_larger_batch_reads_more_of_the_cache(placed: Any) -> None:
    one, many = (placed("g6.xlarge", concurrency=n).timing for n in (1, 16))
    cached = 1100 * 131_072
    assert many.bytes_per_step - one.bytes_per_step == pytest.approx(15 * cached, rel=0.02)
    assert many.token_bound > one.token_bound


def test_a_mixture_reads_only_the_experts_in_use(placed: Any) -> None:
    steps = [
        placed("p5.4xlarge", model="Qwen/Qwen3-30B-A3B", concurrency=n).timing.bytes_per_step
        for n in (1, 8, 64, 256)
    ]
    assert steps == sorted(steps)
    assert steps[0] < 10 * GB
    assert steps[-1] > 55 * GB


def test_layers_follow_each_other_however_little_they_read(placed: Any) -> None:
    deep = {"model": "Qwen/Qwen3-235B-A22B", "concurrency": 1, "promptTokens": 100}
    timing = placed("p5.48xlarge", layout=Layout(8), **deep).timing
    layers, read = 94, timing.bytes_per_step / (3350 * GB)
    assert read < 2e-3
    assert timing.token_seconds > layers * 60e-6 > timing.token_bound
    shallow = placed("g6e.xlarge", model="Qwen/Qwen2.5-0.5B", concurrency=1).timing
    assert shallow.token_seconds > 24 * 60e-6


def test_nvlink_is_quoted_in_both_directions(placed: Any) -> None:
    link = inner_link(placed("p5.48xlarge", layout=Layout(8)).placement)
    assert (link.name, link.bandwidth) == ("NVLink", 450 * GB)


def test_without_peer_access_bytes_cross_the_host(placed: Any) -> None:
    link = inner_link(placed("g5.12xlarge", layout=Layout(4)).placement)
    assert (link.name, link.bandwidth) == ("PCIe through the host", 8 * GB)


def test_nodes_are_joined_by_their_network(placed: Any) -> None:
    link = outer_link(placed("p5.48xlarge", nodes=2, layout=Layout(8, 2)).placement)
    assert (link.name, link.bandwidth) == ("EFA", 400 * GB)


def test_a_ring_moves_each_byte_almost_twice() -> None:
    link = Link("test", 10 * GB, (0.0, 0.0))
    assert link.all_reduce(2, GB, 1.0) == pytest.approx(0.1)
    assert link.all_reduce(8, GB, 1.0) == pytest.approx(0.175)
    assert link.exchange(4, GB, 1.0) == pytest.approx(0.075)
    assert link.send(GB, 0.5) == pytest.approx(0.2)


def test_small_messages_cost_latency() -> None:
    link = Link("test", 8 * GB, PCIE_LATENCY)
    assert link.all_reduce(8, 8, 1.0) == pytest.approx(44.4e-6, rel=0.01)


def test_the_same_layout_talks_less_over_nvlink(placed: Any) -> None:
    model = "meta-llama/Llama-3.1-70B-Instruct"
    slow = placed("g6e.48xlarge", model=model, layout=Layout(8)).timing
    fast = placed("p4de.24xlarge", model=model, layout=Layout(8)).timing
    assert slow.communication_share > 0.3 > fast.communication_share


def test_copies_talk_to_nobody(placed: Any) -> None:
    assert placed("g6.12xlarge", layout=Layout(1, 1, 4)).timing.communication_share == 0


def test_more_ranks_are_faster_and_stages_are_not(placed: Any) -> None:
    model = "meta-llama/Llama-3.1-70B-Instruct"
    tensor = placed("p5.48xlarge", model=model, layout=Layout(8)).timing
    stages = placed("p5.48xlarge", model=model, layout=Layout(1, 8)).timing
    assert tensor.token_seconds < stages.token_seconds / 3


def test_a_link_of_unknown_speed_makes_the_time_unknown(placed: Any) -> None:
    candidate = placed("g7.12xlarge", layout=Layout(2))
    assert candidate.timing.token_seconds is None
    assert candidate.timing.communication_share is None
    assert candidate.timing.unknown


def test_speculation_without_an_acceptance_rate_is_unknown(placed: Any) -> None:
    engine = {"name": "vllm", "speculative": "ngram"}
    assert placed("g6.xlarge", engine=engine).timing.token_seconds is None
    known = {**engine, "speculativeTokens": 3, "speculativeAcceptance": 0.5}
    plain = placed("g6.xlarge").timing.token_seconds
    assert placed("g6.xlarge", engine=known).timing.token_seconds == pytest.approx(plain / 1.875)


def test_offloaded_weights_are_read_over_the_host_link(placed: Any) -> None:
    held = placed("g6.xlarge").timing.token_bound
    engine = {"name": "vllm", "cpuOffloadGib": 4}
    offloaded = placed("g6.xlarge", engine=engine).timing.token_bound
    assert offloaded > held + 0.2


def test_a_slice_has_its_share_of_the_bandwidth(placed: Any) -> None:
    model = "Qwen/Qwen2.5-0.5B"
    whole, half = (placed(name, model=model).timing for name in ("g6.xlarge", "g6f.4xlarge"))
    assert half.token_bound == pytest.approx(2 * whole.token_bound)
