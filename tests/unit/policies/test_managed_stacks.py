"""Stacks of managed services: families, tasks on pools, parts, prices of others, what has tags."""

from __future__ import annotations

import datetime
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from gpusize_catalog.store import Catalog, load
from gpusize_policies.finding import Finding
from gpusize_policies.reading import Selection, Value, select
from gpusize_policies.reading.families import expanded
from gpusize_policies.settings_file import parse
from tests.rules.stacks import findings_of

TODAY = datetime.date(2026, 11, 30)
CANARY = "CANARY-93ce"
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
"""16 GB of weights: a T4 does not hold them, one of 24 GB does."""
BIG = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct"}
"""141 GB of weights: only several GPUs hold them."""
ENVIRONMENT = "aws:batch:ComputeEnvironment"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def environment(*types: str, **more: Any) -> dict[str, Any]:
    resources = {"type": "EC2", "instanceTypes": list(types), "maxVcpus": 256, **more}
    return {"type": ENVIRONMENT, "properties": {"computeResources": resources, "tags": TAGS}}


def job(gpus: int, **more: Any) -> dict[str, Any]:
    container = {"resourceRequirements": [{"type": "GPU", "value": str(gpus)}]}
    text = json.dumps(container)
    properties = {"type": "container", "containerProperties": text, "tags": TAGS, **more}
    return {"type": "aws:batch:JobDefinition", "properties": properties}


def told(catalog: Catalog, workload: dict[str, Any], **resources: Any) -> list[Finding]:
    return findings_of({"chat": workload}, resources, catalog, TODAY)


def codes(findings: list[Finding]) -> set[str]:
    return {one.code for one in findings}


def read(catalog: Catalog, *words: str) -> Selection:
    found = select(
        "aws:batch/computeEnvironment:ComputeEnvironment", environment(*words)["properties"]
    )
    assert found is not None
    return expanded(found, catalog)


def test_a_family_stands_for_its_types_the_smallest_first(catalog: Catalog) -> None:
    found = read(catalog, "g5.12xlarge", "g6e")
    own = {one.id for one in catalog.instances() if one.family == "g6e"}
    assert found.types.value[:2] == ("g5.12xlarge", "g6e.xlarge")
    assert set(found.types.value) == {"g5.12xlarge", *own}
    assert read(catalog, "g6e").instance_type.text == "g6e.xlarge"


def test_families_without_accelerators_get_no_work_that_needs_one(catalog: Catalog) -> None:
    assert read(catalog, "optimal", "g5.xlarge").types.value == ("g5.xlarge",)
    assert read(catalog, "optimal").types.value == ("optimal",)


