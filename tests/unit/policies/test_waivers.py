"""What a waiver accepts, and everything that keeps it from accepting anything."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpusize.documents import read
from gpusize.tokens import COMPONENT, WAIVER_TAG, WORKLOAD_TAG
from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.cli import main
from gpusize_policies.finding import Finding, Severity, Subject
from gpusize_policies.judge import ONCE, told_once
from gpusize_policies.machines import Seen
from gpusize_policies.reading.tags import waiver_tag
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import Settings, load
from gpusize_policies.settings_file import parse, schema
from gpusize_policies.waivers import (
    SHORTEST_REASON,
    SOON_DAYS,
    WHOLE_RUN,
    State,
    Waiver,
    apply,
    covers,
    ids_in,
    stand,
)
from tests.rules.stacks import UNKNOWN

TODAY = datetime.date(2026, 11, 30)
MOST = 90
CANARY = "CANARY-7d1f"
INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
URN = f"urn:pulumi:prod::shop::gpusize:index:GpuWorkload${INSTANCE}::web-1"
GOOD = Waiver(
    id="demo",
    rule="GPU501",
    workload="chat",
    reason="the demo may stop, see RUN-91",
    owner="ml-platform",
    expires="2026-12-31",
)
CHAT: dict[str, Any] = {
    "kind": "serving",
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "concurrency": 4,
    "userFacing": True,
    "region": "us-east-1",
}
SPOT = {
    "instanceType": "g6.xlarge",
    "instanceMarketOptions": {"marketType": "spot"},
    "tags": {WORKLOAD_TAG: "chat"},
}


def finding(code: str = "GPU501", workload: str = "chat", resource: str = "") -> Finding:
    name = "spot-for-user-facing" if code == "GPU501" else "idle-gpus-on-node"
    message = f"{code} {name}: workload '{workload}': is so. Docs: docs/rules/{code}-{name}.md"
    return Finding(code, name, Severity.ERROR, Subject(workload, resource), message)


def state_of(waiver: Waiver, today: datetime.date = TODAY) -> State:
    (standing,) = stand([waiver], today, MOST)
    return standing.state


@pytest.mark.parametrize(
    ("days", "state"),
    [
        (MOST + 1, State.INVALID),
        (MOST, State.ACTIVE),
        (SOON_DAYS + 1, State.ACTIVE),
        (SOON_DAYS, State.SOON),
        (0, State.SOON),
        (-1, State.EXPIRED),
    ],
)
def test_a_waiver_holds_until_its_last_day_and_not_too_far_ahead(days: int, state: State) -> None:
    end = TODAY + datetime.timedelta(days)
    assert state_of(GOOD._replace(expires=end.isoformat())) is state


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rule": ""}, "it names no rule"),
        ({"rule": "GPU999"}, "there is no rule GPU999"),
        ({"rule": "cannot-evaluate"}, "cannot be waived"),
        ({"rule": "waived-finding"}, "cannot be waived"),
        ({"rule": "waiver-expired"}, "cannot be waived"),
        ({"rule": "GPU101"}, "with evidence alone"),
        ({"reason": ""}, "it has no reason"),
        ({"reason": "x" * (SHORTEST_REASON - 1)}, "has 14 of at least 15 characters"),
        ({"reason": "x " + " " * 40 + "y"}, "has 3 of at least 15 characters"),
        ({"owner": "  "}, "it has no owner"),
        ({"expires": ""}, "it never expires"),
        ({"expires": "31.12.2026"}, "is no day of the calendar"),
        ({"expires": "20261231"}, "is no day of the calendar"),
        ({"resource": "web"}, "a workload and a resource"),
        ({"workload": "", "resource": "*::*"}, "for every resource"),
        ({"workload": "", "id": ""}, "for nothing"),
        ({"id": "two words"}, "its id is none"),
    ],
)
def test_what_is_missing_or_wrong_is_told_and_waives_nothing(
    changes: dict[str, str], told: str
) -> None:
    (standing,) = stand([GOOD._replace(**changes)], TODAY, MOST)
    assert not standing.holds
    assert [fault for fault in standing.faults if told in fault.text], standing.faults
    assert all(fault.fix for fault in standing.faults)
    assert apply([finding()], Subject("chat"), [standing]).waived == ()


def test_physics_is_waived_with_evidence() -> None:
    physics = GOOD._replace(rule="weights-exceed-vram", evidence="https://ci.example/runs/91")
    assert state_of(physics) is State.ACTIVE


def test_an_id_that_two_have_is_of_neither() -> None:
    both = stand([GOOD, GOOD._replace(rule="GPU307")], TODAY, MOST)
    assert [one.state for one in both] == [State.INVALID, State.INVALID]


@pytest.mark.parametrize(
    ("pattern", "is_covered"),
    [
        (URN, True),
        (URN[:-1], False),
        (f"{INSTANCE}::web-1", True),
        (f"{INSTANCE}::web-*", True),
        ("aws:ec2/*::web-?", True),
        (f"{TEMPLATE}::web-1", False),
        ("web-1", True),
        ("web-*", True),
        ("web", False),
        ("WEB-1", False),
        ("web-[0-9]", False),
        (".*", False),
    ],
)
def test_a_resource_is_named_by_urn_type_or_name(pattern: str, is_covered: bool) -> None:
    waiver = GOOD._replace(workload="", resource=pattern)
    assert covers(waiver, Subject("chat", URN)) is is_covered
    assert not covers(waiver, Subject("chat"))


def test_brackets_in_a_name_are_no_pattern() -> None:
    waiver = GOOD._replace(workload="", resource="web[0]")
    assert covers(waiver, Subject("", f"urn:pulumi:prod::shop::{INSTANCE}::web[0]"))


def test_a_run_as_a_whole_is_named_by_the_stack_and_nothing_else() -> None:
    whole = Subject("")
    assert covers(GOOD._replace(workload="", resource=WHOLE_RUN), whole)
    for resource in ("*", "pulumi:pulumi:*::*", "pulumi:pulumi:Stack::shop-dev", "web-*"):
        assert not covers(GOOD._replace(workload="", resource=resource), whole)
    assert not covers(GOOD, whole)
    assert not covers(GOOD._replace(workload="", resource=WHOLE_RUN), Subject("chat", URN))


def test_a_tag_reaches_what_names_no_target_and_widens_nothing() -> None:
    tagged = GOOD._replace(workload="")
    assert covers(tagged, Subject("chat", URN), frozenset({"demo"}))
    assert not covers(tagged, Subject("chat", URN), frozenset({"other"}))
    assert not covers(GOOD, Subject("shop", URN), frozenset({"demo"}))


@pytest.mark.parametrize("text", ["a b", "a,b", " a , b ", "a\tb", "b a"])
def test_a_tag_may_name_several(text: str) -> None:
    assert ids_in(text) == {"a", "b"}


def test_of_two_waivers_the_longer_one_is_named() -> None:
    longer = GOOD._replace(id="longer", expires="2027-01-31")
    for waivers in ([GOOD, longer], [longer, GOOD]):
        (found,) = apply([finding()], Subject("chat"), stand(waivers, TODAY, MOST)).findings
        assert found.waived_by == "longer"


@pytest.mark.parametrize(
    ("tags", "value"),
    [
        ({"tags": {WAIVER_TAG: "a"}}, "a"),
        ({"tags": [{"key": "x", "value": "y"}, {"key": WAIVER_TAG, "value": "a"}]}, "a"),
        ({"tags": [{"key": WAIVER_TAG, "value": "a", "propagateAtLaunch": False}]}, "a"),
        ({"tagSpecifications": [{"resourceType": "instance", "tags": {WAIVER_TAG: "a"}}]}, "a"),
        ({"tagSpecifications": [{"resourceType": "volume", "tags": {WAIVER_TAG: "a"}}]}, "a"),
        ({"tags": {"x": "y"}}, ""),
        ({}, ""),
        ({"tags": 7}, ""),
    ],
)
def test_the_tag_is_read_wherever_a_type_keeps_tags(tags: dict[str, Any], value: str) -> None:
    assert waiver_tag(tags).text == value
    assert waiver_tag(tags).known


@pytest.mark.parametrize(
    "tags",
    [
        {"tags": UNKNOWN},
        {"tags": {WAIVER_TAG: UNKNOWN}},
        {"tags": [UNKNOWN]},
        {"tags": [{"key": UNKNOWN, "value": "a"}]},
        {"tags": [{"key": WAIVER_TAG, "value": UNKNOWN}]},
        {"tags": {WAIVER_TAG: 7}},
        {"tagSpecifications": UNKNOWN},
    ],
)
def test_an_unknown_tag_is_not_an_absent_one(tags: dict[str, Any]) -> None:
    assert not waiver_tag(tags).known


def session_of(tmp_path: Path, *waivers: Waiver, **workload: Any) -> Session:
    declared = {"workloads": {"chat": {**CHAT, **workload}}}
    (tmp_path / "gpusize.yaml").write_text(json.dumps(declared))
    return Session(Run(Settings(waivers=waivers), TODAY, tmp_path))


def box(name: str = "web-1", kind: str = INSTANCE, **tags: str) -> Seen:
    props = {**SPOT, "tags": {WORKLOAD_TAG: "chat", **tags}}
    return Seen(kind, name, f"urn:pulumi:prod::shop::{kind}::{name}", props)


def judged(session: Session, *resources: Seen) -> list[Finding]:
    early = [found for one in resources for found in session.judge(one)]
    return [*early, *(found for _, found in session.finish(resources))]


def spots(findings: list[Finding]) -> list[str]:
    return [found.waived_by for found in findings if found.code == "GPU501"]


def codes(findings: list[Finding]) -> list[str]:
    return [found.code for found in findings if found.code > "GPU901"]


def test_a_machine_is_waived_by_its_workload_its_name_and_its_tag(tmp_path: Path) -> None:
    own = {"waivers": [{k: v for k, v in GOOD._asdict().items() if k in OWN and v}]}
    named = GOOD._replace(workload="", resource="web-*")
    tagged = GOOD._replace(workload="")
    for session, one in (
        (session_of(tmp_path, GOOD), box()),
        (session_of(tmp_path, named), box()),
        (session_of(tmp_path, tagged), box(**{WAIVER_TAG: "other demo"})),
        (session_of(tmp_path, **own), box()),
    ):
        findings = judged(session, one)
        assert spots(findings) == ["demo"]
        assert "GPU919" in codes(findings)


OWN = ("id", "rule", "reason", "owner", "expires")


def test_another_resource_of_the_workload_is_not_waived(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(workload="", resource="web-*"))
    findings = judged(session, box(), box("shop"))
    assert sorted(spots(findings)) == ["", "demo"]


def test_a_waived_template_does_not_silence_what_it_launches(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(workload="", resource=f"{TEMPLATE}::*"))
    template = box("made", TEMPLATE)
    props = {"launchTemplate": {"id": UNKNOWN}}
    sources = {"launchTemplate": [template.urn]}
    launched = Seen(INSTANCE, "run", f"urn:pulumi:prod::shop::{INSTANCE}::run", props, "")
    findings = judged(session, template, launched._replace(sources=sources))
    assert sorted(spots(findings)) == ["", "demo"]


def test_a_machine_takes_the_tag_of_its_template(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(workload=""))
    tags = {WORKLOAD_TAG: "chat", WAIVER_TAG: "demo"}
    template = box("made", TEMPLATE)._replace(props={**SPOT, "tags": tags})
    props = {"launchTemplate": {"id": UNKNOWN}}
    sources = {"launchTemplate": [template.urn]}
    launched = Seen(INSTANCE, "run", f"urn:pulumi:prod::shop::{INSTANCE}::run", props, "")
    findings = judged(session, template, launched._replace(sources=sources))
    assert set(spots(findings)) == {"demo"}


def test_a_tag_whose_value_comes_later_waives_nothing_and_is_told(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(workload=""))
    findings = judged(session, box(**{WAIVER_TAG: UNKNOWN}))
    assert spots(findings) == [""]
    assert "tags.gpusize:waiver" in str([one.message for one in findings if one.code == "GPU900"])


def test_what_is_no_id_is_never_repeated(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(workload=""))
    findings = judged(session, box(**{WAIVER_TAG: f"@{CANARY}"}))
    assert codes(findings) == ["GPU907"]
    assert CANARY not in str(findings)


def test_a_tag_that_names_a_waiver_for_others_is_told(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(workload="shop"))
    findings = judged(session, box(**{WAIVER_TAG: "demo"}))
    assert spots(findings) == [""]
    (told,) = [one.message for one in findings if one.code == "GPU907"]
    assert "that waiver is for workload shop" in told


def test_a_waiver_is_told_to_be_expired_once_in_a_run(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD._replace(expires="2026-11-29"))
    findings = judged(session, box(), box("web-2"))
    assert spots(findings) == ["", ""]
    assert codes(findings) == ["GPU905"]


def test_a_waiver_is_unused_where_its_rule_was_silent(tmp_path: Path) -> None:
    calm = {**SPOT, "instanceMarketOptions": {}}
    session = session_of(tmp_path, GOOD)
    resource = box()._replace(props={**calm})
    assert codes(judged(session, resource)) == ["GPU912", "GPU906"]
    assert codes(judged(session_of(tmp_path, GOOD))) == []


def test_a_waiver_is_not_unused_where_something_is_not_known(tmp_path: Path) -> None:
    session = session_of(tmp_path, GOOD)
    unsaid = box()._replace(props={**SPOT, "instanceType": UNKNOWN})
    findings = judged(session, unsaid)
    assert "GPU900" in [one.code for one in findings]
    assert codes(findings) == []


def test_what_holds_everywhere_is_told_where_it_is_not_waived() -> None:
    """A rule that speaks once in a run must not be silenced by one subject's waiver."""
    code = min(ONCE)
    told: dict[str, str] = {}
    waived = finding(code)._replace(waived_by="demo")
    assert told_once([waived], "chat", told) == (waived,)
    assert told_once([finding(code)], "shop", told) == (finding(code),)
    assert told_once([finding(code)], "third", told) == ()


