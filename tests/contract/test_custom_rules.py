"""Rules of the team in the policy pack's process: policies of their own, and one that carries."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from gpusize_policies.setup import CUSTOM_POLICY, SETTINGS_POLICY
from tests.contract.processes import UNKNOWN, pack

pytest.importorskip("cel_expr_python", reason="the extra `rules`, for Python 3.11 and newer")

COMPONENT = "gpusize:index:GpuWorkload"
INSTANCE = "aws:ec2/instance:Instance"
STACK = "pulumi:pulumi:Stack"
CANARY = "CANARY-7d1f"
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192.0,
    "concurrency": 8.0,
    "region": "us-east-1",
    "decision": {
        "instanceType": "g6.xlarge",
        "nodes": 1.0,
        "market": "on-demand",
        "layout": {"tp": 1.0, "pp": 1.0, "dp": 1.0, "ep": 1.0},
        "version": "0.1.0",
    },
}


def rule(number, name, **more):
    return {"id": f"TEAM{number:03}", "name": name, "message": "it is so", **more}


CEILING = rule(1, "gpu-ceiling", severity="error", require="plan.gpus > 1")
OWNER = rule(2, "no-owner", require="resource.tags.owner == 'search'")


@pytest.fixture(scope="module", params=["fast", "public"])
def gate(request, environ, tmp_path_factory):
    """Return a starter of packs beside a program with settings; the public way is the SDK's."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    prelude = "import gpusize_policies.pack as p; p.NEEDED = ('_not_there',)"

    @contextmanager
    def starter(*rules):
        (folder / "gpusize-policy.yaml").write_text(json.dumps({"customRules": rules}))
        public = prelude if request.param == "public" else ""
        with pack({**environ, "PWD": str(folder)}, None, public) as running:
            running.folder, running.way = folder, request.param
            yield running

    return starter


def test_each_rule_is_a_policy_of_its_own(gate):
    with gate(CEILING, OWNER) as pack:
        assert {"gpu-ceiling", "no-owner", CUSTOM_POLICY} <= {
            one.name for one in pack.info().policies
        }
        (told,) = pack.analyze(COMPONENT, "chat", CHAT)
        assert (told.policy, told.level) == ("gpu-ceiling", "mandatory")
        assert ("TEAM001 gpu-ceiling: workload 'chat': it is so.") in told.message
        tagged = {"instanceType": "g6.xlarge", "tags": {"owner": CANARY, "other": CANARY}}
        found = pack.analyze_stack(resource_of("machine", tagged))
        assert [one.policy for one in found if one.policy == "no-owner"] == ["no-owner"]
        assert all(CANARY not in one.message for one in found)
        unknown = {"instanceType": "g6.xlarge", "tags": {"owner": UNKNOWN}}
        doubts = [
            one
            for one in pack.analyze_stack(resource_of("later", unknown))
            if one.policy == "cannot-evaluate" and "TEAM002" in one.message
        ]
        assert len(doubts) == 1
        assert "resource.tags is not known" in doubts[0].message


def resource_of(name, properties):
    from tests.contract.processes import resource

    return resource(INSTANCE, name, properties)


def test_rules_that_come_with_the_configuration_are_carried(gate):
    with gate(OWNER) as pack:
        if pack.way == "public":
            return  # it takes no other file
        (pack.folder / "other.yaml").write_text(json.dumps({"customRules": [CEILING]}))
        pack.configure({SETTINGS_POLICY: {"file": "other.yaml"}})
        (told,) = pack.analyze(COMPONENT, "chat", CHAT)
        assert (told.policy, told.level) == (CUSTOM_POLICY, "mandatory")
        assert "TEAM001 gpu-ceiling" in told.message


def test_what_is_wrong_with_a_rule_fails_as_any_mistake_in_the_settings_does(gate):
    wrong = rule(3, "gpu-count", require="plan.gpusCount > 1")
    with gate(CEILING, wrong) as pack:
        told = pack.analyze(STACK, "app-dev", {})
        assert [(one.policy, one.level) for one in told] == [(SETTINGS_POLICY, "mandatory")]
        assert "customRules[1].require: there is no fact plan.gpusCount" in told[0].message
