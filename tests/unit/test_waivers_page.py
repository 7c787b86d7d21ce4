"""docs/waivers.md shows the files of an example, and what the command says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpusize_policies.settings_waivers import KEYS
from gpusize_policies.waivers import State
from tools.readme import render

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "waivers.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "waived-demo"
SHOWN = re.findall(r"^```\n\$ gpusize (\w+) (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["gpusize-policy.yaml", "gpusize.yaml"])
def test_the_files_are_those_of_the_example(name: str) -> None:
    assert f"```yaml\n{(EXAMPLE / name).read_text(encoding='utf-8')}```" in PAGE


def test_the_tags_are_those_of_the_example() -> None:
    program = (EXAMPLE / "Pulumi.yaml").read_text(encoding="utf-8")
    (block,) = [
        text for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S) if "tags:" in text
    ]
    assert [line for line in block.splitlines() if line not in program] == []


def test_the_commands_print_what_is_shown() -> None:
    assert [command for command, _, _ in SHOWN] == ["waivers", "check"]
    assert render("docs/waivers.md") == PAGE
    listed, checked = (text for _, _, text in SHOWN)
    assert State.SOON.value in listed
    assert "(waived: all-day)" in checked


def test_every_key_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(KEYS)
