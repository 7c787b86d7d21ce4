"""Every rule on its bad and good cases."""

from __future__ import annotations

from functools import cache

import pytest

from gpusize.constraints import CONSTRAINTS, REMARKS
from gpusize_catalog.store import Catalog, load
from gpusize_policies.finding import Finding, Severity
from gpusize_policies.message import LONGEST
from gpusize_policies.registry import RULES, Rule, find
from tests.rules.examples import (
    FOLDER,
    NAME,
    Example,
    case_of,
    declared_of,
    examples,
    findings,
)

TOLERANCE = 0.02
"""Relative difference of a number from the one in a case: constants are refined."""
ALL = examples()


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


@cache
def judged(which: int) -> tuple[Finding, ...]:
    """Everything that the rules say on one of `ALL`, worked out once for all tests."""
    return findings(ALL[which], load())


EACH = pytest.mark.parametrize("which", range(len(ALL)), ids=map(str, ALL))


@EACH
def test_a_case_is_judged_as_it_says(which: int) -> None:
    example, found = ALL[which], judged(which)
    mine = [finding for finding in found if finding.code == example.code]
    others = {finding.code for finding in found} - {example.code}
    assert others == set(example.also), [finding.message for finding in found]
    assert bool(mine) == (example.verdict == "bad"), [finding.message for finding in found]
    for finding in mine:
        for fragment in example.says:
            assert fragment in finding.message
        for name, value in example.numbers.items():
            assert finding.numbers[name] == pytest.approx(value, rel=TOLERANCE)


def subjects(example: Example) -> list[str]:
    """What findings on an example may be about, in their words."""
    workloads = [f"workload '{name}'" for name in (*declared_of(example), NAME)]
    return [*workloads, *(f"resource '{name}'" for name in example.resources or {})]


@EACH
def test_messages_have_the_shape_of_the_template(which: int) -> None:
    for finding in judged(which):
        text = finding.message.removeprefix(f"{finding.code} {finding.name}: ")
        assert text != finding.message
        if finding.subject.workload or finding.subject.resource:
            assert text.split(": ", 1)[0] in subjects(ALL[which])
        assert finding.message.endswith(f" Docs: {finding.docs}")
        assert len(finding.message) <= LONGEST
        assert "\n" not in finding.message


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.is_constraint], ids=lambda rule: rule.code
)
def test_a_rule_is_as_severe_as_its_constraint_weighs(rule: Rule, catalog: Catalog) -> None:
    """The resolver goes by the weight, the report by the severity: they must not part."""
    found = [one for one in examples(rule.code) if one.verdict == "bad" and one.workload]
    cases = [case_of(one, catalog) for one in found]
    weights = {reason.weight.value for case in cases for reason in case.reasons(rule.name)}
    assert weights == {rule.severity.value}


def test_remarks_are_constraints_whose_rules_only_advise() -> None:
    assert set(CONSTRAINTS) >= REMARKS
    wrapping = [rule for rule in RULES if rule.is_constraint and rule.name in REMARKS]
    assert {rule.severity for rule in wrapping} == {Severity.ADVICE}


@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_every_rule_has_a_bad_and_a_good_case(code: str) -> None:
    assert {example.verdict for example in examples(code)} == {"bad", "good"}


def test_every_case_file_is_of_a_rule() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {rule.code for rule in RULES}


def test_every_error_that_names_a_number_names_a_fix() -> None:
    for which in range(len(ALL)):
        for finding in judged(which):
            if finding.severity is not Severity.ADVICE:
                assert finding.fix, finding.message


def test_rules_are_found_by_code_and_by_name() -> None:
    for rule in RULES:
        for word in (rule.code, rule.code.lower(), rule.name, f"{rule.code}-{rule.name}"):
            assert find(word) is rule


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_documents_itself(rule: object) -> None:
    found = next(one for one in RULES if one is rule)
    assert found.summary.endswith(".")
    for section in ("Why", "Fix", "Sources"):
        assert found.section(section), section
