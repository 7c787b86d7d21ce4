"""Tasks, jobs, models and training jobs that nobody declared, judged by what they start."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from gpusize_catalog.store import Catalog, load
from gpusize_policies.finding import Finding
from gpusize_policies.launched import infer_all
from gpusize_policies.reading import selections
from gpusize_policies.settings import DEFAULTS, Settings
from tests.rules.stacks import UNKNOWN, findings_of
from tests.unit.policies.proxies import Proxy

TODAY = datetime.date(2026, 11, 30)
REGION = "us-east-1"
CANARY = "CANARY-5e0d"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
WORDS = ["--model", LLAMA, "--max-model-len", "131072", "--api-key", CANARY]
"""16 GiB of cache beside 15 of weights: no GPU of 24 GB holds one such sequence."""
TGI = "ghcr.io/huggingface/text-generation-inference:3.3.4"
LMI = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.33.0-lmi15.0.0-cu128"
STRATEGY = [{"capacityProvider": "${provider.name}"}]
NODES = "aws:eks:NodeGroup"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def made(kind: str, **properties: Any) -> dict[str, Any]:
    return {"type": kind, "properties": {"region": REGION, **properties}}


def container(gpus: int | None = 1, **more: Any) -> dict[str, Any]:
    asked = [{"type": "GPU", "value": str(gpus)}] if gpus else []
    return {
        "name": "web",
        "image": "vllm/vllm-openai:v0.11.0",
        "command": WORDS,
        "environment": [{"name": "HF_TOKEN", "value": CANARY}],
        "resourceRequirements": asked,
        **more,
    }


def task(**more: Any) -> dict[str, Any]:
    text = json.dumps([container(**more)])
    return made("aws:ecs:TaskDefinition", family="web", containerDefinitions=text)


def job(**more: Any) -> dict[str, Any]:
    text = json.dumps(container(**more))
    return made("aws:batch:JobDefinition", type="container", containerProperties=text)


def pool(*types: str, **more: Any) -> dict[str, Any]:
    resources = {"type": "EC2", "instanceTypes": list(types), "maxVcpus": 64, "subnets": ["a"]}
    return made("aws:batch:ComputeEnvironment", computeResources=resources, **more)


def service(instance_type: str, **more: Any) -> dict[str, Any]:
    provider = {"autoScalingGroupProvider": {"autoScalingGroupArn": "${group.arn}"}}
    return {
        "template": made("aws:ec2:LaunchTemplate", instanceType=instance_type),
        "group": made(
            "aws:autoscaling:Group", minSize=1, maxSize=2, launchTemplate={"id": "${template.id}"}
        ),
        "provider": made("aws:ecs:CapacityProvider", **provider),
        "task": task(**more),
        "service": made(
            "aws:ecs:Service", taskDefinition="${task.arn}", capacityProviderStrategies=STRATEGY
        ),
    }


def endpoint(instance_type: str, **env: str) -> dict[str, Any]:
    variant = {"modelName": "${model.name}", "instanceType": instance_type}
    held = {"image": LMI, "environment": {"HF_TOKEN": CANARY, **env}}
    return {
        "model": made("aws:sagemaker:Model", primaryContainer=held),
        "web": made("aws:sagemaker:EndpointConfiguration", productionVariants=[variant]),
    }


def told(
    catalog: Catalog, settings: Settings = DEFAULTS, **resources: Any
) -> list[tuple[str, Finding]]:
    """Findings with the names of their resources; none of them shows a secret."""
    found = findings_of({}, resources, catalog, TODAY, settings)
    assert CANARY not in str(found)
    return [(one.subject.resource.rpartition("::")[2], one) for one in found]


def codes(found: list[tuple[str, Finding]]) -> list[tuple[str, str]]:
    return [(name, one.code) for name, one in found]


STACKS = {
    "service": (service("g5.xlarge"), "service"),
    "job": ({"pool": pool("g5.xlarge"), "job": job()}, "job"),
    "endpoint": (
        endpoint("ml.g5.xlarge", HF_MODEL_ID=LLAMA, OPTION_MAX_MODEL_LEN="131072"),
        "web",
    ),
}


@pytest.mark.parametrize("kind", STACKS)
def test_a_context_that_does_not_fit_is_found_wherever_it_is_started(
    catalog: Catalog, kind: str
) -> None:
    stack, judged = STACKS[kind]
    ((name, finding),) = told(catalog, **stack)
    assert (name, finding.code) == (judged, "GPU102")
    assert "inferred from its container: model, contextLength" in finding.message
    assert told(catalog, **dict(reversed(stack.items()))) == [(name, finding)]


def test_a_variant_runs_the_model_that_it_names(catalog: Catalog) -> None:
    held = {"image": LMI, "environment": {"HF_MODEL_ID": LLAMA, "OPTION_MAX_MODEL_LEN": "131072"}}
    small = {"image": LMI, "environment": {**held["environment"], "OPTION_MAX_MODEL_LEN": "4096"}}
    kind = "aws:sagemaker:Model"
    stack = {
        "long": made(kind, name="long", primaryContainer=held),
        "short": made(kind, name="short", primaryContainer=small),
    }

    def web(*names: str) -> dict[str, Any]:
        variants = [{"modelName": name, "instanceType": "ml.g5.xlarge"} for name in names]
        rests = {"tags": {"a": "${long.name}${short.name}"}}
        return made("aws:sagemaker:EndpointConfiguration", productionVariants=variants, **rests)

    ((_, finding),) = told(catalog, **stack, web=web("short", "long"))
    assert (finding.code, finding.subject.path) == ("GPU102", "productionVariants[1]")
    ((_, finding),) = told(catalog, **stack, web=web("${short.name}", "${long.name}"))
    assert "not known yet: containers of the model" in finding.message


def test_a_container_asks_for_fewer_gpus_than_its_ranks(catalog: Catalog) -> None:
    words = ["--model", LLAMA, "--max-model-len", "8192", "-tp", "4"]
    found = told(catalog, **service("g5.12xlarge", command=words))
    assert codes(found) == [("service", "GPU314")]
    assert not told(catalog, **service("g5.12xlarge", command=words, gpus=4))


def test_an_engine_that_takes_all_gpus_takes_those_of_its_container(catalog: Catalog) -> None:
    big = ["--model-id", "meta-llama/Llama-3.1-70B-Instruct", "--max-total-tokens", "8192"]
    stack = {"pool": pool("g6e.12xlarge"), "job": job(image=TGI, command=big, gpus=2)}
    ((_, finding),) = told(catalog, **stack)
    assert finding.code == "GPU101"
    assert "resourceRequirements" not in finding.numbers["inferred"]
    assert "tp" in str(finding.numbers["inferred"])
    whole = {"pool": pool("g6e.12xlarge"), "job": job(image=TGI, command=big, gpus=4)}
    assert not told(catalog, **whole)


def test_idle_gpus_of_a_pool_are_for_other_tasks(catalog: Catalog) -> None:
    words = ["--model", LLAMA, "--max-model-len", "8192"]
    assert not told(catalog, pool=pool("g5.12xlarge"), job=job(command=words))
    asked = job(command=words, gpus=4)
    assert codes(told(catalog, pool=pool("g5.12xlarge"), job=asked)) == [("job", "GPU307")]


@pytest.mark.parametrize(
    ("stack", "says"),
    [
        ({"task": task()}, "capacity provider is not known: the stack has none with GPUs"),
        ({"job": job(), "pool": pool("c7i.large")}, "compute environment is not known"),
        (
            {"job": job(), "one": pool("g5.xlarge"), "two": pool("g6.xlarge")},
            "compute environment is not known: 2 of the stack may run it",
        ),
        (
            {"model": endpoint("", HF_MODEL_ID=LLAMA)["model"]},
            "endpoint configuration is not known",
        ),
    ],
)
def test_a_task_without_machines_says_once_what_is_missing(
    catalog: Catalog, stack: dict[str, Any], says: str
) -> None:
    found = [(name, one) for name, one in told(catalog, **stack) if one.code == "GPU900"]
    ((name, finding),) = found
    assert name in ("task", "job", "model")
    assert says in finding.message


def test_a_task_that_asks_for_no_gpu_may_need_none(catalog: Catalog) -> None:
    assert not told(catalog, task=task(gpus=None))


def test_a_pool_with_a_declaration_runs_that(catalog: Catalog) -> None:
    tagged = pool("g5.xlarge", tags={"gpusize:workload": "chat"})
    assert codes(told(catalog, pool=tagged, job=job())) == [("pool", "GPU900")]


SCRIPT = {
    "sagemaker_program": '"train.py"',
    "sagemaker_torch_distributed_enabled": "true",
    "model_name_or_path": '"meta-llama/Llama-3.1-8B"',
    "max_seq_length": "2048",
    "per_device_train_batch_size": "4",
    "use_peft": "false",
    "bf16": "true",
    "hub_token": f'"{CANARY}"',
}


def training(size: int = 1, **more: Any) -> dict[str, Any]:
    resources = {"instanceType": "ml.g5.12xlarge", "instanceCount": size}
    return made("aws:sagemaker:TrainingJob", resourceConfig=resources, **more)


def read(resource: dict[str, Any]) -> Any:
    kind = "aws:sagemaker/trainingJob:TrainingJob"
    (part,) = selections(kind, Proxy(resource["properties"]))
    return part.launches


def test_a_training_job_is_judged_by_its_hyperparameters(catalog: Catalog) -> None:
    whole = {**SCRIPT, "method": "x"}
    ((name, finding),) = told(catalog, run=training(hyperParameters=whole))
    assert (name, finding.code) == ("run", "GPU900")
    assert "method (not said)" in finding.message
    lora = {**SCRIPT, "use_peft": "true", "lora_r": "16", "sagemaker_program": '"sft.py"'}
    ((name, finding),) = told(catalog, run=training(hyperParameters=lora))
    assert finding.code == "GPU110"
    assert "inferred from its hyperparameters: model" in finding.message


def test_a_training_job_of_several_instances_spans_them() -> None:
    (found,) = infer_all(read(training(2, hyperParameters=SCRIPT)).value)
    assert found.declaration["nodesPerReplica"] == 2
    words = ["torchrun", "--nproc_per_node", "8", "sft.py", "--model_name_or_path", LLAMA]
    own = {"containerEntrypoints": ["bash", "-c"], "containerArguments": [" ".join(words)]}
    (found,) = infer_all(read(training(algorithmSpecification=own)).value)
    assert (found.declaration["dp"], found.origin) == (8, "its container")


@pytest.mark.parametrize(
    ("key", "known"), [("max_seq_length", False), ("hub_token", True), ("sagemaker_program", False)]
)
def test_an_unknown_hyperparameter_matters_where_it_is_read(key: str, known: bool) -> None:
    found = read(training(hyperParameters={**SCRIPT, key: UNKNOWN}))
    assert found.known == known
    assert not read(training(hyperParameters={"epochs": "3"})).says


def test_texts_that_are_not_known_are_told_once_in_a_run(catalog: Catalog) -> None:
    box = made("aws:ec2:Instance", instanceType="g5.xlarge", userData=UNKNOWN)
    ((name, finding),) = told(catalog, box=box)
    assert (name, finding.code) == ("box", "GPU900")
    assert "userData" in finding.message
    several = {f"box{at}": box for at in range(5)}
    ((name, finding),) = told(catalog, **several)
    assert (name, finding.code) == ("", "GPU900")
    assert "what 5 undeclared machines start is not known yet: userData of box0" in finding.message
    assert "and 2 more" in finding.message


def test_where_each_gpu_must_be_declared_an_unknown_text_declares_none(catalog: Catalog) -> None:
    box = made("aws:ec2:Instance", instanceType="g5.xlarge", userData=UNKNOWN)
    settings = Settings(require_declaration=True)
    found = told(catalog, settings, one=box, two=box)
    assert codes(found) == [("one", "GPU901"), ("two", "GPU901")]
    assert codes(told(catalog, settings, task=task())) == [("task", "GPU900")]


def test_user_data_of_a_node_of_eks_says_nothing_of_its_work(catalog: Catalog) -> None:
    template = made("aws:ec2:LaunchTemplate", instanceType="g5.xlarge", userData=UNKNOWN)
    scaling = {"minSize": 1, "desiredSize": 1, "maxSize": 1}
    nodes = made(NODES, launchTemplate={"id": "${template.id}"}, scalingConfig=scaling)
    assert codes(told(catalog, template=template, nodes=nodes)) == [("nodes", "GPU901")]
