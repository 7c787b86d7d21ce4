"""The component, its plugin and the policy pack on the real engine, without a cloud."""

from __future__ import annotations

import json

import pytest

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "engine": "vllm@0.20",
    "contextLength": 8192,
    "concurrency": 8,
    "promptTokens": 700,
    "region": "us-east-1",
}
MISFIT = {
    **CHAT,
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "weightsFormat": "fp16",
    "instanceType": "g5.xlarge",
    "market": "spot",
}
CANARY = "CANARY-7d1f"
COMPONENT = "gpusize:index:GpuWorkload"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"


def component(properties):
    return {"type": COMPONENT, "properties": properties}


def program(workshop, resources, **more):
    return workshop.yaml({"config": CONFIG, "resources": resources, **more})


def levels(run):
    return {violation.policy: violation.level for violation in run.violations}


def test_good_workload_lives_from_preview_to_update_and_stays(workshop):
    wired = {
        **CHAT,
        "imageId": "${ami}",
        "securityGroupIds": ["${group.id}"],
        "userData": {"fn::secret": f"echo {CANARY}"},
        "subnetId": "subnet-1",
        "createInstance": True,
        "tags": {"team": "assistants"},
    }
    made = program(
        workshop,
        {
            "group": {"type": "aws:ec2/securityGroup:SecurityGroup", "properties": {}},
            "chat": component(wired),
        },
        variables={"ami": {"fn::secret": "ami-1"}},
        outputs={
            "type": "${chat.instanceType}",
            "tp": "${chat.layout.tp}",
            "cost": "${chat.hourlyCost}",
            "template": "${chat.launchTemplateId}",
        },
    )
    first = made.preview().succeed()
    assert first.violations == ()
    assert first.changes["create"] == 5
    made.up().succeed()
    outputs = made.outputs()
    assert outputs["type"] == "g6.xlarge"
    assert outputs["tp"] == 1
    assert 0 < outputs["cost"] < 10
    assert outputs["template"].startswith("lt-")
    second = made.preview("--expect-no-changes").succeed()
    assert set(second.changes) == {"same"}
    assert CANARY not in first.text + second.text + json.dumps(made.export())
    judged = made.policy_analyze().succeed()
    assert judged.violations == ()


def test_bad_workload_fails_the_preview_with_numbers_and_the_fix(workshop):
    run = program(workshop, {"chat": component(MISFIT), "good": component(CHAT)}).preview().fail()
    found = {violation.policy: violation for violation in run.violations}
    assert levels(run)["weights-exceed-vram"] == levels(run)["spot-for-user-facing"] == "mandatory"
    assert {violation.resource for violation in run.violations} == {"chat"}
    message = found["weights-exceed-vram"].message
    for word in ("GPU101", "GiB", "g5.xlarge", "Fix:", "/h"):
        assert word in message
    assert "does not fit" in run.text
    assert "Traceback" not in run.text


def test_advice_does_not_fail_the_preview(workshop):
    bursty = {
        **CHAT,
        "traffic": {"shape": "bursty", "hoursPerDay": 3},
        "replicas": {"min": 1, "max": 2},
    }
    made = program(workshop, {"chat": component(bursty)})
    run = made.preview().succeed()
    assert levels(run)["always-on-for-bursty"] == "advisory"
    strict = {"always-on-for-bursty": "mandatory"}
    assert levels(made.preview(policy_pack_config=strict).fail())["always-on-for-bursty"] == (
        "mandatory"
    )


def test_levels_and_misspelt_names_of_the_pack_configuration(workshop):
    made = program(workshop, {"chat": component(MISFIT)})
    assert set(levels(made.preview(policy_pack_config={"all": "advisory"}).succeed())) >= {
        "weights-exceed-vram",
        "spot-for-user-facing",
    }
    run = made.preview(
        policy_pack_config={
            "weights-exceed-vram": {"enforcementLevel": "disabled"},
            "spot-for-user-facing": "advisory",
            "weight-exceed-vram": "advisory",
        }
    ).fail()
    assert levels(run)["spot-for-user-facing"] == "advisory"
    assert "weights-exceed-vram" not in levels(run)
    assert "did you mean weights-exceed-vram" in run.text


def test_unknown_instance_type_of_a_component_is_told(workshop):
    run = program(workshop, {"chat": component({**CHAT, "instanceType": "g6.xlrage"})}).preview()
    assert "unknown-instance-type" in run.fail().policies
    assert "g6.xlarge" in run.text


