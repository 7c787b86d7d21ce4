"""A baseline in the policy pack's process: a whole run writes it, and the next one honours it."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from gpusize_policies.setup import SETTINGS_POLICY, WRITE_BASELINE
from tests.contract.processes import pack, resource

INSTANCE = "aws:ec2/instance:Instance"
STACK = "pulumi:pulumi:Stack"
RULE = "spot-for-user-facing"
FILE = "gpusize-baseline.json"
CANARY = "CANARY-7d1f"
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "concurrency": 8,
    "userFacing": True,
    "region": "us-east-1",
}


@pytest.fixture
def gate(environ, tmp_path):
    """Return a starter of packs beside a program; the public way is the SDK's."""
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    (tmp_path / "gpusize.yaml").write_text(json.dumps({"workloads": {"demo": CHAT}}))
    prelude = "import gpusize_policies.pack as p; p.NEEDED = ('_not_there',)"

    @contextmanager
    def starter(write="", is_public=False, **settings):
        (tmp_path / "gpusize-policy.yaml").write_text(json.dumps(settings))
        named = {WRITE_BASELINE: write} if write else {}
        with pack(
            {**environ, "PWD": str(tmp_path), **named}, None, prelude if is_public else ""
        ) as running:
            yield running

    starter.folder = tmp_path
    return starter


def box(**more):
    return {
        "instanceType": "g6.xlarge",
        "instanceMarketOptions": {"marketType": "spot"},
        "userData": CANARY,
        "tags": {"gpusize:workload": "demo", **more},
    }


def judged(running, *names, **more):
    told = running.analyze(STACK, "app-dev", {})
    for name in names:
        told += running.analyze(INSTANCE, name, box(**more))
    return told + running.analyze_stack(*(resource(INSTANCE, name, box(**more)) for name in names))


def mandatory(told):
    return {(one.policy, one.urn) for one in told if one.level == "mandatory"}


def test_a_run_writes_it_and_the_next_one_passes(gate):
    with gate() as running:
        assert any(one.policy == RULE for one in judged(running, "old"))
    with gate(write=FILE) as running:
        told = judged(running, "old")
    assert not mandatory(told)
    text = (gate.folder / FILE).read_text()
    assert CANARY not in text
    found = json.loads(text)["findings"]
    assert {one["resource"] for one in found} == {f"{INSTANCE}::old"}
    assert {one["source"] for one in found} == {"app/dev"}

    with gate(baseline=FILE) as running:
        told = judged(running, "old")
        assert not mandatory(told)
        known = [one for one in told if one.policy == "baseline-finding"]
        assert known
        assert all("in the baseline: GPU" in one.message for one in known)
        assert all(one.level == "advisory" for one in known)
    with gate(baseline=FILE) as running:
        assert RULE in {policy for policy, _ in mandatory(judged(running, "old", "new"))}
    with gate(baseline=FILE) as running:
        (left,) = (one for one in judged(running, "new") if one.policy == "baseline-outdated")
        assert f"{INSTANCE}::old" in left.message


def test_the_public_way_writes_it_too(gate):
    with gate(write=FILE, is_public=True) as running:
        assert not mandatory(judged(running, "old"))
    found = json.loads((gate.folder / FILE).read_text())["findings"]
    assert {one["resource"] for one in found} == {f"{INSTANCE}::old"}


def test_a_file_that_is_not_there_is_told(gate):
    with gate(baseline=FILE) as running:
        (told,) = (one for one in judged(running, "old") if one.policy == SETTINGS_POLICY)
        assert "cannot be read" in told.message
    with gate(write="nowhere/baseline.json") as running:
        assert SETTINGS_POLICY in {policy for policy, _ in mandatory(judged(running, "old"))}
    assert sorted(one.name for one in gate.folder.iterdir()) == [
        "Pulumi.yaml",
        "gpusize-policy.yaml",
        "gpusize.yaml",
    ]
