"""The JSON Schema of declarations: valid, current, and of one mind with the parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpusize.workload import WORKLOAD_CLASSES, parse_workload, workload_schema
from gpusize.workload_schema import FILE, render

SCHEMA = workload_schema()
FILES = Draft202012Validator(SCHEMA)
ONE = Draft202012Validator({**SCHEMA["$defs"]["workload"], "$defs": SCHEMA["$defs"]})
TABLE = yaml.safe_load((Path(__file__).parent / "bad_declarations.yml").read_text(encoding="utf-8"))
BASE: dict[str, Any] = TABLE["base"]
VALUE_WORDS = (
    "expected",
    "is missing (",
    "is not a field",
    "belongs to",
    "must be",
    "is not a known",
)
"""Problems that a schema can see; relations between fields and given-twice are the parser's."""
NOT_OF_A_SCHEMA = {"one field in both spellings"}


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_checked_in_file_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == render(SCHEMA), (
        "run python -m gpusize.workload_schema"
    )


def test_every_field_is_described() -> None:
    for name, definition in SCHEMA["$defs"].items():
        assert definition.get("description"), name
        for key, field in definition.get("properties", {}).items():
            assert field.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("cls", WORKLOAD_CLASSES.values(), ids=lambda cls: cls.__name__)
def test_every_kind_is_a_choice(cls: type) -> None:
    assert {"$ref": f"#/$defs/{cls.__name__}"} in SCHEMA["$defs"]["workload"]["oneOf"]


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"modality": "text"},
        {"modality": "vision-language", "images": {"perPrompt": 2}},
        {"engine": "vllm@0.20", "promptTokens": 500, "replicas": 2},
        {"engine": {"name": "sglang", "eager": True}, "promptTokens": {"mean": 5, "p95": 9}},
        {
            "model": {
                "totalParams": 8,
                "layers": 1,
                "hidden": 1,
                "heads": 1,
                "kvHeads": 1,
                "vocab": 1,
            }
        },
        {"weightsFormat": "float16", "tags": {"owner": "ml"}},
        {"kind": "evaluation", "runHours": 2, "checkpoints": {"intervalMinutes": 10}},
    ],
    ids=str,
)
def test_good_declarations_pass_both(declared: dict[str, Any]) -> None:
    raw = {**BASE, **declared}
    parse_workload(raw)
    ONE.validate(raw)
    FILES.validate({"workloads": {"chat": raw}})


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["case"])
def test_bad_keys_and_values_fail_both(case: dict[str, Any]) -> None:
    raw = {**({} if case.get("bare") else BASE), **case["declared"]}
    seen = [text for text in case["problems"] if any(word in text for word in VALUE_WORDS)]
    if seen and case["case"] not in NOT_OF_A_SCHEMA:
        assert not ONE.is_valid(raw)


@pytest.mark.parametrize("raw", [{}, {"workloads": {}}, {"workloads": {"a b": BASE}}, []])
def test_files_of_another_shape_fail(raw: Any) -> None:
    assert not FILES.is_valid(raw)