def test_every_bad_input_from_yaml_is_told_at_once(workshop):
    bad = {
        **CHAT,
        "contextLength": -5,
        "engine": {"name": "vllm", "memoryFraction": 1.5},
        "concurrency": 2.5,
        "model": "${bucket.id}",
        "tags": {"team": {"fn::secret": CANARY}},
        "userData": {"fn::secret": CANARY},
    }
    bucket = {"type": "aws:ec2/securityGroup:SecurityGroup", "properties": {}}
    run = program(workshop, {"bucket": bucket, "chat": component(bad)}).preview().fail()
    for word in (
        "property contextLength with value -5",
        "property engine.memoryFraction with value 1.5",
        "property concurrency with value 2.5",
        "model: is an output",
        "tags",
    ):
        assert word in run.text, word
    assert CANARY not in run.text
    assert "Traceback" not in run.text


def test_every_bad_input_from_python_is_told_at_once(workshop):
    run = (
        workshop.python(
            f"""
        import pulumi
        from gpusize.component import GpuWorkload

        group = pulumi.CustomResource("aws:ec2/securityGroup:SecurityGroup", "group", {{}})
        GpuWorkload("chat", {{
            "kind": "serving",
            "model": group.id,
            "context_length": -5,
            "region": "us-east-1",
            "engine": {{"memory_fraction": 1.5}},
            "tags": {{"team": pulumi.Output.secret("{CANARY}")}},
            "subnetID": "subnet-1",
        }})
        """,
            {"config": CONFIG},
        )
        .preview()
        .fail()
    )
    for word in ("contextLength", "engine.memoryFraction", "model", "tags.team", "subnetID"):
        assert word in run.text, word
    assert CANARY not in run.text
    assert "Traceback" not in run.text


def test_python_program_in_process(workshop):
    made = workshop.python(
        f"""
        import pulumi
        from gpusize.component import GpuWorkload

        chat = GpuWorkload("chat", {{**{CHAT!r}, "key_name": pulumi.Output.from_input("ops")}})
        pulumi.export("type", chat.instance_type)
        pulumi.export("template", chat.launch_template_id)
        """,
        {"config": CONFIG},
    )
    assert made.preview().succeed().violations == ()
    made.up().succeed()
    assert made.outputs()["type"] == "g6.xlarge"
    made.preview("--expect-no-changes").succeed()
    urns = [one["urn"] for one in made.export()["deployment"]["resources"]]
    assert f"urn:pulumi:dev::app::{COMPONENT}${TEMPLATE}::chat" in urns


def test_misfit_is_refused_in_an_update_unless_allowed(workshop):
    made = program(workshop, {"chat": component(MISFIT)})
    refused = made.up(policy_pack=None).fail()
    for word in ("does not fit", "GiB", "allowMisfit", "would fit"):
        assert word in refused.text
    assert "Traceback" not in refused.text
    allowed = program(workshop, {"chat": component({**MISFIT, "allowMisfit": True})})
    allowed.up(policy_pack=None).succeed()
    judged = allowed.policy_analyze()
    assert "weights-exceed-vram" in judged.fail().policies


def test_function_decides_without_resources(workshop):
    arguments = {**CHAT, "today": "2026-11-30"}
    call = {"fn::invoke": {"function": "gpusize:index:resolve", "arguments": arguments}}
    made = program(
        workshop,
        {
            "own": {
                "type": INSTANCE,
                "properties": {"ami": "ami-1", "instanceType": "${plan.instanceType}"},
            }
        },
        variables={"plan": call},
        outputs={"type": "${plan.instanceType}", "cost": "${plan.hourlyCost}"},
    )
    made.up().succeed()
    assert made.outputs()["type"] == "g6.xlarge"
    bad = {"fn::invoke": {**call["fn::invoke"], "arguments": {**arguments, "contextLength": -1}}}
    run = program(workshop, {}, variables={"plan": bad}, outputs={"t": "${plan.instanceType}"})
    told = run.preview().fail().text
    assert "gpusize:index:resolve invoke failed" in told
    assert "(contextLength)" in told


DECLARED = json.dumps({"workloads": {"small": CHAT, "big": {**MISFIT, "market": "on-demand"}}})


def raw(kind, instance_type, workload, **more):
    tags = {"gpusize:workload": workload}
    return {"type": kind, "properties": {"instanceType": instance_type, "tags": tags, **more}}


