"""Steps of training take as long as published runs took."""

from __future__ import annotations

import datetime
from typing import NamedTuple

import pytest

from gpusize.placement import Layout, Placement
from gpusize.resolving.study import Study
from gpusize.workload import Market, parse_workload
from gpusize_catalog.facts import Interconnect
from gpusize_catalog.store import Catalog

TODAY = datetime.date(2026, 11, 30)
GPUS = 8
WORST = 0.31
"""Relative error of the worst of these; 0.11 at the median of 268 published rates."""


class Published(NamedTuple):
    model: str
    gpu: str
    trainer: str
    precision: str
    length: int
    micro: int
    whole: int
    recompute: str
    rate: float
    """Tokens per second of one GPU of eight."""


FOUNDRY = "llm-foundry"
PUBLISHED = (
    Published("mosaicml/mpt-1b", "A100-80GB", FOUNDRY, "bf16", 2048, 14, 448, "none", 20513),
    Published("mosaicml/mpt-1b", "A100-80GB", FOUNDRY, "bf16", 8192, 3, 96, "none", 13814),
    Published("mosaicml/mpt-7b", "A100-80GB", FOUNDRY, "bf16", 8192, 8, 128, "full", 3206),
    Published("mosaicml/mpt-30b", "A100-80GB", FOUNDRY, "bf16", 8192, 1, 168, "full", 574),
    Published("mosaicml/mpt-1b", "H100", FOUNDRY, "bf16", 2048, 14, 112, "none", 45455),
    Published("mosaicml/mpt-7b", "H100", FOUNDRY, "bf16", 2048, 6, 48, "none", 10643),
    Published("mosaicml/mpt-30b", "H100", FOUNDRY, "bf16", 2048, 3, 504, "full", 2002),
    Published("meta-llama/Llama-3.1-8B", "H100", "megatron", "fp8", 8192, 1, 128, "none", 14451),
    Published("meta-llama/Llama-3.1-8B", "B200", "megatron", "fp8", 8192, 2, 128, "none", 30624),
)
"""mosaicml/llm-foundry 8c8dd48, scripts/train/benchmarking; NVIDIA-NeMo/Megatron-Bridge 067f987,
docs/performance-summary."""


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row.model} {row.gpu} {row.length}")
def test_a_step_is_as_long_as_published(row: Published, catalog: Catalog) -> None:
    workload = parse_workload(
        {
            "kind": "pre-training",
            "model": row.model,
            "region": "us-east-1",
            "trainer": row.trainer,
            "computePrecision": row.precision,
            "sequenceLength": row.length,
            "microBatch": row.micro,
            "globalBatch": row.whole,
            "recompute": row.recompute,
            "sharding": "fsdp",
        }
    )
    gpu = catalog.gpu(row.gpu)
    node = catalog.instance("p5.48xlarge")._replace(
        gpu_id=gpu.id,
        gpus=GPUS,
        interconnect=Interconnect.NVSWITCH,
        interconnect_bandwidth=gpu.nvlink_bandwidth,
    )
    placement = Placement(node, gpu, 1, Layout(dp=GPUS), "us-east-1", Market.ON_DEMAND)
    timing = Study(workload, catalog, today=TODAY).candidate(placement).timing
    assert timing.tokens_per_second is not None
    assert timing.step_seconds is not None
    assert timing.step_bound is not None
    assert timing.tokens_per_second / GPUS == pytest.approx(row.rate, rel=WORST)
    assert timing.tokens_per_second * timing.step_seconds / timing.step_bound > row.rate * GPUS
