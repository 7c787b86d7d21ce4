"""Settings by environment in the policy pack's process: by the stack's name and by its tags."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from tests.contract.processes import pack

COMPONENT = "gpusize:index:GpuWorkload"
RULE = "spot-for-user-facing"
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192.0,
    "concurrency": 8.0,
    "userFacing": True,
    "region": "us-east-1",
    "market": "spot",
    "decision": {
        "instanceType": "g6.xlarge",
        "nodes": 1.0,
        "market": "spot",
        "layout": {"tp": 1.0, "pp": 1.0, "dp": 1.0, "ep": 1.0},
        "version": "0.1.0",
    },
}
SETTINGS = {
    "levels": {RULE: "advice"},
    "environments": {
        "development": {"stacks": ["dev*"], "levels": {RULE: "warn"}},
        "research": {"tags": {"purpose": "research*"}, "levels": {RULE: "off"}},
    },
}
TAGGED = {
    **SETTINGS,
    "environments": {"research": SETTINGS["environments"]["research"]},
}


@pytest.fixture(scope="module")
def gate(environ, tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")

    @contextmanager
    def starter(settings):
        (folder / "gpusize-policy.yaml").write_text(json.dumps(settings))
        with pack({**environ, "PWD": str(folder)}) as running:
            yield running

    return starter


def levels(running):
    return {one.policy: one.level for one in running.analyze(COMPONENT, "chat", CHAT)}


def test_the_name_of_the_stack_chooses(gate):
    with gate(SETTINGS) as running:
        assert running.levels()[RULE] == "advisory"
        assert levels(running)[RULE] == "advisory"
        running.configure_stack(purpose="research")
        assert RULE in levels(running)  # the first that matches holds: that of the name


def test_tags_of_the_stack_choose(gate):
    strict = {**TAGGED, "levels": {RULE: "error"}}
    with gate(strict) as running:
        assert levels(running)[RULE] == "mandatory"
        running.configure_stack(purpose="research-llm")
        assert RULE not in levels(running)
        running.configure_stack(purpose="production")
        assert levels(running)[RULE] == "mandatory"


def test_the_configuration_of_the_pack_wins(gate):
    with gate(SETTINGS) as running:
        running.configure({RULE: "mandatory"})
        assert levels(running)[RULE] == "mandatory"
