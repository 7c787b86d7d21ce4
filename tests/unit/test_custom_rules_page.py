"""What the page about custom rules shows is read and judged as it says."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml

from gpusize.workload import parse_workload
from gpusize_catalog.store import load
from gpusize_policies.case import Case
from gpusize_policies.custom import plugins
from gpusize_policies.custom.reading import TEXTS
from gpusize_policies.judge import evaluate
from gpusize_policies.settings import Settings
from gpusize_policies.settings_file import parse
from tests.rules.examples import TODAY

pytest.importorskip("cel_expr_python", reason="the extra `rules`, for Python 3.11 and newer")

PAGE = (Path(__file__).parents[2] / "docs/custom-rules.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
SAID = re.findall(r"```text\n(.*?)\n```", PAGE, re.S)
MODULE = re.findall(r"```python\n(.*?)```", PAGE, re.S)
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "weightsFormat": "fp8",
    "engine": "vllm@0.8",
    "contextLength": 8192,
    "concurrency": 8,
    "region": "us-east-1",
    "instanceType": "p5.48xlarge",
    "market": "on-demand",
    "replicas": {"min": 1, "max": 3},
}


def judged(chosen: Settings) -> dict[str, str]:
    case = Case("night", parse_workload(CHAT), catalog=load(), today=TODAY, settings=chosen)
    return {one.code: one.message for one in evaluate(case, chosen)}


def test_the_rules_of_the_page_find_what_they_are_about() -> None:
    chosen, problems = parse(yaml.safe_load(SHOWN[0]), Path())
    assert not problems
    found = judged(chosen)
    assert "8 GPUs in up to 3 replicas" in found["TEAM001"]
    assert "p5.48xlarge costs" in found["TEAM002"]
    assert "vLLM 0.8" in found["TEAM003"]
    assert "TEAM004" not in found


def test_what_is_wrong_is_told_as_the_page_says() -> None:
    rules = yaml.safe_load(SHOWN[0])["customRules"]
    rules[0]["require"] = "plan.gpusCount <= 8"
    rules[1]["forbid"] = "plan.cost.hourly > 20"
    _, problems = parse({"customRules": rules}, Path())
    told = [f"{one.path}: {one.message} ({one.fix})" for one in problems]
    assert told == SAID[0].splitlines()


def test_null_is_told_as_the_page_says() -> None:
    rule = {"id": "TEAM009", "name": "a-rule", "require": "workload.runHours < 9.0", "message": "x"}
    chosen, _ = parse({"customRules": [rule]}, Path())
    assert judged(chosen)["GPU900"] == SAID[1]


def test_every_key_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(TEXTS)


def test_the_plug_in_of_the_page_judges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "acme_rules.py").write_text(MODULE[0], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        plugins, "_offered", lambda: {"acme": EntryPoint("acme", "acme_rules", plugins.GROUP)}
    )
    try:
        chosen, problems = parse(yaml.safe_load(SHOWN[1]), Path())
    finally:
        sys.modules.pop("acme_rules", None)
    assert not problems
    assert "3 replicas. Fix: take an even number." in judged(chosen)["ACME001"]
