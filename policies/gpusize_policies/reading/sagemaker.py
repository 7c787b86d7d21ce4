"""SageMaker: endpoints, notebooks, training and processing, pipelines, and apps of Studio.

Its types are those of EC2 with a prefix; its prices are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpusize_policies.reading import launches
from gpusize_policies.reading.documents import listed, parsed
from gpusize_policies.reading.selection import ON_DEMAND, SPOT, Role, Selection, is_region
from gpusize_policies.reading.values import (
    ABSENT,
    DEFERRED,
    UNKNOWN,
    Props,
    Value,
    count,
    shaped,
    tag_of,
    text,
)

SELLER = "SageMaker"
PREFIX = "ml."
SERVERLESS = "serverless"
"""Stands for the instance type of what has none: no accelerator either."""
VARIANTS = ("productionVariants", "shadowProductionVariants")
JOBS = ("trainingJobDefinition", "trainingJobDefinitions")
APPS = (
    "codeEditorAppSettings",
    "jupyterLabAppSettings",
    "jupyterServerAppSettings",
    "kernelGatewayAppSettings",
    "rSessionAppSettings",
    "tensorBoardAppSettings",
)
TYPE = "instanceType"
PIPELINE_TYPES = ("InstanceType", "TransformInstanceType")
DEEPEST = 40
"""Levels of a pipeline's JSON that are looked into; nested conditions take three each."""


def endpoint_configuration(props: Props) -> tuple[Selection, ...]:
    """Read every variant, the shadows among them."""
    return tuple(_of_list(props, VARIANTS, _variant)) or (_nothing(props, VARIANTS[0]),)


def _variant(props: Props, variant: Props, place: str) -> Selection:
    reservation = text(variant.get("capacityReservationConfig.mlReservationArn"))
    scaling = "managedInstanceScaling"
    kind = _type(variant.get(TYPE))
    if kind == ABSENT and variant.get("serverlessConfig") != ABSENT:
        kind = Value(SERVERLESS)
    return _part(props, kind, place)._replace(
        capacity_reservation=reservation,
        least=count(variant.get(f"{scaling}.minInstanceCount")),
        desired=count(variant.get("initialInstanceCount")),
        most=count(variant.get(f"{scaling}.maxInstanceCount")),
        named=_names(
            place,
            capacity_reservation="capacityReservationConfig",
            least=f"{scaling}.minInstanceCount",
            desired="initialInstanceCount",
            most=f"{scaling}.maxInstanceCount",
        ),
    )


def model(props: Props) -> Selection:
    """Read a model: what its containers start wherever an endpoint places it."""
    several, complete = props.items("containers")
    first_one = props.get("primaryContainer")
    held = [one.value for one in (first_one, *several) if one.says]
    sure = complete and first_one.known and all(one.known for one in several)
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=DEFERRED,
        market=DEFERRED,
        region=shaped(props.get("region"), is_region),
        launches=launches.containers(held) if sure else UNKNOWN,
        role=Role.TASK,
        seller=SELLER,
        named=(
            ("instance_type", "instance type of the endpoint"),
            ("market", "instance type of the endpoint"),
            ("launches", "primaryContainer"),
        ),
    )


def notebook(props: Props) -> Selection:
    """Read a notebook instance."""
    return _part(props, _type(props.get(TYPE)), "")


def app(props: Props) -> Selection:
    """Read an app of Studio."""
    return _part(props, _type(props.get(f"resourceSpec.{TYPE}")), "", "resourceSpec")


def space(props: Props) -> tuple[Selection, ...]:
    """Read the instance types that apps of a space start on."""
    return _defaults(props, "spaceSettings")


def user_profile(props: Props) -> tuple[Selection, ...]:
    """Read the instance types that apps of a user start on."""
    return _defaults(props, "userSettings")


def domain(props: Props) -> tuple[Selection, ...]:
    """Read the instance types that apps of a domain start on."""
    return _defaults(props, "defaultUserSettings", "defaultSpaceSettings")


def _defaults(props: Props, *settings: str) -> tuple[Selection, ...]:
    """One part for each app with a type; the smallest of them run beside the work."""
    found: list[Selection] = []
    for group in settings:
        for name in APPS:
            place = f"{group}.{name}.defaultResourceSpec"
            kind = _type(props.get(f"{place}.{TYPE}"))
            if kind != ABSENT:
                found.append(_part(props, kind, place)._replace(is_helper=True))
    return tuple(found)


def training_job(props: Props) -> tuple[Selection, ...]:
    """Read the instances of a training job, and those that its rules are evaluated on."""
    rules = ("debugRuleConfigurations", "profilerRuleConfigurations")
    helpers = (one._replace(is_helper=True) for one in _of_list(props, rules, _helper))
    shown = (one for one in helpers if one.instance_type != ABSENT)
    return (*_trained(props, props, ""), *shown)


def _helper(props: Props, rule: Props, place: str) -> Selection:
    return _part(props, _type(rule.get(TYPE)), place)


def tuning_job(props: Props) -> tuple[Selection, ...]:
    """Read the instances of every training job that a tuning job starts."""
    found: list[Selection] = []
    for key in JOBS:
        jobs, complete = _readers(props, key)
        for place, job in jobs:
            found += _trained(props, job, place)
        if not complete:
            found.append(_part(props, UNKNOWN, key))
    return tuple(found) or (_nothing(props, JOBS[0]),)


