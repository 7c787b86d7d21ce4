"""The policy pack's process, asked as the engine asks it; the fast way and the public way."""

from __future__ import annotations

import json

import pytest

from gpusize_policies.registry import RULES
from gpusize_policies.setup import CUSTOM_POLICY, SETTINGS_POLICY
from tests.contract.processes import UNKNOWN, pack, resource, secret

COMPONENT = "gpusize:index:GpuWorkload"
INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
STACK = "pulumi:pulumi:Stack"
CANARY = "CANARY-7d1f"

CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "contextLength": 8192.0,
    "concurrency": 8.0,
    "region": "us-east-1",
}
BIG = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct", "weightsFormat": "fp16"}
LAYOUT = {"tp": 1.0, "pp": 1.0, "dp": 1.0, "ep": 1.0}


def decision(instance_type, market="on-demand"):
    return {
        "instanceType": instance_type,
        "nodes": 1.0,
        "market": market,
        "layout": LAYOUT,
        "version": "0.1.0",
    }


GOOD = {**CHAT, "decision": decision("g6.xlarge")}
BAD = {
    **BIG,
    "instanceType": "g5.xlarge",
    "market": "spot",
    "decision": decision("g5.xlarge", "spot"),
}


@pytest.fixture(scope="module", params=["fast", "public"])
def start(request, environ, tmp_path_factory):
    """Return a starter of packs beside a program; the public way hides the private methods."""
    return starter_of(request.param, environ, tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def start_fast(environ, tmp_path_factory):
    """Return a starter for what both ways have in common, or the public way cannot do."""
    return starter_of("fast", environ, tmp_path_factory.mktemp("program"))


def starter_of(way, environ, folder):
    (folder / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")

    def starter(files=None, config=None, where=None):
        place = where or folder
        for name, text in (files or {}).items():
            (place / name).write_text(text)
        prelude = "import gpusize_policies.pack as p; p.NEEDED = ('_not_there',)"
        return pack({**environ, "PWD": str(place)}, config, prelude if way == "public" else "")

    return starter


@pytest.fixture(scope="module")
def gate(start):
    """Return one pack with a file of declarations, for all tests that do not configure it."""
    declared = {"workloads": {"filed": CHAT, "big": BIG, "trained": TRAINED}}
    with start({"gpusize.yaml": json.dumps(declared)}) as running:
        yield running


def names(told):
    return {one.policy for one in told}


def test_every_rule_is_a_policy(gate):
    info = gate.info()
    assert info.name == "gpusize"
    assert {one.name for one in info.policies} == {
        SETTINGS_POLICY,
        CUSTOM_POLICY,
        *(one.name for one in RULES),
    }
    assert all(one.description for one in info.policies)


def test_levels_follow_the_rules(gate):
    levels = gate.levels()
    assert levels["weights-exceed-vram"] == "mandatory"
    assert levels["always-on-for-bursty"] == "advisory"
    assert levels["cannot-evaluate"] == "advisory"
    assert "remediate" not in levels.values()


def test_a_good_component_passes(gate):
    assert gate.analyze(COMPONENT, "good", GOOD) == []


def test_a_bad_component_fails_with_numbers_and_the_fix(gate):
    told = {one.policy: one for one in gate.analyze(COMPONENT, "bad", BAD)}
    assert {"weights-exceed-vram", "spot-for-user-facing"} <= set(told)
    memory = told["weights-exceed-vram"]
    assert (memory.level, memory.severity) == ("mandatory", "high")
    assert "GPU101" in memory.message
    assert "GiB" in memory.message
    assert "Fix:" in memory.message
    assert "g5.xlarge" in memory.message


def test_the_same_question_gets_the_same_answer(gate):
    assert gate.analyze(COMPONENT, "again", BAD) == gate.analyze(COMPONENT, "again", BAD)


@pytest.mark.parametrize("kind", [INSTANCE, TEMPLATE])
def test_a_plain_resource_is_judged_by_its_tag(gate, kind):
    tagged = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "big"}}
    assert "weights-exceed-vram" in names(gate.analyze(kind, "raw", tagged))
    good = {"instanceType": "g6.xlarge", "tags": {"gpusize:workload": "filed"}}
    assert "weights-exceed-vram" not in names(gate.analyze(kind, "raw", good))


