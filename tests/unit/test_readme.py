"""What the README shows is what gpusize answers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gpusize.workload import parse_workload
from gpusize_policies.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DAY = ("--today", "2026-11-30")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHOWN = [text for language, text in BLOCKS if not language]
"""Blocks without a language: a command after `$`, and what it prints."""


def yaml_block(mark: str) -> str:
    (found,) = [text for language, text in BLOCKS if language == "yaml" and mark in text]
    return str(found)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main([*arguments, *DAY])
    return capsys.readouterr().out


def words(text: str) -> str:
    """The text without line breaks: what the engine prints is wrapped by hand to be read."""
    return " ".join(text.split())


@pytest.mark.parametrize("shown", [text for text in SHOWN if text.startswith("$ gpusize")])
def test_a_command_prints_what_is_shown(
    shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, _, output = shown.partition("\n")
    _, _, subcommand, file = command.split()
    (tmp_path / file).write_text(yaml_block(f"# {file}\n"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    head, is_cut, rest = output.partition("  …\n")
    assert rest == ""
    found = printed(capsys, subcommand, file)
    assert found.startswith(head)
    assert is_cut or found == head


def test_the_preview_says_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = [words(text) for text in SHOWN if text.startswith("$ pulumi preview")]
    program = yaml_block("instanceType: g5.xlarge")
    (tmp_path / "Pulumi.yaml").write_text(f"name: chat\nruntime: yaml\n{program}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"(GPU\d+ .*)", printed(capsys, "check", "Pulumi.yaml"))
    assert len(found) == len(re.findall(r"GPU\d+ [a-z-]+: ", shown)) > 0
    assert [line for line in found if words(line) not in shown] == []


def test_the_declaration_in_python_is_one() -> None:
    (program,) = [text for language, text in BLOCKS if language == "python"]
    (declared,) = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Dict)]
    assert parse_workload(ast.literal_eval(declared)).kind.value == "serving"


def test_every_subcommand_that_is_shown_exists(capsys: pytest.CaptureFixture[str]) -> None:
    shown = set(re.findall(r"^ {4}gpusize (\w+)", README, re.MULTILINE))
    main(["--help"])
    assert shown <= set(re.findall(r"\w+", capsys.readouterr().out))
    assert shown
