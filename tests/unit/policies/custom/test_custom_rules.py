"""Rules of the settings file: what reading them says, and what they find."""

from __future__ import annotations

import datetime
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.documents import parse as parse_document
from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog, load
from gpusize_policies.case import Case
from gpusize_policies.custom import facts as subject
from gpusize_policies.custom import language
from gpusize_policies.custom.facts import Kind, Read, facts
from gpusize_policies.custom.language import Expression, faults, parts_of
from gpusize_policies.custom.schema import custom_rules_schema, facts_schema
from gpusize_policies.finding import Finding, Subject
from gpusize_policies.inputs import Context
from gpusize_policies.judge import evaluate
from gpusize_policies.settings import Settings
from gpusize_policies.settings_file import parse
from gpusize_policies.waiving import Waiving

pytest.importorskip("cel_expr_python", reason="the extra `rules`, for Python 3.11 and newer")

FOLDER = Path(__file__).parent
EXPRESSIONS = yaml.safe_load((FOLDER / "expressions.yml").read_text(encoding="utf-8"))
JUDGED = parse_document((FOLDER / "judged.yml").read_text(encoding="utf-8"), "judged.yml").data
TODAY = datetime.date(2026, 11, 30)
CANARY = "CANARY-7d1f"
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "concurrency": 8,
    "region": "us-east-1",
    "instanceType": "g6.xlarge",
    "market": "on-demand",
    "tags": {"secret": CANARY},
}


@cache
def catalog() -> Catalog:
    return load()


def problems_of(raw: Any) -> list[str]:
    _, problems = parse(raw, Path())
    return [f"{one.path}: {one.message} | {one.fix}" for one in problems]


def settings_of(raw: dict[str, Any]) -> Settings:
    found, problems = parse(raw, Path())
    assert not problems, problems
    return found


def entry(number: int, rule: dict[str, Any]) -> dict[str, Any]:
    name = "a-rule" if number == 1 else f"a-rule-{number}"
    return {"id": f"TEAM{number:03}", "name": name, **rule}


def case_of(chosen: Settings, without: str = "") -> Case:
    known = catalog().without_prices() if without else catalog()
    return Case("chat", parse_workload(CHAT), catalog=known, today=TODAY, settings=chosen)


def found_by(chosen: Settings, without: str = "") -> tuple[Finding, ...]:
    found = evaluate(case_of(chosen, without), chosen)
    return tuple(one for one in found if one.code.startswith("TEAM") or one.code == "GPU900")


@pytest.mark.parametrize("text", EXPRESSIONS["good"])
def test_what_is_well_formed_is_not_complained_of(text: str) -> None:
    assert faults(text) == ()


@pytest.mark.parametrize(("text", "told"), EXPRESSIONS["bad"])
def test_everything_wrong_with_an_expression_is_told(text: str, told: list[str]) -> None:
    found = faults(text)
    assert len(found) == len(told), found
    for fault, parts in zip(found, told, strict=True):
        assert all(part in f"{fault.text} | {fault.fix}" for part in parts.split(" | ")), fault


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case["title"])
def test_what_rules_find(case: dict[str, Any]) -> None:
    rules = [entry(number, rule) for number, rule in enumerate(case["rules"], 1)]
    plain = {key: case[key] for key in ("levels", "preset") if key in case}
    found = found_by(settings_of({**plain, "customRules": rules}), case.get("without", ""))
    assert len(found) == len(case["found"]), [one.message for one in found]
    for one, part in zip(found, case["found"], strict=True):
        assert part in one.message
    if "severities" in case:
        assert [one.severity.value for one in found] == case["severities"]


