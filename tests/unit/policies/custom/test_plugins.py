"""Rules in Python, from a package that is installed for the test."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusize.workload import parse_workload
from gpusize_catalog.store import load
from gpusize_policies import api
from gpusize_policies.case import Case
from gpusize_policies.judge import evaluate
from gpusize_policies.settings_file import parse

Install = Callable[..., None]
MODULE = "acme_rules_for_tests"
HEAD = "from gpusize_policies.api import Needs, Remark, Severity, fact, rule\n"
RULE = '''
@rule("{code}", "{name}", Severity.WARN, since="1.0", needs=Needs.WORKLOAD)
def {function}(case):
    """Something is odd.

    Fix: make it even.
    """
    {body}
'''
CANARY = "CANARY-7d1f"


def written(
    code: str = "ACME001", name: str = "odd-gpus", body: str = "yield Remark('odd')"
) -> str:
    return RULE.format(code=code, name=name, body=body, function=f"f_{name.replace('-', '_')}")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return what puts a distribution with a plug-in on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text: str, value: str = MODULE, name: str = "acme") -> None:
        (tmp_path / f"{MODULE}.py").write_text(HEAD + text, encoding="utf-8")
        folder = tmp_path / "acme-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        entry = f"[gpusize.rules]\n{name} = {value}\n"
        (folder / "entry_points.txt").write_text(entry, encoding="utf-8")

    yield make
    sys.modules.pop(MODULE, None)


def read(*names: Any, **more: Any) -> tuple[Any, list[str]]:
    found, problems = parse({**more, "rulePlugins": list(names)}, Path())
    return found, [f"{one.path}: {one.message} | {one.fix}" for one in problems]


def judged(chosen: Any) -> dict[str, Any]:
    declared = {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "contextLength": 8192,
        "concurrency": 8,
        "region": "us-east-1",
    }
    today = datetime.date(2026, 11, 30)
    case = Case("chat", parse_workload(declared), catalog=load(), today=today, settings=chosen)
    return {one.code: one for one in evaluate(case, chosen)}


def test_a_plug_in_that_is_named_judges_as_the_others_do(install: Install) -> None:
    install(written(body="yield Remark(f\"{fact(case, 'plan.gpus')} GPU\", ('make it even',))"))
    chosen, told = read("acme", levels={"odd-gpus": "error"})
    assert told == []
    found = judged(chosen)["ACME001"]
    assert found.severity.value == "error"
    assert found.message.startswith("ACME001 odd-gpus: workload 'chat': 1 GPU. Fix: make it even.")
    assert found.docs == "docs/custom-rules.md"


def test_a_package_that_is_installed_adds_nothing_by_itself(install: Install) -> None:
    install(f"raise RuntimeError('{CANARY}')")
    assert "ACME001" not in judged(parse({}, Path())[0])
    assert MODULE not in sys.modules


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        (f"raise RuntimeError('{CANARY}')", MODULE, "cannot be loaded (RuntimeError)"),
        ("", f"{MODULE}:nothing", "cannot be loaded (AttributeError)"),
        ("", "not_there_at_all", "cannot be loaded (ModuleNotFoundError)"),
        ("", MODULE, "has no rules"),
        (written("GPU999"), MODULE, "GPU999 has not the form of a code"),
        (written(name="weights-exceed-vram"), MODULE, "is the product's"),
        (written(name="custom-rule"), MODULE, "is the product's"),
        (written(name="Odd"), MODULE, "has not the form of one"),
        (written() + written("ACME002"), MODULE, ""),
    ],
)
def test_what_is_wrong_with_a_plug_in_is_told(
    install: Install, text: str, value: str, told: str
) -> None:
    install(text, value)
    _, problems = read("acme")
    assert len(problems) == bool(told), problems
    assert all(told in one and CANARY not in one for one in problems)


def test_a_list_a_function_and_a_rule_are_entry_points_too(install: Install) -> None:
    more = "ALL = [f_odd_gpus]\ndef made():\n    return ALL\n"
    for value in (f"{MODULE}:ALL", f"{MODULE}:made", f"{MODULE}:f_odd_gpus"):
        sys.modules.pop(MODULE, None)
        install(written() + more, value)
        chosen, told = read("acme")
        assert told == []
        assert "ACME001" in judged(chosen)


def test_a_plug_in_that_is_not_installed_is_told_with_those_that_are(install: Install) -> None:
    install(written())
    assert "did you mean acme?" in read("amce")[1][0]
    assert read("acme", "acme")[1] == ["rulePlugins[1]: stands twice | keep one"]
    assert "takes a list" in read(3)[1][0]


def test_a_rule_that_raises_is_told_by_the_type_alone(install: Install) -> None:
    install(written(body=f"raise ValueError('{CANARY}'); yield"))
    chosen, told = read("acme")
    assert told == []
    found = judged(chosen)
    assert "ACME001 odd-gpus could not be evaluated (ValueError)" in found["GPU900"].message
    assert all(CANARY not in one.message for one in found.values())


def test_the_public_names_stay() -> None:
    assert api.__all__ == [
        "FACTS_VERSION",
        "UNKNOWN",
        "Blank",
        "Case",
        "Doubt",
        "Needs",
        "Remark",
        "Rule",
        "Severity",
        "Waivable",
        "fact",
        "rule",
    ]
    assert all(hasattr(api, name) for name in api.__all__)
