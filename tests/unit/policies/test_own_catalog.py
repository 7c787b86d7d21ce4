"""What only an overlay knows can be declared, wins, and is locked, wherever a file is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpusize_policies.cli import main
from gpusize_policies.session import Run, Seen, Session
from gpusize_policies.settings import Settings
from tests import own_catalog as own

TOKEN = "gpusize:index:GpuWorkload"
OPTIONS = ["--catalog", "ours", "--today", "2026-11-30"]
LAYOUT = {"tp": 1, "pp": 1, "dp": 1, "ep": 1}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    own.write(tmp_path / "ours")
    declared = {"workloads": {"chat": own.DECLARED}}
    (tmp_path / "gpusize.yaml").write_text(json.dumps(declared))
    program = {"name": "app", "resources": {"chat": {"type": TOKEN, "properties": own.DECLARED}}}
    (tmp_path / "Pulumi.yaml").write_text(json.dumps(program))
    return tmp_path


@pytest.mark.parametrize("file", ["gpusize.yaml", "Pulumi.yaml"])
@pytest.mark.parametrize("command", ["check", "resolve", "explain"])
@pytest.mark.usefixtures("folder")
def test_commands_take_it(command: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, *OPTIONS, file]) == 0
    assert own.INSTANCE in capsys.readouterr().out


def test_a_decision_is_locked_and_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", *OPTIONS, "gpusize.yaml"]) == 0
    assert own.INSTANCE in (folder / "gpusize.lock").read_text()
    assert main(["check", *OPTIONS, "gpusize.yaml"]) == 0
    assert "0 advice" in capsys.readouterr().out


def test_a_deployed_decision_is_locked(folder: Path) -> None:
    outputs = {
        "instanceType": own.INSTANCE,
        "nodes": 1,
        "layout": LAYOUT,
        "region": own.REGION,
        "market": "on-demand",
        "scaling": "fixed",
        "declaration": own.DECLARED,
    }
    component = {"type": TOKEN, "urn": f"urn:pulumi:dev::app::{TOKEN}::chat", "outputs": outputs}
    (folder / "stack.json").write_text(json.dumps({"deployment": {"resources": [component]}}))
    assert main(["lock", *OPTIONS, "stack.json"]) == 0
    assert own.INSTANCE in (folder / "gpusize.lock").read_text()


@pytest.mark.usefixtures("folder")
def test_its_words_are_in_the_schema_that_is_made_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for options, expected in ((["--catalog", "ours"], True), ([], False)):
        assert main(["schema", "workload", *options]) == 0
        out = capsys.readouterr().out
        assert (f'"{own.FORMAT}"' in out) is expected


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        (
            TOKEN,
            {**own.DECLARED, "decision": {"instanceType": own.INSTANCE, "layout": LAYOUT}},
        ),
        (
            "aws:ec2/instance:Instance",
            {"instanceType": own.INSTANCE, "tags": {"gpusize:workload": "chat"}},
        ),
    ],
)
def test_resources_of_a_stack_are_judged_with_it(
    folder: Path, kind: str, properties: dict[str, Any], today: Any
) -> None:
    session = Session(Run(Settings(), today, folder, (folder / "ours",), region=own.REGION))
    assert session.problems == ()
    seen = Seen(kind, "chat", f"urn:pulumi:dev::app::{kind}::chat", properties)
    assert session.judge(seen) == ()
    bad = json.loads(json.dumps(properties).replace(own.INSTANCE, "g4dn.xlarge"))
    found = session.judge(seen._replace(props=bad))
    assert "weights-exceed-vram" not in {finding.name for finding in found}
    assert found  # no kernel of that format is known for an older GPU


def test_a_bad_overlay_is_the_only_problem_that_is_told(folder: Path, today: Any) -> None:
    (folder / "ours" / "gpus.csv").write_text("id,nonsense\nx,y\n")
    session = Session(Run(Settings(), today, folder, (folder / "ours",)))
    assert {Path(problem.file).parent.name for problem in session.problems} == {"ours"}
