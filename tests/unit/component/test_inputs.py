"""Inputs told apart: sizing, wiring, switches; what is not known, what is misspelt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.inputs import SWITCHES, WIRING, combine, deferred, separate
from gpusize_catalog.problems import Problem


class Later:
    """Stands for an output or a secret."""


LATER = Later()


def is_later(value: object) -> bool:
    return isinstance(value, Later)


def told(raw: Any) -> dict[str, str]:
    return {problem.path: problem.message for problem in separate(raw, is_later)[1]}


def test_kinds_of_inputs_are_told_apart():
    given_, problems = separate(
        {
            "kind": "serving",
            "context_length": 8192,
            "image_id": LATER,
            "securityGroupIds": [LATER, "sg-1"],
            "create_instance": True,
            "zone": None,
        },
        is_later,
    )
    assert problems == ()
    assert given_.declaration == {"kind": "serving", "context_length": 8192}
    assert given_.wiring == {"imageId": LATER, "securityGroupIds": [LATER, "sg-1"]}
    assert given_.create_instance
    assert not given_.allow_misfit


def test_nulls_are_absent_at_every_depth():
    given_, problems = separate({"engine": {"name": "vllm", "version": None}}, is_later)
    assert problems == ()
    assert given_.declaration == {"engine": {"name": "vllm"}}


def test_values_not_known_yet_are_named_with_their_path():
    raw = {"model": LATER, "engine": {"memory_fraction": LATER}, "waivers": [{"rule": LATER}]}
    assert set(told(raw)) == {"model", "engine.memoryFraction", "waivers[0].rule"}
    assert set(deferred(raw, is_later)) == set(told(raw))
    assert separate(raw, is_later)[0].declaration == {"engine": {}, "waivers": [{}]}


def test_a_whole_group_may_be_unknown():
    assert list(told({"engine": LATER})) == ["engine"]


def test_unknown_switches_are_problems():
    assert set(told({"allowMisfit": LATER})) == {"allowMisfit"}


@pytest.mark.parametrize("value", ["yes", 1, {}, []])
def test_switches_are_true_or_false(value):
    assert told({"createInstance": value}) == {"createInstance": "must be true or false"}


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"imageId": 7}, "imageId"),
        ({"user_data": {"a": "CANARY"}}, "userData"),
        ({"securityGroupIds": "sg-1"}, "securityGroupIds"),
        ({"securityGroupIds": ["sg-1", {"a": "CANARY"}]}, "securityGroupIds"),
    ],
)
def test_wiring_of_the_wrong_type_is_told_without_its_value(raw, path):
    problems = separate(raw, is_later)[1]
    assert [problem.path for problem in problems] == [path]
    assert "CANARY" not in str(problems[0])


def test_two_spellings_of_one_input_are_a_problem():
    assert told({"imageId": "ami-1", "image_id": "ami-2"}) == {"imageId": "is given twice"}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("subnetID", "subnetId"), ("createInstances", "createInstance"), ("image_ids", "imageId")],
)
def test_misspelt_wiring_gets_a_suggestion(wrong, right):
    given_, problems = separate({wrong: "x"}, is_later)
    assert [problem.fix for problem in problems] == [f"did you mean `{right}`?"]
    assert given_.declaration == {}


def test_fields_of_the_vocabulary_are_never_taken_for_wiring():
    assert separate({"instanceType": "g6.xlarge", "instance_type": "x"}, is_later)[1] == ()


def test_inputs_that_are_no_mapping_are_one_problem():
    assert list(told(["serving"])) == [""]


def test_problems_that_only_follow_are_left_out():
    found = [Problem("engine", "is an output")]
    parsing = [Problem("engine.name", "is missing"), Problem("engineer", "is not a field")]
    assert [problem.path for problem in combine(found, parsing)] == ["engine", "engineer"]


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just(LATER)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*WIRING, *SWITCHES, "model", "engine", "x"]), values))
def test_nothing_unknown_is_ever_left_in_a_declaration(raw):
    given_, problems = separate(raw, is_later)
    assert not list(deferred(given_.declaration, is_later))
    if deferred(raw, is_later):
        assert problems
