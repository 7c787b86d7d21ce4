"""What a component registered is read from a state that anybody may have written."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from gpusize.tokens import COMPONENT
from gpusize_catalog.store import load
from gpusize_policies.declared import read_component
from gpusize_policies.machines import Seen
from gpusize_policies.reading import Value
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import DEFAULTS

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192.0,
    "region": "us-east-1",
}
ODD = [None, True, 0, -1, 2.5, 1e300, float("inf"), float("nan"), "eight", [], {}, {"a": [1]}]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("key", ["nodes", "market", "layout", "tp", "instanceType", "version"])
def test_an_odd_decision_is_left_out_and_never_raises(key: str, value: Any) -> None:
    layout = {"tp": 1.0, "pp": 1.0, **({"tp": value} if key == "tp" else {})}
    decision = {"instanceType": "g6.xlarge", "nodes": 1.0, "layout": layout, key: value}
    declared = read_component({**CHAT, "decision": decision}, load())
    assert declared.workload is not None
    pins = declared.decided.pins if declared.decided else {}
    counts = [pins[name] for name in ("nodes_per_replica", "tp", "pp") if name in pins]
    assert all(isinstance(count, int) and count >= 1 for count in counts)
    session = Session(Run(DEFAULTS, datetime.date(2026, 11, 30), region="us-east-1"))
    seen = Seen(COMPONENT, "chat", "urn:chat", {**CHAT, "decision": decision})
    for finding in session.judge(seen):
        assert "could not be evaluated" not in finding.message


@pytest.mark.parametrize(
    "key", ["region", "availabilityZone", "instanceType", "userData", "imageId", "subnetId"]
)
@pytest.mark.parametrize(
    "value", ["CANARY", "CANARY-1", "x-CANARY-1\x1b]0;x\x07", "us-east-1\x1b["]
)
def test_no_property_of_another_shape_is_repeated(key: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "gpusize.yaml").write_text(json.dumps({"workloads": {"chat": CHAT}}))
    run = Run(DEFAULTS, datetime.date(2026, 11, 30), tmp_path, region=value)
    props = {"instanceType": "g4dn.xlarge", "tags": {"gpusize:workload": "chat"}, key: value}
    seen = Seen("aws:ec2/instance:Instance", "x", "urn:x", props)
    session = Session(run)
    found = session.judge(seen._replace(provider_region=Value(value)))
    assert found
    for finding in found:
        assert finding.message.isprintable()
        assert "CANARY" not in finding.message
        assert "CANARY" not in str(finding.numbers)
