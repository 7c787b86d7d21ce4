"""Objects of Kubernetes for tests, and what is said of a stack that has them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpusize_catalog.store import Catalog, load
from gpusize_policies.finding import Finding
from gpusize_policies.inputs import Context
from gpusize_policies.machines import Seen
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import DEFAULTS
from tests.unit.policies.proxies import Proxy

TODAY = datetime.date(2026, 11, 30)
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TYPE = "node.kubernetes.io/instance-type"
VLLM = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len"]
LONG = [*VLLM, "131072"]
"""16 GiB of cache beside 15 of weights: a GPU of 24 GB does not hold them, one of 48 does."""
SHORT = [*VLLM, "8192"]
"""16 GiB in all: a T4 does not hold them, an L4 does."""
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

Resource = tuple[str, dict[str, Any]]


def pod(args: list[str], gpus: object = 1, **spec: Any) -> dict[str, Any]:
    """The spec of a pod with vLLM."""
    limits = {"nvidia.com/gpu": gpus} if gpus is not None else {"cpu": "1"}
    container = {
        "name": "server",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": args,
        "resources": {"limits": limits},
    }
    return {"containers": [container], **spec}


def deployment(spec: Mapping[str, Any], **metadata: Any) -> Resource:
    """A Deployment of two such pods."""
    return DEPLOYMENT, {
        "metadata": {"name": "chat", **metadata},
        "spec": {"replicas": 2, "template": {"spec": dict(spec)}},
    }


def ask(key: str, operator: str, values: list[str]) -> dict[str, Any]:
    """What is asked of one label."""
    return {"key": key, "operator": operator, "values": values}


def pool(*asks: tuple[str, str, list[str]], **spec: Any) -> Resource:
    """A NodePool of Karpenter."""
    template = {"spec": {"requirements": [ask(*one) for one in asks], **spec}}
    return NODE_POOL, {"metadata": {"name": "gpu"}, "spec": {"template": template}}


def group(*types: str, **more: Any) -> Resource:
    """A managed node group."""
    return NODE_GROUP, {"instanceTypes": list(types), "clusterName": "main", **more}


def told(
    tmp_path: Path, sidecar: Mapping[str, Any] | None = None, /, **resources: Resource
) -> list[Finding]:
    """What is said of a stack, by the resource and at the end.

    Machines that no pod runs on are undeclared: that is another matter.
    """
    if sidecar is not None:
        (tmp_path / "gpusize.yaml").write_text(json.dumps(sidecar), encoding="utf-8")
    run = Run(DEFAULTS, TODAY, tmp_path, region="us-east-1")
    session = Session(run, Context(_catalog(), DEFAULTS, TODAY))
    stack = [
        Seen(kind, name, f"urn:pulumi:dev::app::{kind}::{name}", Proxy(props))
        for name, (kind, props) in resources.items()
    ]
    early = [finding for one in stack for finding in session.judge(one)]
    assert not session.problems
    found = [*early, *(finding for _, finding in session.finish(stack))]
    return [one for one in found if one.name != "undeclared-gpu"]


@lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return load()


def codes(findings: list[Finding]) -> list[str]:
    """Codes of what was said, in order."""
    return sorted(one.code for one in findings)
