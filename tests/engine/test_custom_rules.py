"""A preview that a rule of the settings fails, and that a rule in Python warns."""

from __future__ import annotations

import json
import shutil
import textwrap

import pytest

pytest.importorskip("cel_expr_python", reason="the extra `rules`, for Python 3.11 and newer")

MODULE = '''
from gpusize_policies.api import Needs, Remark, Severity, fact, rule


@rule("ACME001", "lonely-gpu", Severity.WARN, since="1.0", needs=Needs.WORKLOAD)
def lonely_gpu(case):
    """A single GPU has no neighbour.

    Fix: take two.
    """
    if fact(case, "plan.gpus") == 1:
        yield Remark("there is one GPU", ("take two",))
'''


def rules(ceiling):
    entry = {
        "id": "TEAM001",
        "name": "dear-hours",
        "severity": "error",
        "forbid": f"plan.cost.hourly > {ceiling}",
        "message": "{plan.instanceType} costs {plan.cost.hourly} USD per hour",
    }
    return {"today": "2026-11-30", "customRules": [entry]}


def test_a_rule_of_the_settings_fails_a_preview_and_one_in_python_warns(workshop, tmp_path):
    made = workshop.example("chat-8b-l4")
    file = made.folder / "gpusize-policy.yaml"
    file.write_text(json.dumps(rules("0.1")), encoding="utf-8")
    failed = made.preview().fail()
    (told,) = [one for one in failed.violations if one.policy == "dear-hours"]
    assert told.level == "mandatory"
    assert "USD per hour" in told.message

    (tmp_path / "acme_rules_of_engine.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    folder = tmp_path / "acme-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[gpusize.rules]\nacme = acme_rules_of_engine\n")
    more = {**rules("1000.0"), "rulePlugins": ["acme"]}
    file.write_text(json.dumps(more), encoding="utf-8")
    passed = made.preview(environ={"PYTHONPATH": str(tmp_path)}).succeed()
    assert {one.policy: one.level for one in passed.violations}["lonely-gpu"] == "advisory"

    other = made.folder / "other-policy.yaml"
    shutil.copy(file, other)
    other.write_text(json.dumps(rules("0.1")), encoding="utf-8")
    file.unlink()
    named = {"gpusize-settings": {"file": "other-policy.yaml"}}
    late = made.preview(policy_pack_config=named).fail()
    assert {one.policy: one.level for one in late.violations}["custom-rule"] == "mandatory"
