"""Machines that nobody declared, judged in a real preview by what they start."""

from __future__ import annotations

import base64

CONFIG = {"aws:region": {"value": "us-east-1"}, "gpusize:today": {"value": "2026-11-30"}}
CANARY = "CANARY-3b8d"
SCRIPT = f"""#!/bin/bash
export HF_TOKEN={CANARY}
docker run -d --gpus all -e HF_TOKEN={CANARY} vllm/vllm-openai:v0.11.0 \\
  --model meta-llama/Llama-3.1-8B-Instruct --max-model-len 131072 --api-key {CANARY}
"""


def test_user_data_with_too_long_a_context_fails_the_preview(workshop):
    encoded = base64.b64encode(SCRIPT.encode()).decode()
    machine = {"instanceType": "g5.xlarge", "ami": "ami-1"}
    template = {"instanceType": "g5.xlarge", "userData": encoded}
    resources = {
        "plain": ("Instance", {**machine, "userData": SCRIPT}),
        "hidden": ("Instance", {**machine, "userData": {"fn::secret": SCRIPT}}),
        "template": ("LaunchTemplate", template),
        "launched": ("Instance", {"ami": "ami-1", "launchTemplate": {"id": "${template.id}"}}),
        "quiet": ("Instance", {**machine, "userData": f"#!/bin/bash\necho {CANARY}\n"}),
        "small": ("Instance", {**machine, "instanceType": "m7i.large", "userData": SCRIPT}),
    }
    made = workshop.yaml(
        {
            "config": CONFIG,
            "resources": {
                name: {"type": f"aws:ec2:{kind}", "properties": props}
                for name, (kind, props) in resources.items()
            },
        }
    )
    run = made.preview().fail()
    found = [one for one in run.violations if one.policy == "kv-cache-exceeds-vram"]
    assert sorted(one.resource for one in found) == ["hidden", "launched", "plain"]
    for one in found:
        assert one.level == "mandatory"
        assert "inferred from user data: model, contextLength, engine.version" in one.message
    assert {one.resource for one in run.violations} == {"hidden", "launched", "plain"}
    assert CANARY not in run.text + "".join(one.message for one in run.violations)
