"""The plugin's process, asked as the engine asks it."""

from __future__ import annotations

import json

import grpc
import pytest

from gpusize.schema import SCHEMA_FILE
from tests.contract.processes import SECRET, TODAY, UNKNOWN, secret

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "engine": "vllm@0.20",
    "contextLength": 8192.0,
    "concurrency": 8.0,
    "region": "us-east-1",
}
MISFIT = {
    **CHAT,
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "weightsFormat": "fp16",
    "instanceType": "g5.xlarge",
}
WAIVER = {"reason": "measured at peak load", "owner": "ops", "expires": "2027-01-31"}
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
COMPONENT = "gpusize:index:GpuWorkload"
CANARY = "CANARY-7d1f"


def test_schema_is_the_checked_in_one(gpusize):
    assert gpusize.schema() == json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def test_construct_answers_the_decision(gpusize):
    answer = gpusize.make(CHAT)
    assert answer["instanceType"] == "g6.xlarge"
    assert answer["fits"] is True
    assert answer["launchTemplateId"]
    known = gpusize.schema()["resources"][COMPONENT]
    assert set(answer) <= set(known["properties"])
    assert set(known["required"]) <= set(answer)


def test_construct_registers_what_policies_see(gpusize):
    gpusize.make({**CHAT, "traffic": {"shape": "steady"}})
    (seen,) = gpusize.engine.made(COMPONENT)
    assert seen["traffic"] == {"shape": "steady"}
    assert seen["decision"]["instanceType"] == "g6.xlarge"
    outputs = {one.urn.rpartition("::")[2]: one.outputs for one in gpusize.engine.outputs}
    assert outputs["chat"]["declaration"]["contextLength"] == 8192
    assert outputs["chat"]["instanceType"] == "g6.xlarge"


def test_children_have_the_component_for_a_parent(gpusize):
    gpusize.make({**CHAT, "createInstance": True, "subnetId": "subnet-1"})
    children = [one for one in gpusize.engine.registered if one.custom]
    assert [one.type for one in children] == [TEMPLATE, INSTANCE]
    assert all(one.parent.endswith(f"{COMPONENT}::chat") for one in children)
    assert all(one.version for one in children)


def test_every_bad_input_is_told_with_its_path(gpusize):
    refused = gpusize.refuse(
        {
            **CHAT,
            "contextLength": -5.0,
            "engine": {"memoryFraction": 1.5},
            "concurrency": 2.5,
            "budget": {"perHour": "much"},
            "waivers": [{"rule": "GPU104", "reason": "r", "owner": "o"}],
            "seqLne": 1.0,
            "createInstance": "yes",
        }
    )
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "chat" in refused.text
    assert set(refused.errors) == {
        "contextLength",
        "engine.memoryFraction",
        "concurrency",
        "budget.perHour",
        "waivers[0].expires",
        "seqLne",
        "createInstance",
    }
    assert "Traceback" not in str(refused)
    assert gpusize.engine.registered == []


def test_missing_fields_are_told(gpusize):
    assert {"model", "region", "contextLength"} <= set(gpusize.refuse({"kind": "serving"}).errors)


def test_unknown_model_is_told_with_what_was_meant(gpusize):
    refused = gpusize.refuse({**CHAT, "model": "meta-llama/Llama-3.1-8B-Instrct", "tp": 0.0})
    assert "meta-llama/Llama-3.1-8B-Instruct" in refused.errors["model"]
    assert "tp" in refused.errors


@pytest.mark.parametrize("value", [UNKNOWN, secret(CANARY), secret(UNKNOWN)])
@pytest.mark.parametrize(
    ("inputs", "path"),
    [
        (lambda value: {"model": value}, "model"),
        (lambda value: {"contextLength": value}, "contextLength"),
        (lambda value: {"tags": {"team": value}}, "tags"),
        (lambda value: {"waivers": [{**WAIVER, "rule": value}]}, "waivers"),
    ],
    ids=["model", "number", "map", "list"],
)
def test_unknown_and_secret_values_are_named_and_never_shown(gpusize, value, inputs, path):
    refused = gpusize.refuse({**CHAT, **inputs(value), "tp": 0.0})
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    # The engine looks up the value at a path, and panics where it is unknown.
    assert set(refused.errors) == {"tp"}
    assert f": {path}" in refused.text
    assert CANARY not in str(refused)
    assert UNKNOWN not in str(refused)


def test_paths_above_and_below_an_unknown_value_stay_unsaid(gpusize):
    engine = {"version": UNKNOWN, "memoryFraction": 7.0, "name": {"a": 1.0}}
    refused = gpusize.refuse({**CHAT, "engine": engine})
    assert "engine.version" not in refused.errors
    assert "engine" not in refused.errors
    assert "engine.memoryFraction" in refused.errors


def test_wiring_may_be_unknown_or_secret(gpusize):
    gpusize.make(
        {
            **CHAT,
            "imageId": UNKNOWN,
            "securityGroupIds": [UNKNOWN],
            "userData": secret(CANARY),
            "keyName": "ops",
        }
    )
    (template,) = gpusize.engine.made(TEMPLATE)
    assert template["keyName"] == "ops"
    assert SECRET.items() <= template["userData"].items()
    assert CANARY not in json.dumps(gpusize.engine.made(COMPONENT))
    assert CANARY not in "".join(gpusize.engine.logs)


