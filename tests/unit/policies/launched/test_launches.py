"""From properties to what is started: user data in every packing, containers in every shape."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from gpusize_policies.launched import CONTAINER, USER_DATA, infer_all
from gpusize_policies.reading import ABSENT, SENTINELS, UNKNOWN, Props, Value, select
from gpusize_policies.reading import launches as reading

SCRIPT = "#!/bin/bash\nvllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096\n"
ARGV = ("vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "4096")
UNKNOWN_TEXT = sorted(SENTINELS)[0]
PART = "Content-Type: text/x-shellscript\n\n"


def packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def argvs(value: Value) -> list[tuple[str, ...]]:
    assert value.known
    return [launch.argv for launch in value.value or ()]


MULTIPART = (
    'Content-Type: multipart/mixed; boundary="==B=="\nMIME-Version: 1.0\n\n'
    f"--==B==\n{PART}{SCRIPT}\n"
    f"--==B==\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n"
    f"{encoded('ollama pull llama3.1:8b')}\n--==B==--\n"
)
CLOUD_CONFIG = f"""#cloud-config
write_files:
  - path: /opt/start.sh
    encoding: b64
    content: {encoded(SCRIPT)}
  - path: /opt/other.sh
    encoding: gz+b64
    content: {packed("llama-server -hf ggml-org/gemma-3-1b-it-GGUF")}
runcmd:
  - [ollama, pull, "llama3.1:8b"]
  - echo ready
"""


@pytest.mark.parametrize(
    "props",
    [
        {"userData": SCRIPT},
        {"userData": encoded(SCRIPT)},
        {"userDataBase64": encoded(SCRIPT)},
        {"userDataBase64": packed(SCRIPT)},
    ],
)
def test_user_data_is_read_in_every_packing(props: dict[str, str]) -> None:
    assert argvs(reading.user_data(Props(props))) == [ARGV]


def test_every_part_and_every_file_is_read() -> None:
    assert argvs(reading.user_data(Props({"userData": MULTIPART}))) == [
        ARGV,
        ("ollama", "pull", "llama3.1:8b"),
    ]
    assert argvs(reading.user_data(Props({"userData": CLOUD_CONFIG}))) == [
        ARGV,
        ("llama-server", "-hf", "ggml-org/gemma-3-1b-it-GGUF"),
        ("ollama", "pull", "llama3.1:8b"),
    ]


def test_a_bomb_is_cut_and_its_head_is_read() -> None:
    bomb = SCRIPT + "\n".join(["echo 0"] * 10**6)
    assert argvs(reading.user_data(Props({"userDataBase64": packed(bomb)}))) == [ARGV]


@pytest.mark.parametrize(
    "text",
    ["", "#!/bin/bash\nyum -y update\n", "H4sIAAAAAAA=", "vllm: 'unclosed", "#cloud-config\n: ["],
)
def test_what_starts_nothing_known_is_absent(text: str) -> None:
    assert reading.user_data(Props({"userData": text})) == ABSENT


def test_unknown_user_data_is_unknown() -> None:
    assert reading.user_data(Props({"userData": UNKNOWN_TEXT})) == UNKNOWN
    assert reading.user_data(Props({})) == ABSENT


def test_instances_and_templates_tell_what_they_launch() -> None:
    own = select("aws:ec2/instance:Instance", {"userData": SCRIPT})
    template = select("aws:ec2/launchTemplate:LaunchTemplate", {"userData": encoded(SCRIPT)})
    assert own is not None and template is not None
    assert argvs(own.launches) == argvs(template.launches) == [ARGV]
    assert own.launches.value[0].origin == USER_DATA


KUBERNETES = {
    "image": "vllm/vllm-openai:v0.11.0",
    "args": ["--model", "$(MODEL)", "--max-model-len", "4096"],
    "env": [
        {"name": "MODEL", "value": "meta-llama/Llama-3.1-8B-Instruct"},
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
    ],
}
ECS = {
    "name": "chat",
    "image": "vllm/vllm-openai:v0.11.0",
    "command": ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "4096"],
    "environment": [{"name": "HF_TOKEN", "value": "secret"}],
}
SHELL = {
    "image": "python:3.12",
    "command": ["sh", "-c", "pip install vllm==0.11.0 && exec vllm serve $M --max-model-len 4096"],
    "env": [{"name": "M", "value": "meta-llama/Llama-3.1-8B-Instruct"}],
}
SAGEMAKER = {
    "image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.33.0-lmi15.0.0-cu128",
    "environment": {
        "HF_MODEL_ID": "meta-llama/Llama-3.1-8B-Instruct",
        "OPTION_MAX_MODEL_LEN": "4096",
        "HF_TOKEN": "secret",
    },
}


@pytest.mark.parametrize("container", [KUBERNETES, ECS, SHELL, SAGEMAKER])
def test_containers_of_every_shape_are_read(container: dict[str, object]) -> None:
    found = reading.container(container)
    (inferred,) = infer_all(found.value)
    assert inferred.declaration["model"] == "meta-llama/Llama-3.1-8B-Instruct"
    assert inferred.declaration["contextLength"] == 4096
    assert inferred.origin == CONTAINER
    assert all("HF_TOKEN" not in launch.env for launch in found.value)


def test_containers_in_a_json_text_are_found_wherever_they_lie() -> None:
    batch = {"nodeRangeProperties": [{"targetNodes": "0:1", "container": ECS}]}
    for data in ([ECS], ECS, batch):
        assert len(reading.json_containers(Value(json.dumps(data))).value) == 1
    assert reading.json_containers(Value("{vllm")) == ABSENT
    assert reading.json_containers(UNKNOWN) == UNKNOWN


def test_a_part_that_is_not_known_makes_the_container_unknown() -> None:
    unread = {**ECS, "command": ["--model", UNKNOWN_TEXT]}
    assert reading.container(unread) == UNKNOWN
    assert reading.containers([ECS, unread]) == UNKNOWN
    token = {"name": "HF_TOKEN", "value": UNKNOWN_TEXT}
    assert reading.container({**ECS, "environment": [token]}).says
    assert reading.container({"image": "nginx", "command": [UNKNOWN_TEXT]}) == ABSENT


def test_a_launch_shows_nothing_of_itself() -> None:
    (launch,) = reading.user_data(Props({"userData": f"{SCRIPT.strip()} --api-key canary"})).value
    assert "canary" in launch.argv
    assert "canary" not in repr(launch)