def test_a_component_carries_its_own_waivers(tmp_path: Path) -> None:
    own = {k: v for k, v in GOOD._asdict().items() if k in OWN}
    session = Session(Run(Settings(), TODAY, tmp_path))
    pinned = {"instanceType": "g6.xlarge", "market": "spot"}
    props = {**CHAT, **pinned, "waivers": [own], "decision": pinned}
    findings = session.judge(Seen(COMPONENT, "chat", "urn::chat", props))
    assert spots(list(findings)) == ["demo"]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"rule": "GPU501"}, "waivers: takes a list of waivers"),
        ([7], r"waivers\[0\]: a waiver is a mapping"),
        ([{"rules": "GPU501"}], r"waivers\[0\].rules: unknown key \(did you mean rule\?\)"),
        ([{}, {"reason": 7}], r"waivers\[1\].reason: takes a text"),
        ([{}] * 1001, "waivers: has more than 1000 entries"),
    ],
)
def test_what_has_not_the_shape_is_a_problem_of_the_settings(raw: Any, told: str) -> None:
    _, problems = parse({"waivers": raw}, Path())
    with pytest.raises(GpuSizeError, match=told):
        raise GpuSizeError(problems)


def test_waivers_know_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "gpusize-policy.yaml"
    path.write_text("waivers:\n  - {id: demo}\n  - rule: GPU501\n    workload: chat\n")
    first, second = load(str(path)).waivers
    assert (first.place.line, second.place.line) == (2, 3)
    assert second.place == Subject("chat", "", str(path), "waivers[1]", 3, 5)


