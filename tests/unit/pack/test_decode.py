"""The wire format of properties: decoded whole, or only as far as a tag."""

from __future__ import annotations

import base64
import json

import pytest
from google.protobuf import json_format, struct_pb2
from hypothesis import given
from hypothesis import strategies as st

from gpusize.tokens import WORKLOAD_TAG
from gpusize_catalog.store import load
from gpusize_policies.decode import SECRET, SIGNATURE, decode, may_point, may_start, text_of
from gpusize_policies.reading import DEFERRED, SENTINELS, selections
from gpusize_policies.session import KINDS

UNKNOWN = sorted(SENTINELS)[0]


def wire(properties):
    return json_format.ParseDict(properties, struct_pb2.Struct())


def secret(value):
    return {SIGNATURE: SECRET, "value": value}


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(-1e9, 1e9), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), values, max_size=4))
def test_decoding_gives_back_what_was_sent(properties):
    assert decode(wire(properties)) == json.loads(json.dumps(properties))


def test_secrets_are_bare():
    sent = {"a": secret("x"), "b": [secret({"c": secret(1)})], "d": secret(None)}
    assert decode(wire(sent)) == {"a": "x", "b": [{"c": 1}], "d": None}


@pytest.mark.parametrize(
    "properties",
    [
        {"tags": {WORKLOAD_TAG: "chat"}},
        {"tags": {WORKLOAD_TAG: UNKNOWN}},
        {"tags": UNKNOWN},
        {"tags": secret({WORKLOAD_TAG: "chat"})},
        {"tagsAll": {WORKLOAD_TAG: "chat"}},
        {"tagSpecifications": [{"resourceType": "instance", "tags": {WORKLOAD_TAG: "chat"}}]},
        {"tagSpecifications": [{"tags": secret({WORKLOAD_TAG: "chat"})}]},
        {"tagSpecifications": UNKNOWN},
        {"tagSpecifications": [UNKNOWN]},
    ],
)
def test_whatever_may_name_a_workload_is_looked_at(properties):
    assert may_point(wire(properties))


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"tags": {}},
        {"tags": None},
        {"tags": {"team": "chat"}},
        {"tagSpecifications": [{"resourceType": "instance", "tags": {"team": "chat"}}]},
        {"instanceType": UNKNOWN},
    ],
)
def test_what_names_none_is_left_alone(properties):
    assert not may_point(wire(properties))


tags = st.dictionaries(
    st.sampled_from([WORKLOAD_TAG, "team"]), st.sampled_from(["chat", UNKNOWN, ""])
)
tagged = st.one_of(tags, tags.map(secret), st.just(UNKNOWN), st.none())
resources = st.fixed_dictionaries(
    {},
    optional={
        "tags": tagged,
        "tagsAll": tagged,
        "tagSpecifications": st.lists(st.fixed_dictionaries({}, optional={"tags": tagged})),
        "resourceTags": tagged,
        "computeResources": st.fixed_dictionaries({}, optional={"tags": tagged}),
    },
)


@given(resources, st.sampled_from(sorted(kind for kind in KINDS if kind.startswith("aws:"))))
def test_the_quick_look_misses_nothing_that_the_reader_finds(properties, kind):
    for found in selections(kind, decode(wire(properties))):
        if found.workload != DEFERRED and (not found.workload.known or found.workload.value):
            assert may_point(wire(properties))


def test_one_property_is_read_alone():
    assert text_of(wire({"region": "us-east-1"}), "region") == "us-east-1"
    assert text_of(wire({"region": secret("us-east-1")}), "region") == "us-east-1"
    assert text_of(wire({}), "region") is None


STARTS = "#!/bin/sh\nvllm serve x/y"


@pytest.mark.parametrize(
    "properties",
    [
        {"userData": STARTS},
        {"userData": STARTS, "instanceType": "g5.xlarge"},
        {"userData": STARTS, "instanceType": UNKNOWN},
        {"userData": secret(STARTS), "instanceType": "p5.48xlarge"},
        {"userDataBase64": base64.b64encode(STARTS.encode()).decode()},
        {"userData": UNKNOWN, "instanceType": "gr6.4xlarge"},
        {"launchSpecifications": [{"instanceType": "m7i.large"}, {"userData": STARTS}]},
        {"containerDefinitions": '[{"image": "vllm/vllm-openai"}]'},
        {"containerProperties": secret('{"command": ["torchrun"]}')},
        {"nodeProperties": UNKNOWN},
        {"primaryContainer": {"image": "a", "environment": {"HF_MODEL_ID": "x/y"}}},
        {"containers": [{"image": "a"}, {"image": "b/djl-inference:1"}]},
        {"containers": [{"image": UNKNOWN}]},
        {"eksProperties": {"podProperties": {"containers": [{"args": ["vllm", "serve"]}]}}},
    ],
)
def test_what_may_start_an_engine_is_decoded(properties):
    assert may_start(wire(properties))


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"instanceType": "g5.xlarge"},
        {"userData": "#!/bin/sh\nyum update", "instanceType": "g5.xlarge"},
        {"userData": STARTS, "instanceType": "m7i.large"},
        {"userData": UNKNOWN, "instanceType": "t3.micro"},
        {"userData": 7.0},
        {"launchSpecifications": [{"instanceType": "m7i.large", "userData": STARTS}]},
        {"launchSpecifications": 7.0},
        {"containerDefinitions": '[{"image": "nginx"}]'},
        {"containers": [{"image": "nginx", "environment": {"TOKEN": "x"}}]},
        {"containers": 7.0},
        {"command": "vllm serve x/y"},
    ],
)
def test_what_starts_none_is_not(properties):
    assert not may_start(wire(properties))


def test_every_accelerated_type_of_the_catalog_may_start_one():
    for one in load().instances():
        assert may_start(wire({"userData": STARTS, "instanceType": one.id})), one.id
