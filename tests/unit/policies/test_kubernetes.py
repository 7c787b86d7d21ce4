"""Pods on the nodes that they may run on: of the stack, of their own asks, of the sidecar."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2

from gpusize_policies.arriving import concerns
from gpusize_policies.reading import selections
from gpusize_policies.reading.kubernetes import PODS
from tests.unit.policies.kubernetes import (
    CHAT,
    DEPLOYMENT,
    LONG,
    SHORT,
    TYPE,
    codes,
    deployment,
    group,
    pod,
    pool,
    told,
)
from tests.unit.policies.proxies import Proxy

SENTINEL = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
CANARY = "CANARY-71ad"
FAMILY = "karpenter.k8s.aws/instance-family"
NAMED = {"annotations": {"gpusize/workload": "chat"}}
PLAIN = {"containers": [{"image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}


def on(instance_type: str) -> dict[str, Any]:
    return {"nodeSelector": {TYPE: instance_type}}


def test_a_context_that_does_not_fit_the_named_type_is_told(tmp_path: Path) -> None:
    (found,) = told(tmp_path, chat=deployment(pod(LONG, **on("g5.xlarge"))))
    assert found.code == "GPU102"
    assert "32.3 GiB per GPU" in found.message
    assert "(its pod sees 1 GPU of a node) (inferred from its container:" in found.message
    assert told(tmp_path, chat=deployment(pod(LONG, **on("g6e.xlarge")))) == []


def test_a_pod_has_the_gpus_that_it_asks_for_and_no_more(tmp_path: Path) -> None:
    split = [*LONG, "--tensor-parallel-size", "4"]
    small = told(tmp_path, chat=deployment(pod(split, gpus=1, **on("g5.12xlarge"))))
    assert codes(small) == ["GPU100", "GPU314"]
    assert "takes 4 GPUs of each g5.12xlarge, its containers ask for 1" in small[1].message
    assert small[1].numbers["podGpus"] == 1
    assert told(tmp_path, chat=deployment(pod(split, gpus=4, **on("g5.12xlarge")))) == []


def test_memory_of_the_host_is_what_the_container_may_take(tmp_path: Path) -> None:
    spec = pod(SHORT, **on("g6.48xlarge"))
    sidecar = {"workloads": {"chat": CHAT}}
    assert "GPU111" not in codes(told(tmp_path, sidecar, chat=deployment(spec, **NAMED)))
    spec["containers"][0]["resources"]["limits"]["memory"] = "2Gi"
    found = told(tmp_path, sidecar, chat=deployment(spec, **NAMED))
    (small,) = [one for one in found if one.code == "GPU111"]
    assert "2.0 GiB" in small.message


def test_where_nothing_tells_the_type_it_is_told_once(tmp_path: Path) -> None:
    (found,) = told(tmp_path, chat=deployment(pod(LONG)))
    assert found.code == "GPU900"
    assert "nothing says which instance types it runs on" in found.message
    label_of_a_team = {"nodeSelector": {"team": "research"}}
    assert codes(told(tmp_path, chat=deployment(pod(LONG, **label_of_a_team)))) == ["GPU900"]


def test_every_type_that_a_node_pool_admits_is_judged(tmp_path: Path) -> None:
    wide = pool((FAMILY, "In", ["g4dn", "g6"]), ("karpenter.sh/capacity-type", "In", ["spot"]))
    (found,) = told(tmp_path, chat=deployment(pod(SHORT)), nodes=wide)
    assert found.code == "GPU312"
    assert "the requirements of the nodes are loose" in found.message
    assert "node.kubernetes.io/instance-type In: g6." in found.message
    narrow = pool((FAMILY, "In", ["g6"]))
    assert told(tmp_path, chat=deployment(pod(SHORT)), nodes=narrow) == []


def test_asks_of_pod_and_pool_both_hold(tmp_path: Path) -> None:
    wide = pool((FAMILY, "In", ["g4dn", "g6"]))
    asked = {"nodeSelector": {"karpenter.k8s.aws/instance-gpu-name": "l4"}}
    assert told(tmp_path, chat=deployment(pod(SHORT, **asked)), nodes=wide) == []
    terms = [{"matchExpressions": [{"key": FAMILY, "operator": "NotIn", "values": ["g4dn"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = pod(SHORT, affinity={"nodeAffinity": required})
    assert told(tmp_path, chat=deployment(spec), nodes=wide) == []
    preferred = [{"weight": 1, "preference": terms[0]}]
    liking = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    found = told(tmp_path, chat=deployment(pod(SHORT, affinity=liking)), nodes=wide)
    assert codes(found) == ["GPU312"]


def test_types_of_node_groups_are_judged_together(tmp_path: Path) -> None:
    stack = {"large": group("g6.xlarge"), "small": group("g4dn.xlarge")}
    (found,) = told(tmp_path, chat=deployment(pod(SHORT)), **stack)
    assert found.code == "GPU311"
    assert "1 of 2 listed types cannot run it: g4dn.xlarge" in found.message
    taint = {"taints": [{"key": "team", "value": "other", "effect": "NO_SCHEDULE"}]}
    kept = {**stack, "small": group("g4dn.xlarge", **taint)}
    assert told(tmp_path, chat=deployment(pod(SHORT)), **kept) == []
    tolerated = {"tolerations": [{"key": "team", "operator": "Exists"}]}
    assert codes(told(tmp_path, chat=deployment(pod(SHORT, **tolerated)), **kept)) == ["GPU311"]


def test_the_taint_of_its_devices_keeps_no_pod_away_that_asks_for_them(tmp_path: Path) -> None:
    taint = {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
    found = told(
        tmp_path,
        chat=deployment(pod(LONG)),
        nodes=pool((TYPE, "In", ["g5.xlarge"]), **taint),
    )
    assert codes(found) == ["GPU102"]


def test_several_clusters_leave_it_open(tmp_path: Path) -> None:
    stack = {"one": group("g6.xlarge"), "two": group("g4dn.xlarge", clusterName="other")}
    (found,) = told(tmp_path, chat=deployment(pod(SHORT)), **stack)
    assert (found.code, "several clusters" in found.message) == ("GPU900", True)
    stack["one"][1]["nodeGroupName"] = "gpus"
    chosen = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "gpus"}}
    stack["two"][1]["nodeGroupName"] = "others"
    assert told(tmp_path, chat=deployment(pod(SHORT, **chosen)), **stack) == []


def test_machines_of_another_stack_stand_in_the_sidecar(tmp_path: Path) -> None:
    chosen = {**PLAIN, "nodeSelector": {"eks.amazonaws.com/nodegroup": "gpus"}}
    machines = {"gpus": {"instanceTypes": ["g4dn.xlarge"], "market": "spot"}}
    sidecar = {"workloads": {"chat": CHAT}, "machines": machines}
    found = told(tmp_path, sidecar, chat=deployment(chosen, **NAMED))
    assert "GPU101" in codes(found)
    machines["gpus"]["instanceTypes"] = ["g6.xlarge"]
    assert told(tmp_path, sidecar, chat=deployment(chosen, **NAMED)) == []
    machines["gpus"]["workloads"] = ["other"]
    assert codes(told(tmp_path, sidecar, chat=deployment(chosen, **NAMED))) == ["GPU900"]


def test_jobs_of_batch_run_on_machines_that_the_sidecar_gives_their_workload(
    tmp_path: Path,
) -> None:
    container = {"resourceRequirements": [{"type": "GPU", "value": "1"}]}
    props = {"containerProperties": json.dumps(container), "tags": {"gpusize:workload": "chat"}}
    job = ("aws:batch/jobDefinition:JobDefinition", props)
    machines = {"pool": {"instanceTypes": ["g4dn.12xlarge"], "workloads": ["chat"]}}
    sidecar: dict[str, Any] = {"workloads": {"chat": CHAT}}
    assert codes(told(tmp_path, sidecar, job=job)) == ["GPU900"]
    found = told(tmp_path, {**sidecar, "machines": machines}, job=job)
    assert "GPU101" in codes(found)
    machines["pool"]["instanceTypes"] = ["g6.12xlarge"]
    assert "GPU101" not in codes(told(tmp_path, {**sidecar, "machines": machines}, job=job))


def test_resources_without_a_tag_are_tied_by_the_sidecar(tmp_path: Path) -> None:
    instance = ("aws:ec2/instance:Instance", {"instanceType": "g4dn.xlarge"})
    tied = {"aws:ec2/instance:Instance::we*": "chat", "*::web": "nobody"}
    sidecar = {"workloads": {"chat": CHAT}, "resources": tied}
    found = told(tmp_path, sidecar, web=instance, other=instance)
    assert "GPU101" in codes(found)
    assert {one.subject.resource.rpartition(":")[2] for one in found} == {"web"}
    tagged = ("aws:ec2/instance:Instance", {**instance[1], "tags": {"gpusize:workload": "gone"}})
    found = told(tmp_path, sidecar, web=tagged)
    assert codes(found) == ["GPU900"]


def test_the_annotation_wins_over_the_sidecar_and_may_be_a_label(tmp_path: Path) -> None:
    sidecar = {"workloads": {"chat": CHAT}, "resources": {"*Deployment::*": "gone"}}
    spec = {**PLAIN, **on("g4dn.xlarge")}
    for metadata in (NAMED, {"labels": NAMED["annotations"]}):
        assert codes(told(tmp_path, sidecar, chat=deployment(spec, **metadata))) == ["GPU101"]
    inner = deployment(spec)
    inner[1]["spec"]["template"]["metadata"] = NAMED
    assert codes(told(tmp_path, sidecar, chat=inner)) == ["GPU101"]
    assert codes(told(tmp_path, sidecar, chat=deployment(spec))) == ["GPU900"]
    two = {"annotations": {"gpusize/workload": "chat"}, "labels": {"gpusize/workload": "b"}}
    assert codes(told(tmp_path, None, chat=deployment(spec, **two))) == ["GPU900"]


def test_parts_of_devices_are_not_sized(tmp_path: Path) -> None:
    for name in ("nvidia.com/mig-1g.10gb", "aws.amazon.com/neuroncore"):
        spec = pod(SHORT, gpus=None, **on("p5.48xlarge"))
        spec["containers"][0]["resources"]["limits"] = {name: 1}
        (found,) = told(tmp_path, chat=deployment(spec))
        assert (found.code, "a part of a GPU" in found.message) == ("GPU900", True)


def test_devices_of_another_maker_are_taken_from_nodes_that_have_them(tmp_path: Path) -> None:
    spec = pod(SHORT, gpus=None)
    spec["containers"][0]["resources"]["limits"] = {"aws.amazon.com/neuron": 1}
    stack = {"nodes": pool((FAMILY, "In", ["inf2"])), "others": pool((FAMILY, "In", ["g6"]))}
    found = told(tmp_path, chat=deployment(spec), **stack)
    assert "inf2." in " ".join(one.message for one in found)
    assert "GPU208" in codes(found) or "GPU312" in codes(found)


def test_pods_without_devices_cost_nothing() -> None:
    quiet = pod(SHORT, gpus=None, nodeSelector={"team": "a"})
    assert selections(DEPLOYMENT, deployment(quiet)[1]) == ()


SHAPED = {
    "core/v1:Pod": {"spec": PLAIN},
    "batch/v1:Job": {"spec": {"parallelism": 3, "template": {"spec": PLAIN}}},
    "batch/v1:CronJob": {"spec": {"jobTemplate": {"spec": {"template": {"spec": PLAIN}}}}},
    "apps/v1:StatefulSet": {"spec": {"replicas": 3, "template": {"spec": PLAIN}}},
    "apps/v1:DaemonSet": {"spec": {"template": {"spec": PLAIN}}},
    "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": {
        "spec": {
            "replicas": 3,
            "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": PLAIN}},
        }
    },
    "jobset.x-k8s.io/v1alpha2:JobSet": {
        "spec": {
            "replicatedJobs": [{"replicas": 3, "template": {"spec": {"template": {"spec": PLAIN}}}}]
        }
    },
    "ray.io/v1:RayCluster": {
        "spec": {
            "workerGroupSpecs": [{"minReplicas": 3, "maxReplicas": 5, "template": {"spec": PLAIN}}]
        }
    },
    "kubeflow.org/v1:PyTorchJob": {
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1},
                "Worker": {"replicas": 3, "template": {"spec": PLAIN}},
            }
        }
    },
    "serving.kserve.io/v1beta1:InferenceService": {
        "spec": {"predictor": {"minReplicas": 3, "model": PLAIN["containers"][0]}}
    },
}
SIZES = {
    "batch/v1:Job": (3, 3, None),
    "apps/v1:StatefulSet": (3, 3, None),
    "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": (6, 6, 2),
    "jobset.x-k8s.io/v1alpha2:JobSet": (None, None, None),
    "ray.io/v1:RayCluster": (3, 5, None),
    "kubeflow.org/v1:PyTorchJob": (None, None, 4),
    "serving.kserve.io/v1beta1:InferenceService": (3, 3, None),
}


@pytest.mark.parametrize("kind", SHAPED)
def test_objects_say_how_many_pods_they_have(kind: str) -> None:
    (found,) = selections(f"kubernetes:{kind}", Proxy(SHAPED[kind]))
    sizes = (found.least.value, found.most.value, found.nodes.value)
    assert sizes == SIZES.get(kind, (None, None, None))
    assert found.gpus.value == 1


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, (*path, key))


def _with(value: Any, path: tuple[Any, ...], put: Any) -> Any:
    found = copy.deepcopy(value)
    target = found
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = put
    return found


FULL = deployment(
    pod(
        LONG,
        initContainers=[{"image": "x", "resources": {"requests": {"nvidia.com/gpu": "1"}}}],
        nodeSelector={"team": "a"},
        tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": TYPE, "operator": "In", "values": ["g5.xlarge"]}
                            ]
                        }
                    ]
                }
            }
        },
    ),
    annotations={"gpusize/workload": "chat"},
)[1]
POOL = pool((TYPE, "In", ["g5.xlarge"]), ("team", "In", ["a"]))[1]
GROUP = group("g5.xlarge", labels={"team": "a"}, nodeGroupName="x", capacityType="SPOT")[1]


@pytest.mark.parametrize("path", list(_paths(FULL)), ids=lambda path: ".".join(map(str, path)))
def test_unknown_properties_of_a_pod_never_raise(tmp_path: Path, path: tuple[Any, ...]) -> None:
    resources = {
        "chat": (DEPLOYMENT, _with(FULL, path, SENTINEL)),
        "nodes": group("g5.xlarge", labels={"team": "a"}),
    }
    found = told(tmp_path, {"workloads": {"chat": CHAT}}, **resources)
    said = codes(found)
    assert len(said) == len(set(said))
    assert said.count("GPU900") <= 1


def test_unknown_properties_of_nodes_are_named(tmp_path: Path) -> None:
    for props, kind in (
        (POOL, "kubernetes:karpenter.sh/v1:NodePool"),
        (GROUP, "aws:eks/nodeGroup:NodeGroup"),
    ):
        for path in _paths(props):
            resources = {"nodes": (kind, _with(props, path, SENTINEL))}
            found = told(
                tmp_path, None, chat=deployment(pod(LONG, nodeSelector={"team": "a"})), **resources
            )
            assert codes(found) in (["GPU102"], ["GPU900"]), path


def test_texts_of_a_pod_never_reach_a_message(tmp_path: Path) -> None:
    echoed = {"spec", "template", "containers", "nvidia.com/gpu", "args"}
    for path in _paths(FULL):
        if isinstance(path[-1], str) and path[-1] in echoed:
            continue
        for found in told(tmp_path, None, chat=(DEPLOYMENT, _with(FULL, path, CANARY))):
            assert CANARY not in found.message or path[-1] == "gpusize/workload"


def test_shapes_of_other_kinds_never_raise() -> None:
    odd = (None, 1, "x", [], [1], {}, {"spec": 1}, {"a": [None]})
    for kind, put in itertools.product(sorted(PODS), odd):
        assert isinstance(selections(kind, {"metadata": put, "spec": put}), tuple)
    for path, put in itertools.product(_paths(FULL), odd):
        assert isinstance(selections(DEPLOYMENT, _with(FULL, path, put)), tuple)


@pytest.mark.parametrize(
    ("spec", "is_asked"),
    [
        (pod(SHORT), True),
        (pod(SHORT, gpus=None, nodeSelector={"team": "a"}), False),
        (pod(SHORT, gpus=SENTINEL), True),
        (pod([SENTINEL], gpus=None), True),
    ],
)
def test_only_pods_with_devices_are_decoded(spec: dict[str, Any], is_asked: bool) -> None:
    for metadata, is_named in (({}, False), (NAMED, True)):
        kind, props = deployment(spec, **metadata)
        properties = json_format.ParseDict(props, struct_pb2.Struct())
        resource = SimpleNamespace(type=kind, properties=properties)
        assert concerns(resource) is (is_asked or is_named)
