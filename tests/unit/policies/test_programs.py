"""A Pulumi YAML program is read for its workloads, with the places of its own text."""

from __future__ import annotations

import pytest

from gpusize.documents import parse
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load
from gpusize_policies.inputs import declared

PROGRAM = """\
name: app
runtime: yaml
resources:
  network:
    type: aws:ec2:Vpc
    properties: {cidrBlock: 10.0.0.0/16}
  chat:
    type: gpusize:index:GpuWorkload
    properties:
      kind: serving
      model: meta-llama/Llama-3.1-8B-Instruct
      contextLength: 8192
      region: us-east-1
      subnetId: ${network.id}
      createInstance: true
"""


def problems_of(text: str) -> dict[str, tuple[int | None, str]]:
    with pytest.raises(GpuSizeError) as caught:
        declared(parse(text, "Pulumi.yaml"), load())
    return {p.path: (p.line, f"{p.message} {p.fix}") for p in caught.value.problems}


def test_the_workloads_of_a_program_are_found_with_their_places() -> None:
    found = declared(parse(PROGRAM, "Pulumi.yaml"), load())
    assert list(found) == ["chat"]
    assert found["chat"].workload.context_length == 8192
    assert found["chat"].subject.path == "resources.chat.properties"
    assert found["chat"].subject.line == 9


def test_the_short_type_is_the_same_type() -> None:
    assert declared(parse(PROGRAM.replace("gpusize:index:", "gpusize:"), "Pulumi.yaml"), load())


def test_every_problem_of_every_workload_is_told_at_its_line() -> None:
    other = PROGRAM.split("resources:\n")[1].replace("chat:", "other:").replace("network:", "net:")
    text = PROGRAM.replace("contextLength: 8192", "contextLength: ${config.context}")
    problems = problems_of(text + other.replace("kind: serving", "kind: surving"))
    assert problems["resources.chat.properties.contextLength"][0] == 12
    assert "plain" in problems["resources.chat.properties.contextLength"][1]
    assert "serving" in problems["resources.other.properties.kind"][1]


def test_an_escaped_interpolation_is_plain_text() -> None:
    text = PROGRAM.replace("region: us-east-1", "region: us-east-1\n      tags: {note: '$${x}'}")
    assert declared(parse(text, "Pulumi.yaml"), load())["chat"].workload.tags == {"note": "$${x}"}


def test_a_function_call_in_a_sizing_field_is_a_problem() -> None:
    text = PROGRAM.replace("contextLength: 8192", "contextLength: {fn::toJSON: [1]}")
    assert list(problems_of(text)) == ["resources.chat.properties.contextLength"]


@pytest.mark.parametrize(
    ("resources", "path"),
    [
        ("resources: []", "resources"),
        ("resources: {vpc: {type: 'aws:ec2:Vpc'}}", "resources"),
        ("resources: {chat: 3}", "resources"),
    ],
)
def test_a_program_without_workloads_says_so(resources: str, path: str) -> None:
    assert list(problems_of(f"name: app\n{resources}\n")) == [path]


def test_properties_may_be_missing_or_no_mapping() -> None:
    token = "gpusize:index:GpuWorkload"
    text = f"resources: {{a: {{type: '{token}'}}, b: {{type: '{token}', properties: 3}}}}"
    paths = problems_of(text)
    assert any(path.startswith("resources.a") for path in paths)
    assert any(path.startswith("resources.b") for path in paths)


@pytest.mark.parametrize("runtime", ["python", "{name: python, options: {virtualenv: venv}}"])
def test_a_program_in_a_language_says_which(runtime: str) -> None:
    text = f"name: app\nruntime: {runtime}\n"
    with pytest.raises(GpuSizeError) as caught:
        declared(parse(text, "Pulumi.yaml"), load())
    (problem,) = caught.value.problems
    assert problem.message == "this program is written in python"
    assert "file of declarations" in problem.fix
