"""docs/brownfield.md shows what the command writes and says, and every rule that mends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from gpusize_policies.cli import main
from gpusize_policies.registry import RULES
from gpusize_policies.settings_file import parse

PAGE = (Path(__file__).parents[2] / "docs" / "brownfield.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```yaml\n# ([\w-]+\.yaml)\n(.*?)^```$", PAGE, re.M | re.S)
BASELINE = "gpusize-baseline.json"
DAY = ("--today", "2026-11-30")


def test_the_baseline_is_what_the_command_writes_and_honours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES[:2]:
        (tmp_path / name).write_text(f"# {name}\n{text}")
    assert f"gpusize check --write-baseline {BASELINE} gpusize.yaml" in PAGE
    assert main(["check", "--write-baseline", BASELINE, "gpusize.yaml", *DAY]) == 0
    (shown,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    assert (tmp_path / BASELINE).read_text() == shown
    capsys.readouterr()
    assert main(["check", "gpusize.yaml", *DAY]) == 0
    (said,) = re.findall(r"^```\n\$ gpusize check gpusize.yaml\n(.*?)  …\n```$", PAGE, re.M | re.S)
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.parametrize("text", [text for name, text in FILES if name == "gpusize-policy.yaml"])
def test_settings_are_well_formed(text: str) -> None:
    assert parse(yaml.safe_load(text), Path())[1] == ()


def test_every_rule_that_mends_is_listed() -> None:
    listed = re.findall(r"^\| \[(GPU\d+)\]\((rules/[\w-]+\.md)\)", PAGE, re.M)
    assert listed == [(rule.code, rule.docs.removeprefix("docs/")) for rule in RULES if rule.remedy]