def test_a_plain_resource_on_spot_is_judged(gate):
    spot = {
        "instanceType": "g6.xlarge",
        "instanceMarketOptions": {"marketType": "spot"},
        "tags": {"gpusize:workload": "filed"},
    }
    assert "spot-for-user-facing" in names(gate.analyze(INSTANCE, "raw", spot))


def test_tags_of_launched_instances_count(gate):
    template = {
        "instanceType": "g5.xlarge",
        "tagSpecifications": [
            {"resourceType": "instance", "tags": {"gpusize:workload": "big"}},
        ],
    }
    assert "weights-exceed-vram" in names(gate.analyze(TEMPLATE, "raw", template))


def test_a_tag_may_point_at_a_component_of_the_stack(gate):
    gate.analyze(COMPONENT, "declared", {**BIG, "decision": decision("p5.48xlarge")})
    tagged = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "declared"}}
    assert "weights-exceed-vram" in names(gate.analyze(INSTANCE, "raw", tagged))


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("aws:s3/bucket:Bucket", {"bucket": "weights", "tags": {"gpusize:workload": "big"}}),
        ("pulumi:providers:aws", {"region": "us-east-1"}),
        (INSTANCE, {"instanceType": "g5.xlarge"}),
        (INSTANCE, {"instanceType": "g5.xlarge", "tags": {"team": "assistants"}}),
        (TEMPLATE, {"instanceType": "g5.xlarge", "tagSpecifications": [{"tags": {"a": "b"}}]}),
        (INSTANCE, {}),
        (STACK, {}),
    ],
)
def test_what_does_not_concern_it_passes(gate, kind, properties):
    assert gate.analyze(kind, "other", properties) == []


def test_the_child_of_a_component_is_judged_with_it(gate):
    bad = resource(COMPONENT, "parent", BAD)
    gate.analyze(COMPONENT, "parent", BAD)
    child = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "parent"}}
    assert gate.analyze(TEMPLATE, "parent", child, parent=bad["urn"]) == []
    changed = {"instanceType": "g4dn.xlarge", "tags": {"gpusize:workload": "parent"}}
    assert names(gate.analyze(TEMPLATE, "changed", changed, parent=bad["urn"]))


def test_region_comes_from_the_resource_then_its_provider(gate):
    tags = {"gpusize:workload": "filed"}
    everywhere = gate.analyze(INSTANCE, "a", {"instanceType": "g6.xlarge", "tags": tags})
    nowhere = {"instanceType": "g6.xlarge", "tags": tags, "region": "af-south-1"}
    by_property = gate.analyze(INSTANCE, "b", nowhere)
    by_provider = gate.analyze(
        INSTANCE, "c", {"instanceType": "g6.xlarge", "tags": tags}, region="af-south-1"
    )
    assert names(by_property) == names(by_provider) != names(everywhere)


@pytest.mark.parametrize(
    "properties",
    [
        {"instanceType": UNKNOWN},
        {"instanceType": "g5.xlarge", "instanceMarketOptions": {"marketType": UNKNOWN}},
        {"instanceType": "g5.xlarge", "instanceMarketOptions": UNKNOWN},
    ],
)
def test_unknown_values_are_one_finding_at_the_end(gate, properties):
    whole = {**properties, "tags": {"gpusize:workload": "big"}}
    early = gate.analyze(INSTANCE, "unknown", whole)
    late = gate.analyze_stack(resource(INSTANCE, "unknown", whole))
    (told,) = early + late
    assert told.policy == "cannot-evaluate"
    assert UNKNOWN not in told.message


