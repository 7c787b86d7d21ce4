"""Laws of what plans are compared by: prices, shards, what NVLink joins, and the same answer."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.explain_data import to_data
from gpusize.memory.result import Term
from gpusize.placement import Layout, Placement
from gpusize.resolve import resolve
from gpusize.resolving.candidate import Candidate
from gpusize.resolving.gpus import gpu_of
from gpusize.resolving.ranking import rank_of
from gpusize.resolving.study import Study
from gpusize.settings import DEFAULTS
from gpusize.team_prices import Discount, TeamPrices
from gpusize.workload import Market, parse_workload
from gpusize_catalog.facts import UltraServer
from gpusize_catalog.store import Catalog, load

TODAY = datetime.date(2026, 11, 30)
FEW = settings(max_examples=25, deadline=None)
SERVED: dict[str, Any] = {
    "kind": "serving",
    "region": "us-east-1",
    "contextLength": 8192,
    "concurrency": 64,
    "promptTokens": 1000,
    "outputTokens": 200,
}
TRAINED: dict[str, Any] = {
    "kind": "pre-training",
    "region": "us-east-1",
    "trainer": "megatron",
    "recompute": "full",
    "sequenceLength": 4096,
    "microBatch": 1,
    "globalBatch": 64,
    "tokens": 1_000_000_000,
}
MODELS = ("meta-llama/Llama-3.1-70B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V3")
TYPES = ("p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge")
STATES = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)


@cache
def catalog() -> Catalog:
    return load()


def placed(
    fields: dict[str, Any], name: str, nodes: int, layout: Layout, *, joined: int = 1
) -> Candidate:
    """A candidate on nodes of which NVLink joins `joined` each."""
    instance = catalog().instance(name)
    study = Study(parse_workload(fields), catalog(), today=TODAY)
    server = UltraServer("u-any", name, joined, joined * (instance.gpus or 0), "", "")
    placement = Placement(
        instance,
        gpu_of(instance, catalog()),
        nodes,
        layout,
        "us-east-1",
        Market.ON_DEMAND,
        ultraserver=server if joined > 1 else None,
    )
    return study.candidate(placement)


@FEW
@given(
    st.sampled_from(TYPES),
    st.sampled_from((1, 2, 4)),
    st.sampled_from(({}, {"kind": "batch-inference", "runHours": 30})),
    st.floats(0.1, 200),
    st.floats(1.0, 10),
)
def test_a_higher_price_never_costs_less(
    name: str, nodes: int, more: dict[str, Any], price: float, times: float
) -> None:
    candidate = placed({**SERVED, "model": MODELS[0], **more}, name, nodes, Layout(8, nodes))
    quoted = candidate.study.quote(candidate.placement)
    low, high = (
        candidate.bill(quoted._replace(usd_per_hour=usd)) for usd in (price, price * times)
    )
    for field in ("hourly", "monthly", "per_run", "total"):
        one, other = getattr(low, field), getattr(high, field)
        assert (one is None) == (other is None)
        assert one is None or one <= other


@FEW
@given(st.sampled_from(TYPES), st.sampled_from((1, 2)), st.integers(1, 90))
def test_a_discount_never_makes_a_type_rank_worse(name: str, nodes: int, percent: int) -> None:
    plain = placed({**SERVED, "model": MODELS[0]}, name, nodes, Layout(8, nodes))
    prices = TeamPrices(discounts=(Discount(float(percent), name),))
    study = Study(plain.workload, catalog(), today=TODAY, settings=DEFAULTS._replace(prices=prices))
    cheaper = study.candidate(plain.placement)
    assert rank_of(cheaper) < rank_of(plain)


@FEW
@given(
    st.sampled_from(MODELS),
    st.sampled_from((2, 4)),
    st.sampled_from((Layout(8, 2), Layout(16, 1), Layout(8, 1, 2), Layout(1, 1, 16, 16))),
)
def test_a_larger_nvlink_domain_never_makes_serving_slower(
    model: str, joined: int, layout: Layout
) -> None:
    fields = {**SERVED, "model": model}
    for name in TYPES:
        apart = placed(fields, name, 2, layout).timing
        one = placed(fields, name, 2, layout, joined=joined).timing
        for field in ("token_seconds", "token_bound", "prefill_seconds"):
            assert getattr(one, field) <= getattr(apart, field)


@FEW
@given(
    st.sampled_from(MODELS),
    st.sampled_from((2, 4)),
    st.sampled_from(
        (Layout(1, 1, 32), Layout(8, 1, 4), Layout(8, 4), Layout(4, 2, 4), Layout(2, 1, 4, 1, 4))
    ),
)
def test_a_larger_nvlink_domain_never_makes_training_slower(
    model: str, joined: int, layout: Layout
) -> None:
    fields = {**TRAINED, "model": model}
    for name in TYPES:
        apart = placed(fields, name, 4, layout).timing.step_seconds
        one = placed(fields, name, 4, layout, joined=joined).timing.step_seconds
        assert one is not None
        assert apart is not None
        assert one <= apart


@FEW
@given(st.sampled_from(MODELS), st.sampled_from(("zero-1", "zero-3", "fsdp")), st.data())
def test_more_shards_never_add_states(model: str, mode: str, data: st.DataObject) -> None:
    fields = {**TRAINED, "model": model, "sharding": mode}
    tp, pp, dp = (data.draw(st.sampled_from((1, 2, 4))) for _ in range(3))
    base = placed(fields, "p5.48xlarge", 8, Layout(tp, pp, dp)).fit
    for wider in (Layout(2 * tp, pp, dp), Layout(tp, 2 * pp, dp), Layout(tp, pp, 2 * dp)):
        other = placed(fields, "p5.48xlarge", 8, wider).fit
        assert sum(map(other.term, STATES)) <= sum(map(base.term, STATES))


@settings(max_examples=6, deadline=None)
@given(st.sampled_from(MODELS), st.booleans())
def test_the_same_answer_twice(model: str, trains: bool) -> None:
    fields = {**(TRAINED if trains else SERVED), "model": model}
    one, other = (to_data(resolve(parse_workload(fields), catalog(), today=TODAY)) for _ in "12")
    assert one == other


@FEW
@given(st.sampled_from(MODELS), st.booleans(), st.data())
def test_a_layout_needs_no_less_than_all_do_together(
    model: str, trains: bool, data: st.DataObject
) -> None:
    fields = {**(TRAINED if trains else SERVED), "model": model}
    tp, pp, dp = (data.draw(st.sampled_from((1, 2, 4, 8))) for _ in range(3))
    layout = Layout(tp, pp, dp, data.draw(st.sampled_from((1, tp * dp))))
    candidate = placed(fields, "p5.48xlarge", 64, layout)
    need = candidate.fit.need
    assert need is not None
    assert candidate.study.sizing.least <= need * layout.gpus
    assert candidate.study.sizing.floor(layout) <= need


@FEW
@given(st.sampled_from(MODELS), st.integers(1, 10**6), st.integers(1, 100), st.integers(1, 4))
def test_hours_of_a_batch_follow_from_its_samples(
    model: str, samples: int, times: int, replicas: int
) -> None:
    fields = {**SERVED, "kind": "batch-inference", "model": model, "replicas": replicas}
    one, many = (
        placed({**fields, "samples": count}, "p5.48xlarge", 2, Layout(8, 2))
        for count in (samples, samples * times)
    )
    assert one.run_hours is not None
    assert many.run_hours is not None
    assert many.run_hours >= one.run_hours
    low, high = many.timing.hours_range or (0.0, 0.0)
    assert low < many.run_hours < high
    declared = placed({**fields, "samples": samples, "runHours": 3}, "p5.48xlarge", 2, Layout(8, 2))
    assert declared.run_hours == 3
    assert (one.cost.total or 0.0) <= (many.cost.total or 0.0)
