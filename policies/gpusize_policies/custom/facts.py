"""What expressions see: every fact with its type, what it means, and how it is read of a case.

`FACTS` is the whole vocabulary: the checker, the evaluation, the published JSON Schema and the page
are made from it. Facts are only added within a version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.names import to_camel
from gpusize_catalog.units import GIB
from gpusize_policies.message import ANYONE

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize.workload import Workload
    from gpusize_policies.case import Case
    from gpusize_policies.deployed import Machine

FACTS_VERSION = 1
MS = 1e3
"""Milliseconds of a second."""
URN_PARTS = 4
"""Parts of `urn:pulumi:stack::project::types::name`, split at `::`."""


class Kind(str, Enum):
    """The type of a fact, in the words of CEL."""

    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    TEXTS = "list(string)"
    TAGS = "map(string, string)"
    AMOUNTS = "map(string, double)"

    @property
    def is_shown(self) -> bool:
        """Whether a message may repeat it: values of tags it may not."""
        return self not in (Kind.TAGS, Kind.AMOUNTS)


class _Unknown:
    """Stands for a value that nobody can tell now."""


UNKNOWN = _Unknown()


class Fact(NamedTuple):
    """One thing that an expression may ask for."""

    path: str
    kind: Kind
    text: str
    read: Callable[[Case], Any]
    """Its value; None where there is none, UNKNOWN where it cannot be told."""
    may_be_null: bool = False
    tags: bool = False
    """Whether only those tags are in it that the expressions name."""

    @property
    def root(self) -> str:
        """What it is a fact of: workload, plan, resource, run or settings."""
        return self.path.split(".", 1)[0]


class Read(NamedTuple):
    """Facts of one case."""

    known: Mapping[str, Any]
    unknown: frozenset[str]


def read(case: Case, names: Iterable[str]) -> Read:
    """Read some facts of a case."""
    known: dict[str, Any] = {}
    unknown: set[str] = set()
    for name in names:
        value = _finite(facts()[name].read(case))
        if value is UNKNOWN:
            unknown.add(name)
        else:
            known[name] = value
    return Read(known, frozenset(unknown))


def _finite(value: Any) -> Any:
    """An amount beyond every number is not known."""
    return UNKNOWN if isinstance(value, float) and not isfinite(value) else value


@cache
def facts() -> Mapping[str, Fact]:
    """Every fact by its path, those of all fields of a declaration among them."""
    from gpusize_policies.custom.declared_facts import declared_facts

    found = (*_WORKLOAD, *declared_facts(), *_PLAN, *_RESOURCE, *_RUN, *_settings_facts())
    return {one.path: one for one in found}


ROOTS = ("workload", "plan", "resource", "run", "settings")


def _of_workload(read_it: Callable[[Workload], Any]) -> Callable[[Case], Any]:
    return lambda case: UNKNOWN if case.workload is None else read_it(case.workload)


def _of_plan(read_it: Callable[[Candidate], Any]) -> Callable[[Case], Any]:
    return lambda case: UNKNOWN if case.candidate is None else read_it(case.candidate)


def _of_machine(read_it: Callable[[Machine], Any]) -> Callable[[Case], Any]:
    return lambda case: UNKNOWN if case.machine is None else read_it(case.machine)


def _told(value: Any) -> Any:
    """A figure that is None is not known."""
    return UNKNOWN if value is None else value


def _gib(size: float | None) -> Any:
    return UNKNOWN if size is None else size / GIB


def _model(workload: Workload) -> Any:
    model = workload.model
    return model if isinstance(model, str) else getattr(model, "name", None)


def _workload_name(case: Case) -> Any:
    """What starts the same is judged once, whatever it is called: there the name is left open."""
    return UNKNOWN if case.name in ("", ANYONE) else case.name


def _declared_tags(workload: Workload) -> dict[str, str]:
    return dict(workload.tags)


_WORKLOAD = (
    Fact("workload.name", Kind.STRING, "Its name.", _workload_name),
    Fact(
        "workload.model",
        Kind.STRING,
        "Name of the model; null where its architecture is given without one.",
        _of_workload(_model),
        may_be_null=True,
    ),
    Fact(
        "workload.tags",
        Kind.TAGS,
        "Tags of the declaration.",
        _of_workload(_declared_tags),
    ),
)


def _per_run(candidate: Candidate) -> Any:
    from gpusize.constraints.billing import run_of

    return None if candidate.demand.is_service else _told(run_of(candidate))


def _per_month(candidate: Candidate) -> Any:
    from gpusize.constraints.billing import month_of

    return _told(month_of(candidate))


def _has_nvlink(candidate: Candidate) -> bool:
    from gpusize.constraints.team import NVLINK

    return candidate.instance.interconnect in NVLINK


def _timed(field: str, factor: float = 1.0) -> Callable[[Candidate], Any]:
    """A time that does not suit the work is null; one that is not known is unknown."""

    def read_it(candidate: Candidate) -> Any:
        found = getattr(candidate.timing, field)
        if found is None:
            return UNKNOWN if candidate.timing.unknown else None
        return found * factor

    return read_it


def _priced(read_it: Callable[[Candidate], Any]) -> Callable[[Case], Any]:
    """What another service bills has prices that nobody here knows."""

    def found(case: Case) -> Any:
        if case.candidate is None or case.seller:
            return UNKNOWN
        return read_it(case.candidate)

    return found


def _is_chosen(case: Case) -> Any:
    return UNKNOWN if case.workload is None else case.is_own_choice


_PLAN = (
    Fact(
        "plan.instanceType",
        Kind.STRING,
        "Instance type that is judged: chosen, pinned or deployed.",
        _of_plan(lambda one: one.instance.id),
    ),
    Fact(
        "plan.family",
        Kind.STRING,
        "Its family, such as `g6e`.",
        _of_plan(lambda one: one.instance.id.split(".", 1)[0]),
    ),
    Fact("plan.gpu", Kind.STRING, "Its GPU, such as `L40S`.", _of_plan(lambda one: one.gpu.id)),
    Fact(
        "plan.gpuMemoryGib",
        Kind.DOUBLE,
        "Usable memory of one GPU, GiB.",
        _of_plan(lambda one: _gib(one.placement.usable_bytes)),
    ),
    Fact(
        "plan.gpus",
        Kind.INT,
        "GPUs of the instances of one replica.",
        _of_plan(lambda one: one.placement.gpus),
    ),
    Fact(
        "plan.nodes",
        Kind.INT,
        "Instances of one replica.",
        _of_plan(lambda one: one.placement.nodes),
    ),
    Fact(
        "plan.replicas",
        Kind.INT,
        "Replicas that run while there is work.",
        _of_plan(lambda one: one.demand.replicas),
    ),
    Fact(
        "plan.maxReplicas",
        Kind.INT,
        "Replicas at most.",
        _of_plan(lambda one: max(one.demand.replicas, one.demand.replicas_max)),
    ),
    Fact(
        "plan.market",
        Kind.STRING,
        "How it is bought: on-demand, spot or capacity-block.",
        _of_plan(lambda one: one.placement.market.value),
    ),
    Fact("plan.region", Kind.STRING, "Region.", _of_plan(lambda one: one.placement.region)),
    Fact(
        "plan.zone",
        Kind.STRING,
        "Availability zone; null where none is pinned.",
        _of_plan(lambda one: one.placement.zone),
        may_be_null=True,
    ),
    Fact("plan.hasNvlink", Kind.BOOL, "Whether NVLink joins its GPUs.", _of_plan(_has_nvlink)),
    Fact(
        "plan.isChosen",
        Kind.BOOL,
        "Whether gpusize chose the type: nobody pinned it.",
        _is_chosen,
    ),
    *(
        Fact(
            f"plan.layout.{name}",
            Kind.INT,
            text,
            _of_plan(lambda one, name=name: getattr(one.placement.layout, name)),  # type: ignore[misc]
        )
        for name, text in (
            ("tp", "Shards of each layer."),
            ("pp", "Stages."),
            ("dp", "Copies of the model in one replica."),
            ("ep", "Ranks that experts are spread over."),
            ("cp", "Ranks that share each sequence."),
        )
    ),
    Fact(
        "plan.cost.hourly",
        Kind.DOUBLE,
        "USD per hour while it runs, all replicas that run at least.",
        _priced(lambda one: _told(one.cost.hourly)),
    ),
    Fact(
        "plan.cost.monthly",
        Kind.DOUBLE,
        "USD per month; bounded work that does not say how often it runs is taken to run once.",
        _priced(_per_month),
    ),
    Fact(
        "plan.cost.run",
        Kind.DOUBLE,
        "USD per run with expected interruptions; null for a service.",
        _priced(_per_run),
        may_be_null=True,
    ),
    Fact(
        "plan.fit.verdict",
        Kind.STRING,
        "fits, tight, does-not-fit or unknown.",
        _of_plan(lambda one: one.fit.verdict.value),
    ),
    Fact(
        "plan.fit.needGib",
        Kind.DOUBLE,
        "Memory that the fullest GPU needs, GiB.",
        _of_plan(lambda one: _gib(one.fit.need)),
    ),
    Fact(
        "plan.fit.budgetGib",
        Kind.DOUBLE,
        "Memory of it that may be used, GiB.",
        _of_plan(lambda one: _gib(one.fit.budget)),
    ),
    Fact(
        "plan.fit.marginGib",
        Kind.DOUBLE,
        "Budget minus need, GiB; negative where it does not fit.",
        _of_plan(lambda one: _gib(one.fit.margin)),
    ),
    Fact(
        "plan.fit.termsGib",
        Kind.AMOUNTS,
        "What the memory is used for, GiB by term: `plan.fit.termsGib['weights']`.",
        _of_plan(
            lambda one: (
                UNKNOWN
                if one.fit.need is None
                else {term.value: size / GIB for term, size in one.fit.terms}
            )
        ),
    ),
    *(
        Fact(f"plan.timing.{name}", Kind.DOUBLE, text, _of_plan(_timed(field, factor)), True)
        for name, field, factor, text in (
            ("tokenMs", "token_seconds", MS, "Milliseconds between two tokens of a sequence."),
            ("prefillMs", "prefill_seconds", MS, "Milliseconds to the first token."),
            ("tokensPerSecond", "tokens_per_second", 1.0, "Output of one replica."),
            ("stepSeconds", "step_seconds", 1.0, "Seconds of one training step."),
            ("hoursToEnd", "hours_to_end", 1.0, "Hours of the whole run."),
            ("communicationShare", "communication_share", 1.0, "Part spent between GPUs."),
        )
    ),
)


def _urn_parts(case: Case) -> list[str]:
    parts = case.subject.resource.split("::", URN_PARTS - 1)
    return parts if len(parts) == URN_PARTS else []


def _resource_type(case: Case) -> Any:
    parts = _urn_parts(case)
    return parts[2].rsplit("$", 1)[-1] if parts else UNKNOWN


def _resource_name(case: Case) -> Any:
    parts = _urn_parts(case)
    return parts[3] if parts else UNKNOWN


def _tags(case: Case) -> Any:
    """The tags that expressions name; unknown where one of them may be there and is not known."""
    if case.machine is None:
        return UNKNOWN
    found: dict[str, str] = {}
    for key in case.settings.custom.tag_keys:
        value = case.machine.tags.value(key)
        if not value.known:
            return UNKNOWN
        if value.says:
            found[key] = value.text
    return found


_RESOURCE = (
    Fact("resource.type", Kind.STRING, "Type token of the resource.", _resource_type),
    Fact("resource.name", Kind.STRING, "Its name in the program.", _resource_name),
    Fact(
        "resource.instanceType",
        Kind.STRING,
        "First type with accelerators that it may launch.",
        _of_machine(lambda one: one.types[0]),
    ),
    Fact(
        "resource.instanceTypes",
        Kind.TEXTS,
        "All types with accelerators that it may launch.",
        _of_machine(lambda one: list(one.types)),
    ),
    Fact(
        "resource.instances",
        Kind.INT,
        "Instances that run.",
        _of_machine(lambda one: _told(one.instances)),
    ),
    Fact(
        "resource.maxInstances",
        Kind.INT,
        "Instances that may run at most.",
        _of_machine(lambda one: _told(one.most)),
    ),
    Fact(
        "resource.region",
        Kind.STRING,
        "Where it lies.",
        _of_machine(lambda one: _told(one.region or None)),
    ),
    Fact(
        "resource.market",
        Kind.STRING,
        "How it is bought.",
        _of_machine(lambda one: _told(one.market or None)),
    ),
    Fact(
        "resource.isDeclared",
        Kind.BOOL,
        "Whether a declared workload owns it.",
        _of_machine(lambda one: one.is_owned),
    ),
    Fact(
        "resource.tags",
        Kind.TAGS,
        "Tags of its machines, those that the expressions name.",
        _tags,
        tags=True,
    ),
)


def _total(field: str) -> Callable[[Case], Any]:
    def read_it(case: Case) -> Any:
        if case.whole is None:
            return UNKNOWN
        found = case.whole.total(field)
        if found.unknown:
            return UNKNOWN
        return int(found.amount) if field == "gpus" else float(found.amount)

    return read_it


def _shares(case: Case) -> Any:
    return UNKNOWN if case.whole is None else len(case.whole.shares)


_RUN = (
    Fact("run.cost.hourly", Kind.DOUBLE, "USD per hour of all that runs.", _total("hourly")),
    Fact("run.cost.monthly", Kind.DOUBLE, "USD per month of all.", _total("monthly")),
    Fact("run.cost.run", Kind.DOUBLE, "USD of one run of all bounded work.", _total("run")),
    Fact("run.gpus", Kind.INT, "GPUs at most, of all.", _total("gpus")),
    Fact(
        "run.workloads",
        Kind.INT,
        "Workloads and undeclared machines.",
        _shares,
    ),
)


def _settings_facts() -> tuple[Fact, ...]:
    from gpusize.settings import parameters

    thresholds = tuple(
        Fact(
            f"settings.parameters.{name}",
            Kind.DOUBLE,
            "Threshold, see settings.md.",
            lambda case, name=name: float(case.settings.parameters.get(name, default_of(name))),  # type: ignore[misc]
        )
        for name in parameters()
    )
    team = tuple(
        Fact(
            f"settings.team.{to_camel(field)}",
            kind,
            "Ceiling of the team; null where there is none.",
            lambda case, field=field: getattr(case.settings.team, field),  # type: ignore[misc]
            may_be_null=True,
        )
        for field, kind in (
            ("max_hourly", Kind.DOUBLE),
            ("max_monthly", Kind.DOUBLE),
            ("max_run", Kind.DOUBLE),
            ("max_gpus", Kind.INT),
        )
    )
    return (
        Fact("settings.preset", Kind.STRING, "Preset.", lambda case: case.settings.preset),
        Fact(
            "settings.today",
            Kind.STRING,
            "Day that is judged at, YYYY-MM-DD: texts of that form compare as days do.",
            lambda case: case.today.isoformat(),
        ),
        Fact(
            "settings.environment",
            Kind.STRING,
            "Environment of the settings that the stack belongs to; null where it is none.",
            lambda case: case.settings.environment or None,
            may_be_null=True,
        ),
        *team,
        *thresholds,
    )


def default_of(name: str) -> float:
    """The default of a threshold."""
    from gpusize.settings import parameters

    return float(parameters()[name])