@pytest.mark.parametrize("tags", [UNKNOWN, {"gpusize:workload": UNKNOWN}])
def test_unknown_tags_are_told_only_on_gpus(gate, tags):
    gpu = {"instanceType": "g5.xlarge", "tags": tags}
    assert gate.analyze(INSTANCE, "who", gpu) == []
    assert names(gate.analyze_stack(resource(INSTANCE, "who", gpu))) == {"cannot-evaluate"}
    cpu = {"instanceType": "m5.xlarge", "tags": tags}
    assert gate.analyze_stack(resource(INSTANCE, "cpu", cpu)) == []


def test_a_type_that_comes_from_a_launch_template_is_followed(gate):
    template = resource(TEMPLATE, "lt", {"instanceType": "g5.xlarge"})
    inputs = {"launchTemplate": {"id": UNKNOWN}, "tags": {"gpusize:workload": "big"}}
    instance = resource(INSTANCE, "from-template", inputs)
    assert gate.analyze(INSTANCE, "from-template", inputs) == []
    told = gate.analyze_stack(
        template, {**instance, "sources": {"launchTemplate": [template["urn"]]}}
    )
    assert "weights-exceed-vram" in names(told)
    assert {one.urn for one in told} == {instance["urn"]}


def test_a_group_is_judged_with_its_template_and_only_once(gate):
    template = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "big"}}
    inputs = {"minSize": 1.0, "maxSize": 1.0, "launchTemplate": {"id": UNKNOWN}}
    early = gate.analyze(TEMPLATE, "lt-group", template)
    assert "weights-exceed-vram" in names(early)
    assert gate.analyze(GROUP, "group", inputs) == []
    behind = resource(TEMPLATE, "lt-group", template)
    group = {**resource(GROUP, "group", inputs), "sources": {"launchTemplate": [behind["urn"]]}}
    late = gate.analyze_stack(behind, group)
    assert {one.message for one in late} & {one.message for one in early} == set()
    assert {one.urn for one in late} <= {group["urn"]}


def test_a_group_overrides_the_type_of_its_template(gate):
    template = resource(TEMPLATE, "lt-mixed", {"instanceType": "g5.xlarge"})
    inputs = {
        "minSize": 1.0,
        "maxSize": 1.0,
        "tags": [{"key": "gpusize:workload", "value": "filed", "propagateAtLaunch": True}],
        "mixedInstancesPolicy": {
            "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0.0},
            "launchTemplate": {
                "launchTemplateSpecification": {"launchTemplateId": UNKNOWN},
                "overrides": [{"instanceType": "g4dn.xlarge"}],
            },
        },
    }
    group = resource(GROUP, "mixed", inputs)
    told = gate.analyze_stack(
        template, {**group, "sources": {"mixedInstancesPolicy": [template["urn"]]}}
    )
    assert {one.urn for one in told} == {group["urn"]}
    assert "spot-for-user-facing" in names(told)
    assert any("g4dn.xlarge" in one.message for one in told)


TRAINED = {
    "kind": "fine-tuning",
    "method": "full",
    "model": "meta-llama/Llama-3.1-8B",
    "sequenceLength": 4096.0,
    "microBatch": 2.0,
    "globalBatch": 32.0,
    "recompute": "full",
    "tokens": 1e9,
    "interruptionTolerance": "none",
    "region": "us-east-1",
}
NEAR = {"strategy": "cluster"}
TAGGED = [{"resourceType": "instance", "tags": {"gpusize:workload": "trained"}}]
EFA = [{"interfaceType": "efa", "networkCardIndex": float(card)} for card in range(4)]


def cluster(gate, template, group, near=None, name="nodes"):
    """Send a template and a group of two nodes as the engine does, and return what is told late."""
    inputs = {"instanceType": "p4d.24xlarge", "tagSpecifications": TAGGED, **template}
    size = {"minSize": 2.0, "maxSize": 2.0, "launchTemplate": {"id": UNKNOWN}, **group}
    sources = {"launchTemplate": [resource(TEMPLATE, name, inputs)["urn"]]}
    others = []
    if near is not None:
        others.append(resource(PLACEMENT_GROUP, name, near))
        sources["placementGroup"] = [others[0]["urn"]]
        gate.analyze(PLACEMENT_GROUP, name, near)
    early = [*gate.analyze(TEMPLATE, name, inputs), *gate.analyze(GROUP, name, size)]
    late = gate.analyze_stack(
        *others,
        resource(TEMPLATE, name, inputs),
        {**resource(GROUP, name, size), "sources": sources},
    )
    return early, late


