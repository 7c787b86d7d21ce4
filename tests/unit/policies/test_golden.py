"""What the command prints, whole: text and JSON, against files in `tests/golden`.

`.venv/bin/python -m pytest --update-golden tests/unit/policies/test_golden.py` writes them anew.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from gpusize_policies.cli import main
from gpusize_policies.output import FORMATS
from gpusize_policies.output.schema import schema

GOLDEN = Path(__file__).parents[2] / "golden"
TODAY = ["--today", "2026-11-30"]
DIGEST = re.compile(r"\b[0-9a-f]{12}\b")
VERSION = re.compile(r"""(?<=catalog )\d{4}-\d\d-\d\d|(?<="catalogVersion": ")\d{4}-\d\d-\d\d""")
"""Digest and date of the catalog change with any data, the rest only with what is said."""
HOW_TO_UPDATE = "if this is meant: `.venv/bin/python -m pytest --update-golden`, and read the diff"


def _printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main(arguments)
    return VERSION.sub("<date>", DIGEST.sub("<digest>", capsys.readouterr().out))


WAIVED = ["waived.yaml", "--settings", "waivers-policy.yaml", *TODAY]
CASES = {
    "waived.txt": ["check", *WAIVED],
    "waived.json": ["check", "--format", "json", *WAIVED],
    "waivers.txt": ["waivers", *WAIVED],
    "waivers.json": ["waivers", "--format", "json", *WAIVED],
    "check.txt": ["check", "gpusize.yaml", *TODAY],
    "check.json": ["check", "pinned.yaml", "--format", "json", *TODAY],
    "resolve.txt": ["resolve", "gpusize.yaml", *TODAY],
    "explain.txt": ["explain", "gpusize.yaml", *TODAY],
    "rules.txt": ["rules"],
    "rule.txt": ["explain", "GPU101"],
    "gpu.txt": ["catalog", "show", "L4"],
    "help.txt": ["--help"],
}


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_agreed(
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(GOLDEN)
    printed = _printed(CASES[name], capsys)
    path = GOLDEN / name
    if request.config.getoption("--update-golden"):
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8"), HOW_TO_UPDATE


def test_the_json_report_is_as_its_schema_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDEN)
    main(["check", "gpusize.yaml", "--format", "json", *TODAY])
    published = schema()
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.Draft202012Validator(published).validate(json.loads(capsys.readouterr().out))


def test_a_report_on_waivers_is_as_the_schema_says() -> None:
    report = json.loads((GOLDEN / "waived.json").read_text(encoding="utf-8"))
    dated = {**report, "catalogVersion": "2026-11-01"}
    jsonschema.Draft202012Validator(schema()).validate(dated)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_the_same_on_every_run(
    form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDEN)
    runs = {_printed(["check", "gpusize.yaml", "--format", form, *TODAY], capsys) for _ in "ab"}
    assert len(runs) == 1
