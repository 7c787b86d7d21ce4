"""Objects of Kubernetes that carry pods: where the pod stands in each, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpusize.tokens import WORKLOAD_LABEL
from gpusize_policies.reading.kubernetes.pods import Read, read_pod
from gpusize_policies.reading.launches import containers as launches_of
from gpusize_policies.reading.selection import Role, Selection
from gpusize_policies.reading.values import (
    ABSENT,
    UNKNOWN,
    Props,
    Value,
    agreed,
    count,
    first,
    text,
)

MOST_PARTS = 32
"""Groups of pods of one object that are read."""
NO_DEVICE = "asks for no GPU"
ASK = "ask for GPUs under `resources.limits` of the container, `nvidia.com/gpu: 1`"
PARTIAL = "asks for a part of a GPU (MIG, time slices) or for cores of Neuron, whose memory is not"
WHOLE = "ask for whole devices, or declare the workload and waive what is known to fit"


class Part(NamedTuple):
    """One group of equal pods of an object."""

    template: str = "spec.template"
    """Path of what has `metadata` and `spec` of the pod; empty: the object itself."""
    each: str = ""
    """Path of a list, where every item has such a template."""
    least: str = "spec.replicas"
    """Path of the number of pods, or of the fewest; below the item, where there is a list."""
    most: str = ""
    """Path of the most of them, where that is another."""
    times: str = ""
    """Path of a number by which that is multiplied."""
    nodes: tuple[str, ...] = ()
    """Paths of the numbers of pods that one run takes, added up."""
    beside: str = ""
    """Path of another template of the same run, whose texts count too."""
    spec: str = "spec"
    """Path of the pod below the template; empty: the template is the pod."""
    place: str = ""
    """What to call the part in a message."""


class Known(NamedTuple):
    """A pod template of a resource, with its surroundings."""

    part: Part
    holder: Props
    """What the paths of the part start from."""
    place: str


_TEMPLATED = (Part(),)
_JOB = (Part(least="spec.parallelism"),)
_RAY = {
    "RayCluster": "spec",
    "RayJob": "spec.rayClusterSpec",
    "RayService": "spec.rayClusterConfig",
}


def _ray(at: str) -> tuple[Part, ...]:
    worker = Part(
        "template",
        each=f"{at}.workerGroupSpecs",
        least="minReplicas",
        most="maxReplicas",
        place="workerGroupSpecs",
    )
    return (Part(f"{at}.headGroupSpec.template", least="", place="headGroupSpec"), worker)


def _operator(at: str) -> tuple[Part, ...]:
    """Parts of Kubeflow's training operator: its roles make up one run."""
    sizes = (f"{at}.Master.replicas", f"{at}.Worker.replicas")
    return tuple(
        Part(f"{at}.{role}.template", least="", nodes=sizes, place=role)
        for role in ("Master", "Worker")
    )


SHAPES: dict[str, tuple[Part, ...]] = {
    "core/v1:Pod": (Part("", least=""),),
    "core/v1:ReplicationController": _TEMPLATED,
    **{
        f"apps/{version}:{kind}": _TEMPLATED
        for version in ("v1", "v1beta1", "v1beta2")
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    },
    "apps/v1:DaemonSet": (Part(least=""),),
    "batch/v1:Job": _JOB,
    **{
        f"batch/{version}:CronJob": (
            Part("spec.jobTemplate.spec.template", least="spec.jobTemplate.spec.parallelism"),
        )
        for version in ("v1", "v1beta1")
    },
    "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": (
        Part(
            "spec.leaderWorkerTemplate.workerTemplate",
            times="spec.leaderWorkerTemplate.size",
            nodes=("spec.leaderWorkerTemplate.size",),
            beside="spec.leaderWorkerTemplate.leaderTemplate",
        ),
    ),
    "jobset.x-k8s.io/v1alpha2:JobSet": (
        Part(
            "template.spec.template",
            each="spec.replicatedJobs",
            least="template.spec.parallelism",
            times="replicas",
            place="replicatedJobs",
        ),
    ),
    **{
        f"ray.io/{version}:{kind}": _ray(at)
        for version in ("v1", "v1alpha1")
        for kind, at in _RAY.items()
    },
    "kubeflow.org/v1:PyTorchJob": _operator("spec.pytorchReplicaSpecs"),
    "serving.kserve.io/v1beta1:InferenceService": (
        Part(
            "spec.predictor",
            least="spec.predictor.minReplicas",
            most="spec.predictor.maxReplicas",
            spec="",
        ),
    ),
    "serving.knative.dev/v1:Service": (Part(least=""),),
}
"""Where objects carry pods, by group, version and kind."""


def selections_of(shape: tuple[Part, ...], props: Props) -> tuple[Selection, ...]:
    """Return what the pods of an object select; nothing where none has to do with a device."""
    found = (_selection(one, props) for one in _templates(shape, props))
    return tuple(one for one in found if one is not None)


