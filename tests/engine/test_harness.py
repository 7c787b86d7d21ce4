"""The engine itself, as these tests run it: language host, pack proxy, stand-in aws provider."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.engine.harness import ROOT, Workshop, write_files
from tools.engine.preview import Story, preview

INSTANCE = """
resources:
  node:
    type: aws:ec2:Instance
    properties: {instanceType: g6.xlarge, ami: ami-1}
outputs:
  arn: ${node.arn}
"""

# A pack that reports what the engine told it.
TELLING_PACK = """
import pulumi
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def tell(args, report):
    if args.resource_type == "aws:ec2/instance:Instance":
        region = pulumi.Config("aws").get("region")
        dry = pulumi.runtime.is_dry_run()
        report(f"{pulumi.get_project()} {pulumi.get_stack()} {region} dry={dry}")

PolicyPack("telling", policies=[ResourceValidationPolicy("tell", "Tells.", tell)],
           enforcement_level=EnforcementLevel.ADVISORY)
"""

FAILING_PACK = TELLING_PACK.replace("ADVISORY", "MANDATORY")

PLAIN_PLUGIN = """
import sys
import pulumi
from pulumi.provider import main
from pulumi.provider.experimental.component import ComponentProvider

class Args:
    size: str

class Box(pulumi.ComponentResource):
    size: pulumi.Output[str]

    def __init__(self, name: str, args: Args, opts: pulumi.ResourceOptions | None = None):
        super().__init__("box:index:Box", name, {"size": args["size"]}, opts)
        BODY
        pulumi.CustomResource(
            "aws:ec2/instance:Instance", f"{name}-node", {"instanceType": args["size"]},
            pulumi.ResourceOptions(parent=self),
        )
        self.size = pulumi.Output.from_input(args["size"])
        self.register_outputs({"size": self.size})

main(ComponentProvider(components=[Box], name="box", version="0.1.0"), sys.argv[1:])
"""


def box_program(workshop: Workshop, body: str):
    """A YAML program with a component of a Python plugin."""
    plugin = workshop.plugin(PLAIN_PLUGIN.replace("BODY", body))
    return workshop.yaml(
        {
            "packages": {"box": str(plugin)},
            "resources": {"a": {"type": "box:index:Box", "properties": {"size": "g6.xlarge"}}},
            "outputs": {"size": "${a.size}"},
        }
    )


def marked(process: Path, mark: bytes) -> bool:
    """Whether a process has a mark in its environment."""
    try:
        return mark in (process / "environ").read_bytes().split(b"\0")
    except OSError:  # ended meanwhile, or not ours
        return False


def living(environ) -> list[int]:
    """Processes that a run of these tests started and that still run."""
    mark = f"GPUSIZE_TEST_RUN={environ['GPUSIZE_TEST_RUN']}".encode()
    return [int(process.name) for process in Path("/proc").glob("[0-9]*") if marked(process, mark)]


def wait_until(condition, seconds: float = 20.0) -> bool:
    """Look again and again whether something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_yaml_program_lives_from_preview_to_destroy(workshop):
    program = workshop.yaml(INSTANCE)

    assert program.preview(policy_pack=None).succeed().changes == {"create": 2}
    assert program.up(policy_pack=None).succeed().changes == {"create": 2}
    assert program.outputs()["arn"].startswith("arn:aws:ec2:us-east-1:")
    assert program.preview(policy_pack=None).succeed().changes == {"same": 2}
    assert program.destroy().succeed().changes == {"delete": 2}
    assert "resources" not in program.export()["deployment"]


def test_yaml_program_is_checked_against_the_provider_schema(workshop):
    program = workshop.yaml(INSTANCE.replace("instanceType", "instanceTyp"))

    run = program.preview(policy_pack=None).fail()

    assert "instanceTyp" in run.text


def test_python_program_runs_with_config_and_secrets(workshop):
    program = workshop.python(
        """
        import pulumi

        config = pulumi.Config()
        node = pulumi.CustomResource(
            "aws:ec2/instance:Instance", "node",
            {"instanceType": config.require("size"), "userData": config.require_secret("key")},
        )
        pulumi.export("size", config.require("size"))
        pulumi.export("key", config.require_secret("key"))
        pulumi.export("where", [pulumi.get_project(), pulumi.get_stack(),
                                pulumi.runtime.is_dry_run()])
        """
    )
    program.set_config("size", "g6.xlarge")
    program.set_config("key", "hush", secret=True)

    assert "hush" not in program.up(policy_pack=None).succeed().text
    assert program.outputs() == {
        "size": "g6.xlarge",
        "key": "hush",
        "where": ["app", "dev", False],
    }
    (node,) = [r for r in program.export()["deployment"]["resources"] if r.get("id")][-1:]
    assert "hush" not in str(node["inputs"]["userData"])


def test_change_updates_in_place(workshop):
    template = "resources: {t: {type: 'aws:ec2:LaunchTemplate', properties: {instanceType: SIZE}}}"
    text = template + "\noutputs: {version: '${t.latestVersion}'}"
    program = workshop.yaml(text.replace("SIZE", "g6.xlarge"))
    program.up(policy_pack=None).succeed()
    project = program.folder / "Pulumi.yaml"
    project.write_text(project.read_text().replace("g6.xlarge", "g6.2xlarge"))

    assert program.up(policy_pack=None).succeed().changes == {"same": 1, "update": 1}
    assert program.outputs() == {"version": 2}


