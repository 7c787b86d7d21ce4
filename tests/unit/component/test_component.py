"""The component in process, on Pulumi's mocks and the shipped catalog."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pulumi
import pytest

from gpusize.component import GpuWorkload, WorkloadError
from tests import own_catalog
from tests.unit.component.mocked import Recorder, run

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weights_format": "fp8",
    "engine": "vllm@0.20",
    "context_length": 8192,
    "concurrency": 8,
    "region": "us-east-1",
}
POOR = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct", "weights_format": "fp16"}
MISFIT = {**POOR, "instance_type": "g5.xlarge"}
SPOT = {**CHAT, "instance_type": "g6.xlarge", "market": "spot"}
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
COMPONENT = "gpusize:index:GpuWorkload"
SECRET = "4dabf18193072939515e22adb298388d"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_outputs_are_the_decision():
    _, said, outputs = run(CHAT)
    assert outputs["instance_type"] == "g6.xlarge"
    assert outputs["nodes"] == 1
    assert outputs["layout"] == {"tp": 1, "pp": 1, "dp": 1, "ep": 1}
    assert outputs["market"] == "on-demand"
    assert 0 < outputs["hourly_cost"] < outputs["monthly_cost"]
    assert outputs["run_cost"] is None
    assert outputs["price_date"] < "2026-11-30"
    assert outputs["fit"]["verdict"] == "fits"
    assert outputs["fits"] is True
    assert outputs["locked"] is False
    assert any("L4" in reason for reason in outputs["reasons"])
    assert outputs["version"] and outputs["catalog_version"] and outputs["catalog_digest"]
    assert outputs["launch_template_id"] == "chat-id"
    assert outputs["instance_ids"] == []
    assert said == []


def test_policies_see_declaration_and_decision_in_camel_case():
    mocks, _, outputs = run(CHAT)
    (seen,) = mocks.inputs(COMPONENT)
    assert seen["weightsFormat"] == "fp8"
    assert seen["engine"] == {"name": "vllm", "version": "0.20"}
    assert seen["decision"]["instanceType"] == outputs["instance_type"]
    assert seen["decision"]["catalogDigest"] == outputs["catalog_digest"]
    assert not [key for key in seen if "_" in key]


def test_the_day_is_not_registered():
    first = run(CHAT)[0].inputs(COMPONENT)
    second = run(CHAT, config={"gpusize:today": "2026-12-01"})[0].inputs(COMPONENT)
    assert first == second


def test_launch_template_carries_what_was_decided():
    mocks, _, _ = run({**CHAT, "tags": {"team": "assistants"}})
    (template,) = mocks.inputs(TEMPLATE)
    assert template["instanceType"] == "g6.xlarge"
    assert template["region"] == "us-east-1"
    assert template["tags"] == {"Name": "chat", "team": "assistants", "gpusize:workload": "chat"}
    assert [one["resourceType"] for one in template["tagSpecifications"]] == ["instance", "volume"]
    assert template["metadataOptions"]["httpTokens"] == "required"
    assert template["blockDeviceMappings"][0]["deviceName"] == "/dev/xvda"
    assert template["blockDeviceMappings"][0]["ebs"]["volumeSize"] > 8
    assert "instanceMarketOptions" not in template
    assert "imageId" not in template


def test_declared_root_volume_wins():
    storage = {"root_volume_gib": 300, "root_volume_throughput_mbps": 500}
    mocks, _, _ = run({**CHAT, "storage": storage, "root_device_name": "/dev/sda1"})
    (mapping,) = mocks.inputs(TEMPLATE)[0]["blockDeviceMappings"]
    assert mapping["deviceName"] == "/dev/sda1"
    assert (mapping["ebs"]["volumeSize"], mapping["ebs"]["throughput"]) == (300, 500)


def test_wiring_is_passed_on():
    mocks, _, outputs = run(
        lambda: {
            **CHAT,
            "image_id": pulumi.Output.from_input("ami-1"),
            "security_group_ids": [pulumi.Output.from_input("sg-1")],
            "iam_instance_profile": "serving",
            "key_name": "ops",
            "subnet_id": pulumi.Output.from_input("subnet-1"),
            "user_data": pulumi.Output.secret("echo CANARY"),
            "create_instance": True,
        }
    )
    (template,), (instance,) = mocks.inputs(TEMPLATE), mocks.inputs(INSTANCE)
    assert template["imageId"] == "ami-1"
    assert template["vpcSecurityGroupIds"] == ["sg-1"]
    assert template["iamInstanceProfile"] == {"name": "serving"}
    assert template["keyName"] == "ops"
    assert base64.b64decode(template["userData"]["value"]) == b"echo CANARY"
    assert SECRET in template["userData"]
    assert instance["subnetId"] == "subnet-1"
    assert instance["launchTemplate"] == {"id": "chat-id", "version": "3"}
    assert outputs["instance_ids"] == ["chat-0-id"]
    assert "CANARY" not in json.dumps(mocks.inputs(COMPONENT))


def test_children_hang_below_the_component():
    mocks, _, _ = run({**CHAT, "create_instance": True})
    assert [(one.typ, one.name) for one in mocks.made] == [
        (COMPONENT, "chat"),
        (TEMPLATE, "chat"),
        (INSTANCE, "chat-0"),
    ]


def test_the_provider_of_the_component_makes_the_children():
    def run_with_provider():
        provider = pulumi.ProviderResource("aws", "west", {"region": "us-west-2"})
        options = pulumi.ResourceOptions(providers=[provider])
        return GpuWorkload("chat", CHAT, options).launch_template_id

    mocks = Recorder()
    pulumi.runtime.set_mocks(mocks, "app", "dev", preview=True)
    pulumi.runtime.test(run_with_provider)()
    (template,) = [one for one in mocks.made if one.typ == TEMPLATE]
    assert "pulumi:providers:aws::west" in template.provider


def test_spot_is_asked_for_in_the_template():
    batch = {
        **{key: value for key, value in CHAT.items() if key != "kind"},
        "kind": "batch-inference",
        "run_hours": 4,
        "market": "spot",
    }
    template = run(batch)[0].inputs(TEMPLATE)[0]
    assert template["instanceMarketOptions"]["marketType"] == "spot"


def test_capacity_block_is_asked_for_with_its_reservation():
    block = {
        **CHAT,
        "instance_type": "p5.48xlarge",
        "market": "capacity-block",
        "capacity_reservation": "cr-1",
        "allow_misfit": True,
    }
    template = run(block)[0].inputs(TEMPLATE)[0]
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-1"}
    }


def test_every_problem_is_told_at_once_without_a_traceback():
    with pytest.raises(pulumi.RunError) as caught:
        run(
            lambda: {
                "kind": "serving",
                "region": "us-east-1",
                "model": "meta-llama/Llama-3.1-8B-Instrct",
                "context_length": -5,
                "engine": {"memory_fraction": pulumi.Output.from_input(0.5)},
                "user_data": {"a": "CANARY"},
                "subnetID": "x",
            }
        )
    text = str(caught.value)
    for word in ("contextLength", "engine.memoryFraction", "userData", "subnetID", "Instrct"):
        assert word in text
    assert "CANARY" not in text
    assert isinstance(caught.value, WorkloadError)
    assert {problem.path for problem in caught.value.problems} >= {"contextLength", "model"}


def test_unknown_model_is_a_problem_of_the_model():
    with pytest.raises(WorkloadError) as caught:
        run({**CHAT, "model": "meta-llama/Llama-3.1-8B-Instrct"})
    (problem,) = caught.value.problems
    assert problem.path == "model"
    assert "meta-llama/Llama-3.1-8B-Instruct" in problem.fix


def test_nothing_is_registered_for_bad_inputs():
    mocks = Recorder()
    pulumi.runtime.set_mocks(mocks, "app", "dev", preview=True)
    with pytest.raises(WorkloadError):
        GpuWorkload("chat", {"kind": "serving"})
    assert mocks.made == []


def test_misfit_is_warned_of_in_a_preview():
    mocks, said, outputs = run(MISFIT)
    assert outputs["fits"] is False
    assert mocks.inputs(TEMPLATE)[0]["instanceType"] == "g5.xlarge"
    assert any("does not fit" in line and "GiB" in line for line in said)


def test_misfit_is_refused_in_an_update():
    with pytest.raises(WorkloadError, match="does not fit"):
        run(MISFIT, preview=False)


def test_misfit_is_let_through_when_allowed():
    mocks, said, _ = run({**MISFIT, "allow_misfit": True}, preview=False)
    assert mocks.inputs(TEMPLATE)[0]["instanceType"] == "g5.xlarge"
    assert any("does not fit" in line for line in said)


def test_a_poor_market_is_no_misfit():
    mocks, said, outputs = run(SPOT, preview=False)
    assert outputs["fits"] is True
    assert mocks.inputs(TEMPLATE)[0]["instanceMarketOptions"]["marketType"] == "spot"
    assert any("pinned" in line for line in said)


def test_without_any_type_there_is_nothing_to_launch():
    nothing = {**POOR, "budget": {"per_hour": 0.01}}
    mocks, said, outputs = run(nothing)
    assert outputs["instance_type"] is None
    assert outputs["launch_template_id"] is None
    assert mocks.inputs(TEMPLATE) == []
    assert said
    with pytest.raises(WorkloadError, match="does not fit"):
        run(nothing, preview=False)


def test_bad_configuration_is_told():
    with pytest.raises(WorkloadError, match="gpusize:today"):
        run(CHAT, config={"gpusize:today": "tomorrow"})


def test_settings_beside_the_program_decide(folder):
    (folder / "gpusize-policy.yaml").write_text("parameters: {minHostGib: 4000}\n")
    _, _, outputs = run(CHAT)
    assert outputs["instance_type"] != "g6.xlarge"
    with pytest.raises(WorkloadError, match="gpusize:catalog"):
        run(CHAT, config={"gpusize:catalog": "no-such-folder"})


def locked(folder: Path, **changes) -> None:
    """Write a lock of the chat workload, with changes to its entry."""
    import datetime

    from gpusize.lock import entry_of, render
    from gpusize.resolve import resolve
    from gpusize.workload import parse_workload
    from gpusize_catalog.store import load

    day = datetime.date(2026, 10, 1)
    entry = entry_of(resolve(parse_workload(CHAT), load(), today=day, name="chat"))
    assert entry is not None
    kept = render({"chat": entry._replace(**changes)})
    (folder / "gpusize.lock").write_text(kept, encoding="utf-8")


def test_locked_decision_holds_and_the_difference_is_told(folder):
    locked(folder, instance_type="g6e.xlarge", usd_per_hour=9.5, catalog_version="2026-01-01")
    mocks, said, outputs = run(CHAT)
    assert outputs["instance_type"] == "g6e.xlarge"
    assert outputs["locked"] is True
    assert outputs["catalog_version"] == "2026-01-01"
    assert outputs["hourly_cost"] == 9.5
    assert mocks.inputs(TEMPLATE)[0]["instanceType"] == "g6e.xlarge"
    assert any("g6.xlarge" in line and "gpusize lock" in line for line in said)


def test_lock_of_another_declaration_does_not_hold(folder):
    locked(folder, instance_type="g6e.xlarge")
    _, said, outputs = run({**CHAT, "concurrency": 9})
    assert outputs["instance_type"] == "g6.xlarge"
    assert outputs["locked"] is False
    assert any("declaration has changed" in line for line in said)


def test_lock_is_found_beside_the_project(folder, monkeypatch):
    locked(folder, instance_type="g6e.xlarge")
    (folder / "Pulumi.yaml").write_text("name: app\nruntime: python\n")
    (folder / "app").mkdir()
    monkeypatch.chdir(folder / "app")
    assert run(CHAT)[2]["instance_type"] == "g6e.xlarge"


def test_unreadable_lock_is_told(folder):
    (folder / "gpusize.lock").write_text("{")
    with pytest.raises(WorkloadError, match="is not JSON"):
        run(CHAT)


def test_aws_sdk_is_never_imported():
    import subprocess
    import sys

    code = "import gpusize.component, gpusize.host, sys; print('pulumi_aws' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("latest", "version"), [(3, "3"), (4.0, "4"), (None, "$Latest"), ("x", "$Latest")]
)
def test_version_of_a_template_is_a_number_in_a_text(latest, version):
    from gpusize.making import _version

    assert _version(latest) == version


def test_annotations_of_the_component_are_real_objects():
    source = Path(GpuWorkload.__init__.__code__.co_filename).read_text(encoding="utf-8")
    assert "from __future__ import annotations" not in source


def test_what_only_an_overlay_knows_can_be_declared(folder):
    own_catalog.write(folder / "ours")
    _, said, outputs = run(own_catalog.DECLARED, config={"gpusize:catalog": "ours"})
    assert outputs["instance_type"] == own_catalog.INSTANCE
    assert said == []


def test_a_misspelt_key_of_the_stack_is_warned_of():
    _, said, _ = run(CHAT, config={"gpusize:catlog": "ours"})
    assert any("gpusize:catlog: unknown key (did you mean catalog?)" in one for one in said)
