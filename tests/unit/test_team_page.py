"""What the page about team rules shows is read as it says."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
import yaml

from gpusize.environments import Where
from gpusize_catalog.store import load
from gpusize_policies.finding import Subject
from gpusize_policies.inputs import Context, Declaration, cases, together
from gpusize_policies.judge import evaluate
from gpusize_policies.settings import Settings
from gpusize_policies.settings_file import parse
from tests.rules.examples import TODAY

PAGE = (Path(__file__).parents[2] / "docs/team-rules.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
SAID = re.findall(r"```text\n(.*?)\n```", PAGE, re.S)
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "promptTokens": 1000,
    "outputTokens": 200,
    "concurrency": 8,
    "region": "us-east-1",
}


def settings(text: str) -> Settings:
    found, problems = parse(yaml.safe_load(text), Path())
    assert not problems, problems
    return found


@pytest.mark.parametrize("text", SHOWN)
def test_every_example_is_well_formed(text: str) -> None:
    assert settings(text).team


def test_the_sum_is_told_as_the_page_says() -> None:
    from gpusize.workload import parse_workload

    context = Context(load(), settings(SHOWN[1]), TODAY, use_lock=False)
    declared = {
        "chat": {**CHAT, "instanceType": "g6e.xlarge"},
        "draft": {**CHAT, "instanceType": "g6e.xlarge"},
        "rank": {**CHAT, "instanceType": "g6.xlarge"},
    }
    run = cases(
        {name: Declaration(parse_workload(one), Subject(name)) for name, one in declared.items()},
        context,
    )
    told = [one.message for one in evaluate(together(run, context), context.settings)]
    assert SAID[0] in told


def test_environments_are_chosen_as_the_page_says() -> None:
    found = settings(SHOWN[2])
    assert found.at(Where("dev")).team.max_hourly == 4
    assert found.at(Where("prod-eu")).team.max_hourly == 200
    research = found.at(Where("dev", {"purpose": "research-llm"})).team
    assert research.max_hourly == 4
    assert research.approval_of("pretrain-7b", TODAY) is not None
    assert research.approval_of("pretrain-7b", datetime.date(2027, 2, 1)) is None
    assert research.approval_of("chat", TODAY) is None
