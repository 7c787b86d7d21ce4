"""What is read of rows about pipelines: how GPUs share a sample, habits, what a figure counts."""

from __future__ import annotations

from typing import Any

import pytest

from bench.measured import peaks, programs
from bench.measured.frame import Row, Skip
from bench.measured.pictures import declare, place
from gpusize.memory.fit import fit
from gpusize.memory.result import Term
from gpusize.workload import Generation, parse_workload
from gpusize_catalog.store import load
from gpusize_catalog.units import GIB

CATALOG = load()


def row(**fields: Any) -> Row:
    return Row(
        {
            "id": "r1",
            "task": "text-to-image",
            "model": "black-forest-labs/FLUX.1-dev",
            "dtype": "bf16",
            "resolution": "1024x1024",
            "batch": 1,
            "gpu": "H100",
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("offload", "count", "read"),
    [
        (None, 1, ("none", 1, False)),
        ("model, T5 on CPU", 1, ("model", 1, False)),
        ("ulysses + fsdp(dit,t5)", 8, ("none", 8, True)),
        ("ulysses, offload, T5 CPU", 4, ("model", 4, False)),
    ],
)
def test_how_gpus_share_a_sample(offload: str | None, count: int, read: tuple[Any, ...]) -> None:
    assert tuple(programs.held(row(offload=offload, n_gpus=count))) == read


def test_gpus_whose_parts_are_not_stated_are_left_out() -> None:
    with pytest.raises(Skip, match="several GPUs"):
        programs.held(row(offload="multi-gpu", n_gpus=2))


def test_a_program_tiles_by_itself_unless_a_row_says_otherwise() -> None:
    source = "Tencent/HunyuanVideo@1:README.md"
    assert declare(row(source=source))["pipeline"]["tiling"] is True
    assert declare(row(source=source, vae_tiling=False))["pipeline"]["tiling"] is False
    assert declare(row())["pipeline"]["tiling"] is False


@pytest.mark.parametrize(
    ("kind", "quantization", "measured"),
    [
        ("max_memory_allocated", None, 33.85),
        ("torch.cuda.max_memory_reserved", "gguf q8_0 transformer", 25.97),
    ],
)
def test_what_a_figure_counts(kind: str, quantization: str | None, measured: float) -> None:
    """Sources: diffusers-torchao 9b9f238; huggingface/blog 0b53cb19, diffusers-quantization.md."""
    one = row(mem_kind=kind, quantization=quantization)
    workload = parse_workload(declare(one))
    assert isinstance(workload, Generation)
    found = fit(workload, place(one, CATALOG), CATALOG)
    assert peaks.peak_of(one, found, workload, CATALOG) / GIB == pytest.approx(measured, rel=0.05)
    whole = peaks.peak_of(row(mem_kind="peak GPU memory"), found, workload, CATALOG)
    assert whole == found.need
    assert found.term(Term.RUNTIME_OVERHEAD) > 0