def test_a_group_with_its_hours_is_made(gpusize):
    answer = gpusize.make(
        {
            **CHAT,
            "createGroup": True,
            "groupTypes": 2.0,
            "subnetIds": UNKNOWN,
            "replicas": {"min": 1.0, "max": 3.0},
            "traffic": {"hoursPerDay": 10.0, "daysPerWeek": 5.0, "timeZone": "Europe/Berlin"},
        }
    )
    assert answer["groupInstanceTypes"][0] == "g6.xlarge"
    assert len(answer["groupInstanceTypes"]) == 2
    (group,) = gpusize.engine.made("aws:autoscaling/group:Group")
    assert (group["minSize"], group["maxSize"]) == (0, 3)
    (registered,) = [one for one in gpusize.engine.registered if one.type.endswith(":Group")]
    assert list(registered.ignoreChanges) == ["minSize", "desiredCapacity"]
    schedules = gpusize.engine.made("aws:autoscaling/schedule:Schedule")
    assert sorted(one["desiredCapacity"] for one in schedules) == [0, 1]


def test_nodes_of_a_replica_get_their_network(gpusize):
    answer = gpusize.make(
        {
            **CHAT,
            "instanceType": "p5.48xlarge",
            "nodesPerReplica": 2.0,
            "vpcId": UNKNOWN,
            "securityGroupIds": [secret(CANARY)],
            "allowMisfit": True,
        }
    )
    assert answer["efaInterfaces"] == 32
    kinds = {one.type.rpartition(":")[2] for one in gpusize.engine.registered if one.custom}
    assert kinds == {
        "LaunchTemplate",
        "PlacementGroup",
        "SecurityGroup",
        "SecurityGroupEgressRule",
        "SecurityGroupIngressRule",
    }
    (template,) = gpusize.engine.made(TEMPLATE)
    assert len(template["networkInterfaces"]) == 33
    assert CANARY not in json.dumps(gpusize.engine.made(COMPONENT))
    assert CANARY not in "".join(gpusize.engine.logs)


def test_what_cannot_be_made_is_told(gpusize):
    refused = gpusize.refuse({**CHAT, "reserve": {"instances": 2.0}, "groupTypes": 1.0})
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert set(refused.errors) == {"zone"}
    assert set(gpusize.refuse({**CHAT, "groupTypes": 1.5}).errors) == {"groupTypes"}


def test_bad_wiring_is_told_without_its_value(gpusize):
    refused = gpusize.refuse({**CHAT, "userData": {"script": CANARY}, "subnetID": CANARY})
    assert set(refused.errors) == {"subnetID"}
    assert ": userData" in refused.text
    assert CANARY not in str(refused)


def test_misfit_goes_on_in_a_preview_with_a_warning(gpusize):
    answer = gpusize.make(MISFIT)
    assert answer["fits"] is False
    assert any("does not fit" in line for line in gpusize.engine.logs)
    assert gpusize.engine.made(TEMPLATE)[0]["instanceType"] == "g5.xlarge"


def test_misfit_is_refused_in_an_update(gpusize):
    refused = gpusize.refuse(MISFIT, preview=False)
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "does not fit; would fit: without the pins" in refused.text
    assert "allowMisfit" in refused.text
    assert refused.errors == {}
    assert gpusize.engine.registered == []


def test_misfit_is_made_when_allowed(gpusize):
    answer = gpusize.make({**MISFIT, "allowMisfit": True}, preview=False)
    assert answer["launchTemplateId"] == "chat-id"


def test_bad_configuration_is_told(gpusize):
    refused = gpusize.refuse(CHAT, config={"gpusize:today": "tomorrow"})
    assert "gpusize:today" in refused.text
    assert refused.errors == {}


def test_other_types_are_refused_without_a_traceback(gpusize):
    refused = gpusize.refuse(CHAT, kind="gpusize:index:Other")
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "Traceback" not in str(refused)


def test_resolve_answers_without_making_anything(gpusize):
    gpusize.engine.clear(preview=True)
    outputs, failures = gpusize.invoke({**CHAT, "today": TODAY, "name": "chat"})
    assert failures == {}
    assert outputs["instanceType"] == "g6.xlarge"
    assert outputs == {
        key: value for key, value in gpusize.make(CHAT).items() if key != "launchTemplateId"
    }


def test_resolve_tells_every_bad_argument(gpusize):
    outputs, failures = gpusize.invoke({**CHAT, "contextLength": -1.0, "seqLne": 1.0})
    assert outputs == {}
    assert set(failures) == {"contextLength", "seqLne"}
    _, failures = gpusize.invoke({**CHAT, "today": 5.0, "imageId": "ami-1", "allowMisfit": True})
    assert set(failures) == {"today", "imageId", "allowMisfit"}
    _, failures = gpusize.invoke({**CHAT, "today": "tomorrow"})
    assert set(failures) == {"today"}


def test_resolve_tells_a_misfit_as_an_answer(gpusize):
    outputs, failures = gpusize.invoke({**MISFIT, "today": TODAY})
    assert failures == {}
    assert outputs["fits"] is False
    assert any("would fit" in reason for reason in outputs["reasons"])


def test_resolve_shows_no_secret(gpusize):
    outputs, failures = gpusize.invoke({**CHAT, "model": secret(CANARY)})
    assert set(failures) == {"model"}
    assert CANARY not in str((outputs, failures))


def test_other_functions_are_refused(gpusize):
    assert gpusize.invoke({}, token="gpusize:index:other")[1]
