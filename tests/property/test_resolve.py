"""What holds for every workload: over the real catalog, a resolve takes milliseconds."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from gpusize.constraints import CONSTRAINTS, DECLARATION, REMARKS
from gpusize.constraints.reason import Weight
from gpusize.explain_data import to_data
from gpusize.memory.result import Verdict
from gpusize.placement import Layout
from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.resolving.weighing import blocks, reasons_of
from gpusize.workload import Workload, parse_workload
from gpusize_catalog.store import Catalog, load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
DAYS = (TODAY, datetime.date(2026, 2, 10), datetime.date(2028, 1, 1))
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1", "af-south-1")
MODELS = (
    "meta-llama/Llama-3.2-1B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct",
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-30B-A3B",
    "google/gemma-3-27b-it",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-20b",
)


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A declaration without pins."""
    context = draw(st.sampled_from((1024, 4096, 8192, 32_768, 131_072)))
    fields: dict[str, Any] = {
        "kind": draw(st.sampled_from(("serving", "batch-inference", "evaluation"))),
        "model": draw(st.sampled_from(MODELS)),
        "region": draw(st.sampled_from(REGIONS)),
        "contextLength": context,
        "concurrency": draw(st.sampled_from((1, 2, 7, 16, 64))),
        "weightsFormat": draw(st.sampled_from(("auto", "fp8", "awq", "bf16"))),
    }
    if draw(st.booleans()):
        fields["promptTokens"] = {"mean": context // 8, "p95": context // 3}
        fields["outputTokens"] = context // 16
    if fields["kind"] == "serving":
        fields |= draw(_service())
    else:
        fields["runHours"] = draw(st.sampled_from((0.5, 10.0, 400.0)))
    return fields


@st.composite
def _service(draw: st.DrawFn) -> dict[str, Any]:
    fields: dict[str, Any] = {"userFacing": draw(st.booleans())}
    if draw(st.booleans()):
        fields["latency"] = {"timePerOutputTokenMs": draw(st.sampled_from((10, 40, 200)))}
    shape = draw(st.sampled_from(("steady", "bursty", "scheduled")))
    hours = 24 if shape == "steady" else draw(st.sampled_from((2, 8)))
    fields["traffic"] = {"shape": shape, "hoursPerDay": hours}
    if draw(st.booleans()):
        fields["replicas"] = {"min": draw(st.sampled_from((0, 1))), "max": 4}
    if not fields["userFacing"]:
        fields["interruptionTolerance"] = draw(st.sampled_from(("none", "restartable")))
    return fields


def decide(fields: dict[str, Any], day: datetime.date = TODAY) -> Resolution:
    return resolve(workload_of(fields), CATALOG, today=day, name="any")


def workload_of(fields: dict[str, Any]) -> Workload:
    return parse_workload(fields)


@given(declarations(), st.sampled_from(DAYS))
def test_nothing_speaks_against_what_was_chosen(fields: dict[str, Any], day: datetime.date) -> None:
    resolution = decide(fields, day)
    if resolution.plan is None:
        assert resolution.candidate is None
        return
    candidate = resolution.candidate
    assert candidate is not None
    assert candidate.fit.verdict is Verdict.FITS
    for name, constraint in CONSTRAINTS.items():
        for reason in constraint(candidate):
            assert reason.name == name
            assert reason.weight is Weight.ADVICE or name in DECLARATION, reason


@given(declarations())
def test_the_answer_is_the_same_in_any_order(fields: dict[str, Any]) -> None:
    backwards = _Backwards(CATALOG)
    one, two = (
        resolve(workload_of(given), catalog, today=TODAY)
        for given, catalog in (
            (fields, CATALOG),
            (dict(reversed(fields.items())), backwards),
        )
    )
    assert to_data(one) == to_data(two)


class _Backwards:
    """The same catalog, its rows in the other order."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def offerings(self, region: str) -> dict[str, Any]:
        return dict(reversed(list(self._catalog.offerings(region).items())))

    def gpus(self) -> Any:
        return tuple(reversed(self._catalog.gpus()))

    def regions(self) -> Any:
        return tuple(reversed(self._catalog.regions()))


@given(declarations(), st.sampled_from((0.5, 2.0, 10.0, 60.0)))
def test_a_larger_budget_never_loses_a_plan(fields: dict[str, Any], hourly: float) -> None:
    small = decide({**fields, "budget": {"perHour": hourly}}).plan
    large = decide({**fields, "budget": {"perHour": 2 * hourly}}).plan
    if small is None:
        return
    assert small.cost.hourly is not None
    assert small.cost.hourly <= hourly
    assert large is not None
    assert large.cost.hourly is not None
    assert large.cost.hourly <= 2 * hourly


@given(declarations())
def test_every_rejected_type_has_a_reason(fields: dict[str, Any]) -> None:
    resolution = decide(fields)
    seen = [rejection.instance_type for rejection in resolution.rejections]
    assert len(set(seen)) == len(seen)
    for rejection in resolution.rejections:
        assert rejection.reasons
        assert all(reason.text for reason in rejection.reasons)


@given(
    declarations(),
    st.sampled_from(("g4dn.xlarge", "g6.xlarge", "g6.12xlarge", "g6e.48xlarge", "p5.48xlarge")),
    st.sampled_from((None, 1, 2, 4)),
)
def test_pins_are_honoured(fields: dict[str, Any], instance_type: str, tp: int | None) -> None:
    pins: dict[str, Any] = {"instanceType": instance_type, "market": "on-demand"}
    if tp is not None:
        pins["tp"] = tp
    resolution = decide({**fields, **pins})
    candidate = resolution.candidate
    assert candidate is not None
    placement = candidate.placement
    assert placement.instance.id == instance_type
    assert placement.market.value == "on-demand"
    assert tp is None or placement.layout.tp == tp
    if resolution.plan is None:
        assert any(reason.weight is Weight.ERROR for reason in reasons_of(candidate))
    else:
        assert resolution.plan.instance_type == instance_type
        assert resolution.plan.layout == placement.layout


@given(declarations(), st.sampled_from(sorted(instance.id for instance in CATALOG.instances())))
def test_remarks_speak_against_no_choice(fields: dict[str, Any], instance_type: str) -> None:
    """The search does not ask the constraints of `REMARKS`."""
    resolution = decide({**fields, "instanceType": instance_type})
    assert resolution.candidate is not None
    for name in REMARKS:
        for reason in CONSTRAINTS[name](resolution.candidate):
            assert not blocks(reason)


@given(declarations(), st.sampled_from(("g6.12xlarge", "g5.48xlarge", "p4d.24xlarge")))
def test_what_is_hopeless_does_not_fit(fields: dict[str, Any], instance_type: str) -> None:
    """The search sizes nothing that is hopeless."""
    candidate = decide({**fields, "instanceType": instance_type}).candidate
    assert candidate is not None
    study = candidate.study
    for tp, pp in ((1, 1), (2, 1), (4, 1), (2, 2), (1, 4)):
        placed = candidate.placement.laid_out(Layout(tp, pp))
        fit = study.sizing.fit(placed)
        if study.sizing.is_hopeless(placed):
            assert fit.verdict in (Verdict.DOES_NOT_FIT, Verdict.UNKNOWN)


@given(declarations())
def test_the_decision_pinned_is_the_decision(fields: dict[str, Any]) -> None:
    plan = decide(fields).plan
    assume(plan is not None)
    assert plan is not None
    pins = {
        "instanceType": plan.instance_type,
        "market": plan.market.value,
        "nodesPerReplica": plan.nodes,
        **plan.layout.data(),
    }
    again = decide({**fields, **pins}).plan
    assert again is not None
    assert _essence(again) == _essence(plan)


def _essence(plan: Any) -> tuple[str, int, Layout, str, float | None]:
    return plan.instance_type, plan.nodes, plan.layout, plan.market.value, plan.cost.hourly


@given(declarations())
def test_a_shorter_context_never_loses_a_plan(fields: dict[str, Any]) -> None:
    fields = {key: value for key, value in fields.items() if not key.endswith("Tokens")}
    assume(decide(fields).plan is not None)
    shorter = {**fields, "contextLength": max(1024, fields["contextLength"] // 4)}
    assert decide(shorter).plan is not None


@given(declarations())
def test_times_and_costs_are_in_order(fields: dict[str, Any]) -> None:
    resolution = decide(fields)
    for plan in (resolution.plan, *resolution.runners_up):
        if plan is None:
            continue
        timing, cost = plan.timing, plan.cost
        assert timing.token_bound is None or timing.token_bound <= (timing.token_seconds or 0)
        assert timing.communication_share is None or 0 <= timing.communication_share < 1
        assert cost.hourly is None or cost.hourly > 0
        assert cost.monthly is None or cost.monthly >= (cost.compute_monthly or 0) * 0.999
