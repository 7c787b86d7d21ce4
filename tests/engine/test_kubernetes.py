"""Pods of Kubernetes, judged in a real preview on the nodes that they may run on."""

from __future__ import annotations

import json

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
CANARY = "CANARY-5e0a"
SECRET = {"fn::secret": CANARY}
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
VLLM = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--api-key", SECRET, "--max-model-len"]
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
MACHINES = {"elsewhere": {"instanceTypes": ["g4dn.xlarge"], "market": "on-demand"}}


def deployment(context=None, gpus=1, annotations=None, **spec):
    container = {
        "name": "server",
        "image": "vllm/vllm-openai:v0.11.0",
        "env": [{"name": "HF_TOKEN", "value": SECRET}],
        "resources": {"limits": {"nvidia.com/gpu": gpus} if gpus else {"cpu": "1"}},
    }
    if context:
        container["args"] = [*VLLM, context]
    template = {"spec": {"containers": [container], **spec}}
    metadata = {"annotations": {"note": CANARY, **(annotations or {})}}
    return {
        "type": "kubernetes:apps/v1:Deployment",
        "properties": {"metadata": metadata, "spec": {"replicas": 1, "template": template}},
    }


def pool(name, *families):
    asks = [{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": families}]
    labels = {"pool": name}
    template = {"metadata": {"labels": labels}, "spec": {"requirements": asks}}
    return {"metadata": {"name": name}, "spec": {"template": template}}


def test_pods_are_judged_on_every_type_that_they_may_land_on(workshop):
    group = {
        "clusterName": "main",
        "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
        "subnetIds": ["subnet-1"],
        "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 1},
        "nodeGroupName": "small",
        "instanceTypes": ["g5.xlarge"],
    }
    resources = {
        "group": {"type": "aws:eks:NodeGroup", "properties": group},
        "wide": {"type": NODE_POOL, "properties": pool("wide", "g4dn", "g6")},
        "fine": {"type": NODE_POOL, "properties": pool("fine", "g6e")},
        "long": deployment("131072", nodeSelector={"eks.amazonaws.com/nodegroup": "small"}),
        "loose": deployment("8192", nodeSelector={"pool": "wide"}),
        "well": deployment("131072", nodeSelector={"pool": "fine"}),
        "lost": deployment("8192", nodeSelector={"pool": "none"}),
        "away": deployment(
            annotations={"gpusize/workload": "chat"},
            nodeSelector={"eks.amazonaws.com/nodegroup": "elsewhere"},
        ),
        "quiet": deployment("131072", gpus=0),
    }
    sidecar = json.dumps({"workloads": {"chat": CHAT}, "machines": MACHINES})
    project = json.dumps({"config": CONFIG, "resources": resources})  # text: without aliases
    made = workshop.yaml(project, **{"gpusize.yaml": sidecar})
    run = made.preview().fail()
    found = {(one.resource, one.policy) for one in run.violations}
    assert ("long", "kv-cache-exceeds-vram") in found
    assert ("loose", "attribute-selection-too-loose") in found
    assert ("lost", "cannot-evaluate") in found
    assert ("away", "weights-exceed-vram") in found
    assert not {name for name, _ in found} & {"quiet", "well"}
    assert CANARY not in run.text + "".join(one.message for one in run.violations)
