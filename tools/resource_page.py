"""The page of the resources that are read: from the samples that tests go over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpusize.tokens import WORKLOAD_TAG
from gpusize_policies.reading import EXTRACTORS, PARTED
from gpusize_policies.reading.kubernetes import PACKAGE, PODS
from gpusize_policies.reading.kubernetes.objects import SHAPES, Part
from tests.resources import samples
from tests.unit.policies.test_reading import BY_TYPE

TITLE = "# Resources that are read"
INTRODUCTION = f"""\
The policy pack reads these resources of a stack. One reaches a declared workload by its tag
`{WORKLOAD_TAG}`, or by that of what it is launched from. Each property below is read, and a test
takes each of them for unknown in turn: what follows from it is then said to be unknown."""
NOTES = """\
## How they are judged

- Where one resource selects instances in several places (variants of an endpoint, groups of a
  cluster), each is judged, and a message names the place.
- A family of instance types, as Batch lists it, stands for all its types, and instance requirements
  for all that have them. A job or task of the same workload says how many GPUs it takes: types
  with fewer are left out.
- A service of ECS is judged on what its capacity provider launches, down to the launch template.
  Jobs of Batch and models of SageMaker say what runs; without machines of the same workload in the
  stack they cannot be evaluated. Where nothing is tagged they are judged by what they start
  ([inference](inference.md)), on the machines that the stack has for them.
- `ml.g5.xlarge` of SageMaker is `g5.xlarge` with a price of its own. The catalog does not hold it,
  so it is unknown, and so is where SageMaker offers the type. GameLift has its own prices too. What
  EMR and ECS charge beside the instances is not counted.
- The primary nodes of EMR, apps of Studio, steps of pipelines and processing may run beside the
  work: they are judged where their type has an accelerator.
- Environments of Fargate and serverless variants have no accelerator, and neither have the types
  that Batch picks for `optimal` and `default_x86_64`.

## What is not read
"""
LEFT_OUT = {
    "`volumeSizeInGb` of SageMaker": (
        "types with local disks take none, and what images need of it is not documented"
    ),
    "`aws:sagemaker/endpoint:Endpoint`": "its configuration is",
    "`aws:sagemaker/algorithm:Algorithm`": (
        "says which types may be used, and starts none but to validate itself"
    ),
    "`aws:appstream`, `aws:workspaces`": (
        "streamed desktops: their bundles have names of their own"
    ),
    "`aws:codebuild`": "builds: compute types have names of their own",
    "`aws:lambda/capacityProvider:CapacityProvider`": "Lambda runs on no accelerator",
    "`aws:outposts`, `aws:drs`": "hardware of your own, and recovery of other machines",
    "databases, caches, brokers, search, Glue, Cloud9": "no accelerated types",
}
"""Resources that name a type of machine or its size and are not judged, with the reason."""
SERVICES = {
    "ec2": "EC2",
    "autoscaling": "Auto Scaling",
    "batch": "Batch",
    "ecs": "ECS",
    "eks": "EKS",
    "emr": "EMR",
    "gamelift": "GameLift",
    "imagebuilder": "EC2 Image Builder",
    "sagemaker": "SageMaker",
}


KUBERNETES = """Of each pod its devices, its memory, what it asks of nodes, and what its containers
start: see [kubernetes.md](kubernetes.md). Nodes are `aws:eks/nodeGroup:NodeGroup`,
`kubernetes:karpenter.sh/v1:NodePool` and `v1beta1`.
"""


def resource_page(mark: str) -> str:
    """Return the page; `mark` says how it came to be."""
    read = _read()
    parts = [TITLE, mark, INTRODUCTION]
    for service, name in SERVICES.items():
        kinds = sorted(kind for kind in read if kind.startswith(f"aws:{service}/"))
        rows = [f"| `{kind}` | {', '.join(f'`{one}`' for one in read[kind])} |" for kind in kinds]
        parts.append("\n".join([f"## {name}\n", "| type | properties |", "|---|---|", *rows]))
    parts.append(_pods())
    rows = [f"| {what} | {why} |" for what, why in LEFT_OUT.items()]
    left = "\n".join([NOTES, "| resource | why |", "|---|---|", *rows])
    return "\n\n".join([*parts, left]) + "\n"


def _pods() -> str:
    """The objects of Kubernetes, whose pods all have the same properties."""
    rows = [
        f"| `{PACKAGE}{kind}` | {', '.join(f'`{_pod_path(one)}`' for one in shape)} |"
        for kind, shape in sorted(SHAPES.items())
    ]
    head = ["## Kubernetes\n", KUBERNETES, "| type | pod |", "|---|---|"]
    return "\n".join([*head, *rows])


def _pod_path(part: Part) -> str:
    each = f"{part.each}[]" if part.each else ""
    return ".".join(filter(None, (each, part.template, part.spec)))


def _read() -> dict[str, list[str]]:
    """The properties of each type that is read."""
    known = [(kind, props) for kind, props in BY_TYPE.items()]
    known += [(one.type, one.properties) for one in samples()]
    kinds = (kind for kind in (*EXTRACTORS, *PARTED) if kind not in PODS)
    found: dict[str, dict[str, None]] = {kind: {} for kind in kinds}
    for kind, props in known:
        found[kind].update(dict.fromkeys(_leaves(props)))
    return {kind: sorted(paths) for kind, paths in found.items()}


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    """The properties below a value, without groups and without keys of users."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            is_map = key == WORKLOAD_TAG or path.endswith(("environment", "limits"))
            yield from _leaves(None, path) if is_map else _leaves(item, inner)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    else:
        yield path
