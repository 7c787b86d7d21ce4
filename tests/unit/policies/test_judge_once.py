"""What holds for every case of a run is told once, and what gpusize chose is its own."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusize.tokens import COMPONENT
from gpusize.workload import parse_workload
from gpusize_catalog.store import load
from gpusize_policies.case import Case, Decided
from gpusize_policies.commands.check import judge_files
from gpusize_policies.inputs import Context
from gpusize_policies.machines import Seen
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import DEFAULTS

TODAY = datetime.date(2026, 11, 30)
LATE = datetime.date(2027, 6, 1)
FIELDS = {
    "kind": "serving",
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 4096,
    "promptTokens": {"mean": 500},
    "outputTokens": {"mean": 100},
    "region": "us-east-1",
}


@pytest.fixture
def session() -> Session:
    return Session(Run(DEFAULTS, LATE))


def stale(session: Session, name: str) -> int:
    seen = Seen(type=COMPONENT, name=name, urn=f"urn:{name}", props={"declaration": dict(FIELDS)})
    return [one.code for one in session.judge(seen)].count("GPU807")


def test_the_pack_tells_it_on_the_first_resource_alone(session: Session) -> None:
    assert [stale(session, name) for name in ("a", "b", "a")] == [1, 0, 1]


def test_the_command_tells_it_on_the_first_workload_alone(tmp_path: Path) -> None:
    import json

    file = tmp_path / "gpusize.yaml"
    file.write_text(json.dumps({"workloads": {"a": FIELDS, "b": FIELDS}}), encoding="utf-8")
    judged, problems, whole, _ = judge_files([str(file)], Context(load(), DEFAULTS, LATE))
    assert problems == whole == ()
    codes = [[finding.code for finding in one.findings] for one in judged]
    assert [found.count("GPU807") for found in codes] == [1, 0]


@pytest.mark.parametrize(
    ("decided", "lock", "own"),
    [
        (None, None, True),
        (Decided({"instance_type": "g6.4xlarge"}), None, False),
        (Decided({"instance_type": "g6.4xlarge"}, gpusize_version="0.1.0"), None, True),
        (Decided({"instance_type": "g6.4xlarge"}), SimpleNamespace(pins={}), False),
        (
            Decided({"instance_type": "g6.4xlarge"}),
            SimpleNamespace(pins={"instance_type": "g6.4xlarge"}),
            True,
        ),
    ],
)
def test_what_a_component_or_the_lock_decided_is_gpusizes_own(
    decided: Decided | None, lock: object, own: bool
) -> None:
    workload = parse_workload(dict(FIELDS))
    case = Case(
        "chat", workload, catalog=load(), today=TODAY, settings=DEFAULTS, decided=decided, lock=lock
    )
    assert case.is_own_choice is own
    pinned = workload.model_copy(update={"instance_type": "g6.4xlarge"})
    assert not Case("chat", pinned, catalog=load(), today=TODAY, settings=DEFAULTS).is_own_choice
