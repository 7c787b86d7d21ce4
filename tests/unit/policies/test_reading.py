"""What AWS resources select, with every property known, absent and unknown in turn."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gpusize.tokens import WORKLOAD_TAG
from gpusize.workload import Market, parse_workload
from gpusize_policies.reading import (
    ABSENT,
    DEFERRED,
    SENTINELS,
    UNKNOWN,
    Props,
    Selection,
    Value,
    pins,
    select,
)
from gpusize_policies.reading.selection import BY_ATTRIBUTES
from tests.unit.policies.proxies import Proxy

INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
SPOT_REQUEST = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
HOST = "aws:ec2/dedicatedHost:DedicatedHost"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
FLEET = "aws:ec2/fleet:Fleet"
SPOT_FLEET = "aws:ec2/spotFleetRequest:SpotFleetRequest"
SENTINEL = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

TARGET = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}
INSTANCE_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "availabilityZone": "us-east-1a",
    "region": "us-east-1",
    "instanceMarketOptions": {"marketType": "spot", "spotOptions": {"maxPrice": "1.5"}},
    "capacityReservationSpecification": TARGET,
    "placementGroup": "near",
    "rootBlockDevice": {"volumeSize": 200.0, "volumeType": "gp3", "throughput": 500.0},
    "networkInterfaces": [{"networkInterfaceId": "eni-1", "deviceIndex": 0.0}],
    "tags": {WORKLOAD_TAG: "chat"},
}
TEMPLATE_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "placement": {"availabilityZone": "us-east-1a", "groupName": "near"},
    "region": "us-east-1",
    "instanceMarketOptions": {"marketType": "spot", "spotOptions": {"maxPrice": "1.5"}},
    "capacityReservationSpecification": TARGET,
    "blockDeviceMappings": [
        {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 200.0, "throughput": 500.0}},
    ],
    "networkInterfaces": [
        {"interfaceType": "efa", "networkCardIndex": 0.0},
        {"interfaceType": "efa-only", "networkCardIndex": 1.0},
        {"interfaceType": "interface"},
    ],
    "tagSpecifications": [
        {"resourceType": "volume", "tags": {WORKLOAD_TAG: "scratch"}},
        {"resourceType": "instance", "tags": {WORKLOAD_TAG: "chat"}},
    ],
}
GROUP_PROPS: dict[str, Any] = {
    "region": "us-east-1",
    "minSize": 1.0,
    "maxSize": 4.0,
    "desiredCapacity": 2.0,
    "placementGroup": "near",
    "availabilityZones": ["us-east-1b", "us-east-1a"],
    "capacityReservationSpecification": {
        "capacityReservationTarget": {"capacityReservationIds": ["cr-1"]}
    },
    "mixedInstancesPolicy": {
        "instancesDistribution": {
            "onDemandBaseCapacity": 1.0,
            "onDemandPercentageAboveBaseCapacity": 25.0,
            "spotAllocationStrategy": "price-capacity-optimized",
            "spotMaxPrice": "1.5",
        },
        "launchTemplate": {
            "overrides": [{"instanceType": "g6e.xlarge"}, {"instanceType": "g5.xlarge"}]
        },
    },
    "tags": [
        {"key": "team", "value": "assistants"},
        {"key": WORKLOAD_TAG, "value": "chat"},
    ],
}
SPOT_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "spotPrice": "1.5",
    "rootBlockDevice": {"volumeSize": 200.0, "volumeType": "gp2"},
    "tags": {WORKLOAD_TAG: "chat"},
}
RESERVATION_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "availabilityZone": "us-east-1a",
    "instanceCount": 4.0,
    "endDateType": "limited",
    "endDate": "2027-01-31T00:00:00Z",
    "placementGroupArn": "arn:aws:ec2:us-east-1:123456789012:placement-group/near",
    "tags": {WORKLOAD_TAG: "chat"},
}
BLOCK_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "availabilityZone": "us-east-1a",
    "region": "us-east-1",
    "tags": {WORKLOAD_TAG: "chat"},
}
CONFIGURATION_PROPS: dict[str, Any] = {
    "instanceType": "g6e.xlarge",
    "region": "us-east-1",
    "spotPrice": "1.5",
    "rootBlockDevice": {"volumeSize": 200.0, "volumeType": "gp2"},
}
FLEET_PROPS: dict[str, Any] = {
    "region": "us-east-1",
    "targetCapacitySpecification": {
        "defaultTargetCapacityType": "spot",
        "totalTargetCapacity": 8.0,
        "onDemandTargetCapacity": 2.0,
    },
    "spotOptions": {"allocationStrategy": "lowestPrice"},
    "launchTemplateConfigs": [
        {
            "overrides": [
                {
                    "instanceType": "g6e.xlarge",
                    "availabilityZone": "us-east-1b",
                    "subnetId": "subnet-1",
                    "maxPrice": "0.5",
                    "weightedCapacity": 2.0,
                },
                {
                    "instanceType": "g5.xlarge",
                    "availabilityZone": "us-east-1a",
                    "subnetId": "subnet-2",
                    "maxPrice": "0.75",
                    "weightedCapacity": 2.0,
                },
            ]
        }
    ],
    "tags": {WORKLOAD_TAG: "chat"},
}
SPOT_FLEET_PROPS: dict[str, Any] = {
    "region": "us-east-1",
    "targetCapacity": 4.0,
    "onDemandTargetCapacity": 1.0,
    "allocationStrategy": "priceCapacityOptimized",
    "spotPrice": "1.5",
    "launchSpecifications": [
        {
            "instanceType": "g6e.xlarge",
            "availabilityZone": "us-east-1a",
            "subnetId": "subnet-1",
            "weightedCapacity": "1",
            "placementGroup": "near",
            "rootBlockDevices": [{"volumeSize": 200.0, "throughput": 500.0}],
            "tags": {WORKLOAD_TAG: "chat"},
        },
    ],
}
BY_TYPE = {
    FLEET: FLEET_PROPS,
    SPOT_FLEET: SPOT_FLEET_PROPS,
    CONFIGURATION: CONFIGURATION_PROPS,
    BLOCK: BLOCK_PROPS,
    INSTANCE: INSTANCE_PROPS,
    TEMPLATE: TEMPLATE_PROPS,
    GROUP: GROUP_PROPS,
    SPOT_REQUEST: SPOT_PROPS,
    RESERVATION: RESERVATION_PROPS,
}
READ: dict[str, dict[str, Any]] = {
    FLEET: {
        "market": "spot",
        "region": "us-east-1",
        "types": ("g6e.xlarge", "g5.xlarge"),
        "zones": ("us-east-1a", "us-east-1b"),
        "subnets": 2,
        "max_price": 1.5,
        "allocation": "lowest-price",
        "on_demand_base": 1,
        "on_demand_percent": 0,
        "least": 4,
        "desired": 4,
        "most": 4,
    },
    SPOT_FLEET: {
        "market": "spot",
        "zone": "us-east-1a",
        "zones": ("us-east-1a",),
        "region": "us-east-1",
        "types": ("g6e.xlarge",),
        "subnets": 1,
        "root_volume_gib": 200,
        "root_volume_mbps": 500,
        "placement_group": "named",
        "max_price": 1.5,
        "allocation": "price-capacity-optimized",
        "on_demand_base": 1,
        "on_demand_percent": 0,
        "least": 4,
        "desired": 4,
        "most": 4,
    },
    CONFIGURATION: {
        "workload": None,
        "market": "spot",
        "region": "us-east-1",
        "root_volume_gib": 200,
        "max_price": 1.5,
    },
    BLOCK: {"market": "capacity-block", "zone": "us-east-1a", "region": "us-east-1"},
    INSTANCE: {
        "market": "spot",
        "zone": "us-east-1a",
        "region": "us-east-1",
        "capacity_reservation": "cr-1",
        "root_volume_gib": 200,
        "root_volume_mbps": 500,
        "interfaces": 1,
        "placement_group": "named",
        "max_price": 1.5,
    },
    TEMPLATE: {
        "market": "spot",
        "zone": "us-east-1a",
        "region": "us-east-1",
        "capacity_reservation": "cr-1",
        "root_volume_gib": 200,
        "root_volume_mbps": 500,
        "efa_interfaces": 2,
        "interfaces": 3,
        "placement_group": "named",
        "max_price": 1.5,
    },
    GROUP: {
        "market": "spot",
        "region": "us-east-1",
        "capacity_reservation": "cr-1",
        "types": ("g6e.xlarge", "g5.xlarge"),
        "subnets": 2,
        "zones": ("us-east-1a", "us-east-1b"),
        "placement_group": "named",
        "max_price": 1.5,
        "allocation": "price-capacity-optimized",
        "on_demand_base": 1,
        "on_demand_percent": 25,
        "least": 1,
        "desired": 2,
        "most": 4,
    },
    SPOT_REQUEST: {"market": "spot", "root_volume_gib": 200, "max_price": 1.5},
    RESERVATION: {
        "market": "on-demand",
        "zone": "us-east-1a",
        "placement_group": "named",
        "reserved": 4,
        "reserved_until": "2027-01-31",
    },
}
"""What each of them says beside the workload and the type."""
BY_TEMPLATE = {
    "efa_interfaces",
    "interfaces",
    "capacity_reservation",
    "placement_group",
    "launches",
}
DEFERS = {
    INSTANCE: {"efa_interfaces"},
    GROUP: {"efa_interfaces", "interfaces", "launches"},
    FLEET: BY_TEMPLATE,
}
"""What only other resources of the stack know."""
UNREAD: dict[str, set[tuple[Any, ...]]] = {
    INSTANCE: {("rootBlockDevice", "volumeType"), ("networkInterfaces",)},
    TEMPLATE: {
        ("tagSpecifications", 0),
        ("networkInterfaces", 0, "networkCardIndex"),
        ("networkInterfaces", 1, "networkCardIndex"),
    },
    GROUP: {("tags", 0)},
    RESERVATION: {("endDateType",)},
}
"""Properties that do not matter, or tell nothing new, beside the others that stand there."""


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


def values_of(selection: Selection) -> dict[str, Value]:
    """What a selection says, field by field."""
    fields = {name: getattr(selection, name) for name in selection._fields}
    return {name: one for name, one in fields.items() if isinstance(one, Value)}


PROPERTIES = [(kind, path) for kind, props in BY_TYPE.items() for path in _paths(props)]


@pytest.mark.parametrize("kind", BY_TYPE)
@pytest.mark.parametrize("wrap", [dict, Proxy])
def test_everything_known_is_read(kind: str, wrap: Any) -> None:
    selection = select(kind, wrap(BY_TYPE[kind]))
    assert selection is not None
    expected = {"workload": "chat", "instance_type": "g6e.xlarge", **READ[kind]}
    expected = {name: value for name, value in expected.items() if value is not None}
    values = values_of(selection)
    assert {name: one.value for name, one in values.items() if one.says} == expected
    assert {name for name, one in values.items() if not one.known} == DEFERS.get(kind, set())


@pytest.mark.parametrize(("kind", "path"), PROPERTIES)
def test_an_unknown_property_is_unknown_and_raises_nothing(
    kind: str, path: tuple[Any, ...]
) -> None:
    known = select(kind, BY_TYPE[kind])
    assert known is not None
    is_unread = any(path[: len(own)] == own for own in UNREAD.get(kind, ()))
    for wrap, sentinel in itertools.product((dict, Proxy), sorted(SENTINELS)):
        selection = select(kind, wrap(_with(BY_TYPE[kind], path, sentinel)))
        assert selection is not None, (wrap, sentinel)
        assert sentinel not in [value.value for value in values_of(selection).values()]
        more = set(selection.unknown) > set(known.unknown)
        assert more != is_unread, (wrap, sentinel)


@pytest.mark.parametrize(("kind", "path"), PROPERTIES)
def test_a_property_of_another_shape_raises_nothing(kind: str, path: tuple[Any, ...]) -> None:
    shapes: list[Any] = [None, 5.0, True, "", [], {}, [None], "x"]
    for value in shapes:
        assert select(kind, Proxy(_with(BY_TYPE[kind], path, value))) is not None, value


@pytest.mark.parametrize("kind", BY_TYPE)
@pytest.mark.parametrize("props", [{}, None, "text", 5])
def test_nothing_at_all_raises_nothing(kind: str, props: Any) -> None:
    selection = select(kind, props)
    assert selection is not None
    assert selection.workload in (ABSENT, DEFERRED)


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
    assert {"instanceType", "instanceMarketOptions.marketType"} <= set(selection.unknown)
    assert selection.instance_type == selection.market == DEFERRED


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


WORKLOAD = parse_workload(
    {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "contextLength": 8192,
        "region": "us-east-1",
        "storage": {"imageGib": 30},
    }
)


def test_pins_are_what_is_known() -> None:
    selection = select(INSTANCE, Proxy(INSTANCE_PROPS))
    assert selection is not None
    found = pins(selection, WORKLOAD)
    storage: Any = found.pop("storage")
    assert found == {
        "instance_type": "g6e.xlarge",
        "market": Market.SPOT,
        "zone": "us-east-1a",
        "region": "us-east-1",
        "capacity_reservation": "cr-1",
    }
    assert (storage.root_volume_gib, storage.root_volume_throughput_mbps) == (200, 500)
    assert storage.image_gib == 30
    unknown = select(INSTANCE, {"instanceType": SENTINEL, "launchTemplate": {"id": "lt-1"}})
    assert unknown is not None
    assert pins(unknown, WORKLOAD) == {}


def test_a_reservation_is_pinned_as_the_declaration_words_it() -> None:
    selection = select(RESERVATION, RESERVATION_PROPS)
    assert selection is not None
    reserve: Any = pins(selection, WORKLOAD)["reserve"]
    assert (reserve.instances, reserve.until) == (4, "2027-01-31")


def test_a_volume_of_gp3_has_a_throughput_though_none_is_asked() -> None:
    for kind, speed in (("gp3", 125), ("gp2", None)):
        selection = select(INSTANCE, {"rootBlockDevice": {"volumeType": kind}})
        assert selection is not None
        assert selection.root_volume_mbps.value == speed


def test_a_policy_without_a_distribution_is_all_on_demand() -> None:
    selection = select(GROUP, {"mixedInstancesPolicy": {"launchTemplate": {}}})
    assert selection is not None
    assert selection.market.text == "on-demand"
    assert selection.allocation.text == "lowest-price"


def test_types_by_requirements_are_of_no_name() -> None:
    overrides = [{"instanceRequirements": {"vcpuCount": {"min": 4.0}}}]
    props = {"mixedInstancesPolicy": {"launchTemplate": {"overrides": overrides}}}
    selection = select(GROUP, props)
    assert selection is not None
    assert selection.instance_type == BY_ATTRIBUTES
    assert selection.requirements.value[0].ranges == (("vcpuCount", 4, None),)


@pytest.mark.parametrize(
    ("given", "market", "base"),
    [
        ({"defaultTargetCapacityType": "on-demand"}, "on-demand", None),
        ({"defaultTargetCapacityType": "on-demand", "spotTargetCapacity": 3.0}, "spot", 1),
        ({"defaultTargetCapacityType": "spot"}, "spot", 0),
        ({"defaultTargetCapacityType": "spot", "onDemandTargetCapacity": 4.0}, "on-demand", None),
        ({"defaultTargetCapacityType": "capacity-block"}, "capacity-block", None),
        ({"defaultTargetCapacityType": "auction"}, "", None),
    ],
)
def test_a_fleet_is_bought_as_its_capacity_says(
    given: dict[str, Any], market: str, base: int | None
) -> None:
    target = {"totalTargetCapacity": 4.0, **given}
    selection = select(FLEET, {"targetCapacitySpecification": target})
    assert selection is not None
    assert selection.market.text == market
    assert selection.on_demand_base.value == base


def test_weights_that_differ_leave_the_number_of_instances_open() -> None:
    overrides = [
        {"instanceType": "g6.xlarge", "weightedCapacity": "1"},
        {"instanceType": "g6.12xlarge", "weightedCapacity": "4"},
    ]
    policy = {"launchTemplate": {"overrides": overrides}}
    selection = select(GROUP, {"minSize": 4.0, "maxSize": 8.0, "mixedInstancesPolicy": policy})
    assert selection is not None
    assert selection.least == selection.most == UNKNOWN
    assert "minSize" in selection.unknown


def test_capacity_in_vcpus_is_no_number_of_instances() -> None:
    target = {"totalTargetCapacity": 64.0, "targetCapacityUnitType": "vcpu"}
    selection = select(FLEET, {"targetCapacitySpecification": target})
    assert selection is not None
    assert selection.desired == UNKNOWN
    assert "targetCapacitySpecification.totalTargetCapacity" in selection.unknown


@pytest.mark.parametrize("word", ["priceCapacityOptimized", "price-capacity-optimized"])
def test_strategies_are_spelt_in_two_ways(word: str) -> None:
    for kind, props in (
        (SPOT_FLEET, {"allocationStrategy": word}),
        (FLEET, {"spotOptions": {"allocationStrategy": word}}),
    ):
        selection = select(kind, props)
        assert selection is not None
        assert selection.allocation.text == "price-capacity-optimized"


def test_an_override_without_a_type_takes_that_of_its_template() -> None:
    overrides = [{"instanceType": "g6.xlarge"}, {"launchTemplateSpecification": {"version": "1"}}]
    policy = {"launchTemplate": {"overrides": overrides}}
    selection = select(GROUP, {"mixedInstancesPolicy": policy})
    assert selection is not None
    assert selection.types.value == ("g6.xlarge",)
    assert selection.more_types == DEFERRED


def test_a_host_takes_one_type_or_a_family() -> None:
    one = select(HOST, {"instanceType": "g5.xlarge", "tags": {WORKLOAD_TAG: "chat"}})
    family = select(HOST, {"instanceFamily": "g5"})
    assert one is not None
    assert family is not None
    assert (one.instance_type.text, one.requirements) == ("g5.xlarge", ABSENT)
    assert family.requirements.value[0].allowed == ("g5.*",)


def test_a_block_that_is_not_bought_has_no_type() -> None:
    selection = select(BLOCK, {"capacityBlockOfferingId": "cb-1"})
    assert selection is not None
    assert selection.instance_type == ABSENT


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
