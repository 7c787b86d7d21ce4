"""Remedies: what each changes of a resource, and where it changes nothing."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from gpusize_policies.cli import main
from gpusize_policies.decode import SECRET, SIGNATURE, decode
from gpusize_policies.encode import changed
from gpusize_policies.registry import RULES, find
from gpusize_policies.remedies import Change
from gpusize_policies.session import Run, Session
from gpusize_policies.settings_file import LEVELS, levels_of, parse
from tests.rules.stacks import seen

TODAY = datetime.date(2026, 11, 30)
NODES = {
    "kind": "fine-tuning",
    "method": "full",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 4096,
    "microBatch": 2,
    "globalBatch": 32,
    "recompute": "full",
    "tokens": 1000000000,
    "nodesPerReplica": 2,
    "checkpoints": {"intervalMinutes": 30},
    "region": "us-east-1",
}
LARGE = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "weightsFormat": "bf16",
    "contextLength": 8192,
    "concurrency": 8,
    "region": "us-east-1",
}
TAGGED = [{"resourceType": "instance", "tags": {"gpusize:workload": "chat"}}]


def remedy(
    tmp_path: Path, code: str, workload: dict[str, Any], kind: str, **properties: Any
) -> tuple[Change, ...]:
    (tmp_path / "gpusize.yaml").write_text(json.dumps({"workloads": {"chat": workload}}))
    settings, _ = parse({}, tmp_path)
    session = Session(Run(settings, TODAY, tmp_path))
    rule = find(code)
    assert rule is not None
    (one,) = seen({"box": {"type": kind, "properties": properties}})
    return session.remedy(one, rule)


def template(tmp_path: Path, *interfaces: Any) -> tuple[Change, ...]:
    given = {"networkInterfaces": list(interfaces)} if interfaces else {}
    return remedy(
        tmp_path,
        "GPU701",
        NODES,
        "aws:ec2:LaunchTemplate",
        instanceType="p5.48xlarge",
        tagSpecifications=TAGGED,
        **given,
    )


def efa(index: int) -> Change:
    return Change(("networkInterfaces", index, "interfaceType"), "efa")


def test_each_network_card_gets_efa(tmp_path: Path) -> None:
    cards = [{"networkCardIndex": card, "deviceIndex": int(card > 0)} for card in (0, 0, 1)]
    assert template(tmp_path, *cards) == (efa(0), efa(2))
    assert template(tmp_path, {"interfaceType": "interface"}) == (efa(0),)


def test_interfaces_that_nobody_described_are_left(tmp_path: Path) -> None:
    assert template(tmp_path) == ()
    assert template(tmp_path, {"networkInterfaceId": "eni-1"}) == ()
    assert template(tmp_path, {"interfaceType": "efa"}) == ()


def test_a_root_volume_gets_the_size_in_the_finding(tmp_path: Path) -> None:
    machine = {"instanceType": "p5.48xlarge", "tags": {"gpusize:workload": "chat"}}
    found = remedy(
        tmp_path,
        "GPU601",
        LARGE,
        "aws:ec2:Instance",
        **machine,
        rootBlockDevice={"volumeSize": 100},
    )
    assert found == (Change(("rootBlockDevice", "volumeSize"), 185),)
    mappings = [
        {"deviceName": "/dev/sdf", "ebs": {"volumeSize": 50}},
        {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100}},
    ]
    found = remedy(
        tmp_path,
        "GPU601",
        LARGE,
        "aws:ec2:LaunchTemplate",
        instanceType="p5.48xlarge",
        tagSpecifications=TAGGED,
        blockDeviceMappings=mappings,
    )
    assert found == (Change(("blockDeviceMappings", 1, "ebs", "volumeSize"), 185),)
    large = {"volumeSize": 500}
    assert not remedy(
        tmp_path, "GPU601", LARGE, "aws:ec2:Instance", **machine, rootBlockDevice=large
    )


def test_nothing_is_remembered_of_what_was_mended(tmp_path: Path) -> None:
    (tmp_path / "gpusize.yaml").write_text(json.dumps({"workloads": {"chat": LARGE}}))
    session = Session(Run(parse({}, tmp_path)[0], TODAY, tmp_path))
    rule = find("GPU601")
    assert rule is not None
    small = {
        "instanceType": "p5.48xlarge",
        "tags": {"gpusize:workload": "chat"},
        "rootBlockDevice": {"volumeSize": 100},
    }
    (one,) = seen({"box": {"type": "aws:ec2:Instance", "properties": small}})
    assert session.remedy(one, rule)
    fixed = one._replace(props={**small, "rootBlockDevice": {"volumeSize": 185}})
    said = [*session.judge(fixed), *(finding for _, finding in session.finish([fixed]))]
    assert "GPU601" not in {finding.code for finding in said}
    assert "GPU601" in {
        finding.code
        for finding in [*session.judge(one), *(found for _, found in session.finish([one]))]
    }


def struct(data: dict[str, Any]) -> Struct:
    return json_format.ParseDict(data, Struct())


def hidden(value: Any) -> dict[str, Any]:
    return {SIGNATURE: SECRET, "value": value}


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({"a": 1, "b": 2}, Change(("a",)), {"b": 2}),
        ({}, Change(("a", "b"), "c"), {"a": {"b": "c"}}),
        ({}, Change(("a", 0), {"b": 1}), {"a": [{"b": 1}]}),
        ({"a": None}, Change(("a", "b"), 1), {"a": {"b": 1}}),
        ({"a": [1]}, Change(("a", 1), 2), {"a": [1, 2]}),
        ({"a": hidden({"b": 1})}, Change(("a", "b"), 2), {"a": hidden({"b": 2})}),
        ({"a": {"b": hidden(1)}}, Change(("a", "b"), 2), {"a": {"b": hidden(2)}}),
        ({"a": hidden([{"b": 1}])}, Change(("a", 0, "b"), 2), {"a": hidden([{"b": 2}])}),
    ],
)
def test_a_change_is_made_where_it_stands(before: Any, change: Change, after: Any) -> None:
    whole = {**before, "kept": hidden("s"), "open": UNKNOWN}
    given = struct(whole)
    made = changed(given, [change])
    assert made is not None
    assert json_format.MessageToDict(made) == {**after, "kept": hidden("s"), "open": UNKNOWN}
    assert json_format.MessageToDict(given) == whole


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({}, Change(("a",))),
        ({"a": UNKNOWN}, Change(("a", "b"), 1)),
        ({"a": [1]}, Change(("a", 5), 1)),
        ({"a": [1]}, Change(("a", "b"), 1)),
        ({"a": {"b": 1}}, Change(("a", 0), 1)),
        ({"a": [1]}, Change(("a", 0))),
        ({"a": {SIGNATURE: "asset", "text": "x"}}, Change(("a", "text"), 1)),
    ],
)
def test_what_has_no_place_is_not_guessed(before: Any, change: Change) -> None:
    assert changed(struct(before), [Change(("new",), 1), change]) is None
    assert changed(struct(before), []) is None
    assert decode(struct(before)) == before


def test_what_changes_is_said_in_words() -> None:
    assert efa(2).words == "networkInterfaces[2].interfaceType is efa"
    assert Change(("instanceMarketOptions",)).words == "instanceMarketOptions is removed"


def test_rules_say_what_they_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    listed = {one["code"]: one["remediation"] for one in json.loads(capsys.readouterr().out)}
    assert {code for code, text in listed.items() if text} == {
        "GPU501",
        "GPU506",
        "GPU601",
        "GPU701",
        "GPU903",
    }
    assert all(bool(rule.remediation) == bool(rule.remedy) for rule in RULES)


def test_only_what_has_a_remedy_may_remediate() -> None:
    settings, problems = parse({"levels": {"GPU501": "remediate"}}, Path())
    assert not problems
    rule, other = find("GPU501"), find("GPU101")
    assert rule is not None
    assert other is not None
    level = settings.level_of(rule)
    assert level is not None
    assert level.value == "error"
    assert levels_of(other) == LEVELS
    _, (problem,) = parse({"levels": {"GPU101": "remediate"}}, Path())
    assert "takes one of error, warn, advice, off" in str(problem)