def test_the_schema_takes_a_good_waiver_alone() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    good = {key: text for key, text in GOOD._asdict().items() if text and key != "place"}
    assert validator.is_valid({"waivers": [good]})
    for wrong in (
        {key: text for key, text in good.items() if key != "owner"},
        {**good, "reason": "short"},
        {**good, "resource": "web"},
        {**good, "until": "2027"},
        {**good, "id": "two words"},
    ):
        assert not validator.is_valid({"waivers": [wrong]}), wrong


def test_the_list_is_of_the_settings_alone_where_no_file_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["waivers"]) == 0
    assert capsys.readouterr().out.startswith("0 waivers (today ")
    (tmp_path / "gpusize-policy.yaml").write_text(json.dumps({"waivers": [{"rule": "GPU501"}]}))
    assert main(["waivers", "--format", "json"]) == 1
    (listed,) = json.loads(capsys.readouterr().out)["waivers"]
    assert listed["state"] == "invalid"
    assert main(["waivers", "not-there.yaml"]) == 2


def test_every_rule_is_listed_with_what_a_team_needs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rules", "--format", "json"])
    for rule in json.loads(capsys.readouterr().out):
        assert {"code", "name", "severity", "since", "waivable", "docs", "needs"} <= set(rule)
        assert isinstance(rule["parameters"], list)


def test_golden_settings_are_read() -> None:
    folder = Path(__file__).parents[2] / "golden"
    raw = read(str(folder / "waivers-policy.yaml")).data
    assert len(load(str(folder / "waivers-policy.yaml")).waivers) == len(raw["waivers"])
