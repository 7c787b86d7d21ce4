"""How near engines come to the peaks, against rates that others published."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.placement import Layout, Placement
from gpusize.resolving.study import Study
from gpusize.speed import RATES, USUAL_REACH, reached, speed_of
from gpusize.timing import Timing
from gpusize.workload import Market, parse_workload
from gpusize_catalog.facts import Interconnect
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
CATALOG = load()
BASE = {"kind": "batch-inference", "region": "us-east-1", "contextLength": 8192}


def timed(gpu: str, tp: int = 1, **declared: Any) -> Timing:
    node = CATALOG.instance("p5.48xlarge")._replace(
        gpu_id=gpu, gpus=tp, interconnect=Interconnect.NVSWITCH
    )
    workload = parse_workload({**BASE, **declared})
    study = Study(workload, CATALOG, today=TODAY)
    device = CATALOG.gpu(gpu)
    return study.candidate(
        Placement(node, device, 1, Layout(tp), "us-east-1", Market.ON_DEMAND)
    ).timing


class Published(NamedTuple):
    gpu: str
    model: str
    form: str
    engine: str
    rate: float
    """Tokens per second of one sequence."""


PUBLISHED = (
    Published("H20", "Qwen/Qwen3-32B", "bf16", "sglang", 20.72),
    Published("H20", "Qwen/Qwen3-32B", "fp8", "sglang", 46.17),
    Published("H20", "Qwen/Qwen3-32B", "awq", "sglang", 47.67),
    Published("H20", "Qwen/Qwen3-8B", "bf16", "sglang", 81.73),
    Published("H20", "Qwen/Qwen3-8B", "fp8", "sglang", 150.25),
    Published("H20", "Qwen/Qwen3-30B-A3B", "bf16", "sglang", 137.18),
    Published("H20", "Qwen/Qwen3-8B", "bf16", "transformers", 45.32),
    Published("H20", "Qwen/Qwen3-30B-A3B", "bf16", "transformers", 1.89),
)
"""QwenLM/Qwen3, speed benchmark: prompts of one token, 2048 generated."""


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row.model} {row.form} {row.engine}")
def test_a_sequence_is_as_fast_as_published(row: Published) -> None:
    timing = timed(
        row.gpu,
        model=row.model,
        weightsFormat=row.form,
        engine=row.engine,
        promptTokens=1,
        outputTokens=2048,
    )
    assert timing.token_seconds == pytest.approx(1 / row.rate, rel=0.15)
    assert timing.token_bound is not None
    assert timing.token_bound < 1 / row.rate


def test_a_full_gpu_is_as_fast_as_published() -> None:
    # NVIDIA/TensorRT-LLM 1.0, performance overview: Llama 3.1 8B fp8, 1000 in and 1000 out, H100.
    timing = timed(
        "H100",
        model="meta-llama/Llama-3.1-8B-Instruct",
        weightsFormat="fp8",
        kvCacheFormat="fp8",
        engine="tensorrt-llm",
        promptTokens=1000,
        outputTokens=1000,
        concurrency=505,
    )
    assert timing.tokens_per_second == pytest.approx(15220, rel=0.15)
    assert timing.rate_bound is not None
    assert timing.rate_bound > 15220


def test_only_formats_with_narrow_activations_compute_narrow() -> None:
    formats = {row.id: row for row in CATALOG.formats()}
    assert set(RATES) <= set(formats)
    assert speed_of(CATALOG, "vllm", formats["awq"]).peak(CATALOG.gpu("H100")) == 989.5e12
    assert speed_of(CATALOG, "vllm", formats["fp8"]).peak(CATALOG.gpu("H100")) == 1979e12
    assert speed_of(CATALOG, "vllm", formats["fp8"]).peak(CATALOG.gpu("A100-80GB")) == 312e12


def test_power_keeps_a_small_card_below_its_peak() -> None:
    assert reached(CATALOG.gpu("L4")) == pytest.approx(70.9 / 121, rel=0.02)
    assert reached(CATALOG.gpu("H20")) > 0.95
    assert reached(CATALOG.gpu("A10G")) == USUAL_REACH


def test_every_engine_and_width_has_a_speed() -> None:
    for engine in CATALOG.engine_names():
        for form in CATALOG.formats():
            if form.linear_bits <= 16:
                assert speed_of(CATALOG, engine, form).facts is not None


@given(
    few=st.integers(1, 64),
    more=st.integers(0, 64),
    prompt=st.integers(1, 4000),
    engine=st.sampled_from(["vllm", "sglang", "transformers"]),
)
def test_more_sequences_are_never_faster_each_and_never_beat_the_bound(
    few: int, more: int, prompt: int, engine: str
) -> None:
    declared = {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "engine": engine,
        "promptTokens": prompt,
        "outputTokens": 500,
    }
    alone = timed("H100", concurrency=few, **declared)
    crowd = timed("H100", concurrency=few + more, **declared)
    assert alone.token_seconds is not None
    assert crowd.token_seconds is not None
    assert crowd.token_seconds >= alone.token_seconds
    for timing in (alone, crowd):
        assert timing.token_bound is not None
        assert timing.token_seconds is not None
        assert timing.rate_bound is not None
        assert timing.tokens_per_second is not None
        assert timing.token_bound <= timing.token_seconds
        assert timing.tokens_per_second <= timing.rate_bound


def test_catalog_has_speeds(catalog: Catalog) -> None:
    assert {row.engine for name in catalog.engine_names() for row in catalog.speeds(name)} == set(
        catalog.engine_names()
    )
