"""What a program gives a `GpuWorkload`, told apart: what is sized, what is wired, what is switched.

Sizing values must be known before anything is created, so an output of another resource or a
secret among them is a problem of the input. Wiring (AMI, subnet, keys) may be such outputs; it is
passed on unread and never repeated in a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpusize.declaring.plain import MAX_DEPTH, show_key
from gpusize.names import to_camel, to_snake
from gpusize_catalog.problems import Problem

IsDeferred = Callable[[object], bool]
"""Tells a value that only the engine knows, or that must stay secret."""

WIRING: dict[str, str] = {
    "imageId": "AMI of the instances, in the region of the workload.",
    "subnetId": "Subnet of the instances that `createInstance` makes.",
    "subnetIds": (
        "Subnets of the group that `createGroup` makes; where a replica spans instances, the first "
        "one alone. Single instances take the first one too where `subnetId` is left out."
    ),
    "vpcId": (
        "VPC of the subnets. Where a replica spans instances, a security group is made in it that "
        "lets them talk to each other, as EFA needs it; it stands beside `securityGroupIds`, and "
        "lets instances reach out where there are none."
    ),
    "securityGroupIds": "Security groups of the instances.",
    "placementGroup": (
        "Name of an existing placement group to launch into. Left out, one of strategy cluster is "
        "made where a replica spans instances, except for a capacity block and an existing "
        "capacity reservation, which have their own place."
    ),
    "capacityBlockOfferingId": (
        "Offering of a capacity block that is bought, for market capacity-block: paid at once and "
        "kept when the stack is destroyed. Left out, `capacityReservation` names a block bought "
        "elsewhere."
    ),
    "iamInstanceProfile": "Name of the IAM instance profile of the instances.",
    "keyName": "Name of the EC2 key pair of the instances.",
    "userData": "Script that runs at first boot, as plain text; it is encoded for EC2.",
    "rootDeviceName": (
        "Device name of the AMI's root volume, `/dev/xvda` where it is left out (Amazon Linux); "
        "`/dev/sda1` on Ubuntu. Used where `storage` sizes the root volume."
    ),
}
"""Inputs that may be outputs of other resources, with what they mean."""

LISTS = frozenset({"securityGroupIds", "subnetIds"})
"""Wiring inputs that take a list of texts; the others take one text."""

SWITCHES: dict[str, str] = {
    "createInstance": (
        "Make the instances of one replica from the launch template, with an alarm each that ends "
        "it when it idles where `autoStop.idleMinutes` says so. A change of the template replaces "
        "them. Default: false."
    ),
    "createGroup": (
        "Make an Auto Scaling group of all replicas in `subnetIds`. It starts with the fewest "
        "replicas; with none where the plan scales to zero, or on a schedule, whose actions are "
        "made too: then the group fills when traffic begins. Default: false."
    ),
    "allowMisfit": "Let an update go on though the plan does not fit. Default: false.",
}
"""Inputs that change what the component does, all booleans."""


class Amount(NamedTuple):
    """A number that changes what the component makes."""

    description: str
    most: int
    is_whole: bool


MOST_GROUP_TYPES = 40
"""Instance types of one Auto Scaling group. Source: Amazon EC2 Auto Scaling User Guide, quotas."""
WHOLE_PERCENT = 100

AMOUNTS: dict[str, Amount] = {
    "groupTypes": Amount(
        "Most instance types of the group: the chosen one, then others that hold the same layout "
        "in the same market without an error or a warning, at up to twice its price, cheapest "
        "first. 1 where a replica spans instances or capacity is reserved. Default: 4.",
        MOST_GROUP_TYPES,
        is_whole=True,
    ),
    "idleCpuPercent": Amount(
        "Average CPU use below which an instance idles, percent: EC2 does not measure GPUs by "
        "itself, and a program that keeps one busy polls it. Default: half a vCPU per GPU.",
        WHOLE_PERCENT,
        is_whole=False,
    ),
}
"""Inputs that are numbers above 0, with what they mean and the most they take."""
GROUP_TYPES = 4
"""Default of `groupTypes`: enough for another size and another generation."""

DEFERRED = (
    "is an output of another resource or a secret, but a value that decides the size must be "
    "plain and known before anything is created"
)
DEFERRED_FIX = "give the value itself, or read it from the stack's configuration"

CLOSE_ENOUGH = 0.8
"""Share of equal characters (difflib) from which an unknown key is taken for a wiring input."""


class Given(NamedTuple):
    """The inputs of one component, told apart; keys of wiring are camelCase."""

    declaration: dict[str, object]
    wiring: dict[str, object]
    create_instance: bool = False
    create_group: bool = False
    allow_misfit: bool = False
    group_types: int = GROUP_TYPES
    idle_cpu_percent: float | None = None


def belongs_to_component(name: str) -> bool:
    """Tell an input of the component alone, in camelCase, from a field of the declaration."""
    return name in WIRING or name in SWITCHES or name in AMOUNTS


def separate(raw: object, is_deferred: IsDeferred) -> tuple[Given, tuple[Problem, ...]]:
    """Tell the inputs apart; values that are in the way are left out and told as problems."""
    if not isinstance(raw, Mapping):
        return Given({}, {}), (
            Problem("", "the inputs of a GpuWorkload are a mapping of fields to values"),
        )
    problems: list[Problem] = []
    declaration: dict[str, object] = {}
    others: dict[str, object] = {}
    for key, value in raw.items():
        name = to_camel(str(key))
        target = others if belongs_to_component(name) else declaration
        if target is others and name in others:
            problems.append(Problem(name, "is given twice", "keep one spelling"))
        elif value is not None:
            target[name if target is others else str(key)] = value
    changes: dict[str, Any] = {
        to_snake(name): _switch(name, others, is_deferred, problems) for name in SWITCHES
    }
    for name in AMOUNTS:
        amount = _amount(name, others, is_deferred, problems)
        if amount is not None:
            changes[to_snake(name)] = amount
    wiring = {name: value for name, value in others.items() if name in WIRING}
    problems += _wiring_problems(wiring, is_deferred)
    problems += _group_problems(changes, wiring)
    problems += (Problem(path, DEFERRED, DEFERRED_FIX) for path in deferred(raw, is_deferred))
    problems += _misspelt(declaration)
    plain = {key: _plain(value, is_deferred) for key, value in declaration.items()}
    kept = {key: value for key, value in plain.items() if value is not _LEFT_OUT}
    return Given(kept, wiring, **changes), tuple(problems)


def deferred(raw: Mapping[Any, object], is_deferred: IsDeferred) -> tuple[str, ...]:
    """Name the sizing inputs whose value is not known or secret, as property paths."""
    return tuple(
        path
        for key, value in raw.items()
        if (name := to_camel(str(key))) not in WIRING
        for path in _deferred_paths(name, value, is_deferred)
    )


def combine(found: Sequence[Problem], parsing: Sequence[Problem]) -> tuple[Problem, ...]:
    """Join both kinds of problems, without those that only follow from a value left out."""
    told = {problem.path for problem in found}
    return (*found, *(problem for problem in parsing if not _follows(problem.path, told)))


_LEFT_OUT = object()


def _plain(value: object, is_deferred: IsDeferred, depth: int = 0) -> object:
    """Copy a value without nulls and without what is not known, as deep as a declaration goes."""
    if is_deferred(value):
        return _LEFT_OUT
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, Mapping):
        pairs = ((str(key), _plain(item, is_deferred, depth + 1)) for key, item in value.items())
        return {key: item for key, item in pairs if item is not None and item is not _LEFT_OUT}
    if isinstance(value, (list, tuple)):
        items = (_plain(item, is_deferred, depth + 1) for item in value)
        return [item for item in items if item is not _LEFT_OUT]
    return value


def _deferred_paths(
    path: str, value: object, is_deferred: IsDeferred, depth: int = 0
) -> Iterator[str]:
    if is_deferred(value):
        yield path
    elif depth > MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{path}.{to_camel(show_key(str(key)))}"
            yield from _deferred_paths(inner, item, is_deferred, depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _deferred_paths(f"{path}[{index}]", item, is_deferred, depth + 1)


def _follows(path: str, told: set[str]) -> bool:
    return any(
        path == known or path.startswith((f"{known}.", f"{known}[")) for known in told if known
    )


def _switch(
    name: str, others: Mapping[str, object], is_deferred: IsDeferred, problems: list[Problem]
) -> bool:
    value = others.get(name, False)
    if isinstance(value, bool):
        return value
    if not is_deferred(value):
        problems.append(Problem(name, "must be true or false"))
    return False


def _amount(
    name: str, others: Mapping[str, object], is_deferred: IsDeferred, problems: list[Problem]
) -> float | None:
    value, known = others.get(name), AMOUNTS[name]
    if value is None or is_deferred(value):
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = not known.is_whole or value == int(value)
        if 0 < value <= known.most and whole:
            return int(value) if known.is_whole else value
    kind = "a whole number" if known.is_whole else "a number"
    problems.append(Problem(name, f"must be {kind} above 0, at most {known.most}"))
    return None


def _group_problems(
    changes: Mapping[str, object], wiring: Mapping[str, object]
) -> Iterator[Problem]:
    if not changes["create_group"]:
        return
    if changes["create_instance"]:
        yield Problem(
            "createGroup",
            "makes the instances that createInstance would make once more",
            "leave one of them out",
        )
    several = wiring.get("subnetIds")
    if several in ((), []) or (several is None and wiring.get("subnetId") is None):
        yield Problem("subnetIds", "is missing: a group launches into subnets", "name them")


def _wiring_problems(wiring: Mapping[str, object], is_deferred: IsDeferred) -> Iterator[Problem]:
    for name, value in wiring.items():
        if is_deferred(value):
            continue
        if name not in LISTS:
            if not isinstance(value, str):
                yield Problem(name, "must be text")
        elif not isinstance(value, (list, tuple)):
            yield Problem(name, "must be a list of texts")
        else:
            wrong = (not isinstance(item, str) and not is_deferred(item) for item in value)
            if any(wrong):
                yield Problem(name, "must be a list of texts")


def _misspelt(declaration: dict[str, object]) -> Iterator[Problem]:
    """Take out keys that are nearly a wiring input, which the parser could not suggest."""
    from gpusize.workload import WORKLOAD_CLASSES

    known = {name for kind in WORKLOAD_CLASSES.values() for name in kind.model_fields}
    for key in tuple(declaration):
        if key in known or to_camel(key) in {to_camel(name) for name in known}:
            continue
        near = _nearest(to_camel(key))
        if near:
            del declaration[key]
            yield Problem(key, "unknown field", f"did you mean `{near}`?")


def _nearest(name: str) -> str:
    from gpusize_catalog.spelling import close_words

    return "".join(
        close_words(name, (*WIRING, *SWITCHES, *AMOUNTS), most=1, closeness=CLOSE_ENOUGH)
    )
