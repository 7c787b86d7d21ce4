"""One rule at each level of `--policy-pack-config`, and what it changes at `remediate`."""

from __future__ import annotations

import pytest
import yaml

RULE = "spot-for-user-facing"
CANARY = "CANARY-7d1f"
GROUP = {"strategy": "spread"}
PROGRAM = {
    "name": "app",
    "runtime": "yaml",
    "config": {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}},
    "resources": {
        "group": {"type": "aws:ec2/placementGroup:PlacementGroup", "properties": GROUP},
        "box": {
            "type": "aws:ec2/instance:Instance",
            "properties": {
                "ami": "ami-0123456789abcdef0",
                "instanceType": "g6.xlarge",
                "instanceMarketOptions": {"marketType": "spot"},
                "userData": {"fn::secret": CANARY},
                "keyName": "${group.id}",
                "tags": {"gpusize:workload": "chat"},
            },
        },
    },
}
DECLARED = {
    "workloads": {
        "chat": {
            "kind": "serving",
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "weightsFormat": "fp8",
            "contextLength": 8192,
            "concurrency": 8,
            "userFacing": True,
            "region": "us-east-1",
        }
    }
}


@pytest.fixture
def made(workshop):
    return workshop.yaml(PROGRAM, **{"gpusize.yaml": yaml.safe_dump(DECLARED)})


def level_of(run):
    return {one.level for one in run.violations if one.policy == RULE}


def test_a_rule_is_told_at_its_level(made):
    assert level_of(made.preview(policy_pack_config={RULE: "mandatory"}).fail()) == {"mandatory"}
    assert level_of(made.preview(policy_pack_config={RULE: "advisory"}).succeed()) == {"advisory"}
    assert level_of(made.preview(policy_pack_config={RULE: "disabled"}).succeed()) == set()
    everything = made.preview(policy_pack_config={"all": "advisory"}).succeed()
    assert level_of(everything) == {"advisory"}


def test_what_the_configuration_misspells_is_told(made):
    told = made.preview(policy_pack_config={"spot-for-user-faceing": "advisory"}).fail()
    assert "did you mean spot-for-user-facing?" in told.text
    told = made.preview(policy_pack_config={RULE: {"enforcementLevel": "advisory", "x": 1}}).fail()
    assert f"--policy-pack-config: {RULE}.x: no such property" in told.text
    (made.folder / "ours.yaml").write_text(f"levels: {{{RULE}: off}}\n")
    assert (
        level_of(made.preview(policy_pack_config={"gpusize-settings": {"file": "ours.yaml"}}))
        == set()
    )


def test_remediation_mends_shows_it_and_keeps_secrets(made):
    config = {RULE: "remediate"}
    shown = made.preview("--diff", policy_pack_config=config).succeed()
    assert level_of(shown) == set()
    assert f"[remediate]  {RULE}" in shown.text
    assert "instanceMarketOptions is removed" in shown.text
    assert CANARY not in shown.text

    made.up(policy_pack_config=config).succeed()
    state = made.export()["deployment"]["resources"]
    inputs = next(one["inputs"] for one in state if one["urn"].endswith("::box"))
    assert "instanceMarketOptions" not in inputs
    assert "ciphertext" in inputs["userData"]
    assert CANARY not in str(state)
    assert inputs["keyName"]