def test_a_template_is_not_blamed_for_what_its_group_says(gate):
    early, late = cluster(gate, {}, {}, name="bare")
    assert early == []
    network = {"multi-node-without-efa", "multi-node-without-placement-group"}
    assert network <= names(late)
    assert {one.urn for one in late} == {resource(GROUP, "bare", {})["urn"]}
    early, late = cluster(
        gate, {"networkInterfaces": EFA}, {"placementGroup": UNKNOWN}, NEAR, name="joined"
    )
    assert not network & names([*early, *late])


def test_unknown_interfaces_are_told_once_and_nothing_passes_for_them(gate):
    _, late = cluster(
        gate, {"networkInterfaces": UNKNOWN}, {"placementGroup": UNKNOWN}, NEAR, name="unknown"
    )
    (told,) = [one for one in late if one.policy == "cannot-evaluate"]
    assert "networkInterfaces" in told.message
    assert "multi-node-without-efa" not in names(late)


def test_secrets_beside_what_is_joined_are_never_shown(gate):
    hidden = {"userData": secret(CANARY), "keyName": CANARY, "placement": {"groupName": CANARY}}
    _, late = cluster(gate, hidden, {"name": CANARY, "context": secret(CANARY)}, name="hidden")
    assert "multi-node-without-efa" in names(late)
    assert CANARY not in str(late)


def test_what_the_provider_computes_does_not_hide_what_was_asked(gate):
    inputs = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "nobody-yet"}}
    assert gate.analyze(INSTANCE, "computed", inputs) == []
    outputs = {**inputs, "instanceType": UNKNOWN, "availabilityZone": UNKNOWN}
    told = gate.analyze_stack(
        resource(INSTANCE, "computed", outputs),
        resource(COMPONENT, "nobody-yet", {"declaration": BIG, **decision("p5.48xlarge")}),
    )
    assert "weights-exceed-vram" in names(told)


def test_a_tag_that_points_nowhere_is_told(gate):
    tagged = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "nobody"}}
    assert gate.analyze(INSTANCE, "lost", tagged) == []
    (told,) = gate.analyze_stack(resource(INSTANCE, "lost", tagged))
    assert told.policy == "cannot-evaluate"
    assert "nobody" in told.message


def test_a_component_that_registers_later_is_waited_for(gate):
    tagged = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "later"}}
    assert gate.analyze(INSTANCE, "early", tagged) == []
    outputs = {"declaration": BIG, **decision("p5.48xlarge")}
    told = gate.analyze_stack(
        resource(INSTANCE, "early", tagged), resource(COMPONENT, "later", outputs)
    )
    assert "weights-exceed-vram" in names(told)


def test_what_was_judged_is_not_judged_again_at_the_end(gate):
    tagged = {"instanceType": "g5.xlarge", "tags": {"gpusize:workload": "big"}}
    early = gate.analyze(INSTANCE, "once", tagged)
    assert early
    late = gate.analyze_stack(resource(INSTANCE, "once", tagged))
    assert names(late) == {"production-without-fallback"}  # which needs the stack
    assert not {one.message for one in late} & {one.message for one in early}


def test_secrets_are_never_shown(gate):
    tagged = {
        "instanceType": "g5.xlarge",
        "userData": secret(CANARY),
        "keyName": CANARY,
        "tags": secret({"gpusize:workload": "big", "note": CANARY}),
        "ami": secret(CANARY),
    }
    told = gate.analyze(INSTANCE, "secret", tagged)
    assert "weights-exceed-vram" in names(told)
    assert CANARY not in str(told)
    whole = gate.analyze_stack(resource(INSTANCE, "secret-2", tagged))
    assert CANARY not in str(whole)


