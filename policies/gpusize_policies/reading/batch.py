"""AWS Batch: compute environments, which launch instances, and job definitions, which use them."""

from __future__ import annotations

from gpusize_policies.reading import containers, launches
from gpusize_policies.reading.documents import listed, parsed
from gpusize_policies.reading.selection import (
    NAMED,
    ON_DEMAND,
    SPOT,
    Role,
    Selection,
    is_region,
)
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    UNKNOWN,
    Props,
    Value,
    amount,
    count,
    first,
    names_of,
    present,
    shaped,
    tag_of,
    text,
)

AT = "computeResources"
MARKETS = {"EC2": ON_DEMAND, "SPOT": SPOT, "FARGATE": ON_DEMAND, "FARGATE_SPOT": SPOT}
SERVERLESS = "FARGATE"
"""Begin of the types of environments without instances, which have no GPUs."""
STRATEGIES = {
    "BEST_FIT": "lowest-price",
    "BEST_FIT_PROGRESSIVE": "lowest-price",
    "SPOT_CAPACITY_OPTIMIZED": "capacity-optimized",
    "SPOT_PRICE_CAPACITY_OPTIMIZED": "price-capacity-optimized",
}
"""How Batch picks among pools, in the words of Auto Scaling groups: the first two go by price
(AWS Batch user guide, "Instance type allocation strategies")."""
DEFAULT_STRATEGY = "BEST_FIT"
NAMES = (
    ("instance_type", f"{AT}.instanceTypes"),
    ("types", f"{AT}.instanceTypes"),
    ("market", f"{AT}.type"),
    ("subnets", f"{AT}.subnets"),
    ("zones", f"{AT}.subnets"),
    ("allocation", f"{AT}.allocationStrategy"),
    ("max_price_percent", f"{AT}.bidPercentage"),
    ("placement_group", f"{AT}.placementGroup"),
    ("least_vcpus", f"{AT}.minVcpus"),
    ("desired_vcpus", f"{AT}.desiredVcpus"),
    ("most_vcpus", f"{AT}.maxVcpus"),
)
JOB_NAMES = (
    ("instance_type", "instance type of the compute environment"),
    ("gpus", "resourceRequirements of the containers"),
    ("nodes", "nodeProperties"),
    ("launches", "containerProperties"),
    ("types", "nodeProperties"),
)


def environment(props: Props) -> Selection:
    """Read a compute environment: Batch picks the types that the jobs need from its list."""
    kind = props.get(f"{AT}.type")
    words = _words(props, kind)
    group = present(props.get(f"{AT}.placementGroup"))
    template = props.get(f"{AT}.launchTemplate")
    otherwise = ABSENT if template == ABSENT else DEFERRED
    market = MARKETS.get(kind.text.upper())
    strategy = first(props.get(f"{AT}.allocationStrategy"), Value(DEFAULT_STRATEGY))
    return Selection(
        workload=first(tag_of(props, f"{AT}.tags"), tag_of(props, "tags"), otherwise),
        instance_type=Value(words.value[0]) if words.says else UNKNOWN,
        types=words,
        market=Value(market) if market else UNKNOWN,
        region=shaped(props.get("region"), is_region),
        efa_interfaces=otherwise,
        interfaces=otherwise,
        root_volume_gib=otherwise,
        root_volume_mbps=otherwise,
        placement_group=first(Value(NAMED) if group.says else group, otherwise),
        subnets=props.length(f"{AT}.subnets"),
        allocation=_known(STRATEGIES, strategy) if market == SPOT else ABSENT,
        max_price_percent=amount(props.get(f"{AT}.bidPercentage")),
        least_vcpus=count(props.get(f"{AT}.minVcpus")),
        desired_vcpus=count(props.get(f"{AT}.desiredVcpus")),
        most_vcpus=count(props.get(f"{AT}.maxVcpus")),
        is_pool=True,
        named=NAMES,
    )


def _words(props: Props, kind: Value) -> Value:
    """The listed types and families; without instances the kind of environment stands for them."""
    if kind.text.upper().startswith(SERVERLESS):
        return Value((kind.text,))
    return names_of(props, f"{AT}.instanceTypes")


def _known(words: dict[str, str], value: Value) -> Value:
    found = words.get(value.text.upper())
    return Value(found) if found else UNKNOWN


def job(props: Props) -> Selection:
    """Read a job definition: GPUs of one node, and how many nodes one job takes."""
    nodes = parsed(props.get("nodeProperties"))
    ranges, complete = listed(Value(_inside(nodes, "nodeRangeProperties"), nodes.known))
    named = [text(one.get("container.instanceType")) for one in ranges]
    types = tuple(dict.fromkeys(one.text for one in named if one.text))
    sure = complete and all(one.known for one in named)
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=Value(types[0]) if types and sure else DEFERRED,
        types=(Value(types) if types else ABSENT) if sure else UNKNOWN,
        market=DEFERRED,
        region=shaped(props.get("region"), is_region),
        gpus=_gpus(props, ranges, complete),
        nodes=count(Value(_inside(nodes, "numNodes"))) if nodes.known else UNKNOWN,
        launches=_launches(props),
        role=Role.TASK,
        named=JOB_NAMES,
    )


def _launches(props: Props) -> Value:
    """What the containers start, in whichever of the properties they stand."""
    texts = ("containerProperties", "nodeProperties", "ecsProperties")
    pod, complete = props.items("eksProperties.podProperties.containers")
    inner = launches.containers(one.value for one in pod) if complete else UNKNOWN
    return first(*(launches.json_containers(props.get(text)) for text in texts), inner)


def _inside(value: Value, key: str) -> object:
    return Props(value.value).own(key).value


def _gpus(props: Props, ranges: tuple[Props, ...], complete: bool) -> Value:
    """The GPUs of the one container, of the largest node, of the tasks or of the pod."""
    alone = parsed(props.get("containerProperties"))
    single = containers.gpus_of(Props(alone.value)) if alone.known else UNKNOWN
    nodes = containers.most(
        (containers.gpus_of(Props(one.own("container").value)) for one in ranges), complete
    )
    return first(single, nodes, _gpus_of_tasks(props), _gpus_of_pod(props))


def _gpus_of_tasks(props: Props) -> Value:
    held = parsed(props.get("ecsProperties"))
    if not held.known:
        return UNKNOWN
    tasks, complete = Props(held.value).items("taskProperties")
    found = []
    for task in tasks:
        inner, whole = Props(task.value).items("containers")
        asked = (containers.gpus_of(Props(one.value)) for one in inner)
        found.append(containers.total(asked, whole))
    return containers.most(found, complete)


def _gpus_of_pod(props: Props) -> Value:
    inner, complete = props.items("eksProperties.podProperties.containers")
    asked = (containers.gpus_of_pod(Props(one.value)) for one in inner if one.known)
    return containers.total(asked, complete)