def _templates(shape: Iterable[Part], props: Props) -> Iterator[Known]:
    for part in shape:
        if not part.each:
            yield Known(part, props, part.place)
            continue
        items, _ = props.items(part.each)
        for index, item in enumerate(items[:MOST_PARTS]):
            yield Known(part, Props(item.value), f"{part.place}[{index}]")


def _selection(known: Known, whole: Props) -> Selection | None:
    part, holder = known.part, known.holder
    template = holder.get(part.template) if part.template else Value({})
    inner = Props(template.value) if part.template else holder
    if template.known and template.value is None:
        return None
    spec = inner.get(part.spec) if part.spec else template
    beside = Props(holder.get(part.beside).value) if part.beside else None
    named = reference(WORKLOAD_LABEL, whole, inner, *((beside,) if beside else ()))
    read = _with_model(spec) if spec.known else Read(UNKNOWN, UNKNOWN, (), False, "spec")
    if read.devices == ABSENT and named == ABSENT and not _is_partial(read.pod):
        return None
    at = ".".join(word for word in (part.template, part.spec) if word)
    sizes = _sizes(part, holder)
    return Selection(
        workload=named,
        instance_type=ABSENT if read.pod.known else UNKNOWN,
        gpus=read.devices,
        pod=read.pod,
        launches=_launches(read, beside),
        nodes=_added(holder, part.nodes),
        least=sizes[0],
        desired=sizes[0],
        most=sizes[1],
        role=Role.POD,
        place=known.place,
        obstacle=_obstacle(read),
        named=_names(at, part, read.unknown),
    )


def _with_model(spec: Value) -> Read:
    """Read a pod; KServe may say its only container under `model`."""
    props = Props(spec.value)
    model = props.get("model")
    if not model.says or not isinstance(spec.value, Mapping):
        return read_pod(props)
    others, _ = props.items("containers")
    keys = ("nodeSelector", "affinity", "tolerations", "initContainers")
    read = {key: props.own(key) for key in keys}
    kept = {key: one.value for key, one in read.items() if one.says}
    found = read_pod(Props({**kept, "containers": [model.value, *(one.value for one in others)]}))
    hidden = next((key for key, one in read.items() if not one.known), "")
    return found._replace(pod=UNKNOWN, unknown=hidden) if hidden else found


def _is_partial(pod: Value) -> bool:
    return pod.says and pod.value.parts


def _obstacle(read: Read) -> tuple[str, str]:
    """Say what no node could change."""
    if not read.pod.known:
        return ("", "")
    if read.pod.value.parts:
        return (f"it {PARTIAL} known", WHOLE)
    return (f"it {NO_DEVICE}", ASK) if read.devices == ABSENT else ("", "")


def _launches(read: Read, beside: Props | None) -> Value:
    """What all containers start, those of the other template of the run too."""
    if not read.complete:
        return UNKNOWN
    more, complete = beside.items("spec.containers") if beside else ((), True)
    if not complete:
        return UNKNOWN
    return launches_of((*(one.value for one in more), *read.containers))


def _sizes(part: Part, holder: Props) -> tuple[Value, Value]:
    """The fewest and the most pods."""
    if not part.least:
        return ABSENT, ABSENT
    least = count(holder.get(part.least))
    most = first(count(holder.get(part.most)), least) if part.most else least
    if not part.times:
        return least, most
    times = count(holder.get(part.times))
    return _multiplied(least, times), _multiplied(most, times)


def _multiplied(number: Value, times: Value) -> Value:
    if not number.known or not times.known:
        return UNKNOWN
    return (
        Value(number.value * (1 if times.value is None else times.value)) if number.says else number
    )


def _added(holder: Props, paths: tuple[str, ...]) -> Value:
    found = [count(holder.get(path)) for path in paths]
    if not all(one.known for one in found):
        return UNKNOWN
    return Value(sum(one.value or 0 for one in found) or None)


def _names(at: str, part: Part, unknown: str) -> tuple[tuple[str, str], ...]:
    within = f"{at}." if at else ""
    sizes = part.least or part.template
    return (
        ("workload", f"metadata.annotations.{WORKLOAD_LABEL}"),
        ("instance_type", f"{within}{unknown or 'nodeSelector'}"),
        ("types", "types of the nodes"),
        ("admitted", "types of the nodes"),
        ("market", "capacity type of the nodes"),
        ("gpus", f"{within}containers.resources.limits"),
        ("launches", f"{within}containers"),
        *((field, sizes) for field in ("least", "desired", "most")),
        ("nodes", part.nodes[0] if part.nodes else sizes),
    )


def reference(key: str, *holders: Props) -> Value:
    """Read an annotation or a label, of the object before that of its pods.

    Two that differ name nobody.
    """
    for holder in holders:
        found = [
            text(_own(holder, f"metadata.{group}", key)) for group in ("annotations", "labels")
        ]
        said = [one for one in found if one != ABSENT]
        if said:
            return agreed(said)
    return ABSENT


def _own(holder: Props, path: str, key: str) -> Value:
    """Read a key with dots and slashes below a path."""
    block = holder.get(path)
    if not block.known:
        return UNKNOWN
    return Props(block.value).own(key) if isinstance(block.value, Mapping) else ABSENT
