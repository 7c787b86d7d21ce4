"""Laws of what is measured in place of an estimate."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, parse_workload
from gpusize_catalog.store import Catalog, load
from gpusize_catalog.units import GIB

ORDER = [Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT]
MODELS = ("meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b")
TYPES = ("g6.xlarge", "g6e.xlarge", "g5.xlarge", "p5.4xlarge")
ENGINES = ("vllm@0.20.1", "vllm@0.11.0", "sglang@0.5.9", "lmdeploy@0.9.0")


@cache
def catalog() -> Catalog:
    return load()


@cache
def place(name: str) -> Placement:
    instance = catalog().instance(name)
    gpu = catalog().gpu(instance.gpu_id or "")
    return Placement(instance, gpu, 1, Layout(), "us-east-1", Market.ON_DEMAND)


def sized(raw: dict[str, Any], name: str, **measured: Any) -> Fit:
    one = {"gpu": place(name).gpu.id, "date": "2026-11-01", "source": "log", **measured}
    declared = {**raw, "measured": [one] if measured else []}
    return fit(parse_workload(declared), place(name), catalog())


SERVED = st.fixed_dictionaries(
    {
        "kind": st.just("serving"),
        "region": st.just("us-east-1"),
        "model": st.sampled_from(MODELS),
        "engine": st.sampled_from(ENGINES),
        "contextLength": st.sampled_from([1024, 8192, 32768]),
    }
)
TRAINED = st.fixed_dictionaries(
    {
        "kind": st.just("fine-tuning"),
        "region": st.just("us-east-1"),
        "model": st.sampled_from(MODELS[:2]),
        "method": st.sampled_from(["lora", "qlora", "full"]),
        "sequenceLength": st.sampled_from([512, 4096]),
    }
)
types = st.sampled_from(TYPES)
sizes = st.floats(0.0, 8.0)


def terms(raw: dict[str, Any], estimated: Fit, more: float = 0.0) -> dict[str, Any]:
    """The terms of an estimate as a measurement, with more overhead."""
    weights = estimated.term(Term.WEIGHTS)
    cache_ = estimated.term(Term.KV_CACHE) + estimated.term(Term.RECURRENT_STATE)
    overhead = (estimated.need or 0) - weights - cache_
    return {
        "engine": raw["engine"],
        "weightsGib": weights / GIB,
        "overheadGib": overhead / GIB + more,
    }


def is_same_unless_tight(found: Fit, estimated: Fit) -> bool:
    return found.verdict is estimated.verdict or estimated.verdict is Verdict.TIGHT


@given(SERVED, types)
def test_terms_equal_to_the_estimate_change_nothing_but_the_doubt(
    raw: dict[str, Any], name: str
) -> None:
    estimated = sized(raw, name)
    if estimated.verdict is Verdict.UNKNOWN:
        return
    found = sized(raw, name, **terms(raw, estimated))
    assert is_same_unless_tight(found, estimated)
    assert (found.need, found.kv_pool, found.terms) == (
        estimated.need,
        estimated.kv_pool,
        estimated.terms,
    )
    assert found.band <= estimated.band


@given(TRAINED, types)
def test_a_peak_equal_to_the_estimate_changes_nothing_but_the_doubt(
    raw: dict[str, Any], name: str
) -> None:
    estimated = sized(raw, name)
    assert estimated.need is not None
    found = sized(raw, name, peakGib=estimated.need / GIB)
    assert is_same_unless_tight(found, estimated)
    assert (
        found._replace(
            verdict=estimated.verdict,
            reasons=estimated.reasons,
            band=estimated.band,
            measured=estimated.measured,
        )
        == estimated
    )


@given(SERVED, types, sizes, sizes)
def test_more_overhead_never_leaves_more(
    raw: dict[str, Any], name: str, some: float, more: float
) -> None:
    estimated = sized(raw, name)
    if estimated.verdict is Verdict.UNKNOWN:
        return
    less = sized(raw, name, **terms(raw, estimated, some))
    most = sized(raw, name, **terms(raw, estimated, some + more))
    assert (most.kv_pool or 0) <= (less.kv_pool or 0)
    assert ORDER.index(most.verdict) >= ORDER.index(less.verdict)


@given(TRAINED, types, sizes, sizes)
def test_a_larger_peak_never_fits_better(
    raw: dict[str, Any], name: str, some: float, more: float
) -> None:
    estimated = sized(raw, name)
    assert estimated.need is not None
    low = estimated.need / GIB + some
    less, most = (sized(raw, name, peakGib=peak) for peak in (low, low + more))
    assert ORDER.index(most.verdict) >= ORDER.index(less.verdict)
    assert (most.longest_context or 0) <= (less.longest_context or 0)
    assert (most.margin or 0) <= (less.margin or 0)