def test_vcpus_are_instances_of_the_type(catalog: Catalog) -> None:
    found = read(catalog, "g5.xlarge")
    each = catalog.instance("g5.xlarge").vcpus
    assert each is not None
    assert found.most == Value(256 // each)
    assert found.desired.value is None


def test_a_family_is_judged_by_its_types(catalog: Catalog) -> None:
    mixed = told(catalog, CHAT, pool=environment("g4dn"))
    (unfit,) = [one for one in mixed if one.code == "GPU311"]
    assert "g4dn.xlarge" in unfit.message
    assert "GPU101" not in codes(mixed)
    assert "GPU101" in codes(told(catalog, BIG, pool=environment("g4dn")))
    assert "GPU809" in codes(told(catalog, CHAT, pool=environment("optimal")))
    wanted = codes(told(catalog, CHAT, pool=environment("g6")))
    assert not wanted & {"GPU101", "GPU311", "GPU809", "GPU900"}


def test_a_job_says_which_of_the_types_are_taken(catalog: Catalog) -> None:
    assert "GPU311" in codes(told(catalog, BIG, pool=environment("g6e")))
    placed = codes(told(catalog, BIG, pool=environment("g6e"), work=job(4)))
    assert not placed & {"GPU101", "GPU311", "GPU900"}


MANAGED = {
    "infrastructureRoleArn": "arn:aws:iam::1:role/a",
    "instanceLaunchTemplate": {
        "capacityOptionType": "ON_DEMAND",
        "instanceRequirements": {
            "acceleratorNames": ["t4", "l4"],
            "acceleratorManufacturers": ["nvidia"],
            "acceleratorCount": {"min": 1, "max": 1},
        },
    },
}


def test_managed_instances_are_judged_by_what_their_attributes_admit(catalog: Catalog) -> None:
    properties = {"managedInstancesProvider": MANAGED, "tags": TAGS}
    provider = {"type": "aws:ecs:CapacityProvider", "properties": properties}
    (loose,) = [one for one in told(catalog, CHAT, pool=provider) if one.code == "GPU312"]
    assert "g4dn.xlarge" in loose.message


def test_a_job_without_machines_in_the_stack_cannot_be_judged(catalog: Catalog) -> None:
    (finding,) = told(catalog, CHAT, work=job(1))
    assert finding.code == "GPU900"
    assert "instance type of the compute environment" in finding.message


def test_what_cannot_be_read_of_a_job_is_never_repeated(catalog: Catalog) -> None:
    broken = job(1, containerProperties=f'{{"image": "{CANARY}", ')
    for resources in ({"work": broken}, {"work": broken, "pool": environment("g6")}):
        assert all(CANARY not in repr(one) for one in told(catalog, CHAT, **resources))


def test_serverless_environments_have_no_gpu(catalog: Catalog) -> None:
    assert "GPU809" in codes(told(catalog, CHAT, pool=environment(type="FARGATE")))


@pytest.mark.parametrize("capacity", ["SPOT", "ON_DEMAND", "CAPACITY_BLOCK"])
def test_a_node_group_is_judged_in_its_market(catalog: Catalog, capacity: str) -> None:
    properties = {
        "instanceTypes": ["g6.xlarge"],
        "capacityType": capacity,
        "diskSize": 20,
        "tags": TAGS,
    }
    serving = {**CHAT, "userFacing": True, "latency": {"timePerOutputTokenMs": 200}}
    found = codes(told(catalog, serving, nodes=node_group(**properties)))
    assert ("GPU501" in found) == (capacity == "SPOT")
    assert ("GPU513" in found) == (capacity == "CAPACITY_BLOCK")
    assert "GPU601" in found


def node_group(**properties: Any) -> dict[str, Any]:
    return {"type": "aws:eks:NodeGroup", "properties": properties}


def test_a_node_group_takes_its_type_from_a_template(catalog: Catalog) -> None:
    template = {"type": "aws:ec2:LaunchTemplate", "properties": {"instanceType": "g4dn.xlarge"}}
    group = node_group(launchTemplate={"id": "${template.id}"}, tags=TAGS)
    assert "GPU101" in codes(told(catalog, CHAT, template=template, nodes=group))
    elsewhere = told(catalog, CHAT, nodes=node_group(launchTemplate={"id": "lt-1"}, tags=TAGS))
    assert codes(elsewhere) == {"GPU900"}


SERVICE_STACK = {
    "template": {"type": "aws:ec2:LaunchTemplate", "properties": {"instanceType": "g4dn.xlarge"}},
    "group": {
        "type": "aws:autoscaling:Group",
        "properties": {"minSize": 1, "maxSize": 2, "launchTemplate": {"id": "${template.id}"}},
    },
    "provider": {
        "type": "aws:ecs:CapacityProvider",
        "properties": {"autoScalingGroupProvider": {"autoScalingGroupArn": "${group.arn}"}},
    },
    "task": {
        "type": "aws:ecs:TaskDefinition",
        "properties": {"family": "chat", "containerDefinitions": "[]", "tags": TAGS},
    },
    "service": {
        "type": "aws:ecs:Service",
        "properties": {
            "taskDefinition": "${task.arn}",
            "capacityProviderStrategies": [{"capacityProvider": "${provider.name}"}],
        },
    },
}


def test_a_service_is_judged_on_what_its_provider_launches(catalog: Catalog) -> None:
    findings = told(catalog, CHAT, **SERVICE_STACK)
    assert "GPU101" in codes(findings)
    assert {one.subject.resource.rpartition("::")[2] for one in findings} == {"service"}


def test_the_order_of_resources_changes_nothing(catalog: Catalog) -> None:
    pool = {"pool": environment("g4dn", "g6"), "work": job(1)}
    for stack in (SERVICE_STACK, pool):
        orders = itertools.islice(itertools.permutations(stack), 0, None, 37)
        found = [told(catalog, CHAT, **{name: stack[name] for name in order}) for order in orders]
        shown = [sorted((one.subject.resource, one.message) for one in one) for one in found]
        assert shown[0]
        assert all(one == shown[0] for one in shown)


def endpoint(*types: str, key: str = "productionVariants", **more: Any) -> dict[str, Any]:
    variants = [{"instanceType": kind, "initialInstanceCount": 1, **more} for kind in types]
    return {
        "type": "aws:sagemaker:EndpointConfiguration",
        "properties": {key: variants, "tags": TAGS},
    }


def test_each_variant_is_judged_and_named(catalog: Catalog) -> None:
    findings = told(catalog, CHAT, web=endpoint("ml.g6.xlarge", "ml.g4dn.xlarge"))
    (finding,) = [one for one in findings if one.code == "GPU101"]
    assert "productionVariants[1]: " in finding.message
    assert finding.subject.path == "productionVariants[1]"
    shadow = endpoint("ml.g4dn.xlarge", key="shadowProductionVariants")
    assert any(
        one.message.startswith("GPU101") and "shadowProductionVariants[0]" in one.message
        for one in told(catalog, CHAT, web=shadow)
    )


def test_prices_of_ec2_are_not_taken_for_those_of_another_service(catalog: Catalog) -> None:
    findings = told(catalog, CHAT, web=endpoint("ml.g6e.12xlarge"))
    assert "$" not in "".join(one.message for one in findings)
    (unknown,) = [one for one in findings if one.code == "GPU806"]
    assert "SageMaker has prices of its own" in unknown.message
    box = {"type": "aws:ec2:Instance", "properties": {"instanceType": "g6e.12xlarge", "tags": TAGS}}
    assert "$" in "".join(one.message for one in told(catalog, CHAT, box=box))


def test_what_ec2_offers_says_nothing_of_another_service(catalog: Catalog) -> None:
    far = {**CHAT, "region": "af-south-1"}
    instance = {"instanceType": "p5e.48xlarge", "tags": TAGS}
    box = {"type": "aws:ec2:Instance", "properties": instance}
    assert codes(told(catalog, far, box=box)) & {"GPU801", "GPU518"}
    assert not codes(told(catalog, far, web=endpoint("ml.p5e.48xlarge"))) & {"GPU801", "GPU518"}


def test_a_serverless_variant_has_no_gpu(catalog: Catalog) -> None:
    web = endpoint()
    web["properties"]["productionVariants"] = [{"serverlessConfig": {"maxConcurrency": 1}}]
    assert "GPU809" in codes(told(catalog, CHAT, web=web))


def test_helpers_without_an_accelerator_are_left_alone(catalog: Catalog) -> None:
    cluster = {
        "type": "aws:emr:Cluster",
        "properties": {
            "masterInstanceGroup": {"instanceType": "m5.xlarge"},
            "coreInstanceGroup": {"instanceType": "g4dn.xlarge", "instanceCount": 1},
            "tags": TAGS,
        },
    }
    findings = told(catalog, CHAT, cluster=cluster)
    assert "GPU101" in codes(findings)
    assert all("coreInstanceGroup" in one.message for one in findings if one.code != "GPU807")


def test_a_group_of_task_nodes_works_for_its_cluster(catalog: Catalog) -> None:
    cluster = {
        "type": "aws:emr:Cluster",
        "properties": {"masterInstanceGroup": {"instanceType": "m5.xlarge"}, "tags": TAGS},
    }
    tasks = {
        "type": "aws:emr:InstanceGroup",
        "properties": {"clusterId": "${cluster.id}", "instanceType": "g4dn.xlarge"},
    }
    findings = told(catalog, CHAT, cluster=cluster, tasks=tasks)
    assert "GPU101" in codes(findings)
    assert not codes(told(catalog, CHAT, tasks=tasks | {"properties": {"clusterId": "j-1"}}))


def test_a_maximum_price_may_be_a_part_of_the_list_price(catalog: Catalog) -> None:
    batch = {
        **CHAT,
        "kind": "batch-inference",
        "runHours": 4,
        "interruptionTolerance": "restartable",
    }
    batch.pop("userFacing")
    for percent, fires in ((5, True), (60, False)):
        pool = environment("g6.xlarge", type="SPOT", bidPercentage=percent, subnets=["a", "b"])
        assert ("GPU517" in codes(told(catalog, batch, pool=pool))) == fires


def test_a_ceiling_is_no_error_where_nobody_knows_the_price(catalog: Catalog) -> None:
    settings, problems = parse({"team": {"maxMonthly": 1000}}, Path())
    assert not problems
    variant = {"instanceType": "ml.g6.xlarge", "variantName": "all", "initialInstanceCount": 1}
    endpoint = {
        "type": "aws:sagemaker:EndpointConfiguration",
        "properties": {"tags": TAGS, "productionVariants": [variant]},
    }
    found = findings_of({"chat": CHAT}, {"all": endpoint}, catalog, TODAY, settings)
    assert codes(found) == {"GPU806", "GPU900"}
    (sums,) = [one for one in found if one.code == "GPU900"]
    assert sums.numbers["withoutPrice"] == 1
    assert "at least $0.00 per month of $1,000.00" in sums.message
