"""What was left out is said with what was taken for it."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.declaring.defaults import DEFAULTS, defaulted
from gpusize.memory.result import Assumption
from gpusize.workload import WORKLOAD_CLASSES, parse_workload

BASE = {"kind": "serving", "model": "m", "region": "us-east-1", "contextLength": 4096}


def said(**declared: Any) -> dict[str, str]:
    return {a.field: a.value for a in defaulted(parse_workload({**BASE, **declared}))}


def test_every_default_in_force_is_said() -> None:
    assert said() == {
        "engine.name": "vllm",
        "concurrency": "1",
        "replicas.max": "1",
        "userFacing": "true",
        "traffic.shape": "steady",
        "storage.weights": "root-volume",
        "interruptionTolerance": "none",
    }


def test_what_was_declared_is_not_said() -> None:
    declared = {
        "engine": "sglang",
        "concurrency": 4,
        "replicas": 1,
        "userFacing": True,
        "traffic": {"shape": "bursty"},
        "storage": {"weights": "s3"},
        "interruptionTolerance": "none",
    }
    assert said(**declared) == {}


def test_a_group_with_another_field_leaves_its_default_in_force() -> None:
    assert said(engine={"eager": True})["engine.name"] == "vllm"


def test_kinds_have_their_own_defaults() -> None:
    batch = said(kind="batch-inference", modality="vision-language")
    assert batch["interruptionTolerance"] == "restartable"
    assert batch["images.width"] == "1024"
    assert "userFacing" not in batch


@pytest.mark.parametrize("default", DEFAULTS, ids=lambda default: default.path)
def test_every_default_is_of_some_kind(default: Any) -> None:
    first = default.path.partition(".")[0]
    assert any(first in cls.model_fields for cls in WORKLOAD_CLASSES.values())
    assert Assumption(default.path, "", default.why).why