def _trained(props: Props, job: Props, place: str) -> Iterator[Selection]:
    """Each group of instances of one training job."""
    market = _spot(job.get("enableManagedSpotTraining"))
    dot = f"{place}." if place else ""
    for key in ("resourceConfig", "hyperParameterTuningResourceConfig"):
        held = job.get(key)
        if held == ABSENT:
            continue
        for at, one in _groups(Props(held.value) if held.known else None):
            where = f"{dot}{key}{at}"
            kind, size = (one.get(TYPE), one.get("instanceCount")) if one else (UNKNOWN, UNKNOWN)
            plan = text(job.get(f"{key}.trainingPlanArn"))
            yield _part(props, _type(kind), where)._replace(
                market=market,
                desired=count(size),
                capacity_reservation=plan,
                launches=launches.training(job, count(size)),
                named=(
                    *_names(where, desired="instanceCount", capacity_reservation="trainingPlanArn"),
                    ("launches", "algorithmSpecification or hyperParameters"),
                ),
            )


def _groups(held: Props | None) -> Iterator[tuple[str, Props | None]]:
    """The instances of one job: one kind, or a list of kinds."""
    if held is None:
        yield "", None
        return
    if held.get(TYPE) != ABSENT:
        yield "", held
    for key in ("instanceGroups", "instanceConfigs"):
        groups, complete = _readers(held, key)
        yield from ((f".{place}", one) for place, one in groups)
        if not complete:
            yield f".{key}", None


def _spot(value: Value) -> Value:
    """The market of training: managed spot where it is asked for."""
    if not value.known:
        return UNKNOWN
    return Value(SPOT if value.value is True else ON_DEMAND)


def processing(props: Props) -> Selection:
    """Read the cluster of a data quality job."""
    return _cluster(props, "jobResources.clusterConfig")


def monitoring(props: Props) -> Selection:
    """Read the cluster of a monitoring schedule."""
    at = "monitoringScheduleConfig.monitoringJobDefinition.monitoringResources.clusterConfig"
    return _cluster(props, at)


def _cluster(props: Props, at: str) -> Selection:
    size = count(props.get(f"{at}.instanceCount"))
    found = _part(props, _type(props.get(f"{at}.{TYPE}")), "", at)
    return found._replace(desired=size, is_helper=True)


def pipeline(props: Props) -> tuple[Selection, ...]:
    """Read every step of a pipeline that names a type; a step may also take it from a parameter."""
    whole = parsed(props.get("pipelineDefinition"))
    if not whole.known or props.get("pipelineDefinitionS3Location") != ABSENT:
        return (_part(props, UNKNOWN, "pipelineDefinition"),)
    steps, complete = listed(Value(Props(whole.value).own("Steps").value))
    defaults = _parameters(Props(whole.value))
    found: list[Selection] = []
    for index, step in enumerate(steps):
        place = f"pipelineDefinition.Steps[{index}]"
        named = dict.fromkeys(_named_types(step.own("Arguments").value, defaults, DEEPEST))
        found += (_part(props, kind, place)._replace(is_helper=True) for kind in named)
    if not complete:
        found.append(_part(props, UNKNOWN, "pipelineDefinition.Steps"))
    return tuple(found)


def _parameters(whole: Props) -> dict[str, Value]:
    """Defaults of a pipeline's parameters, by name."""
    held, _ = listed(Value(whole.own("Parameters").value))
    return {one.get("Name").text: one.own("DefaultValue") for one in held}


def _named_types(value: object, defaults: dict[str, Value], depth: int) -> Iterator[Value]:
    """The instance types below a step, wherever they stand."""
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _named_types(item, defaults, depth - 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in PIPELINE_TYPES:
                yield _type(_resolved(item, defaults))
            else:
                yield from _named_types(item, defaults, depth - 1)


def _resolved(item: object, defaults: dict[str, Value]) -> Value:
    """A type as it stands, or the default of the parameter that it is taken from."""
    if not isinstance(item, dict):
        return Value(item)
    name = Props(item).own("Get").text
    found = defaults.get(name.removeprefix("Parameters."), UNKNOWN)
    return found if found.says else UNKNOWN


def _of_list(
    props: Props, keys: tuple[str, ...], read: Callable[[Props, Props, str], Selection]
) -> Iterator[Selection]:
    for key in keys:
        items, complete = _readers(props, key)
        yield from (read(props, one, place) for place, one in items)
        if not complete:
            yield _part(props, UNKNOWN, key)


def _readers(props: Props, key: str) -> tuple[list[tuple[str, Props]], bool]:
    """Items of a list with their places; one block may stand without its list."""
    found = props.get(key)
    if found.known and found.value is not None and props.length(key) == ABSENT:
        return [(key, Props(found.value))], True
    items, complete = props.items(key)
    places = [(f"{key}[{index}]", item) for index, item in enumerate(items)]
    return [(place, Props(item.value)) for place, item in places if item.known], complete


def _part(props: Props, kind: Value, place: str, at: str = "") -> Selection:
    """What SageMaker starts in one place of a resource."""
    return Selection(
        workload=tag_of(props, "tags"),
        instance_type=kind,
        market=Value(ON_DEMAND),
        region=shaped(props.get("region"), is_region),
        place=place,
        seller=SELLER,
        named=_names(place or at),
    )


def _nothing(props: Props, key: str) -> Selection:
    return _part(props, UNKNOWN, key)


def _names(place: str, **fields: str) -> tuple[tuple[str, str], ...]:
    dot = f"{place}." if place else ""
    named = {"instance_type": TYPE, "market": "enableManagedSpotTraining", **fields}
    found = tuple((field, f"{dot}{name}") for field, name in named.items())
    return (*found, ("launches", "containers of the model"))


def _type(value: Value) -> Value:
    """The type of EC2 behind a type of SageMaker."""
    found = text(value)
    return Value(found.text.removeprefix(PREFIX)) if found.text else found
