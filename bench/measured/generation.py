"""Rows of `other.jsonl` about text that transformers generates: peaks of whole requests."""

from __future__ import annotations

from bench.measured.cases import find_gpu, model_of, node_of
from bench.measured.frame import Answer, Row, Skip, known
from bench.measured.throughput_cases import format_of
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

TASK = "llm-inference"
PEAK = "peak"
GROUP = "generation"
NARROW_CACHE = "int8 KV"
TOTAL = "total over gpus"
"""In what a row says of its figure; elsewhere it is of one GPU."""


def check(row: Row, catalog: Catalog) -> None:
    """Raise `Skip` where a row cannot be scored."""
    model_of(row, catalog)
    for field in ("dtype", "batch", "seq_len"):
        if not row[field]:
            raise Skip(f"{field} is not stated")
    if row["evidence"] != "measured":
        raise Skip("stated, not measured")


def answers(row: Row, catalog: Catalog) -> Answer:
    """What gpusize says of a row."""
    found, batch = fit_of(row, catalog), row["batch"] or 1
    shared = (row["n_gpus"] or 1) if TOTAL in (row["mem_kind"] or "").lower() else 1
    peak = peak_of(found, batch) * shared
    return Answer({PEAK: peak / GIB}, verdict_of(found, batch), found.reasons)


def fit_of(row: Row, catalog: Catalog) -> Fit:
    """The memory of one sequence; raises `Skip` where it is not known."""
    architecture = model_of(row, catalog)
    words = row["quantization"]
    if words and NARROW_CACHE in words:
        raise Skip("a cache of 8 bits, which transformers does not keep")
    workload = parse_workload(
        {
            "kind": "batch-inference",
            "model": architecture.name,
            "region": "us-east-1",
            "contextLength": row["seq_len"],
            "concurrency": row["batch"] or 1,
            "weightsFormat": format_of(words or row["dtype"]),
            "engine": {"name": "transformers"},
        }
    )
    count = row["n_gpus"] or 1
    gpu, _ = find_gpu(row, catalog)
    # Layers are dealt out to the GPUs one after the other.
    layout = Layout(pp=count)
    placement = Placement(
        node_of(gpu, count, catalog), gpu, 1, layout, "us-east-1", Market.ON_DEMAND
    )
    return known(fit(workload, placement, catalog, architecture))


def verdict_of(found: Fit, batch: int) -> Verdict:
    """Whether the memory holds all sequences of a batch at once."""
    holds_all = found.sequences is None or found.sequences >= batch
    return found.verdict if holds_all else Verdict.DOES_NOT_FIT


def peak_of(found: Fit, batch: int) -> int:
    """What PyTorch counts of a batch on one GPU: without its context, with a cache for each."""
    alone = (found.need or 0) - found.term(Term.RUNTIME_OVERHEAD)
    if found.cache is None:
        return alone
    tokens = found.context_length
    return alone + found.cache.bytes_for(tokens, batch) - found.cache.bytes_for(tokens)
