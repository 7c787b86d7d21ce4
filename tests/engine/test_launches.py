"""Machines that nobody declared, judged in a real preview by what they start."""

from __future__ import annotations

import base64
import json

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
CANARY = "CANARY-3b8d"
SCRIPT = f"""#!/bin/bash
export HF_TOKEN={CANARY}
docker run -d --gpus all -e HF_TOKEN={CANARY} vllm/vllm-openai:v0.11.0 \\
  --model meta-llama/Llama-3.1-8B-Instruct --max-model-len 131072 --api-key {CANARY}
"""


def test_user_data_with_too_long_a_context_fails_the_preview(workshop):
    encoded = base64.b64encode(SCRIPT.encode()).decode()
    machine = {"instanceType": "g5.xlarge", "ami": "ami-1"}
    template = {"instanceType": "g5.xlarge", "userData": encoded}
    resources = {
        "plain": ("Instance", {**machine, "userData": SCRIPT}),
        "hidden": ("Instance", {**machine, "userData": {"fn::secret": SCRIPT}}),
        "template": ("LaunchTemplate", template),
        "launched": ("Instance", {"ami": "ami-1", "launchTemplate": {"id": "${template.id}"}}),
        "quiet": ("Instance", {**machine, "userData": f"#!/bin/bash\necho {CANARY}\n"}),
        "small": ("Instance", {**machine, "instanceType": "m7i.large", "userData": SCRIPT}),
    }
    made = workshop.yaml(
        {
            "config": CONFIG,
            "resources": {
                name: {"type": f"aws:ec2:{kind}", "properties": props}
                for name, (kind, props) in resources.items()
            },
        }
    )
    run = made.preview().fail()
    found = [one for one in run.violations if one.policy == "kv-cache-exceeds-vram"]
    assert sorted(one.resource for one in found) == ["hidden", "launched", "plain"]
    for one in found:
        assert one.level == "mandatory"
        assert "inferred from user data: model, contextLength, engine.version" in one.message
    others = [one for one in run.violations if one.policy != "kv-cache-exceeds-vram"]
    assert {(one.resource, one.policy) for one in others} == {("quiet", "undeclared-gpu")}
    assert CANARY not in run.text + "".join(one.message for one in run.violations)


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
CONTAINER = {
    "name": "web",
    "image": "vllm/vllm-openai:v0.11.0",
    "command": ["--model", LLAMA, "--max-model-len", "131072", "--api-key", CANARY],
    "environment": [{"name": "HF_TOKEN", "value": CANARY}],
    "resourceRequirements": [{"type": "GPU", "value": "1"}],
}
LMI = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.33.0-lmi15.0.0-cu128"
SERVED = {
    "image": LMI,
    "environment": {
        "HF_MODEL_ID": LLAMA,
        "OPTION_MAX_MODEL_LEN": "131072",
        "HF_TOKEN": {"fn::secret": CANARY},
    },
}
VARIANT = {
    "modelName": "${model.name}",
    "instanceType": "ml.g5.xlarge",
    "initialInstanceCount": 1,
    "variantName": "all",
}
SCRIPT_PARAMETERS = {
    "sagemaker_program": "sft.py",
    "model_name_or_path": "meta-llama/Llama-3.1-8B",
    "hub_token": CANARY,
}
TRAINED = {
    "trainingJobName": "a",
    "roleArn": "arn:aws:iam::123456789012:role/a",
    "hyperParameters": SCRIPT_PARAMETERS,
    "resourceConfig": {"instanceType": "ml.g5.xlarge", "instanceCount": 1},
}
"""All of 8 billion parameters are trained, of which a GPU of 24 GB holds not even the weights."""
JOB = {"type": "container", "containerProperties": json.dumps(CONTAINER)}
POOL = {"type": "EC2", "maxVcpus": 64, "subnets": ["a"], "instanceTypes": ["g5.xlarge"]}
MANAGED = {
    "template": ("aws:ec2:LaunchTemplate", {"instanceType": "g5.xlarge"}),
    "group": (
        "aws:autoscaling:Group",
        {"launchTemplate": {"id": "${template.id}"}, "minSize": 1, "maxSize": 2},
    ),
    "provider": (
        "aws:ecs:CapacityProvider",
        {"autoScalingGroupProvider": {"autoScalingGroupArn": "${group.arn}"}},
    ),
    "task": (
        "aws:ecs:TaskDefinition",
        {"family": "web", "containerDefinitions": {"fn::secret": json.dumps([CONTAINER])}},
    ),
    "service": (
        "aws:ecs:Service",
        {
            "taskDefinition": "${task.arn}",
            "capacityProviderStrategies": [{"capacityProvider": "${provider.name}"}],
        },
    ),
    "model": (
        "aws:sagemaker:Model",
        {"executionRoleArn": "arn:aws:iam::123456789012:role/a", "primaryContainer": SERVED},
    ),
    "endpoint": ("aws:sagemaker:EndpointConfiguration", {"productionVariants": [VARIANT]}),
    "pool": (
        "aws:batch:ComputeEnvironment",
        {"type": "MANAGED", "computeResources": POOL},
    ),
    "job": ("aws:batch:JobDefinition", JOB),
    "run": ("aws:sagemaker:TrainingJob", TRAINED),
}


def test_managed_services_without_tags_are_judged_by_what_they_start(workshop):
    resources = {
        name: {"type": kind, "properties": props} for name, (kind, props) in MANAGED.items()
    }
    made = workshop.yaml({"config": CONFIG, "resources": resources})
    run = made.preview().fail()
    found = [one for one in run.violations if one.policy == "kv-cache-exceeds-vram"]
    assert sorted(one.resource for one in found) == ["endpoint", "job", "service"], run.text
    for one in found:
        assert one.level == "mandatory"
        assert "inferred from its container: model, contextLength" in one.message
    (trained,) = [one for one in run.violations if one.resource == "run"]
    assert trained.policy == "training-states-exceed-vram"
    assert "inferred from its hyperparameters: model" in trained.message
    assert CANARY not in run.text + "".join(one.message for one in run.violations)


def test_a_task_without_machines_is_told_once(workshop):
    task = {"family": "web", "containerDefinitions": json.dumps([CONTAINER])}
    resources = {"task": {"type": "aws:ecs:TaskDefinition", "properties": task}}
    run = workshop.yaml({"config": CONFIG, "resources": resources}).preview().succeed()
    (found,) = run.violations
    assert (found.policy, found.resource) == ("cannot-evaluate", "task")
    assert "capacity provider is not known" in found.message
    assert CANARY not in run.text


def test_texts_that_are_not_known_yet_are_told_once_in_a_preview(workshop):
    joined = {"instanceType": "g5.xlarge", "ami": "ami-1", "userData": "join ${template.id}"}
    resources = {
        "template": {"type": "aws:ec2:LaunchTemplate", "properties": {"imageId": "ami-1"}},
        **{name: {"type": "aws:ec2:Instance", "properties": joined} for name in ("one", "two")},
    }
    plain = json.loads(json.dumps(resources))
    made = workshop.yaml({"config": CONFIG, "resources": plain})
    (found,) = made.preview().succeed().violations
    assert (found.policy, found.level) == ("cannot-evaluate", "advisory")
    assert "what 2 undeclared machines start is not known yet" in found.message
    strict = workshop.yaml(
        {"config": CONFIG, "resources": plain},
        **{"gpusize-policy.yaml": "requireDeclaration: true\n"},
    )
    told = strict.preview().fail().violations
    assert {(one.policy, one.resource) for one in told} == {
        ("undeclared-gpu", "one"),
        ("undeclared-gpu", "two"),
    }
