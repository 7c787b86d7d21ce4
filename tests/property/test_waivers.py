"""What waivers promise whatever is written in them: they fail closed, and hide nothing."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusize.workload import parse_workload
from gpusize_catalog.store import Catalog, load
from gpusize_policies.case import Case
from gpusize_policies.finding import Finding
from gpusize_policies.inputs import Context
from gpusize_policies.judge import asked, evaluate
from gpusize_policies.message import LONGEST
from gpusize_policies.registry import RULES
from gpusize_policies.rule import Needs
from gpusize_policies.settings import Settings
from gpusize_policies.waivers import Standing, Waiver, covers, stand
from gpusize_policies.waiving import Waiving

TODAY = datetime.date(2026, 11, 30)
MOST = 90
SPOT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "weightsFormat": "fp16",
    "contextLength": 8192,
    "concurrency": 8,
    "userFacing": True,
    "region": "us-east-1",
    "instanceType": "g5.xlarge",
    "market": "spot",
}
ABOUT_WAIVERS = {rule.code for rule in RULES if rule.needs is Needs.WAIVER}


@cache
def _catalog() -> Catalog:
    return load()


@cache
def _judged() -> tuple[Case, tuple[Finding, ...], frozenset[str]]:
    """A workload with several errors, judged once without any waiver."""
    case = Case("chat", parse_workload(SPOT), catalog=_catalog(), today=TODAY, settings=Settings())
    return case, evaluate(case, Settings()), asked(case, Settings())


WORDS = st.one_of(
    st.sampled_from([rule.code for rule in RULES] + [rule.name for rule in RULES]),
    st.text(max_size=20),
)
DAYS = st.integers(-3, 200).map(lambda days: (TODAY + datetime.timedelta(days)).isoformat())
TEXTS = st.one_of(st.text(max_size=60), st.just("measured at peak load, 2 GiB stay free"))
WAIVERS = st.builds(
    Waiver,
    id=st.one_of(st.just(""), st.sampled_from("abc"), st.text(max_size=8)),
    rule=WORDS,
    workload=st.sampled_from(["chat", "shop", "", "*"]),
    resource=st.sampled_from(["", "", "*", "web-*", "urn:x"]),
    reason=TEXTS,
    owner=st.sampled_from(["", "ml-platform"]),
    expires=st.one_of(DAYS, st.text(max_size=12)),
    evidence=st.sampled_from(["", "https://ci.example/runs/91"]),
)
GOOD = st.builds(
    Waiver,
    rule=st.sampled_from(["GPU101", "spot-for-user-facing", "GPU307", "no-plan-fits"]),
    workload=st.just("chat"),
    reason=st.just("measured at peak load, 2 GiB stay free"),
    owner=st.just("ml-platform"),
    expires=DAYS,
    evidence=st.just("https://ci.example/runs/91"),
)
LISTS = st.lists(st.one_of(WAIVERS, GOOD), max_size=5)


def _with(waivers: Any, today: datetime.date = TODAY) -> tuple[Waiving, tuple[Finding, ...]]:
    case, findings, codes = _judged()
    waiving = Waiving(Context(_catalog(), Settings(waivers=tuple(waivers)), today))
    said = waiving.over(case.subject, case.workload, findings, codes)
    return waiving, (*said, *waiving.of_settings(), *waiving.unused())


@given(LISTS)
def test_no_waiver_turns_a_finding_into_silence(waivers: list[Waiver]) -> None:
    _, findings, _ = _judged()
    _, said = _with(waivers)
    about = [one for one in said if one.code not in ABOUT_WAIVERS]
    assert [one._replace(waived_by="") for one in about] == list(findings)
    waived = [one for one in about if one.waived_by]
    assert len([one for one in said if one.code == "GPU919"]) == len(waived)
    assert all(len(one.message) <= LONGEST for one in said)


@given(LISTS)
def test_what_is_waived_has_a_waiver_that_holds(waivers: list[Waiver]) -> None:
    case, _, _ = _judged()
    _, said = _with(waivers)
    holding: list[Standing] = [
        one for one in stand(waivers, TODAY, MOST) if one.holds and covers(one.waiver, case.subject)
    ]
    for finding in said:
        accepting = {one.waiver.label for one in holding if one.code == finding.code}
        assert finding.waived_by in accepting or not accepting
        assert bool(finding.waived_by) == bool(accepting)


@given(LISTS)
def test_every_waiver_that_is_wrong_is_told(waivers: list[Waiver]) -> None:
    _, said = _with(waivers)
    invalid = [one for one in stand(waivers, TODAY, MOST) if one.faults]
    assert len([one for one in said if one.code == "GPU907"]) == len(invalid)


@given(LISTS, st.randoms(use_true_random=False))
def test_the_order_of_waivers_does_not_matter(waivers: list[Waiver], random: Any) -> None:
    shuffled = list(waivers)
    random.shuffle(shuffled)
    one, other = _with(waivers)[1], _with(shuffled)[1]
    assert sorted(map(_shown, one)) == sorted(map(_shown, other))


def _shown(finding: Finding) -> tuple[str, str]:
    return finding.message, finding.waived_by


@given(GOOD)
def test_a_day_after_its_end_the_finding_is_back(waiver: Waiver) -> None:
    end = datetime.date.fromisoformat(waiver.expires)
    _, findings, _ = _judged()
    fails = [one.code for one in findings]
    (standing,) = stand([waiver], end, MOST)
    waived = {one.code for one in _with([waiver], end)[1] if one.waived_by}
    assert waived == ({standing.code} & set(fails) if standing.holds else set())
    after = _with([waiver], end + datetime.timedelta(1))[1]
    assert [one.code for one in after if one.waived_by] == []
    assert {"GPU905", "GPU907"} & {one.code for one in after}
