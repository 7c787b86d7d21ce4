"""What resources of managed services select, with every property known, unknown and foreign."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from gpusize_policies.reading import (
    DEFERRED,
    EXTRACTORS,
    PARTED,
    SENTINELS,
    Selection,
    Value,
    selections,
)
from tests.resources import Sample, paths, samples
from tests.unit.policies.proxies import Proxy

SAMPLES = samples()
SENTINEL = sorted(SENTINELS)[0]
CANARY = "CANARY-41bc"
NOT_JSON = '{"resourceRequirements": [{"type": "GPU", "value": "' + CANARY
WRAPPED = (NOT_JSON, json.dumps({"a": CANARY}), json.dumps([CANARY]))
SHAPES = (None, 5.0, True, "", [], {}, [None], "x", "[]", "{", '[{"a": 1}]', "5")
EACH = 4
"""A property takes each fourth shape, the next one those after it: samples together meet all."""
MAY_HOLD = {"workload", "instance_type", "types", "requirements", "capacity_reservation"}
"""Fields that keep a text as it stands: the rules see to it that none of them is repeated."""
EC2 = ("aws:ec2/", "aws:autoscaling/")

Path = tuple[Any, ...]
TEXTS = ("containerProperties", "nodeProperties", "ecsProperties", "containerDefinitions")


def shown(sample: Sample) -> str:
    return sample.type.rpartition(":")[2]


def changed(sample: Sample, path: Path, value: Any) -> dict[str, Any]:
    """The properties of a sample with one of them of another value; what is beside it is shared."""
    found = dict(sample.properties)
    target: Any = found
    for key in path[:-1]:
        target[key] = copy.copy(target[key])
        target = target[key]
    target[path[-1]] = value
    return found


def values(part: Selection) -> dict[str, Value]:
    return {name: one for name, one in part._asdict().items() if isinstance(one, Value)}


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def unknown(parts: tuple[Selection, ...]) -> set[str]:
    return {name for part in parts for name in part.unknown}


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
@pytest.mark.parametrize("wrap", [dict, Proxy])
def test_everything_known_is_read(sample: Sample, wrap: Any) -> None:
    found, starts = {}, False
    for part in selections(sample.type, wrap(sample.properties)):
        known = {name: plain(one.value) for name, one in values(part).items() if one.says}
        if sample.workload == "deferred":
            assert part.workload == DEFERRED
        else:
            assert known.pop("workload") == sample.workload
        assert (known.pop("requirements", None) is not None) == sample.attributes
        starts = bool(known.pop("launches", None)) or starts
        found[part.place] = known
        open_ = {name for name, one in values(part).items() if not one.known} - {"workload"}
        if sample.attributes:
            open_.discard("instance_type")
        assert open_ == set(sample.defers)
    assert (found, starts) == (sample.says, sample.starts)


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
def test_an_unknown_property_is_told_and_raises_nothing(sample: Sample) -> None:
    known = unknown(selections(sample.type, sample.properties))
    for path in paths(sample.properties):
        spelt = ".".join(map(str, path))
        is_unread = any(spelt == own or spelt.startswith(f"{own}.") for own in sample.unread)
        for wrap in (dict, Proxy):
            parts = selections(sample.type, wrap(changed(sample, path, SENTINEL)))
            assert SENTINEL not in [one.value for part in parts for one in values(part).values()]
            assert bool(unknown(parts) - known) != is_unread, spelt


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
def test_a_property_of_another_shape_raises_nothing(sample: Sample) -> None:
    for at, path in enumerate(paths(sample.properties)):
        for value in SHAPES[at % EACH :: EACH]:
            parts = selections(sample.type, Proxy(changed(sample, path, value)))
            assert all(isinstance(part, Selection) for part in parts), (path, value)


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
def test_no_text_is_kept_that_nothing_needs(sample: Sample) -> None:
    for at, path in enumerate(paths(sample.properties)):
        for text in (CANARY, WRAPPED[at % len(WRAPPED)]):
            for part in selections(sample.type, Proxy(changed(sample, path, text))):
                kept = {name for name, one in values(part).items() if CANARY in repr(one)}
                assert kept <= MAY_HOLD, path
                assert CANARY not in part.place + repr(part.named), path


def test_every_service_has_a_sample() -> None:
    sampled = {sample.type for sample in SAMPLES}
    kinds = {kind for kind in (*EXTRACTORS, *PARTED) if kind.startswith("aws:")}
    assert {kind for kind in kinds if not kind.startswith(EC2)} <= sampled


@pytest.mark.parametrize("kind", sorted({one.type for one in SAMPLES}))
@pytest.mark.parametrize("props", [{}, None, "text", 5])
def test_nothing_at_all_raises_nothing(kind: str, props: Any) -> None:
    for part in selections(kind, props):
        assert not part.workload.text
        assert not part.instance_type.text or part.instance_type.text == "t3.medium"


@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize("text", ["{", "[", '"a"', "5", "null", "[" * 10**5, "9" * 5000])
def test_a_text_that_is_no_json_of_theirs_is_no_error(key: str, text: str) -> None:
    for kind in (one.type for one in SAMPLES if key in one.properties):
        (part,) = selections(kind, {key: text})
        assert not part.gpus.says
