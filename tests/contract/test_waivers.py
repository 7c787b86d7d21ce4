"""Waivers in the policy pack's process: what is accepted is advice, what is not fails."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from gpusize_policies.setup import SETTINGS_POLICY
from tests.contract.processes import UNKNOWN, pack, resource

COMPONENT = "gpusize:index:GpuWorkload"
INSTANCE = "aws:ec2/instance:Instance"
STACK = "pulumi:pulumi:Stack"
CANARY = "CANARY-7d1f"
LAYOUT = {"tp": 1.0, "pp": 1.0, "dp": 1.0, "ep": 1.0}
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192.0,
    "concurrency": 8.0,
    "userFacing": True,
    "region": "us-east-1",
}
SPOT = {
    **CHAT,
    "instanceType": "g6.xlarge",
    "market": "spot",
    "decision": {
        "instanceType": "g6.xlarge",
        "nodes": 1.0,
        "market": "spot",
        "layout": LAYOUT,
        "version": "0.1.0",
    },
}
WAIVER = {
    "id": "demo",
    "rule": "GPU501",
    "workload": "demo",
    "reason": f"the demo may stop, see RUN-91 {CANARY}",
    "owner": CANARY,
    "expires": "2026-12-31",
}
RULE = "spot-for-user-facing"


@pytest.fixture(scope="module", params=["fast", "public"])
def gate(request, environ, tmp_path_factory):
    """Return a starter of packs beside a program with waivers; the public way is the SDK's."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    (folder / "gpusize.yaml").write_text(json.dumps({"workloads": {"demo": CHAT}}))
    prelude = "import gpusize_policies.pack as p; p.NEEDED = ('_not_there',)"
    public = prelude if request.param == "public" else ""

    @contextmanager
    def starter(*waivers, today="2026-11-30", **settings):
        text = json.dumps({"waivers": waivers, **settings})
        (folder / "gpusize-policy.yaml").write_text(text)
        with pack({**environ, "PWD": str(folder)}, {"gpusize:today": today}, public) as running:
            yield running

    return starter


def levels(told):
    return {one.policy: one.level for one in told}


def box(**tags):
    market = {"marketType": "spot"}
    named = {"gpusize:workload": "demo", **tags}
    return {"instanceType": "g6.xlarge", "instanceMarketOptions": market, "tags": named}


def test_a_waived_error_is_advice_under_a_policy_of_its_own(gate):
    with gate(WAIVER) as running:
        told = running.analyze(COMPONENT, "demo", SPOT)
        assert levels(told) == {"waived-finding": "advisory"}
        (one,) = told
        assert one.severity == "low"
        assert "waived by demo until 2026-12-31 (31 days left): GPU501" in one.message
        assert CANARY not in str(told)
        assert levels(running.analyze(COMPONENT, "other", SPOT)) == {RULE: "mandatory"}
        assert running.analyze_stack(resource(COMPONENT, "demo", SPOT)) == []


def test_a_day_after_its_end_the_preview_fails_again(gate):
    with gate(WAIVER, today="2026-12-31") as running:
        assert RULE not in levels(running.analyze(COMPONENT, "demo", SPOT))
    with gate(WAIVER, today="2027-01-01") as running:
        told = levels(running.analyze(COMPONENT, "demo", SPOT))
    assert told[RULE] == told["waiver-expired"] == "mandatory"
    assert "waived-finding" not in told


def test_an_invalid_waiver_waives_nothing_and_is_told_on_the_stack(gate):
    wrong = {key: value for key, value in WAIVER.items() if key != "owner"}
    with gate(wrong) as running:
        stack = running.analyze(STACK, "app-dev", {})
        assert levels(stack) == {"waiver-invalid": "mandatory"}
        assert "it has no owner" in stack[0].message
        assert levels(running.analyze(COMPONENT, "demo", SPOT))[RULE] == "mandatory"


def test_an_unknown_key_of_a_waiver_is_told_and_nothing_is_waived(gate):
    with gate({**WAIVER, "until": "2027-01-01"}) as running:
        assert levels(running.analyze(STACK, "app-dev", {})) == {SETTINGS_POLICY: "mandatory"}
        assert levels(running.analyze(COMPONENT, "demo", SPOT))[RULE] == "mandatory"


def test_a_tag_refers_to_a_waiver_and_waives_nothing_alone(gate):
    free = {key: value for key, value in WAIVER.items() if key != "workload"}
    with gate(free) as running:
        waived = levels(running.analyze(INSTANCE, "kiosk", box(**{"gpusize:waiver": "demo x"})))
        assert RULE not in waived
        assert waived["waived-finding"] == "advisory"
        assert waived["waiver-invalid"] == "mandatory"  # nobody has the id x
        plain = levels(running.analyze(INSTANCE, "plain", box()))
        unsaid = levels(running.analyze(INSTANCE, "unsaid", box(**{"gpusize:waiver": UNKNOWN})))
        assert plain[RULE] == unsaid[RULE] == "mandatory"
        late = running.analyze_stack(
            resource(INSTANCE, "unsaid", box(**{"gpusize:waiver": UNKNOWN}))
        )
    # What is not known of a resource is summed up when the whole stack is.
    assert levels(late)["cannot-evaluate"] == "advisory"


def test_a_waiver_that_accepts_nothing_is_told_at_the_end(gate):
    with gate({**WAIVER, "rule": "GPU307"}) as running:
        running.analyze(COMPONENT, "demo", SPOT)
        late = running.analyze_stack(resource(COMPONENT, "demo", SPOT))
    assert levels(late) == {"waiver-unused": "advisory"}


def test_a_component_brings_waivers_of_its_own(gate):
    own = {key: value for key, value in WAIVER.items() if key != "workload"}
    with gate() as running:
        told = running.analyze(COMPONENT, "own", {**SPOT, "waivers": [own]})
    assert levels(told) == {"waived-finding": "advisory"}


def test_a_team_that_takes_no_waivers_makes_them_fail(gate):
    with gate(WAIVER, levels={"GPU919": "error"}) as running:
        told = running.analyze(COMPONENT, "demo", SPOT)
    assert levels(told) == {"waived-finding": "mandatory"}
