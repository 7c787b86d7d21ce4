"""Runs that see a part of a stack, or see it late: they say nothing that is not so."""

from __future__ import annotations

import json

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
TAG = {"gpusize:workload": "chat"}
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "concurrency": 8,
    "promptTokens": 700,
    "outputTokens": 250,
    "region": "us-east-1",
    "tags": {"team": "assistants"},
}
NIGHT = {**CHAT, "kind": "batch-inference", "runHours": 4, "interruptionTolerance": "restartable"}
SETTINGS = """
requireDeclaration: true
waivers:
  - id: old-boxes
    rule: retired-instance
    workload: chat
    reason: the contract of these machines ends in spring
    owner: platform
    expires: 2026-12-31
team:
  requiredTags: [team]
  maxMonthly: 2000
  maxGpus: 3
"""
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
TAGS = {**TAG, "team": "assistants"}


def resource(token, options=None, **properties):
    return {"type": token, "properties": properties, **({"options": options} if options else {})}


STACK = {
    "declared": resource("gpusize:index:GpuWorkload", **NIGHT),
    "near": resource("aws:ec2/placementGroup:PlacementGroup", strategy="cluster"),
    "template": resource(TEMPLATE, instanceType="g6.xlarge", imageId="ami-1"),
    "boxes": resource(
        "aws:autoscaling/group:Group",
        minSize=1,
        maxSize=1,
        launchTemplate={"id": "${template.id}"},
        placementGroup="${near.name}",
        tags=[
            {"key": key, "value": value, "propagateAtLaunch": True} for key, value in TAGS.items()
        ],
    ),
    "box": resource(
        INSTANCE,
        ami="ami-1",
        instanceType="g6.xlarge",
        tags={**TAGS, "gpusize:workload": "declared"},
    ),
}


def program(workshop, resources, settings=SETTINGS):
    plain = json.loads(json.dumps({"config": CONFIG, "resources": resources}))
    files = {"gpusize.yaml": json.dumps({"workloads": {"chat": CHAT}})}
    if settings:
        files["gpusize-policy.yaml"] = settings
    return workshop.yaml(plain, **files)


def urns(made):
    return {
        one["urn"].rpartition("::")[2]: one["urn"]
        for one in made.export()["deployment"]["resources"]
    }


def told(run):
    return {(one.policy, one.resource) for one in run.violations}


def test_a_part_of_a_stack_is_judged_like_all_of_it(workshop):
    made = program(workshop, STACK)
    whole = told(made.preview())
    assert ("declared-and-deployed-differ", "box") in whole
    made.up(policy_pack=None).succeed()
    found = urns(made)
    for name in ("boxes", "box", "near"):
        assert told(made.preview("--target", found[name])) == whole
    assert told(made.preview("--refresh")) == whole


def test_what_is_left_out_of_a_first_run_is_not_missed(workshop):
    made = program(workshop, STACK)
    made.preview(policy_pack=None).succeed()
    run = made.preview("--target", f"urn:pulumi:dev::app::{INSTANCE}::box")
    assert ("declared-and-deployed-differ", "box") in told(run)
    assert "waiver-unused" not in run.policies


def test_what_is_imported_is_judged_and_what_is_ignored_is_not(workshop):
    found = {key: STACK[key] for key in ("near", "template", "boxes")}
    old = resource(INSTANCE, {"import": "i-1"}, ami="ami-1", instanceType="p3.2xlarge", tags=TAGS)
    run = program(workshop, {**found, "old": old}, "").preview().fail()
    assert ("retired-instance", "old") in told(run)
    made = program(workshop, found, "")
    made.up().succeed()
    options = {"ignoreChanges": ["instanceType"]}
    ignored = resource(TEMPLATE, options, instanceType="p3.2xlarge", imageId="ami-1")
    other = program(workshop, {**found, "template": ignored}, "")
    (made.folder / "Pulumi.yaml").write_text((other.folder / "Pulumi.yaml").read_text())
    assert told(made.preview().succeed()) == set()
    assert told(made.up("--refresh").succeed()) == set()
