"""What AWS resources select, with every property known, absent and unknown in turn."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from gpusize.tokens import WORKLOAD_TAG
from gpusize.workload import Market
from gpusize_policies.reading import (
    ABSENT,
    SENTINELS,
    UNKNOWN,
    Props,
    Value,
    pins,
    select,
)

INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
SENTINEL = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

INSTANCE_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "availabilityZone": "us-east-1a",
    "region": "us-east-1",
    "instanceMarketOptions": {"marketType": "spot"},
    "capacityReservationSpecification": {
        "capacityReservationTarget": {"capacityReservationId": "cr-1"}
    },
    "tags": {WORKLOAD_TAG: "chat"},
}
TEMPLATE_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "placement": {"availabilityZone": "us-east-1a"},
    "region": "us-east-1",
    "instanceMarketOptions": {"marketType": "spot"},
    "capacityReservationSpecification": {
        "capacityReservationTarget": {"capacityReservationId": "cr-1"}
    },
    "tagSpecifications": [
        {"resourceType": "volume", "tags": {WORKLOAD_TAG: "scratch"}},
        {"resourceType": "instance", "tags": {WORKLOAD_TAG: "chat"}},
    ],
}
BY_TYPE = {INSTANCE: INSTANCE_PROPS, TEMPLATE: TEMPLATE_PROPS}


class UnknownValueError(Exception):
    """Stands for the error of that name in pulumi-policy, which is not needed here."""


class Proxy(Mapping[str, Any]):
    """A mapping that is no dict and raises on unknown values, as the SDK's is."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._target = target

    def __getitem__(self, key: str) -> Any:
        return _proxied(self._target[key])

    def __len__(self) -> int:
        return len(self._target)

    def __iter__(self) -> Iterator[str]:
        return iter(self._target)


class ListProxy(Sequence[Any]):
    def __init__(self, target: list[Any]) -> None:
        self._target = target

    def __getitem__(self, index: Any) -> Any:
        return _proxied(self._target[index])

    def __len__(self) -> int:
        return len(self._target)


def _proxied(value: Any) -> Any:
    if isinstance(value, str) and value in SENTINELS:
        raise UnknownValueError
    if isinstance(value, dict):
        return Proxy(value)
    return ListProxy(value) if isinstance(value, list) else value


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every property below a value, groups and leaves."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from _paths(item, (*path, key))


def _with(props: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(props)
    target = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return changed


PROPERTIES = [(kind, path) for kind, props in BY_TYPE.items() for path in _paths(props)]


@pytest.mark.parametrize("kind", BY_TYPE)
@pytest.mark.parametrize("wrap", [dict, Proxy])
def test_everything_known_is_read(kind: str, wrap: Any) -> None:
    selection = select(kind, wrap(BY_TYPE[kind]))
    assert selection is not None
    assert [value.text for value in selection] == [
        "chat",
        "g6e.xlarge",
        "spot",
        "us-east-1a",
        "us-east-1",
        "cr-1",
    ]
    assert selection.unknown == ()


@pytest.mark.parametrize(("kind", "path"), PROPERTIES)
@pytest.mark.parametrize("wrap", [dict, Proxy])
@pytest.mark.parametrize("sentinel", sorted(SENTINELS))
def test_an_unknown_property_is_unknown_and_raises_nothing(
    kind: str, path: tuple[Any, ...], wrap: Any, sentinel: str
) -> None:
    selection = select(kind, wrap(_with(BY_TYPE[kind], path, sentinel)))
    assert selection is not None
    assert sentinel not in [value.value for value in selection]
    of_the_volume = path[:2] == ("tagSpecifications", 0)
    assert selection.unknown or of_the_volume


@pytest.mark.parametrize(("kind", "path"), PROPERTIES)
@pytest.mark.parametrize("value", [None, 5.0, True, "", [], {}, [None], "x"])
def test_a_property_of_another_shape_raises_nothing(
    kind: str, path: tuple[Any, ...], value: Any
) -> None:
    assert select(kind, Proxy(_with(BY_TYPE[kind], path, value))) is not None


@pytest.mark.parametrize("kind", BY_TYPE)
@pytest.mark.parametrize("props", [{}, None, "text", 5])
def test_nothing_at_all_raises_nothing(kind: str, props: Any) -> None:
    selection = select(kind, props)
    assert selection is not None
    assert selection.workload == ABSENT


def test_another_resource_type_selects_nothing() -> None:
    assert select("aws:s3/bucket:Bucket", {}) is None


def test_an_instance_without_market_options_is_on_demand() -> None:
    selection = select(INSTANCE, {"instanceType": "g6.xlarge"})
    assert selection is not None
    assert selection.market.text == "on-demand"


def test_a_template_without_market_options_leaves_the_market_open() -> None:
    selection = select(TEMPLATE, {"instanceType": "g6.xlarge"})
    assert selection is not None
    assert selection.market == ABSENT


def test_an_instance_from_a_template_knows_neither_type_nor_market() -> None:
    selection = select(INSTANCE, {"launchTemplate": {"id": SENTINEL}})
    assert selection is not None
    assert selection.unknown == ("instanceType", "instanceMarketOptions.marketType")


@pytest.mark.parametrize(
    ("word", "market"),
    [
        ("spot", "spot"),
        ("capacity-block", "capacity-block"),
        ("interruptible-capacity-reservation", "spot"),
    ],
)
def test_markets_of_aws_in_our_words(word: str, market: str) -> None:
    selection = select(INSTANCE, {"instanceMarketOptions": {"marketType": word}})
    assert selection is not None
    assert selection.market.text == market


def test_a_market_that_nobody_knows_is_unknown() -> None:
    selection = select(INSTANCE, {"instanceMarketOptions": {"marketType": "auction"}})
    assert selection is not None
    assert not selection.market.known


def test_one_block_written_as_a_list_is_read_as_the_block() -> None:
    selection = select(INSTANCE, {"instanceMarketOptions": [{"marketType": "spot"}]})
    assert selection is not None
    assert selection.market.text == "spot"


def test_a_template_falls_back_to_its_own_tags() -> None:
    props = {"tags": {WORKLOAD_TAG: "chat"}, "tagSpecifications": [{"resourceType": "volume"}]}
    selection = select(TEMPLATE, props)
    assert selection is not None
    assert selection.workload.text == "chat"


def test_pins_are_what_is_known() -> None:
    selection = select(INSTANCE, Proxy(INSTANCE_PROPS))
    assert selection is not None
    assert pins(selection) == {
        "instance_type": "g6e.xlarge",
        "market": Market.SPOT,
        "region": "us-east-1",
        "capacity_reservation": "cr-1",
    }
    unknown = select(INSTANCE, {"instanceType": SENTINEL, "launchTemplate": {"id": "lt-1"}})
    assert unknown is not None
    assert pins(unknown) == {}


def test_an_error_of_another_kind_is_not_taken_for_unknown() -> None:
    class Broken(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise RuntimeError(key)

        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[str]:
            return iter(["a"])

    with pytest.raises(RuntimeError):
        Props(Broken()).get("a")


def test_lists_say_whether_all_their_items_are_known() -> None:
    props = Props({"known": ["a"], "partly": ["a", SENTINEL], "none": SENTINEL, "word": "a"})
    assert props.items("known") == ((Value("a"),), True)
    assert props.items("partly") == ((Value("a"), UNKNOWN), False)
    assert props.items("none") == ((), False)
    assert props.items("word") == ((), True)