WRONG = """\
customRules:
  - {id: GPU101, name: a-rule, require: plan.gpus < 3, message: x}
  - {id: TEAM002, name: weights-exceed-vram, require: plan.gpus < 3, message: x}
  - {id: TEAM003, name: A Rule, require: plan.gpus < 3, message: x, sverity: warn}
  - {id: TEAM004, name: b-rule, require: plan.gpus < 3, forbid: plan.gpus > 3, message: x}
  - {id: TEAM005, name: c-rule, message: x}
  - {id: TEAM006, name: d-rule, require: run.gpus < plan.gpus, message: x}
  - {id: TEAM007, name: e-rule, require: 1 < 2, message: x}
  - {id: TEAM008, name: f-rule, require: plan.gpuz < 3, message: "{plan.gpuss}"}
  - {id: TEAM009, name: g-rule, require: plan.gpus < 3, message: "{resource.tags}", severity: eror}
  - {id: TEAM010, name: h-rule, require: plan.gpus < 3, message: x, docs: "http://a"}
  - {id: TEAM011, name: i-rule, require: true, message: x}
  - 3
  - {id: TEAM012, name: j-rule, require: plan.gpus < 3, message: x}
  - {id: TEAM012, name: j-rule, require: plan.gpus < 3, message: x}
"""
TOLD = """\
customRules[0].id: has not the form of one
customRules[1].name: is the product's
customRules[2].sverity: unknown key | did you mean severity?
customRules[2].name: has not the form of one
customRules[3]: has both require and forbid
customRules[4]: has no expression
customRules[5].require: asks for the run and for plan
customRules[6].require: asks for no fact of the work
customRules[7].message: there is no fact plan.gpuss | did you mean plan.gpus?
customRules[7].require: there is no fact plan.gpuz
customRules[8].severity: takes one of error, warn, advice | did you mean error?
customRules[8].message: resource.tags is never shown
customRules[9].docs: takes an address
customRules[10].require: takes an expression
customRules[11]: a rule is a mapping
customRules[13].id: is that of another rule
customRules[13].name: is that of another rule
"""


def test_every_problem_of_every_entry_is_told_at_once_with_its_place() -> None:
    document = parse_document(WRONG, "gpusize-policy.yaml")
    found, problems = parse(document.data, Path(), document)
    assert [rule.code for rule in found.custom.rules] == ["TEAM012"]
    shown = [f"{one.path}: {one.message} | {one.fix}" for one in problems]
    told = TOLD.splitlines()
    assert len(shown) == len(told), shown
    assert all(one.startswith(part) for one, part in zip(shown, told, strict=True)), shown
    lines = {one.path.split("]")[0]: one.line for one in problems}
    assert lines["customRules[7"] == 9


@pytest.mark.parametrize("value", [3, "x", {"id": "TEAM001"}, [{}] * 101])
def test_what_is_no_list_of_rules_is_told(value: Any) -> None:
    assert len(problems_of({"customRules": value})) == 1


def test_where_the_language_is_missing_the_settings_say_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(language, "PACKAGE", "not_installed_here")
    rules = [entry(1, {"require": "plan.gpus < 3", "message": "x"})]
    (told,) = problems_of({"customRules": rules})
    assert "gpusize[rules]" in told
    assert problems_of({"customRules": []}) == []


def test_a_waiver_accepts_what_a_rule_of_the_team_finds() -> None:
    waiver = {
        "rule": "a-rule",
        "workload": "chat",
        "reason": "agreed with finance until spring",
        "owner": "ml-platform",
        "expires": "2026-12-31",
    }
    rules = [entry(1, {"require": "plan.gpus > 1", "message": "x"})]
    chosen = settings_of({"customRules": rules, "waivers": [waiver]})
    waiving = Waiving(Context(catalog(), chosen, TODAY))
    case = case_of(chosen)
    case.subject = Subject(workload="chat")
    found = {one.code: one for one in waiving.judge(case)}
    assert found["TEAM001"].waived_by
    assert "GPU919" in found
    assert not waiving.unused()
    refused = settings_of({"customRules": [{**rules[0], "waivable": "no"}], "waivers": [waiver]})
    kept = {one.code: one for one in Waiving(Context(catalog(), refused, TODAY)).judge(case)}
    assert not kept["TEAM001"].waived_by


