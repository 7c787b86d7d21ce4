"""A baseline that is written accepts what was found, whatever the order, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpusize_policies.baseline import Baseline, Entry, may_hold, parse
from gpusize_policies.baselining import Baselining
from gpusize_policies.finding import Finding, Severity, Subject
from gpusize_policies.registry import RULES

FILE = Path("gpusize-baseline.json")
CODES = st.sampled_from([rule.code for rule in RULES])
TYPES = st.sampled_from(["g6.xlarge", "g5.xlarge", "p5.48xlarge"])
NAMES = st.sampled_from(["chat", "draft", ""]) | st.text(max_size=4)
SUBJECTS = st.builds(
    lambda name, resource, path, file: Subject(
        name, f"urn:pulumi:dev::app::a:b:C::{resource}" if resource else "", file, path
    ),
    NAMES,
    st.sampled_from(["", "box", "box::1"]),
    st.sampled_from(["", "overrides[0]"]),
    st.sampled_from(["", "gpusize.yaml"]),
)
FINDINGS = st.builds(
    lambda code, severity, subject, kind, size: Finding(
        code, "", severity, subject, "", numbers={"instanceType": kind, "needsGib": size}
    ),
    CODES,
    st.sampled_from(Severity),
    SUBJECTS,
    TYPES,
    st.floats(0, 100),
)
RUNS = st.lists(FINDINGS, max_size=12)


def judged(baseline: Baseline, found: list[Finding]) -> tuple[Baselining, list[Finding]]:
    run = Baselining(baseline)
    marked = [
        one
        for finding in found
        for one in run.over(finding.subject, (finding,), frozenset({finding.code}))
    ]
    return run, marked


def written(found: list[Finding], before: tuple[Entry, ...] = ()) -> str:
    opened = Baseline({one.key: one for one in before}, FILE, is_open=True)
    return judged(opened, found)[0].text(())[0]


def read(text: str) -> tuple[Entry, ...]:
    entries, problems = parse(json.loads(text))
    assert not problems
    return entries


def baseline(text: str) -> Baseline:
    return Baseline({one.key: one for one in read(text)}, FILE)


@given(RUNS, st.randoms(use_true_random=False))
def test_what_was_written_is_accepted_in_any_order(found: list[Finding], order) -> None:
    text = written(found)
    shuffled = list(found)
    order.shuffle(shuffled)
    assert written(shuffled) == text
    run, marked = judged(baseline(text), shuffled)
    assert [one.in_baseline for one in marked] == [may_hold(one) for one in shuffled]
    assert not run.worse
    assert run.gone(["gpusize.yaml"]) == ()
    assert written(found, read(text)) == text


@given(RUNS, RUNS)
def test_nothing_else_is_accepted(before: list[Finding], now: list[Finding]) -> None:
    known = baseline(written(before))
    run, marked = judged(known, now)
    for one in marked:
        if one.in_baseline:
            assert may_hold(one._replace(in_baseline=False))
    left = {entry.key for entry in run.gone(())}
    accepted = [one for one in marked if one.in_baseline]
    assert len(left) + len({one.code for one in accepted}) <= len(known.entries) + len(accepted)


@given(RUNS)
def test_a_milder_finding_is_accepted_and_a_harder_one_is_not(found: list[Finding]) -> None:
    mild = [one._replace(severity=Severity.WARN) for one in found]
    hard = [one._replace(severity=Severity.ERROR) for one in found]
    assert all(one.in_baseline == may_hold(one) for one in judged(baseline(written(hard)), mild)[1])
    run, marked = judged(baseline(written(mild)), hard)
    assert not any(one.in_baseline for one in marked)
    assert len(run.worse) == len(read(written(mild)))
