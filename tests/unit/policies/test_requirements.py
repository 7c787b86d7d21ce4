"""Types by attribute: what requirements read, what they admit, and what nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize_catalog.facts import Coverage, Status
from gpusize_catalog.store import Catalog, load
from gpusize_policies.reading import ABSENT, SENTINELS, UNKNOWN, Props
from gpusize_policies.reading.requirements import (
    AMOUNTS,
    LISTS,
    SWITCHES,
    Admitted,
    Requirement,
    admitted,
    requirements_of,
)

EVERYTHING: dict[str, Any] = {
    **{name: {"min": 1.0, "max": 10.0} for name in AMOUNTS},
    **{name: ["nvidia"] for name in LISTS},
    **dict.fromkeys(SWITCHES, "required"),
    "requireHibernateSupport": True,
    "allowedInstanceTypes": ["g6.*"],
    "excludedInstanceTypes": ["g6.metal"],
}


def read(**block: Any) -> Requirement:
    found = requirements_of(Props({"instanceRequirements": block}))
    assert found.known
    requirement: Requirement = found.value
    return requirement


def types(catalog: Catalog, **block: Any) -> set[str]:
    return set(admitted([read(**block)], catalog).types)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def test_nothing_is_no_requirement() -> None:
    assert requirements_of(Props({})) == ABSENT
    assert requirements_of(Props({"instanceRequirements": next(iter(SENTINELS))})) == UNKNOWN


def test_every_attribute_is_read() -> None:
    found = read(**EVERYTHING)
    assert {name for name, _, _ in found.ranges} == set(AMOUNTS)
    assert {name for name, _ in found.lists} == set(LISTS)
    assert dict(found.switches) == dict.fromkeys(SWITCHES, "required")
    assert (found.hibernates, found.allowed, found.excluded) == (True, ("g6.*",), ("g6.metal",))


@pytest.mark.parametrize("name", EVERYTHING)
def test_an_unknown_attribute_leaves_all_open(name: str) -> None:
    for sentinel in sorted(SENTINELS):
        block = {**EVERYTHING, name: sentinel}
        assert requirements_of(Props({"instanceRequirements": block})) == UNKNOWN


@pytest.mark.parametrize("name", [*EVERYTHING])
def test_an_attribute_of_another_shape_raises_nothing(name: str) -> None:
    for value in (None, 5.0, True, "", "x", [], {}, [None], [5.0], ["x" * 31], {"min": "x"}):
        found = requirements_of(Props({"instanceRequirements": {**EVERYTHING, name: value}}))
        assert not found.known or isinstance(found.value, Requirement)


def test_what_is_left_out_does_not_narrow(catalog: Catalog) -> None:
    """But for bare metal, and what AWS no longer sells."""
    every = {one.id for one in catalog.instances() if one.status is not Status.RETIRED}
    assert types(catalog) == {name for name in every if not name.endswith(".metal")}
    assert types(catalog, bareMetal="included") == every
    assert types(catalog, bareMetal="required") == {
        name for name in every if name.endswith(".metal")
    }


def test_total_memory_admits_many_small_gpus(catalog: Catalog) -> None:
    found = types(
        catalog,
        acceleratorManufacturers=["nvidia"],
        acceleratorTotalMemoryMib={"min": 90000.0, "max": 100000.0},
    )
    assert {"g5.12xlarge", "g6.12xlarge", "g6e.12xlarge"} & found == {"g5.12xlarge", "g6.12xlarge"}


def test_a_count_without_a_manufacturer_admits_all_makers(catalog: Catalog) -> None:
    found = types(catalog, acceleratorCount={"min": 1.0, "max": 1.0})
    assert {"inf2.xlarge", "trn1.2xlarge", "g6.xlarge", "p5.4xlarge"} <= found
    assert "g6.12xlarge" not in found
    nvidia = types(
        catalog, acceleratorCount={"min": 1.0, "max": 1.0}, acceleratorManufacturers=["nvidia"]
    )
    assert {catalog.gpu(catalog.instance(name).gpu_id or "").vendor for name in nvidia} == {
        "NVIDIA"
    }


@pytest.mark.parametrize(
    ("names", "families"),
    [(["l4"], {"g6", "gr6", "g6f", "gr6f"}), (["h100"], {"p5"}), (["t4g"], {"g5g"})],
)
def test_accelerators_by_the_names_of_the_api(
    names: list[str], families: set[str], catalog: Catalog
) -> None:
    found = types(catalog, acceleratorNames=names)
    assert {catalog.instance(name).family for name in found} == families


def test_a_part_of_a_gpu_may_count_as_none(catalog: Catalog) -> None:
    found = admitted([read(acceleratorCount={"min": 1.0}, acceleratorNames=["l4"])], catalog)
    assert "g6f.xlarge" in found.doubtful
    assert found.undecided == ("acceleratorCount",)


def test_the_maker_of_a_processor_is_known_of_arm_alone(catalog: Catalog) -> None:
    block = {"acceleratorManufacturers": ["nvidia"], "acceleratorCount": {"min": 1.0}}
    arm = types(catalog, **block, cpuManufacturers=["amazon-web-services"])
    assert {catalog.instance(name).arch for name in arm} == {"arm64"}
    found = admitted([read(**block, cpuManufacturers=["intel"])], catalog)
    assert "g6.xlarge" in found.doubtful
    assert "g5g.xlarge" not in found.types
    both = admitted([read(**block, cpuManufacturers=["intel", "amd"])], catalog)
    assert "cpuManufacturers" not in both.undecided


def test_patterns_match_as_aws_writes_them(catalog: Catalog) -> None:
    families = {catalog.instance(name).family for name in types(catalog, excludedInstanceTypes=[])}
    for pattern, expected in (
        ("g6.*", {"g6"}),
        ("g6*", {one for one in families if one.startswith("g6")}),
        ("p*", {one for one in families if one.startswith("p")}),
        ("g?.xlarge", set()),
    ):
        found = types(catalog, allowedInstanceTypes=[pattern])
        assert {catalog.instance(name).family for name in found} == expected, pattern


@pytest.mark.parametrize(
    ("block", "bare"),
    [
        ({}, True),
        ({"vcpuCount": {"min": 4.0}}, True),
        ({"acceleratorCount": {"min": 0.0}}, True),
        ({"acceleratorCount": {"max": 0.0}}, True),
        ({"acceleratorCount": {"min": 1.0}}, False),
        ({"acceleratorTypes": ["gpu"]}, False),
        ({"acceleratorTotalMemoryMib": {"min": 1024.0}}, False),
        ({"allowedInstanceTypes": ["g6.*", "p*"]}, False),
        ({"allowedInstanceTypes": ["g6.*", "m5*"]}, True),
        ({"allowedInstanceTypes": ["*"]}, True),
    ],
)
def test_types_without_accelerators_are_told(
    block: dict[str, Any], bare: bool, catalog: Catalog
) -> None:
    assert admitted([read(**block)], catalog).bare is bare


def test_what_is_not_sold_there_is_not_admitted(catalog: Catalog) -> None:
    requirement = [read(acceleratorNames=["b200"])]
    assert admitted(requirement, catalog).types == ("p6-b200.48xlarge",)
    listed = [name for name in catalog.regions() if _lists_by_api(catalog, name)]
    without = [name for name in listed if catalog.offering("p6-b200.48xlarge", name) is None]
    assert without
    assert admitted(requirement, catalog, without[0]) == Admitted(())
    assert admitted(requirement, catalog, "nowhere-1").types == ("p6-b200.48xlarge",)


def _lists_by_api(catalog: Catalog, name: str) -> bool:
    region = catalog.region(name)
    return region is not None and region.coverage is Coverage.API


def test_the_market_narrows(catalog: Catalog) -> None:
    every = admitted([Requirement()], catalog)
    spot = admitted([Requirement()], catalog, markets=("spot",))
    assert set(spot.types) < set(every.types)
    assert all(
        "spot" in catalog.instance(name).usage_classes or not catalog.instance(name).usage_classes
        for name in spot.types
    )


BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        "acceleratorCount": st.fixed_dictionaries({"min": st.integers(0, 8)}),
        "vcpuCount": st.fixed_dictionaries({"min": st.integers(1, 200)}),
        "memoryMib": st.fixed_dictionaries({"max": st.integers(1, 2**21)}),
        "acceleratorManufacturers": st.just(["nvidia"]),
        "localStorage": st.sampled_from(["included", "excluded", "required"]),
        "allowedInstanceTypes": st.sampled_from([["g*"], ["p5*", "g6.*"]]),
    },
)


@given(first=BOUNDS, second=BOUNDS)
@settings(max_examples=40, deadline=None)
def test_more_sets_admit_more_and_more_attributes_fewer(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    catalog = load()
    one, other = read(**first), read(**second)
    union = set(admitted([one, other], catalog).types)
    assert union == set(admitted([one], catalog).types) | set(admitted([other], catalog).types)
    assert admitted([one, other], catalog) == admitted([other, one], catalog)
    assert types(catalog, **{**first, **second}) <= types(catalog, **second)