@pytest.mark.parametrize(
    "properties",
    [
        {"kind": "nonsense"},
        {**CHAT, "model": CANARY},
        {**CHAT, "model": {"a": CANARY}},
        {**CHAT, "decision": CANARY},
        {**CHAT, "decision": {"instanceType": 7.0, "layout": CANARY, "nodes": CANARY}},
        {**CHAT, "contextLength": UNKNOWN},
        {},
    ],
)
def test_nothing_makes_the_pack_raise(gate, properties):
    for one in gate.analyze(COMPONENT, "odd", properties):
        assert one.policy in gate.levels()
    gate.analyze_stack(resource(COMPONENT, "odd-2", properties))


@pytest.mark.parametrize("tags", [7.0, ["a"], {"gpusize:workload": 7.0}, {"gpusize:workload": ""}])
def test_odd_tags_do_not_make_the_pack_raise(gate, tags):
    odd = {"instanceType": "g5.xlarge", "tags": tags}
    found = [
        *gate.analyze(INSTANCE, "odd", odd),
        *gate.analyze_stack(resource(INSTANCE, "odd", odd)),
    ]
    assert names(found) <= {"cannot-evaluate", "undeclared-gpu"}


def test_nothing_is_remediated(gate):
    answer = gate.remediate(COMPONENT, "bad", BAD)
    assert not answer.remediations


def test_levels_are_configured_by_policy(start):
    with start() as running:
        running.configure(
            {
                "weights-exceed-vram": "advisory",
                "spot-for-user-facing": {"enforcementLevel": "disabled"},
            }
        )
        told = {one.policy: one.level for one in running.analyze(COMPONENT, "bad", BAD)}
        assert told["weights-exceed-vram"] == "advisory"
        assert "spot-for-user-facing" not in told
        assert running.analyze(STACK, "app-dev", {}) == []


def test_remediate_is_taken_for_mandatory(start_fast):
    with start_fast() as running:
        running.configure({"weights-exceed-vram": "remediate"})
        told = {one.policy: one.level for one in running.analyze(COMPONENT, "bad", BAD)}
        assert told["weights-exceed-vram"] == "mandatory"


def test_misspelt_configuration_is_told(start_fast):
    with start_fast() as running:
        running.configure(
            {
                "weight-exceed-vram": "advisory",
                "spot-for-user-facing": {"levle": "advisory"},
                "cannot-evaluate": {"unknowns": "error"},
            }
        )
        told = running.analyze(STACK, "app-dev", {})
        assert {(one.policy, one.level) for one in told} == {(SETTINGS_POLICY, "mandatory")}
        text = "\n".join(one.message for one in told)
        assert "did you mean weights-exceed-vram" in text
        assert "spot-for-user-facing.levle" in text
        assert "unknowns" not in text


