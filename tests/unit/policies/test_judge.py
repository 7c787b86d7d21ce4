"""Asking the rules: nothing escapes, levels hold, order is stable."""

from __future__ import annotations

import datetime

import pytest

from gpusize.workload import Market, Workload, parse_workload
from gpusize_catalog.store import Catalog
from gpusize_policies import judge
from gpusize_policies.case import Case, Decided
from gpusize_policies.finding import Finding, Severity, Subject
from gpusize_policies.judge import evaluate
from gpusize_policies.registry import RULES, find
from gpusize_policies.rule import Rule
from gpusize_policies.settings import DEFAULTS, Settings


def _workload(**fields: object) -> Workload:
    return parse_workload(
        {
            "kind": "serving",
            "model": "meta-llama/Llama-3.1-70B-Instruct",
            "weightsFormat": "fp16",
            "contextLength": 8192,
            "concurrency": 8,
            "region": "us-east-1",
            **fields,
        }
    )


def _case(
    catalog: Catalog,
    today: datetime.date,
    workload: Workload | None = None,
    settings: Settings = DEFAULTS,
    **more: object,
) -> Case:
    return Case(
        "chat",
        workload or _workload(instanceType="g5.xlarge", market="spot"),
        catalog=catalog,
        today=today,
        settings=settings,
        **more,  # type: ignore[arg-type]
    )


def _codes(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings]


def test_findings_come_in_the_order_of_their_codes(catalog: Catalog, today: datetime.date) -> None:
    codes = _codes(evaluate(_case(catalog, today), DEFAULTS))
    assert codes == ["GPU101", "GPU501"]
    assert codes == _codes(evaluate(_case(catalog, today), DEFAULTS))


def test_settings_move_and_silence_rules(catalog: Catalog, today: datetime.date) -> None:
    settings = Settings(levels={"GPU101": "off", "GPU501": "advice"})
    (finding,) = evaluate(_case(catalog, today), settings)
    assert (finding.code, finding.severity) == ("GPU501", Severity.ADVICE)


def test_parameters_reach_the_constraints(catalog: Catalog, today: datetime.date) -> None:
    workload = _workload(
        weightsFormat="fp8",
        promptTokens={"mean": 1500, "p95": 4000},
        outputTokens={"mean": 300, "p95": 800},
        instanceType="g6e.48xlarge",
        tp=8,
    )
    assert "GPU304" in _codes(evaluate(_case(catalog, today, workload), DEFAULTS))
    patient = Settings(parameters={"maxCommunicationShare": 1.0})
    assert "GPU304" not in _codes(evaluate(_case(catalog, today, workload, patient), patient))


def test_the_subject_of_the_case_is_that_of_its_findings(
    catalog: Catalog, today: datetime.date
) -> None:
    subject = Subject("chat", file="gpusize.yaml", line=3)
    case = _case(catalog, today, subject=subject)
    assert {finding.subject for finding in evaluate(case, DEFAULTS)} == {subject}


def test_a_rule_that_fails_is_a_finding_without_the_text_of_its_error(
    catalog: Catalog, today: datetime.date, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Case) -> list[object]:
        raise RuntimeError("AKIA-SECRET")

    rules = tuple(
        rule._replace(judge=broken) if rule.code == "GPU101" else rule  # type: ignore[arg-type]
        for rule in RULES
    )
    monkeypatch.setattr(judge, "RULES", rules)
    findings = evaluate(_case(catalog, today), DEFAULTS)
    assert _codes(findings) == ["GPU501", "GPU900"]
    told = findings[-1]
    assert "GPU101 weights-exceed-vram could not be evaluated (RuntimeError)" in told.message
    assert "SECRET" not in told.message
    strict = Settings(unknowns="error")
    assert evaluate(_case(catalog, today), strict)[-1].severity is Severity.ERROR


def test_a_resolver_that_fails_is_told_and_not_a_pass(
    catalog: Catalog, today: datetime.date, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gpusize.resolve.resolve", fail)
    findings = evaluate(_case(catalog, today), DEFAULTS)
    assert "GPU900" in _codes(findings)


def test_a_model_that_is_unknown_is_told_once(catalog: Catalog, today: datetime.date) -> None:
    workload = _workload(model="nobody/knows-it")
    (finding,) = evaluate(_case(catalog, today, workload), DEFAULTS)
    assert finding.code == "GPU900"
    assert "unknown model" in finding.message


def test_nothing_to_judge_gives_nothing(catalog: Catalog, today: datetime.date) -> None:
    empty = Case("chat", None, catalog=catalog, today=today, settings=DEFAULTS)
    assert evaluate(empty, DEFAULTS) == ()


def test_what_was_decided_is_what_is_judged(catalog: Catalog, today: datetime.date) -> None:
    workload = _workload()
    decided = Decided({"instance_type": "g5.xlarge", "market": Market.SPOT})
    case = _case(catalog, today, workload, decided=decided)
    assert _codes(evaluate(case, DEFAULTS)) == ["GPU101", "GPU501"]
    assert case.fresh is not None
    assert case.fresh.plan is not None
    assert case.cheapest is not None
    assert case.fresh.plan.instance_type == case.cheapest.instance_type


def test_an_unpinned_workload_is_resolved_once(catalog: Catalog, today: datetime.date) -> None:
    case = _case(catalog, today, _workload())
    assert case.fresh is case.resolution is case.unpinned


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_no_rule_speaks_on_a_workload_with_nothing_wrong(
    rule: Rule, catalog: Catalog, today: datetime.date
) -> None:
    workload = _workload(
        model="meta-llama/Llama-3.1-8B-Instruct",
        weightsFormat="fp8",
        promptTokens={"mean": 700, "p95": 2500},
        outputTokens={"mean": 250, "p95": 700},
    )
    case = _case(catalog, today, workload)
    assert not judge.is_askable(case, rule.needs) or list(rule.judge(case)) == []


def test_a_raw_type_that_is_no_type_is_not_repeated(catalog: Catalog, today: datetime.date) -> None:
    case = _case(catalog, today, _workload(), decided=Decided({"instance_type": "p@ss"}))
    (finding,) = evaluate(case, DEFAULTS)
    assert finding.code == "GPU809"
    assert "p@ss" not in finding.message


def test_rules_need_what_they_name() -> None:
    drift = find("GPU810")
    assert drift is not None
    assert not drift.is_constraint
