"""Declarations of any shape: told or read, never a crash; spellings do not matter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpusize.declaring.fields import fields_of
from gpusize.declaring.plain import SHOWN
from gpusize.names import to_camel
from gpusize.versions import parse_version
from gpusize.workload import (
    WORKLOAD_CLASSES,
    InterruptionTolerance,
    Market,
    WeightsLocation,
    parse_workload,
    parse_workloads,
)
from gpusize.workload_schema import FILE
from gpusize_catalog.problems import GpuSizeError, Problem

SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))
ONE = Draft202012Validator({**SCHEMA["$defs"]["workload"], "$defs": SCHEMA["$defs"]})
KEYS = sorted({key for cls in WORKLOAD_CLASSES.values() for key in fields_of(cls)})

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=12) | st.sampled_from(KEYS), inner, max_size=5)
        | st.dictionaries(scalars, inner, max_size=2)
    ),
    max_leaves=12,
)
counts = st.integers(1, 10**6)
amounts = st.floats(0.001, 10**6) | counts.map(float)
fractions = st.floats(0.01, 1)
names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20)


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


def tokens(most: int) -> st.SearchStrategy[Any]:
    mean = st.integers(1, most)
    spread = mean.flatmap(
        lambda low: st.fixed_dictionaries({"mean": st.just(low), "p95": st.integers(low, 10**7)})
    )
    return mean | spread | st.fixed_dictionaries({"mean": mean})


def replicas() -> st.SearchStrategy[Any]:
    return st.integers(1, 64) | st.integers(0, 64).flatmap(
        lambda low: some(min=st.just(low), max=st.integers(max(1, low), 99))
    )


COMMON: dict[str, st.SearchStrategy[Any]] = {
    "weights_format": st.sampled_from(["auto", "fp8", "bf16", "awq", "nvfp4"]),
    "compute_precision": st.sampled_from(["auto", "bf16", "fp16"]),
    "kv_cache_format": st.sampled_from(["auto", "fp8", "bf16"]),
    "zone": st.sampled_from(["us-east-1a", "use1-az4"]),
    "tp": counts,
    "pp": counts,
    "dp": counts,
    "instance_type": st.sampled_from(["g6e.xlarge", "p5.48xlarge", "u-3tb1.56xlarge"]),
    "market": st.sampled_from([member.value for member in Market]),
    "interruption_tolerance": st.sampled_from([member.value for member in InterruptionTolerance]),
    "budget": some(per_hour=amounts, per_month=amounts),
    "storage": some(
        weights=st.sampled_from([member.value for member in WeightsLocation]),
        weights_region=st.sampled_from(["eu-west-1", "us-gov-west-1"]),
        root_volume_gib=counts,
        egress_gb_per_month=amounts,
    ),
    "tags": st.dictionaries(names, st.text(max_size=20), max_size=3),
    "engine": st.sampled_from(["vllm", "sglang@0.5.1", "llama.cpp@b4567"])
    | some(
        name=st.sampled_from(["vllm", "sglang"]),
        version=st.sampled_from(["0.20", "0.5.0.post3"]),
        memory_fraction=fractions,
        max_sequences=counts,
        eager=st.booleans(),
        cpu_offload_gib=amounts,
        lora_adapters=st.integers(0, 64),
    ),
    "prompt_tokens": tokens(2000),
    "output_tokens": tokens(2000),
    "concurrency": counts,
    "replicas": replicas(),
}
OF_KIND: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "serving": {
        "user_facing": st.booleans(),
        "latency": some(time_per_output_token_ms=amounts, time_to_first_token_ms=amounts),
        "traffic": some(hours_per_day=st.floats(0.1, 24), days_per_week=st.integers(1, 7)),
        "horizon_months": amounts,
    },
    "batch-inference": {"run_hours": amounts, "runs_per_month": amounts},
    "evaluation": {
        "run_hours": amounts,
        "checkpoints": st.fixed_dictionaries({"interval_minutes": amounts}),
    },
}
OF_MODALITY: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "text": {},
    "vision-language": {"images": some(per_prompt=counts, width=counts, height=counts)},
}


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(OF_KIND)))
    modality = draw(st.sampled_from(sorted(OF_MODALITY)))
    required = {
        "kind": st.just(kind),
        "modality": st.just(modality),
        "model": st.sampled_from(["Qwen/Qwen3-8B", "./config.json"]),
        "region": st.sampled_from(["us-east-1", "ap-southeast-2"]),
        "context_length": st.integers(4000, 10**6),
    }
    optional = {**COMMON, **OF_KIND[kind], **OF_MODALITY[modality]}
    made = draw(st.fixed_dictionaries(required, optional=optional))
    if made["region"] != "us-east-1":
        made.pop("zone", None)
    return made


def camel(value: Any, is_user_map: bool = False) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key if is_user_map else to_camel(key): camel(item, key == "tags")
        for key, item in value.items()
    }


def floats(value: Any) -> Any:
    """As Pulumi sends it: whole numbers as floats, absent values as nulls."""
    if isinstance(value, dict):
        return {key: floats(item) for key, item in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def told(read: Callable[[Any], Any], raw: Any) -> tuple[Problem, ...]:
    try:
        read(raw)
    except GpuSizeError as error:
        return error.problems
    return ()


@given(anything)
def test_anything_is_read_or_told(raw: Any) -> None:
    assert all(problem.fix for problem in told(parse_workload, raw))
    assert all(problem.fix for problem in told(parse_workloads, raw))


@given(declarations(), st.sampled_from(KEYS), anything)
def test_any_value_in_any_field_is_read_or_told(raw: dict[str, Any], key: str, value: Any) -> None:
    changed = {**raw, key: value}
    for problem in told(lambda it: parse_workload(it, "workloads.x"), changed):
        assert problem.fix
        assert problem.path.startswith("workloads.x")


@given(declarations(), st.text(min_size=SHOWN + 1, max_size=200))
def test_long_texts_are_never_repeated(raw: dict[str, Any], text: str) -> None:
    try:
        parse_workload({**raw, "market": text, text: 1, "replicas": text})
    except GpuSizeError as error:
        assert text not in str(error)


@given(declarations())
def test_both_spellings_are_one_declaration(raw: dict[str, Any]) -> None:
    assert parse_workload(camel(raw)) == parse_workload(raw)


@given(declarations())
def test_floats_and_nulls_change_nothing(raw: dict[str, Any]) -> None:
    absent = {key: None for key in COMMON if key not in raw}
    assert parse_workload({**floats(camel(raw)), **camel(absent)}) == parse_workload(raw)


@given(declarations(), st.booleans(), st.sampled_from(["python", "json"]))
def test_a_dump_reads_as_itself(raw: dict[str, Any], by_alias: bool, mode: str) -> None:
    workload = parse_workload(raw)
    dumped = workload.model_dump(mode=mode, by_alias=by_alias, exclude_unset=True)
    assert parse_workload(dumped) == workload
    assert parse_workload(workload.model_dump(mode=mode, by_alias=by_alias)) == workload


@given(declarations())
def test_pydantic_reads_the_same(raw: dict[str, Any]) -> None:
    workload = parse_workload(raw)
    assert type(workload).model_validate(raw) == workload


@given(declarations(), st.sampled_from(KEYS), anything)
def test_what_pydantic_refuses_is_not_read(raw: dict[str, Any], key: str, value: Any) -> None:
    changed = {**camel(raw), to_camel(key): value}
    try:
        workload = parse_workload(changed)
    except GpuSizeError:
        return
    kept = {name: item for name, item in changed.items() if item is not None}
    again = type(workload).model_validate(workload.model_dump(exclude_unset=True))
    assert again == workload
    assert {to_camel(name) for name in workload.model_fields_set} <= kept.keys()


@given(declarations())
def test_what_is_read_fits_the_schema(raw: dict[str, Any]) -> None:
    declared = camel(raw)
    parse_workload(declared)
    ONE.validate(declared)


@given(declarations(), st.sampled_from(KEYS), scalars)
def test_what_the_schema_refuses_is_not_read(raw: dict[str, Any], key: str, value: Any) -> None:
    changed = {**camel(raw), to_camel(key): value}
    try:
        parse_workload(changed)
    except GpuSizeError:
        return
    given_away = {key: item for key, item in changed.items() if item is not None}
    assert ONE.is_valid(given_away)


@given(st.dictionaries(names, declarations(), min_size=1, max_size=3))
def test_a_file_reads_like_its_workloads(raw: dict[str, Any]) -> None:
    usable = {name: item for name, item in raw.items() if name.replace("-", "")}
    if not usable:
        return
    found = parse_workloads({"workloads": usable})
    assert found == {name: parse_workload(item) for name, item in usable.items()}


@given(st.text(max_size=80))
def test_any_text_is_a_version_or_none(text: str) -> None:
    version = parse_version(text)
    assert version is None or parse_version(str(version)) == version


@given(st.lists(st.integers(0, 999), min_size=1, max_size=4))
def test_a_later_number_is_a_later_version(numbers: list[int]) -> None:
    text = ".".join(map(str, numbers))
    later = ".".join(map(str, [*numbers[:-1], numbers[-1] + 1]))
    one, other = parse_version(text), parse_version(later)
    assert one is not None
    assert other is not None
    assert one < other