def test_every_fact_of_a_workload_is_read_in_its_type() -> None:
    types = {
        Kind.BOOL: bool,
        Kind.INT: int,
        Kind.DOUBLE: float,
        Kind.STRING: str,
        Kind.TEXTS: list,
        Kind.TAGS: dict,
        Kind.AMOUNTS: dict,
    }
    seen = subject.read(case_of(Settings()), facts())
    for path, value in seen.known.items():
        assert type(value) is types[facts()[path].kind] or (
            value is None and facts()[path].may_be_null
        ), path
    judged = {path for path in facts() if facts()[path].root in ("workload", "plan", "settings")}
    assert judged <= set(seen.known)
    assert seen.unknown == set(facts()) - judged


def test_the_published_schema_of_the_facts_is_current() -> None:
    path = Path(subject.__file__).with_name("facts.schema.json")
    assert json.loads(path.read_text(encoding="utf-8")) == facts_schema()
    jsonschema.Draft202012Validator.check_schema(facts_schema())


def test_the_schema_of_the_key_takes_what_is_read_and_refuses_what_is_not() -> None:
    validator = jsonschema.Draft202012Validator(custom_rules_schema())
    rules = [entry(1, {"require": "plan.gpus > 1", "message": "x", "waivable": "no"})]
    assert list(validator.iter_errors(rules)) == []
    assert len(list(validator.iter_errors(parse_document(WRONG, "f.yaml").data["customRules"]))) > 7


PARTS = st.sampled_from(
    [
        *facts(),
        "plan.nothing",
        "foo",
        "==",
        "<",
        "&&",
        "||",
        "!",
        "+",
        "/",
        "(",
        ")",
        "1",
        "2.5",
        "'text'",
        "null",
        "true",
        "in",
        "[1, 2]",
        ".matches('(a+)+$')",
        ".exists(x, x == 'a')",
        "?",
        ":",
        '"',
        "//",
        "\\",
        "{",
        CANARY,
    ]
)
TEXTS = st.one_of(st.lists(PARTS, max_size=8).map(" ".join), st.text(max_size=40))
PLAIN = st.sampled_from([one for one in facts() if facts()[one].kind is Kind.INT])


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_no_text_makes_reading_or_evaluating_raise(text: str) -> None:
    if faults(text):
        return
    case = case_of(Settings())
    parts = parts_of(text)
    outcome = Expression(text, parts).evaluate(subject.read(case, parts.facts))
    assert outcome.truth in (True, False, None)
    assert {*outcome.unknown, *outcome.absent} <= set(facts())


@settings(max_examples=60, deadline=None)
@given(PLAIN, st.integers(-5, 5), st.booleans())
def test_what_is_unknown_is_never_a_pass(path: str, number: int, is_known: bool) -> None:
    text = f"{path} == {number} || {path} != {number}"
    known = {path: number} if is_known else {}
    unknown = frozenset() if is_known else frozenset({path})
    outcome = Expression(text, parts_of(text)).evaluate(Read(known, unknown))
    assert outcome.truth is (True if is_known else None)
    assert outcome.unknown == (() if is_known else (path,))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["id", "name", "severity", "when", "require", "message", "docs", "x"]),
            st.one_of(TEXTS, st.none(), st.integers(), st.sampled_from(["TEAM001", "a-rule"])),
        ),
        max_size=3,
    )
)
def test_no_settings_raise_and_no_value_of_a_tag_is_shown(rules: Any) -> None:
    found, problems = parse({"customRules": rules}, Path())
    assert all(one.path.startswith("customRules[") for one in problems)
    told = " ".join(one.message for one in found_by(found))
    assert CANARY not in told or any(CANARY in str(rule) for rule in rules)