@pytest.fixture
def place(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    return tmp_path


def test_settings_beside_the_program_set_levels(start, place):
    text = "preset: observe\nlevels:\n  GPU101: error\n  GPU501: off\n"
    with start({"gpusize-policy.yaml": text}, where=place) as running:
        levels = running.levels()
        assert levels["weights-exceed-vram"] == "mandatory"
        assert levels["spot-for-user-facing"] == "disabled"
        assert levels["no-plan-fits"] == "advisory"


def test_what_the_settings_turn_off_a_configuration_turns_on(start, place):
    with start({"gpusize-policy.yaml": "levels: {GPU101: off}\n"}, where=place) as running:
        assert "weights-exceed-vram" not in names(running.analyze(COMPONENT, "bad", BAD))
        running.configure({"weights-exceed-vram": "mandatory"})
        assert "weights-exceed-vram" in names(running.analyze(COMPONENT, "bad", BAD))


def test_broken_files_beside_the_program_are_told(start_fast, place):
    files = {
        "gpusize-policy.yaml": "levels: {GPU9999: error}\n",
        "gpusize.yaml": "workloads: {chat: {kind: serving}}\n",
        "gpusize.lock": "{",
    }
    with start_fast(files, where=place) as running:
        told = running.analyze(STACK, "app-dev", {})
        assert names(told) == {SETTINGS_POLICY}
        text = "\n".join(one.message for one in told)
        for name in ("GPU9999", "contextLength", "gpusize.lock"):
            assert name in text


def test_unknown_models_of_the_file_are_told(start_fast, place):
    declared = {"chat": {**CHAT, "model": "meta-llama/Llama-3.1-8B-Instrct"}, "good": CHAT}
    with start_fast({"gpusize.yaml": json.dumps({"workloads": declared})}, where=place) as running:
        (told,) = running.analyze(STACK, "app-dev", {})
    assert (told.policy, told.level) == (SETTINGS_POLICY, "mandatory")
    assert "workloads.chat.model" in told.message
    assert "meta-llama/Llama-3.1-8B-Instruct" in told.message


def test_bad_overlay_is_told_once_and_never_raised(start_fast, place):
    (place / "ours").mkdir()
    (place / "ours" / "gpus.csv").write_text("id,nonsense\nx,y\n")
    with start_fast(config={"gpusize:catalog": "ours"}, where=place) as running:
        told = running.analyze(STACK, "app-dev", {})
        assert names(told) == {SETTINGS_POLICY}
        assert names(running.analyze(COMPONENT, "good", GOOD)) == {SETTINGS_POLICY}


def test_bad_configuration_of_the_stack_is_told(start_fast, place):
    with start_fast(config={"gpusize:today": "tomorrow"}, where=place) as running:
        (told,) = running.analyze(STACK, "app-dev", {})
        assert "gpusize:today" in told.message


def test_settings_file_of_the_stack_configuration(start_fast, place):
    (place / "team.yaml").write_text("preset: observe\n")
    with start_fast(config={"gpusize:settings": "team.yaml"}, where=place) as running:
        assert running.levels()["weights-exceed-vram"] == "advisory"
    with start_fast(config={"gpusize:settings": "missing.yaml"}, where=place) as running:
        (told,) = running.analyze(STACK, "app-dev", {})
        assert "missing.yaml" in told.message


def test_settings_file_of_the_pack_configuration(start_fast, place):
    (place / "team.yaml").write_text("levels: {GPU501: off}\n")
    with start_fast(where=place) as running:
        running.configure({SETTINGS_POLICY: {"file": "team.yaml"}})
        assert names(running.analyze(COMPONENT, "bad", BAD)) == {"weights-exceed-vram"}


def test_another_project_is_not_taken_for_the_program(start_fast, tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: other\nruntime: yaml\n")
    files = {"gpusize-policy.yaml": "preset: observe\n"}
    with start_fast(files, where=tmp_path) as running:
        assert running.levels()["weights-exceed-vram"] == "mandatory"


def test_locked_decision_that_a_newer_catalog_would_change_is_told(start_fast, place):
    from tests.unit.component.test_component import locked

    locked(place, instance_type="g6e.xlarge")
    kept = {**CHAT, "engine": {"name": "vllm", "version": "0.20"}}
    kept["decision"] = {**decision("g6e.xlarge"), "locked": True, "catalogDigest": "old"}
    with start_fast(where=place) as running:
        told = running.analyze(COMPONENT, "chat", kept)
    assert "decision-drift" in names(told)
    assert "catalog-mismatch" not in names(told)


STARTS = f"""#!/bin/bash
export HF_TOKEN={CANARY}
vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 128K --api-key {CANARY}
echo {CANARY}
"""


@pytest.mark.parametrize("wrap", [secret, str])
def test_an_undeclared_machine_is_judged_by_what_it_starts_and_shows_nothing_else(gate, wrap):
    props = {"instanceType": "g5.xlarge", "region": "us-east-1", "userData": wrap(STARTS)}
    told = gate.analyze(INSTANCE, f"starts-{wrap.__name__}", props)
    assert names(told) == {"kv-cache-exceeds-vram"}
    assert "inferred from user data: model, contextLength" in told[0].message
    late = gate.analyze_stack(resource(INSTANCE, f"starts-{wrap.__name__}", props))
    assert late == []
    assert CANARY not in str(told)


def test_what_a_machine_without_gpus_starts_is_not_judged(gate):
    props = {"instanceType": "m7i.large", "region": "us-east-1", "userData": STARTS}
    assert gate.analyze(INSTANCE, "starts-small", props) == []
    assert gate.analyze_stack(resource(INSTANCE, "starts-small", props)) == []


UNTAGGED = {"instanceType": "p5.48xlarge", "tags": {"owner": "ml"}}


def test_a_gpu_that_nobody_declared_is_advice_until_settings_require_it(gate, start, tmp_path):
    assert gate.analyze(INSTANCE, "bare", UNTAGGED) == []
    (told,) = gate.analyze_stack(resource(INSTANCE, "bare", UNTAGGED))
    assert (told.policy, told.level) == ("undeclared-gpu", "advisory")
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    files = {"gpusize-policy.yaml": "requireDeclaration: true\n"}
    with start(files, where=tmp_path) as strict:
        assert strict.analyze(INSTANCE, "bare", UNTAGGED) == []
        (told,) = strict.analyze_stack(resource(INSTANCE, "bare", UNTAGGED))
        assert (told.policy, told.level) == ("undeclared-gpu", "mandatory")
        assert "resource 'bare': launches p5.48xlarge" in told.message
        cpu = resource(INSTANCE, "cpu", {"instanceType": "m7i.large"})
        assert strict.analyze_stack(cpu) == []


def test_two_workloads_are_too_dear_together(start, tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    with start({"gpusize-policy.yaml": "team: {maxHourly: 1.5}\n"}, where=tmp_path) as team:
        one = {**GOOD, "decision": decision("g6.xlarge")}
        assert "hourly-budget-exceeded" not in names(team.analyze(COMPONENT, "first", one))
        assert "hourly-budget-exceeded" not in names(team.analyze(COMPONENT, "second", one))
        (told,) = team.analyze_stack()
        assert (told.policy, told.level, told.urn) == ("hourly-budget-exceeded", "mandatory", "")
        assert "2 workloads and machines cost $1.61 per hour" in told.message


def test_a_part_of_a_stack_says_nothing_of_what_the_rest_would(start, tmp_path):
    settings = {"requireDeclaration": True, "team": {"requiredTags": ["team"]}}
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    with start({"gpusize-policy.yaml": json.dumps(settings)}, where=tmp_path) as found:
        template = {"instanceType": "g6.xlarge", "imageId": "ami-1"}
        group = {"launchTemplate": {"id": UNKNOWN}, "minSize": 1.0, "maxSize": 1.0}
        found.analyze(TEMPLATE, "lt", template)
        found.analyze(GROUP, "boxes", group)
        assert found.analyze_stack(resource(TEMPLATE, "lt", template)) == []
        found.analyze(TEMPLATE, "lt", template)
        whole = found.analyze_stack(resource(TEMPLATE, "lt", template))
        assert {"undeclared-gpu", "missing-required-tags"} <= names(whole)


def test_a_group_without_a_tag_launches_what_its_template_selects(start, tmp_path):
    settings = {"requireDeclaration": True, "team": {"requiredTags": ["team"]}}
    (tmp_path / "Pulumi.yaml").write_text("name: app\nruntime: yaml\n")
    template = {"instanceType": "g6.xlarge", "imageId": "ami-1"}
    tags = [{"key": "team", "value": "research", "propagateAtLaunch": True}]
    group = {"launchTemplate": {"id": UNKNOWN}, "minSize": 1.0, "maxSize": 1.0, "tags": tags}
    made = resource(TEMPLATE, "lt", template)
    boxes = {**resource(GROUP, "boxes", group), "sources": {"launchTemplate": [made["urn"]]}}
    with start({"gpusize-policy.yaml": json.dumps(settings)}, where=tmp_path) as found:
        told = [
            (one.policy, one.urn.rpartition("::")[2]) for one in found.analyze_stack(made, boxes)
        ]
    assert told == [("undeclared-gpu", "boxes")]
