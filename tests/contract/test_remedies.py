"""Remediation in the policy pack's process: what is changed on the wire, and what stays."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from google.protobuf import json_format

from tests.contract.processes import UNKNOWN, pack, secret

INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
CANARY = "CANARY-7d1f"
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "concurrency": 8,
    "userFacing": True,
    "region": "us-east-1",
}
BATCH = {
    **{key: value for key, value in CHAT.items() if key != "userFacing"},
    "kind": "batch-inference",
    "runHours": 10,
    "interruptionTolerance": "restartable",
}
SPOT = {"marketType": "spot"}


@pytest.fixture(scope="module")
def gate(environ, tmp_path_factory):
    """Return a starter of packs beside a program, configured as the engine does it."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    (folder / "gpusize.yaml").write_text(json.dumps({"workloads": {"demo": CHAT, "batch": BATCH}}))

    @contextmanager
    def starter(config=None, **settings):
        (folder / "gpusize-policy.yaml").write_text(json.dumps(settings))
        with pack({**environ, "PWD": str(folder)}) as running:
            if config:
                running.configure(config)
            yield running

    return starter


def mended(running, properties, kind=INSTANCE):
    """Return the names of the rules that changed something, and the properties afterwards."""
    found = list(running.remediate(kind, "box", properties).remediations)
    for one in found:
        assert one.policyPackName == "gpusize"
        assert CANARY not in one.description
        assert one.policyPackVersion
    after = json_format.MessageToDict(found[-1].properties) if found else properties
    return [one.policyName for one in found], after


def box(workload="demo", **more):
    return {"instanceType": "g6.xlarge", "tags": {"gpusize:workload": workload}, **more}


def failing(running, properties, kind=INSTANCE):
    told = running.analyze(kind, "box", properties)
    return {one.policy for one in told if one.level == "mandatory"}


def test_spot_goes_and_everything_else_stays_as_it_came(gate):
    before = box(
        instanceMarketOptions=SPOT,
        userData=secret(CANARY),
        subnetId=UNKNOWN,
        metadataOptions={"httpTokens": secret("required"), "hops": 2.0},
    )
    with gate({"spot-for-user-facing": "remediate"}) as running:
        assert "spot-for-user-facing" in failing(running, before)
        names, after = mended(running, before)
        assert names == ["spot-for-user-facing"]
        assert after == {key: one for key, one in before.items() if key != "instanceMarketOptions"}
        assert "spot-for-user-facing" not in failing(running, after)
        assert mended(running, after)[0] == []


def test_nothing_is_changed_at_other_levels(gate):
    before = box(instanceMarketOptions=SPOT)
    for level in ("advisory", "mandatory", "disabled"):
        with gate({"spot-for-user-facing": level}) as running:
            assert mended(running, before)[0] == []
    with gate({"weights-exceed-vram": "remediate"}) as running:
        assert mended(running, before)[0] == []
        assert mended(running, {}, "aws:s3/bucket:Bucket")[0] == []


def test_the_settings_may_say_it(gate):
    with gate(levels={"GPU501": "remediate"}) as running:
        assert running.levels()["spot-for-user-facing"] == "remediate"
        assert mended(running, box(instanceMarketOptions=SPOT))[0] == ["spot-for-user-facing"]


def test_what_has_no_obvious_fix_is_an_error(gate):
    market = {"spot-for-user-facing": "remediate"}
    request = {**box(), "spotPrice": "1.0"}
    kind = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
    with gate(market) as running:
        assert mended(running, request, kind)[0] == []
        assert "spot-for-user-facing" in failing(running, request, kind)
        assert mended(running, box(instanceMarketOptions=UNKNOWN))[0] == []
        assert mended(running, box("nobody", instanceMarketOptions=SPOT))[0] == []


def test_what_is_waived_stays(gate):
    waiver = {
        "rule": "GPU501",
        "workload": "demo",
        "reason": "the demo may stop at any time",
        "owner": "us",
        "expires": "2026-12-31",
    }
    with gate(levels={"GPU501": "remediate"}, waivers=[waiver]) as running:
        assert mended(running, box(instanceMarketOptions=SPOT))[0] == []


def test_work_that_may_be_interrupted_gets_spot(gate):
    level = {"on-demand-for-fault-tolerant-batch": "remediate"}
    with gate(level, parameters={"maxSpotAgeDays": 3650}) as running:
        names, after = mended(running, box("batch"))
        assert names == ["on-demand-for-fault-tolerant-batch"]
        assert after["instanceMarketOptions"] == SPOT
        assert mended(running, box("batch", launchTemplate={"id": UNKNOWN}))[0] == []


TEAM = {"requiredTags": ["owner", "cost-center"], "defaultTags": {"owner": "ml-platform"}}


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        (INSTANCE, {"tags": {"a": "b"}}, {"tags": {"a": "b", "owner": "ml-platform"}}),
        (INSTANCE, {}, {"tags": {"owner": "ml-platform"}}),
        (
            INSTANCE,
            {"tags": secret({"a": "b"})},
            {"tags": secret({"a": "b", "owner": "ml-platform"})},
        ),
        (
            TEMPLATE,
            {},
            {"tagSpecifications": [{"resourceType": "instance", "tags": {"owner": "ml-platform"}}]},
        ),
        (
            TEMPLATE,
            {"tagSpecifications": [{"resourceType": "instance", "tags": {"a": secret("b")}}]},
            {
                "tagSpecifications": [
                    {
                        "resourceType": "instance",
                        "tags": {"a": secret("b"), "owner": "ml-platform"},
                    }
                ]
            },
        ),
        (INSTANCE, {"tags": UNKNOWN}, {"tags": UNKNOWN}),
        (INSTANCE, {"tags": {"owner": "me"}}, {"tags": {"owner": "me"}}),
    ],
)
def test_tags_are_added_where_the_settings_have_a_value(gate, kind, given, wanted):
    with gate({"missing-required-tags": "remediate"}, team=TEAM) as running:
        _, after = mended(running, {"instanceType": "g6.xlarge", **given}, kind)
        assert after == {"instanceType": "g6.xlarge", **wanted}


def test_a_rule_sees_what_another_changed(gate):
    levels = {"spot-for-user-facing": "remediate", "missing-required-tags": "remediate"}
    with gate(levels, team=TEAM) as running:
        names, after = mended(running, box(instanceMarketOptions=SPOT))
        assert names == ["spot-for-user-facing", "missing-required-tags"]
        assert after == box() | {"tags": {"gpusize:workload": "demo", "owner": "ml-platform"}}