def test_plain_resources_are_judged_by_the_declaration_they_point_at(workshop):
    made = workshop.yaml(
        {
            "config": CONFIG,
            "resources": {
                "good": raw(INSTANCE, "g6.xlarge", "small", ami="ami-1"),
                "bad": raw(INSTANCE, "g5.xlarge", "big", ami="ami-1"),
                "template": raw(TEMPLATE, "g5.xlarge", "big"),
                "spot": raw(
                    INSTANCE,
                    "g6.xlarge",
                    "small",
                    ami="ami-1",
                    instanceMarketOptions={"marketType": "spot"},
                ),
                "follows": {
                    "type": INSTANCE,
                    "properties": {
                        "launchTemplate": {"id": "${template.id}"},
                        "tags": {"gpusize:workload": "big"},
                    },
                },
                "untagged": {
                    "type": INSTANCE,
                    "properties": {"ami": "ami-1", "instanceType": "g5.xlarge"},
                },
            },
        },
        **{"gpusize.yaml": DECLARED},
    )
    run = made.preview().fail()
    memory = {one.resource for one in run.violations if one.policy == "weights-exceed-vram"}
    # What follows the template was told of it with the template.
    assert memory == {"bad", "template"}
    market = {one.resource for one in run.violations if one.policy == "spot-for-user-facing"}
    assert market == {"spot"}
    told = {(one.resource, one.policy, one.level) for one in run.violations}
    # One instance in one zone that users wait for: advice of its own.
    assert {one for one in told if one[0] == "good"} == {
        ("good", "production-without-fallback", "advisory")
    }
    # Nobody declared it: told, and an error only where the settings require a declaration.
    assert {one for one in told if one[0] == "untagged"} == {
        ("untagged", "undeclared-gpu", "advisory")
    }


TRAINED = {
    "kind": "fine-tuning",
    "method": "full",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 4096,
    "microBatch": 2,
    "globalBatch": 32,
    "recompute": "full",
    "tokens": 1000000000,
    "checkpoints": {"intervalMinutes": 30},
    "autoStop": {"idleMinutes": 30},
    "interruptionTolerance": "none",
    "region": "us-east-1",
}
BATCH = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "concurrency": 8,
    "runHours": 4,
    "region": "us-east-1",
}


def cluster(name, interfaces, **group):
    tags = [{"resourceType": "instance", "tags": {"gpusize:workload": "trained"}}]
    described = {"instanceType": "p4d.24xlarge", "tagSpecifications": tags, **interfaces}
    size = {"minSize": 2, "maxSize": 2, "availabilityZones": ["us-east-1a"]}
    reference = {"launchTemplate": {"id": f"${{{name}-template.id}}"}}
    return {
        f"{name}-template": {"type": TEMPLATE, "properties": described},
        name: {
            "type": "aws:autoscaling/group:Group",
            "properties": {**size, **reference, **group},
        },
    }


def test_machines_of_a_stack_are_judged_with_all_that_the_stack_says(workshop):
    efa = [
        {"interfaceType": "efa", "networkCardIndex": card, "deviceIndex": min(card, 1)}
        for card in range(4)
    ]
    near = {"type": "aws:ec2/placementGroup:PlacementGroup", "properties": {"strategy": "cluster"}}
    made = workshop.yaml(
        {
            "config": CONFIG,
            "resources": {
                "near": near,
                **cluster("apart", {}),
                **cluster("joined", {"networkInterfaces": efa}, placementGroup="${near.name}"),
                "box": raw(
                    INSTANCE,
                    "g6e.xlarge",
                    "batch",
                    ami="ami-1",
                    instanceMarketOptions={"marketType": "spot"},
                ),
            },
        },
        **{"gpusize.yaml": json.dumps({"workloads": {"trained": TRAINED, "batch": BATCH}})},
    )
    run = made.preview().fail()
    told = {(one.policy, one.resource) for one in run.violations}
    assert told >= {
        ("multi-node-without-efa", "apart"),
        ("multi-node-without-placement-group", "apart"),
        ("spot-single-pool", "box"),
    }
    assert not {one.resource for one in run.violations} & {"joined", "joined-template"}


def test_unknown_values_are_one_advice_each_and_an_error_when_asked(workshop):
    made = workshop.yaml(
        {
            "config": CONFIG,
            "resources": {
                "group": {"type": "aws:ec2/securityGroup:SecurityGroup", "properties": {}},
                "later": raw(INSTANCE, "${group.id}", "small", ami="ami-1"),
            },
        },
        **{"gpusize.yaml": DECLARED},
    )
    run = made.preview().succeed()
    assert [(one.policy, one.level) for one in run.violations] == [("cannot-evaluate", "advisory")]
    made.preview(policy_pack_config={"cannot-evaluate": "mandatory"}).fail()


@pytest.mark.parametrize("location", ["sub", "."])
def test_files_are_found_beside_the_program_from_anywhere(workshop, location):
    made = workshop.yaml(
        {"config": CONFIG, "resources": {"bad": raw(INSTANCE, "g5.xlarge", "big", ami="ami-1")}},
        **{"gpusize.yaml": DECLARED, "gpusize-policy.yaml": "preset: observe\n"},
    )
    (made.folder / "sub").mkdir()
    shell = {"PWD": str((made.folder / location).resolve())}
    run = made.preview(environ=shell).succeed()
    assert levels(run)["weights-exceed-vram"] == "advisory"
