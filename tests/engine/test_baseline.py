"""A preview writes a baseline; with it the next one passes, and what is new fails."""

from __future__ import annotations

import json

import yaml

from gpusize_policies.setup import WRITE_BASELINE
from tests.engine.harness import POLICIES

FILE = "gpusize-baseline.json"
NEW = {
    "type": "aws:ec2/instance:Instance",
    "properties": {
        "ami": "ami-0123456789abcdef0",
        "instanceType": "g6.xlarge",
        "instanceMarketOptions": {"marketType": "spot"},
        "tags": {"gpusize:workload": "assistant"},
    },
}


def failing(run):
    return {one.resource for one in run.violations if one.level == "mandatory"}


def test_a_preview_writes_what_is_there_and_only_what_is_new_fails(workshop):
    made = workshop.example("raw-instance")
    assert failing(made.preview().fail()) == {"assistant", "coder"}

    written = made.preview(environ={WRITE_BASELINE: FILE}).succeed()
    assert f"in {FILE}" in written.text
    found = json.loads((made.folder / FILE).read_text())["findings"]
    assert {one["resource"].rpartition("::")[2] for one in found} == {"assistant", "coder"}
    assert {one["source"] for one in found} == {"raw-instance/dev"}

    (made.folder / "gpusize-policy.yaml").write_text(f"baseline: {FILE}\n")
    accepted = made.preview().succeed()
    assert {one.policy for one in accepted.violations} >= {"baseline-finding"}
    assert {one.level for one in accepted.violations} == {"advisory"}

    program = made.folder / "Pulumi.yaml"
    data = yaml.safe_load(program.read_text())
    data["resources"]["newcomer"] = NEW
    program.write_text(yaml.safe_dump(data))
    assert failing(made.preview().fail()) == {"newcomer"}


def test_a_state_file_is_enough_to_write_it(workshop):
    made = workshop.example("raw-instance")
    made.up(policy_pack=None).succeed()
    state = made.folder / "state.json"
    state.write_text(json.dumps(made.export()))
    analyze = ("policy", "analyze", "--file", str(state), "--policy-pack")
    made.pulumi(*analyze, str(POLICIES), environ={WRITE_BASELINE: FILE})
    found = json.loads((made.folder / FILE).read_text())["findings"]
    assert {one["resource"].rpartition("::")[2] for one in found} == {"assistant", "coder"}
