"""What ties resources to declarations, where the tie is not plain."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from gpusize.documents import Document
from gpusize.tokens import COMPONENT, WORKLOAD_TAG
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load
from gpusize_policies.finding import Finding
from gpusize_policies.machines import Seen
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import Settings
from gpusize_policies.stack import entries
from tests.rules.stacks import UNKNOWN

TODAY = datetime.date(2026, 11, 30)
INSTANCE = "aws:ec2/instance:Instance"
CHAT: dict[str, Any] = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "region": "us-east-1",
}
DECISION = {
    "instanceType": "g6.xlarge",
    "nodes": 1,
    "market": "on-demand",
    "layout": {"tp": 1, "pp": 1, "dp": 1, "ep": 1},
}


@pytest.fixture
def session() -> Session:
    return Session(Run(Settings(), TODAY))


def component(parent: str, **changes: Any) -> Seen:
    props = {**CHAT, **changes, "decision": DECISION}
    return Seen(COMPONENT, "chat", f"urn:{parent}::chat", props)


def tagged(urn: str = "urn::box", parent: str = "") -> Seen:
    props = {"instanceType": "g6.xlarge", "tags": {WORKLOAD_TAG: "chat"}}
    return Seen(INSTANCE, "box", urn, props, parent)


def told(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.message for finding in findings if finding.code == "GPU900"]


def test_a_tag_that_points_nowhere_is_helped(session: Session) -> None:
    assert session.judge(tagged()) == ()
    ((_, finding),) = session.finish([tagged()])
    assert "no GpuWorkload of this stack has that name" in finding.message
    assert finding.fix == "declare it as a GpuWorkload or in gpusize.yaml"


def test_a_declaration_that_is_not_readable_names_its_own_fix(session: Session) -> None:
    (message,) = told(session.judge(component("a", futureField=1)))
    assert "the declaration is not readable: futureField" in message
    assert "install the same gpusize" in message


def test_components_of_one_name_are_told_apart(session: Session) -> None:
    first, second = component("a"), component("b", contextLength=4096)
    assert told(session.judge(first)) == []
    (message,) = told(session.judge(second))
    assert "several GpuWorkloads of this stack are called chat" in message
    for parent in (first, second):
        assert session.judge(tagged(f"{parent.urn}-box", parent.urn)) == ()
    (message,) = told(session.judge(tagged()))
    assert "several GpuWorkloads" in message


def test_a_component_seen_again_is_no_twin(session: Session) -> None:
    assert told(session.judge(component("a"))) == []
    assert told(session.judge(component("a"))) == []
    assert list(session.finish([component("a")])) == []


def test_a_lock_is_not_written_from_components_of_one_name() -> None:
    outputs = {**DECISION, "declaration": CHAT}
    resources = [
        {"type": COMPONENT, "urn": f"urn:pulumi:dev::app::{parent}${COMPONENT}::chat"}
        for parent in ("a:b:C", "d:e:F")
    ]
    data = {"deployment": {"resources": [{**one, "outputs": outputs} for one in resources]}}
    with pytest.raises(GpuSizeError, match="several components are called chat"):
        entries(Document(data, {}, "stack.json"), TODAY, load())


def test_a_tag_that_is_misspelt_is_helped(tmp_path: Path) -> None:
    declared = {"workloads": {"chatt": CHAT}}
    folder = tmp_path / "program"
    folder.mkdir()
    (tmp_path / "shared.yaml").write_text(json.dumps(declared))
    settings = Settings(workloads=tmp_path / "shared.yaml")
    session = Session(Run(settings, TODAY, folder))
    ((_, finding),) = session.finish([tagged()])
    assert finding.fix == "did you mean chatt?"
    assert "no entry of ../shared.yaml has that name" in finding.message


@pytest.mark.parametrize("key", ["instanceCount", "endDate"])
def test_a_reservation_of_unknown_size_or_end_is_not_blamed(session: Session, key: str) -> None:
    props = {
        "instanceType": "g6.xlarge",
        "instanceCount": 1,
        "endDate": "2027-01-31",
        "tags": {WORKLOAD_TAG: "chat"},
        key: UNKNOWN,
    }
    reservation = "aws:ec2/capacityReservation:CapacityReservation"
    assert session.judge(component("a")) == ()
    held = Seen(reservation, "held", "urn::held", props)
    assert session.judge(held) == ()
    ((_, finding),) = session.finish([held])
    assert finding.code == "GPU900"
    assert key in finding.message
