"""The checked-in package schema: fresh, complete, and safe for generated SDKs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpusize import __version__
from gpusize.inputs import AMOUNTS, SWITCHES, WIRING
from gpusize.names import to_camel
from gpusize.schema import (
    ANSWERS,
    SCHEMA_FILE,
    arguments,
    package_schema,
    render,
)
from gpusize.schema_args import ARGS_FILE
from gpusize.tokens import COMPONENT, RESOLVE
from gpusize.workload import WORKLOAD_CLASSES

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def schema():
    return json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_checked_in_schema_is_fresh():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == render(package_schema()), (
        "run `python -m gpusize.schema`"
    )


def test_checked_in_argument_types_are_fresh():
    assert ARGS_FILE.read_text(encoding="utf-8") == arguments(), "run `python -m gpusize.schema`"


def test_argument_types_are_the_inputs(schema):
    from gpusize.component import GpuWorkloadArgs

    inputs = schema["resources"][COMPONENT]["inputProperties"]
    assert {to_camel(name) for name in GpuWorkloadArgs.__annotations__} == set(inputs)


def test_version_is_the_distribution_s(schema):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert schema["version"] == __version__
    assert f'version = "{__version__}"' in project


def test_every_reference_leads_to_a_type(schema):
    known = {f"#/types/{token}" for token in schema["types"]}
    assert set(references(schema)) <= known


def test_every_field_of_every_kind_is_an_input(schema):
    inputs = schema["resources"][COMPONENT]["inputProperties"]
    fields = {
        field.alias for kind in WORKLOAD_CLASSES.values() for field in kind.model_fields.values()
    }
    assert fields | set(WIRING) | set(SWITCHES) | set(AMOUNTS) == set(inputs)


def test_sizing_is_plain_and_wiring_is_not(schema):
    inputs = schema["resources"][COMPONENT]["inputProperties"]
    assert {name for name, one in inputs.items() if not one.get("plain")} == set(WIRING)
    for token, one in schema["types"].items():
        if "Decided" not in token:
            assert all(field["plain"] for field in one.get("properties", {}).values()), token


def test_nothing_is_defaulted_by_an_sdk(schema):
    assert '"default"' not in json.dumps(schema)


def test_every_input_and_answer_is_described(schema):
    component = schema["resources"][COMPONENT]
    for fields in (component["inputProperties"], component["properties"]):
        assert [name for name, one in fields.items() if not one.get("description")] == []


def test_short_forms_are_welcome(schema):
    inputs = schema["resources"][COMPONENT]["inputProperties"]
    kinds = {
        name: {part.get("type", "group") for part in inputs[name]["oneOf"]}
        for name in ("engine", "model", "promptTokens", "replicas")
    }
    assert kinds == {
        "engine": {"string", "group"},
        "model": {"string", "group"},
        "promptTokens": {"number", "group"},
        "replicas": {"number", "group"},
    }


def test_ranges_and_defaults_are_told_in_words(schema):
    fields = schema["types"]["gpusize:index:Engine"]["properties"]
    assert "Must be more than 0 and at most 1." in fields["memoryFraction"]["description"]
    assert "Default: vllm." in fields["name"]["description"]


def test_enums_carry_their_values(schema):
    market = schema["types"]["gpusize:index:Market"]
    assert [one["value"] for one in market["enum"]] == ["on-demand", "spot", "capacity-block"]
    assert market["enum"][2]["name"] == "CapacityBlock"


def test_function_takes_the_declaration_and_gives_the_answers(schema):
    function = schema["functions"][RESOLVE]
    assert set(function["outputs"]["properties"]) == set(ANSWERS)
    assert {"model", "today", "name"} <= set(function["inputs"]["properties"])
    assert not set(WIRING) & set(function["inputs"]["properties"])