def test_python_program_error_names_the_users_own_line(workshop):
    run = workshop.python("import pulumi\nraise ValueError('no such size')\n").preview(
        policy_pack=None
    )

    assert "no such size" in run.fail().text
    assert "__main__.py" in run.text
    assert "runpy" not in run.text


def test_python_run_error_is_told_without_traceback(workshop):
    run = workshop.python("import pulumi\nraise pulumi.RunError('too small')\n").preview(
        policy_pack=None
    )

    assert "too small" in run.fail().text
    assert "Traceback" not in run.text


def test_missing_environment_is_named(workshop):
    runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": "nowhere"}}
    run = workshop.python("", {"runtime": runtime}).preview(policy_pack=None)

    assert "nowhere" in run.fail().text


def test_component_of_a_python_plugin_is_previewed(workshop):
    run = box_program(workshop, "pass").preview(policy_pack=None).succeed()

    assert run.changes == {"create": 3}
    assert "g6.xlarge" in run.text


def test_pack_knows_project_stack_and_region(workshop):
    program = workshop.yaml(INSTANCE)
    program.set_config("aws:region", "eu-west-1")

    run = program.preview(policy_pack=workshop.pack(TELLING_PACK)).succeed()

    (violation,) = run.violations
    assert violation.message == "Tells.\napp dev eu-west-1 dry=True"
    assert (violation.policy, violation.pack, violation.level) == ("tell", "telling", "advisory")
    assert violation.resource == "node"


def test_mandatory_violation_fails_the_preview(workshop):
    run = workshop.yaml(INSTANCE).preview(policy_pack=workshop.pack(FAILING_PACK)).fail()

    assert run.policies == {"tell": 1}
    assert "[mandatory]  tell  (aws:ec2:Instance: node)" in run.text


def test_pack_config_sets_the_level(workshop):
    run = workshop.yaml(INSTANCE).preview(
        policy_pack=workshop.pack(FAILING_PACK), policy_pack_config={"tell": "advisory"}
    )

    assert [violation.level for violation in run.succeed().violations] == ["advisory"]


def test_pack_judges_exported_state_without_program(workshop):
    program = workshop.yaml(INSTANCE)
    program.up(policy_pack=None).succeed()

    run = program.policy_analyze(policy_pack=workshop.pack(FAILING_PACK)).fail()

    assert run.policies == {"tell": 1}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("print('hello')", "hello"),
    ],
)
def test_broken_pack_says_why(workshop, line, words):
    pack = workshop.pack(f"{line}\n{FAILING_PACK}")

    run = workshop.yaml(INSTANCE).preview(policy_pack=pack).fail()

    assert words in run.text


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_nothing_is_left_running(workshop):
    box_program(workshop, "pass").preview(policy_pack=workshop.pack(TELLING_PACK)).succeed()

    assert wait_until(lambda: not living(workshop.environ)), living(workshop.environ)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_children_end_with_a_killed_engine(workshop, tmp_path):
    waiting = tmp_path / "waiting"
    body = f"open({str(waiting)!r}, 'w').close(); import time; time.sleep(600)"
    plugin = workshop.plugin(PLAIN_PLUGIN.replace("BODY", body))
    # In Python: the YAML host, which is not ours, outlives a killed engine by minutes.
    program = workshop.python(
        "import pulumi\n"
        "pulumi.ComponentResource('box:index:Box', 'a', {'size': 's'}, None, remote=True)\n",
        {"plugins": {"providers": [{"name": "box", "path": str(plugin)}]}},
    )
    running = program.start("preview", "--policy-pack", str(workshop.pack(TELLING_PACK)))
    assert wait_until(waiting.exists)
    assert len(living(workshop.environ)) > 3  # engine, host, program, pack, plugin

    os.kill(running.pid, signal.SIGKILL)
    running.wait()

    assert wait_until(lambda: not living(workshop.environ)), living(workshop.environ)


def test_make_preview_runs_a_copy_and_leaves_nothing_behind(tmp_path, capsys, engine):
    root = tmp_path / "clone"
    for name in (".venv", "tests", "tools"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to(ROOT / name)
    runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": "../.venv"}}
    pack = {"PulumiPolicy.yaml": json.dumps({"runtime": runtime}), "__main__.py": FAILING_PACK}
    example = {"Pulumi.yaml": f"name: app\nruntime: yaml\n{INSTANCE}"}
    for folder, files in {"policies": pack, "examples/toy": example}.items():
        (root / folder).mkdir(parents=True)
        write_files(root / folder, files)

    assert preview(Story("toy", passes=False), engine, root) == ""
    assert "should pass" in preview(Story("toy", passes=True), engine, root)

    shown = capsys.readouterr().out
    assert "(local: ../../policies)" in shown
    assert "tell  (aws:ec2:Instance: node)" in shown
    assert [file.name for file in (root / "examples" / "toy").iterdir()] == ["Pulumi.yaml"]
