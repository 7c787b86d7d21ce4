"""What a component makes passes the rules on machines, judged as anybody's resources are."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusize.workload import parse_workload
from gpusize_policies.machines import Seen
from gpusize_policies.reading import EXTRACTORS, SURROUNDINGS
from gpusize_policies.registry import RULES, Needs
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import DEFAULTS
from tests.unit.component.mocked import run

TODAY = datetime.date(2026, 11, 30)
MACHINES = {rule.code for rule in RULES if rule.needs is Needs.RESOURCE}
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192,
    "region": "us-east-1",
}
TRAINED = {
    "kind": "fine-tuning",
    "method": "full",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 4096,
    "microBatch": 2,
    "globalBatch": 32,
    "recompute": "full",
    "tokens": 1000000000,
    "nodesPerReplica": 2,
    "instanceType": "p4d.24xlarge",
    "interruptionTolerance": "none",
    "region": "us-east-1",
}
BATCH = {
    "kind": "batch-inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "contextLength": 8192,
    "concurrency": 8,
    "region": "us-east-1",
    "runHours": 4,
    "market": "spot",
}
IN_GROUP = {"createGroup": True, "subnetIds": ["subnet-1", "subnet-2"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(args: dict[str, Any]) -> Iterator[Seen]:
    """Everything of a component that rules read, as if nobody knew who made it."""
    mocks, _, _ = run(args)
    ours = [one for one in mocks.made if one.typ in EXTRACTORS or one.typ in SURROUNDINGS]
    for one in ours:
        text = {key: json.dumps(value, default=str) for key, value in one.inputs.items()}
        others = [other for other in ours if other is not one]
        sources = {
            key: [f"urn:{on.typ}::{on.name}" for on in others if f'"{on.name}-id"' in words]
            for key, words in text.items()
        }
        yield Seen(one.typ, one.name, f"urn:{one.typ}::{one.name}", one.inputs, sources=sources)


@pytest.mark.parametrize(
    ("declaration", "wiring"),
    [
        (TRAINED, {"createInstance": True}),
        (TRAINED, IN_GROUP),
        ({**TRAINED, "reserve": {"until": "2027-01-31"}, "zone": "us-east-1a"}, IN_GROUP),
        (CHAT, IN_GROUP),
        (BATCH, IN_GROUP),
    ],
)
def test_a_component_makes_nothing_that_a_rule_on_machines_blames(
    declaration: dict[str, Any], wiring: dict[str, Any], folder: Path
) -> None:
    parse_workload(declaration)
    resources = list(made({**declaration, **wiring}))
    assert resources
    (folder / "gpusize.yaml").write_text(json.dumps({"workloads": {"chat": declaration}}))
    session = Session(Run(DEFAULTS, TODAY, folder))
    early = [one for seen in resources for one in session.judge(seen)]
    found = [*early, *(one for _, one in session.finish(resources))]
    assert [one.message for one in found if one.code in MACHINES] == []
