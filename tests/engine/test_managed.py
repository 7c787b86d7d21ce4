"""Resources of managed services in plain Pulumi programs, on the real engine, without a cloud."""

from __future__ import annotations

import json

import yaml

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
CANARY = "CANARY-81fd"
TAGS = {"gpusize:workload": "chat"}
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "promptTokens": 700,
    "outputTokens": 250,
    "concurrency": 8,
    "userFacing": False,
    "region": "us-east-1",
}
"""16 GB of weights, which one T4 does not hold."""
SMALL = "g4dn.xlarge"
ROLE = "arn:aws:iam::123456789012:role/example"
SUBNETS = ["subnet-1", "subnet-2"]
CONTAINER = {
    "image": "vllm",
    "environment": [{"name": "TOKEN", "value": CANARY}],
    "resourceRequirements": [{"type": "GPU", "value": "1"}],
}
SECRET = {"fn::secret": json.dumps(CONTAINER)}


def pool(*types):
    resources = {"type": "EC2", "maxVcpus": 64, "subnets": SUBNETS, "instanceTypes": list(types)}
    return {
        "type": "aws:batch:ComputeEnvironment",
        "properties": {"type": "MANAGED", "computeResources": resources, "tags": TAGS},
    }


def job():
    properties = {"type": "container", "containerProperties": SECRET, "tags": TAGS}
    return {"type": "aws:batch:JobDefinition", "properties": properties}


def service(instance_type):
    """A service of ECS, down to its launch template, of which only the task has the tag."""
    template = {"launchTemplate": {"id": "${template.id}"}, "minSize": 1, "maxSize": 2}
    arn = {"autoScalingGroupProvider": {"autoScalingGroupArn": "${group.arn}"}}
    task = {
        "family": "chat",
        "containerDefinitions": {"fn::secret": json.dumps([CONTAINER])},
        "tags": TAGS,
    }
    return {
        "template": ("aws:ec2:LaunchTemplate", {"instanceType": instance_type}),
        "group": ("aws:autoscaling:Group", template),
        "provider": ("aws:ecs:CapacityProvider", arn),
        "task": ("aws:ecs:TaskDefinition", task),
        "judged": (
            "aws:ecs:Service",
            {
                "taskDefinition": "${task.arn}",
                "capacityProviderStrategies": [{"capacityProvider": "${provider.name}"}],
            },
        ),
    }


def cluster():
    """A cluster of EMR whose task nodes are a resource of their own, without tags."""
    primary = {"instanceType": "m5.xlarge"}
    whole = {
        "releaseLabel": "emr-7.5.0",
        "serviceRole": ROLE,
        "masterInstanceGroup": primary,
        "tags": TAGS,
    }
    return {
        "cluster": ("aws:emr:Cluster", whole),
        "judged": (
            "aws:emr:InstanceGroup",
            {"clusterId": "${cluster.id}", "instanceType": SMALL, "instanceCount": 2},
        ),
    }


def one(kind, **properties):
    return {"judged": (kind, {**properties, "tags": TAGS})}


SCALING = {"minSize": 1, "desiredSize": 1, "maxSize": 2}
REQUIREMENTS = {
    "memoryMib": {"min": 1024},
    "vcpuCount": {"min": 1},
    "acceleratorNames": ["t4", "l4"],
    "acceleratorCount": {"min": 1, "max": 1},
}
MANAGED = {
    "infrastructureRoleArn": ROLE,
    "instanceLaunchTemplate": {
        "ec2InstanceProfileArn": ROLE,
        "networkConfiguration": {"subnets": SUBNETS},
        "instanceRequirements": REQUIREMENTS,
    },
}
VARIANTS = [
    {"modelName": "chat", "instanceType": "ml.g6.xlarge", "initialInstanceCount": 1},
    {"modelName": "chat", "instanceType": f"ml.{SMALL}", "initialInstanceCount": 1},
]
TRAINED = {"instanceType": f"ml.{SMALL}", "instanceCount": 1}
KINDS = {
    "node group": (
        one(
            "aws:eks:NodeGroup",
            **{"clusterName": "a", "nodeRoleArn": ROLE, "subnetIds": SUBNETS},
            instanceTypes=[SMALL],
            scalingConfig=SCALING,
        ),
        "weights-exceed-vram",
    ),
    "managed instances": (
        one("aws:ecs:CapacityProvider", cluster="a", managedInstancesProvider=MANAGED),
        "attribute-selection-too-loose",
    ),
    "service": (service(SMALL), "weights-exceed-vram"),
    "endpoint": (
        one("aws:sagemaker:EndpointConfiguration", productionVariants=VARIANTS),
        "weights-exceed-vram",
    ),
    "notebook": (
        one("aws:sagemaker:NotebookInstance", instanceType=f"ml.{SMALL}", roleArn=ROLE),
        "weights-exceed-vram",
    ),
    "training job": (
        one(
            "aws:sagemaker:TrainingJob",
            **{"trainingJobName": "a", "roleArn": ROLE, "resourceConfig": TRAINED},
        ),
        "weights-exceed-vram",
    ),
    "task nodes": (cluster(), "weights-exceed-vram"),
    "image build": (
        {
            "judged": (
                "aws:imagebuilder:InfrastructureConfiguration",
                {"instanceProfileName": "a", "instanceTypes": [SMALL], "resourceTags": TAGS},
            )
        },
        "weights-exceed-vram",
    ),
    "game servers": (one("aws:gamelift:Fleet", ec2InstanceType=SMALL), "weights-exceed-vram"),
}
BATCH = {"judged": pool("g4dn", "g6"), "work": job()}


def preview(workshop, resources):
    files = {"gpusize.yaml": yaml.safe_dump({"workloads": {"chat": CHAT}})}
    plain = json.loads(json.dumps(resources))  # YAML programs may hold no aliases
    made = workshop.yaml({"config": CONFIG, "resources": plain}, **files)
    run = made.preview().fail()
    assert CANARY not in run.text
    return run


def named(run, policy):
    """The resources that a policy spoke on."""
    return {one.urn.rpartition("::")[2] for one in run.violations if one.policy == policy}


def test_every_kind_is_judged_in_one_stack(workshop):
    resources = {
        f"{index}{name}": {"type": kind, "properties": renamed(properties, index)}
        for index, (parts, _) in zip("abcdefghi", KINDS.values(), strict=True)
        for name, (kind, properties) in parts.items()
    }
    run = preview(workshop, resources)
    for index, (what, (_, policy)) in zip("abcdefghi", KINDS.items(), strict=True):
        assert f"{index}judged" in named(run, policy), what


def renamed(properties, index):
    """References of a part, to the part of its own stack."""
    return json.loads(json.dumps(properties).replace("${", "${" + index))


def test_a_family_is_judged_with_the_job_that_runs_there(workshop):
    run = preview(workshop, BATCH)
    assert named(run, "heterogeneous-override-unfit") == {"judged"}
    assert named(run, "cannot-evaluate") == set()


def test_a_variant_is_named_and_has_no_price_of_ec2(workshop):
    parts, policy = KINDS["endpoint"]
    resources = {name: {"type": kind, "properties": given} for name, (kind, given) in parts.items()}
    run = preview(workshop, resources)
    (found,) = [one for one in run.violations if one.policy == policy]
    assert "productionVariants[1]: " in found.message
    assert "$" not in "".join(one.message for one in run.violations)
    assert named(run, "price-unknown") == {"judged"}
